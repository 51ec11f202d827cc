"""Columns select, the oracle's numbers are the output: the same ranking to the last bit."""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, SignalMissing
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.ranking.columns import largest
from recollect.ranking.profile import Factor, Gate, Profile, Term
from recollect.ranking.profiles import BUILT_IN, built_in
from recollect.ranking.result import Ranking
from recollect.ranking.scorer import rank
from recollect.ranking.selection import rank_table
from recollect.ranking.set_signals import SetSignal
from recollect.ranking.signals import Importance, Recency, Similarity
from recollect.ranking.table import Table
from recollect.testing import NOW, a_candidate
from tests.unit.ranking.strategies import candidates, moments, profiles, shares


def facts(ranking: Ranking) -> object:
    """Everything a ranking says, down to the last bit."""
    shown = [(one.id, float(one.score).hex(), one.explanation) for one in ranking]
    return shown, dict(ranking.excluded), ranking.exact, ranking.scheme


@given(candidates(), profiles(), moments, st.integers(1, 12))
def test_columns_and_oracle_give_the_same_ranking_to_the_last_bit(
    pool: list[Candidate], profile: Profile, at: datetime, limit: int
) -> None:
    oracle = rank(pool, profile, at, limit=limit)
    assert facts(rank_table(Table.of(pool), profile, at, limit=limit)) == facts(oracle)


@given(candidates(), moments, st.sampled_from(sorted(BUILT_IN)), st.integers(1, 12))
def test_columns_and_oracle_agree_on_every_built_in_profile(
    pool: list[Candidate], at: datetime, name: str, limit: int
) -> None:
    asked = name != "session"
    oracle = rank(pool, built_in(name), at, limit=limit, asked=asked)
    assert facts(rank_table(Table.of(pool), built_in(name), at, limit=limit, asked=asked)) == facts(oracle)


@given(candidates(), profiles(), st.integers(1, 12), st.sampled_from([1e-6, 1e-3, 0.05]), st.data())
def test_similarities_known_only_to_within_an_error_still_give_the_exact_ranking(
    pool: list[Candidate], profile: Profile, limit: int, error: float, data: st.DataObject
) -> None:
    pointwise = [term for term in profile.terms if not isinstance(term.signal, SetSignal)]
    if len(pointwise) < len(profile.terms) or profile.set_signals:
        profile = replace(profile, terms=(Term(Similarity(), 1.0, 0.0),), factors=())
    table = Table.of(pool)
    noise = np.array(data.draw(st.lists(st.floats(-error, error), min_size=len(pool), max_size=len(pool))))
    blurred = np.clip(table.numbers["similarity"] + noise, -1.0, 1.0) if pool else np.zeros(0)
    rough = replace(table, numbers={**table.numbers, "similarity": blurred}, similarity_error=error + 1e-6)
    found = rank_table(rough, profile, NOW, limit=limit, fetch=lambda rows: [pool[row] for row in rows])
    assert facts(found) == facts(rank(pool, profile, NOW, limit=limit))


def test_rough_similarities_need_someone_who_knows_the_true_ones() -> None:
    table = replace(Table.of([a_candidate(similarity=0.5)]), similarity_error=0.01)
    with pytest.raises(InvalidInput, match=r"up to 0\.01 off"):
        rank_table(table, built_in("salience"), NOW, limit=1)


def test_set_signals_need_true_similarities_of_everyone() -> None:
    table = replace(Table.of([a_candidate(similarity=0.5)]), similarity_error=0.01)
    with pytest.raises(InvalidInput, match="without set signals"):
        rank_table(table, built_in("default"), NOW, limit=1, fetch=lambda _: [])


def test_a_thousand_equal_candidates_are_ordered_by_id_and_asked_about_once() -> None:
    pool = [a_candidate(f"{n:04}", similarity=0.5, importance=0.5) for n in reversed(range(1000))]
    fetched: list[int] = []

    def fetch(rows: object) -> list[Candidate]:
        assert isinstance(rows, list)
        fetched.extend(rows)
        return [pool[row] for row in rows]

    found = rank_table(Table.of(pool), built_in("salience"), NOW, limit=3, fetch=fetch)
    assert [one.id for one in found] == ["0000", "0001", "0002"]
    assert found.excluded == {"limit": 997}
    assert len(fetched) <= 4


def test_evidence_a_profile_insists_on_is_missed_by_name_in_columns_too() -> None:
    strict = Profile(name="strict", version="1", about="No guesses.", terms=(Term(Importance(), 1.0, missing=None),))
    table = Table.of([a_candidate("a", importance=0.5), a_candidate("b")])
    with pytest.raises(SignalMissing, match="'b' has no evidence for importance"):
        rank_table(table, strict, NOW, limit=1)


def test_a_term_without_weight_still_insists_on_its_evidence() -> None:
    strict = Profile(
        name="strict",
        version="1",
        about="No guesses.",
        terms=(Term(Importance(), 0.0, missing=None), Term(Similarity(), 1.0, missing=0.0)),
    )
    with pytest.raises(SignalMissing):
        rank_table(Table.of([a_candidate("b", similarity=0.5)]), strict, NOW, limit=1)


@given(st.lists(shares, min_size=1, max_size=200), st.integers(1, 12))
def test_the_nth_largest_is_found_without_sorting(values: list[float], count: int) -> None:
    expected = sorted(values, reverse=True)[count - 1] if count <= len(values) else -np.inf
    assert largest(np.array(values), count) == expected


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_keeps_nothing_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInput, match="give at least 1"):
        rank_table(Table.of([]), built_in("session"), NOW, limit=limit)


def test_an_empty_table_ranks_to_nothing() -> None:
    assert facts(rank_table(Table(ids=[]), built_in("default"), NOW, limit=5)) == facts(
        rank([], built_in("default"), NOW, limit=5)
    )


def test_a_gate_is_inclusive_in_columns_as_in_the_oracle() -> None:
    fortnight = timedelta(days=14)
    fresh = Recency(half_life=fortnight)
    profile = Profile(
        name="fresh",
        version="1",
        about="Only what is fresh.",
        terms=(Term(fresh, 1.0),),
        factors=(Factor(Importance(), 0.5, 1.0),),
        gates=(Gate(fresh, 0.5),),
    )
    pool = [a_candidate("on", age=fortnight), a_candidate("off", age=fortnight + timedelta(microseconds=1))]
    found = rank_table(Table.of(pool), profile, NOW, limit=5)
    assert [one.id for one in found] == ["on"]
    assert found.excluded == {"gate:recency": 1}


def test_those_at_the_minimum_score_are_settled_by_the_oracle_although_others_are_far_ahead() -> None:
    profile = Profile(name="p", version="1", about="A test.", terms=(Term(Importance(), 1.0, 0.0),), min_score=0.5)
    pool = [a_candidate("a", importance=0.9), a_candidate("b", importance=0.5), a_candidate("c", importance=0.49)]
    found = rank_table(Table.of(pool), profile, NOW, limit=1)
    assert [one.id for one in found] == ["a"]
    assert found.excluded == {"min_score": 1, "limit": 1}


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_table_without_columns_ranks_like_candidates_of_which_nothing_is_known(name: str) -> None:
    asked = name != "session"
    table = Table(ids=[MemoryId("b"), MemoryId("a")])
    oracle = rank([a_candidate("b"), a_candidate("a")], built_in(name), NOW, limit=2, asked=asked)
    assert facts(rank_table(table, built_in(name), NOW, limit=2, asked=asked)) == facts(oracle)
