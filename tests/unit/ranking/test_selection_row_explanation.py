"""Why a row of a table stands or fell: what the plain way tells, without scoring everyone."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput, NotFound, SignalMissing
from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable
from recollect.ranking.profile import Profile, Term
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.result import Ranking, Scored
from recollect.ranking.scorer import closed_gate
from recollect.ranking.selection import rank_evidence
from recollect.ranking.signals import Importance
from recollect.ranking.why import Gated, Outranked, Ranked, Why, why_in_evidence, why_ranked
from recollect.testing import NOW, a_candidate
from tests.evidence import evidence_of, without_vector
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


def bare(why: Why) -> Why:
    """The same of a candidate as a table gives it."""
    return replace(why, candidate=without_vector(why.candidate))


@given(blurred(candidates(max_size=16)), profiles(), near | moments, LIMITS, st.data())
def test_a_row_learns_what_the_plain_way_tells_its_true_candidate(
    known: Blurred, profile: Profile, at: datetime, limit: int | None, data: st.DataObject
) -> None:
    assume(len(known.rows))
    profile = data.draw(lined_up(known.eligible, profile, at))
    id = data.draw(st.sampled_from(known.eligible)).id
    found = why_in_evidence(id, known.evidence, profile, at, limit=limit)
    assert found == bare(why_ranked(id, known.eligible, profile, at, limit=limit))


@given(blurred(candidates(max_size=16)), near | moments, st.sampled_from(sorted(BUILTIN_PROFILES)), LIMITS, st.data())
def test_so_it_does_for_every_built_in_profile(
    known: Blurred, at: datetime, name: str, limit: int | None, data: st.DataObject
) -> None:
    assume(len(known.rows))
    asked, profile = name != "session", data.draw(lined_up(known.eligible, builtin_profile(name), at))
    id = data.draw(st.sampled_from(known.eligible)).id
    found = why_in_evidence(id, replace(known.evidence, asked=asked), profile, at, limit=limit)
    assert found == bare(why_ranked(id, known.eligible, profile, at, limit=limit, asked=asked))


@given(crowded(), LIMITS, st.integers(0, 11))
def test_its_place_is_the_true_one_although_all_candidates_are_too_close_to_tell(
    crowd: tuple[Blurred, Profile], limit: int | None, row: int
) -> None:
    known, profile = crowd
    id = known.pool[row].id
    found = why_in_evidence(id, evidence_of(known.pool, known.table), profile, NOW, limit=limit)
    assert found == bare(why_ranked(id, known.pool, profile, NOW, limit=limit))


@pytest.mark.thorough  # it tests the generators
def test_the_random_rows_really_have_every_fate() -> None:
    fates = set()

    @settings(max_examples=150, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(candidates(max_size=16), profiles(), st.randoms(use_true_random=False))
    def tell(pool: list[Candidate], profile: Profile, chance: Random) -> None:
        if pool:
            fates.add(
                type(why_in_evidence(chance.choice(pool).id, evidence_of(pool), profile, NOW, limit=2).fate).__name__
            )

    tell()
    assert fates == {"Gated", "BelowMinimum", "Outranked", "Ranked"}


def test_only_the_row_itself_and_those_near_it_or_near_the_last_place_are_looked_at_exactly() -> None:
    pool = [a_candidate(f"{n:04}", similarity=n / 1000, importance=0.5, age=DAY) for n in range(1000)]
    rough = CandidateTable.of(pool)
    rough = rough.with_evidence(similarity=rough.numbers["similarity"], similarity_error=1e-6)
    exact = {row: row / 1000 for row in (0, 500, 997, 998, 999)}  # 0 is at the gate; an unknown one would be refused
    evidence, profile = evidence_of(pool, rough, exact=exact), builtin_profile("three-signal")
    assert why_in_evidence("0500", evidence, profile, NOW, limit=3).fate == Outranked(500, 3)
    alone = evidence_of(pool, rough, exact={0: 0.0, 999: 0.999})
    assert why_in_evidence("0999", alone, profile, NOW, limit=3).fate == Ranked(1)


def test_of_many_that_tie_the_place_goes_by_the_id() -> None:
    pool = [a_candidate(f"{n:04}", similarity=0.5) for n in reversed(range(300))]
    assert why_in_evidence("0007", evidence_of(pool), builtin_profile("salience"), NOW).fate == Ranked(8)


def test_a_row_behind_a_gate_is_told_as_if_it_had_been_beside_those_that_passed() -> None:
    twin = {"vector": (1.0, 0.0), "lexical": 0.0}
    pool = [
        a_candidate("new", similarity=0.9, age=DAY, **twin),
        a_candidate("other", similarity=0.1, age=DAY, **twin),
        a_candidate("old", similarity=0.1, age=9 * DAY, **twin),
    ]
    reason = why_in_evidence("old", evidence_of(pool), SAMPLE, NOW)
    assert reason.fate == Gated("relevance", 0.1, 0.15)
    assert reason.explanation.scales[0].note == "newer and nearly the same (cosine 1.00): new"


@given(
    blurred(candidates(max_size=12)),
    near | moments,
    st.sampled_from([SAMPLE, builtin_profile("default")]),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_rows_that_are_always_ranked_are_in_as_each_alone_is_explained_and_leave_no_count(
    known: Blurred, at: datetime, profile: Profile, limit: int, chance: Random
) -> None:
    evidence = replace(known.evidence, asked=True)
    always = np.array([row for row in known.rows.tolist() if chance.random() < 0.5], dtype=np.intp)
    best = rank_evidence(evidence, profile, at, limit=limit)
    found = rank_evidence(evidence, profile, at, limit=limit, always=always)
    assert set(found.rows) == {*best.rows, *always.tolist()}
    assert list(found) == sorted(found, key=lambda one: (-one.score, one.id))
    assert sum(found.excluded.values()) == len(known.rows) - len(found)
    assert all(more >= fewer for more, fewer in zip(counts(best), counts(found), strict=True))
    for row, one in zip(found.rows, found, strict=True):
        alone = why_in_evidence(known.pool[row].id, evidence, profile, at)
        assert (one.candidate, one.explanation) == (alone.candidate, alone.explanation)
        assert one in best.scored or reason_of(one, profile, at) in best.excluded


def counts(ranking: Ranking) -> list[int]:
    """How many each step left out."""
    steps = [*(f"gate:{gate.signal.name}" for gate in ranking.scheme.profile.gates), "min_score", "limit"]
    return [ranking.excluded.get(step, 0) for step in steps]


def reason_of(one: Scored, profile: Profile, at: datetime) -> str:
    gate = closed_gate(one.candidate, profile, at)
    if gate is not None:
        return f"gate:{gate.signal.name}"
    return "min_score" if float(one.score) < profile.min_score else "limit"


def test_an_id_that_is_not_there_or_not_looked_at_is_not_found() -> None:
    both = evidence_of([a_candidate("a", similarity=0.5), a_candidate("b", similarity=0.4)])
    with pytest.raises(NotFound, match="candidate 'x' does not exist"):
        why_in_evidence("x", both, builtin_profile("salience"), NOW)
    with pytest.raises(NotFound, match="candidate 'a' does not exist"):
        why_in_evidence("a", replace(both, rows=np.array([1])), builtin_profile("salience"), NOW)
    with pytest.raises(InvalidInput, match="limit is 0"):
        why_in_evidence("a", both, builtin_profile("salience"), NOW, limit=0)


def test_what_ranking_refuses_has_no_reasons_either() -> None:
    strict = Profile(name="strict", version="1", about="No guesses.", terms=(Term(Importance(), 1.0, missing=None),))
    both = evidence_of([a_candidate("a", importance=0.5), a_candidate("b")])
    with pytest.raises(SignalMissing, match="'b' has no evidence for importance"):
        why_in_evidence("a", both, strict, NOW)
