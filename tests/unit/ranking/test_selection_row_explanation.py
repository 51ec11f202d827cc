"""Why a row of a table stands or fell: what the plain way tells, without scoring everyone."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput, NotFound, SignalMissing
from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable
from recollect.ranking.profile import Profile, Term
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.selection import explain_rows, why_in_table
from recollect.ranking.signals import Importance
from recollect.ranking.why import Gated, Outranked, Ranked, why_ranked
from recollect.testing import NOW, a_candidate
from tests.unit.ranking.sample import SAMPLE
from tests.unit.ranking.strategies import (
    Blurred,
    blurred,
    candidates,
    crowded,
    lined_up,
    moments,
    near,
    profiles,
)

DAY = timedelta(days=1)
LIMITS = st.none() | st.integers(1, 6)


@given(blurred(candidates(max_size=16)), profiles(), near | moments, LIMITS, st.data())
def test_a_row_learns_what_the_plain_way_tells_its_true_candidate(
    known: Blurred, profile: Profile, at: datetime, limit: int | None, data: st.DataObject
) -> None:
    assume(len(known.rows))
    profile = data.draw(lined_up(known.eligible, profile, at))
    id = data.draw(st.sampled_from(known.eligible)).id
    found = why_in_table(id, known.table, profile, at, limit=limit, fetch=known.fetch, rows=known.rows)
    assert found == why_ranked(id, known.eligible, profile, at, limit=limit)


@given(blurred(candidates(max_size=16)), near | moments, st.sampled_from(sorted(BUILTIN_PROFILES)), LIMITS, st.data())
def test_so_it_does_for_every_built_in_profile(
    known: Blurred, at: datetime, name: str, limit: int | None, data: st.DataObject
) -> None:
    assume(len(known.rows))
    asked, profile = name != "session", data.draw(lined_up(known.eligible, builtin_profile(name), at))
    id = data.draw(st.sampled_from(known.eligible)).id
    found = why_in_table(id, known.table, profile, at, limit=limit, asked=asked, fetch=known.fetch, rows=known.rows)
    assert found == why_ranked(id, known.eligible, profile, at, limit=limit, asked=asked)


@given(crowded(), LIMITS, st.integers(0, 11))
def test_its_place_is_the_true_one_although_all_candidates_are_too_close_to_tell(
    crowd: tuple[Blurred, Profile], limit: int | None, row: int
) -> None:
    known, profile = crowd
    id = known.pool[row].id
    found = why_in_table(id, known.table, profile, NOW, limit=limit, fetch=known.fetch)
    assert found == why_ranked(id, known.pool, profile, NOW, limit=limit)


@pytest.mark.thorough  # it tests the generators
def test_the_random_rows_really_have_every_fate() -> None:
    fates = set()

    @settings(max_examples=150, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(candidates(max_size=16), profiles(), st.randoms(use_true_random=False))
    def tell(pool: list[Candidate], profile: Profile, chance: Random) -> None:
        if pool:
            fates.add(
                type(why_in_table(chance.choice(pool).id, CandidateTable.of(pool), profile, NOW, limit=2).fate).__name__
            )

    tell()
    assert fates == {"Gated", "BelowMinimum", "Outranked", "Ranked"}


def test_only_the_row_itself_and_those_near_it_or_near_the_last_place_are_fetched() -> None:
    pool = [a_candidate(f"{n:04}", similarity=n / 1000, importance=0.5, age=DAY) for n in range(1000)]
    fetched: list[int] = []

    def fetch(rows: object) -> list[Candidate]:
        assert isinstance(rows, list)
        fetched.extend(rows)
        return [pool[row] for row in rows]

    reason = why_in_table("0500", CandidateTable.of(pool), builtin_profile("three-signal"), NOW, limit=3, fetch=fetch)
    assert reason.fate == Outranked(500, 3)
    assert sorted(fetched) == [500, 997, 998, 999]
    fetched.clear()
    reason = why_in_table("0999", CandidateTable.of(pool), builtin_profile("three-signal"), NOW, limit=3, fetch=fetch)
    assert (reason.fate, fetched) == (Ranked(1), [999])


def test_of_many_that_tie_the_place_goes_by_the_id() -> None:
    pool = [a_candidate(f"{n:04}", similarity=0.5) for n in reversed(range(300))]
    assert why_in_table("0007", CandidateTable.of(pool), builtin_profile("salience"), NOW).fate == Ranked(8)


def test_a_row_behind_a_gate_is_told_as_if_it_had_been_beside_those_that_passed() -> None:
    twin = {"vector": (1.0, 0.0), "lexical": 0.0}
    pool = [
        a_candidate("new", similarity=0.9, age=DAY, **twin),
        a_candidate("other", similarity=0.1, age=DAY, **twin),
        a_candidate("old", similarity=0.1, age=9 * DAY, **twin),
    ]
    reason = why_in_table("old", CandidateTable.of(pool), SAMPLE, NOW)
    assert reason.fate == Gated("relevance", 0.1, 0.15)
    assert reason.explanation.scales[0].note == "newer and nearly the same (cosine 1.00): new"


@given(blurred(candidates(max_size=12)), near | moments, st.sampled_from([SAMPLE, builtin_profile("default")]))
def test_several_rows_are_explained_as_each_alone_would_be(known: Blurred, at: datetime, profile: Profile) -> None:
    wanted: list[int] = known.rows.tolist()[::-1]
    asking: dict[str, Any] = {"asked": True, "fetch": known.fetch, "rows": known.rows}
    told = explain_rows(wanted, known.table, profile, at, **asking)
    alone = [why_in_table(known.pool[row].id, known.table, profile, at, **asking) for row in wanted]
    assert told == [(reason.candidate, reason.explanation) for reason in alone]


def test_an_id_that_is_not_there_or_not_looked_at_is_not_found() -> None:
    table = CandidateTable.of([a_candidate("a", similarity=0.5), a_candidate("b", similarity=0.4)])
    with pytest.raises(NotFound, match="candidate 'x' does not exist"):
        why_in_table("x", table, builtin_profile("salience"), NOW)
    with pytest.raises(NotFound, match="candidate 'a' does not exist"):
        why_in_table("a", table, builtin_profile("salience"), NOW, rows=np.array([1]))
    with pytest.raises(InvalidInput, match="limit is 0"):
        why_in_table("a", table, builtin_profile("salience"), NOW, limit=0)


def test_what_ranking_refuses_has_no_reasons_either() -> None:
    strict = Profile(name="strict", version="1", about="No guesses.", terms=(Term(Importance(), 1.0, missing=None),))
    table = CandidateTable.of([a_candidate("a", importance=0.5), a_candidate("b")])
    with pytest.raises(SignalMissing, match="'b' has no evidence for importance"):
        why_in_table("a", table, strict, NOW)
    with pytest.raises(InvalidInput, match="pass `fetch`"):
        why_in_table("a", replace(table, similarity_error=0.1), builtin_profile("session"), NOW)
