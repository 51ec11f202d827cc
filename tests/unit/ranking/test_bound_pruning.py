"""What a bound proves: the best of all, though few similarities were asked for."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import SignalMissing
from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking import bound_pruning
from recollect.ranking.bound_pruning import can_prune, prune
from recollect.ranking.profile import Hearing, Profile, Term
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.result import Proof, Ranking, StopReason
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.selection import rank_evidence
from recollect.ranking.signals import SetSignal, Similarity
from recollect.retrieval.evidence import Evidence, NearestRows
from recollect.testing import NOW, a_candidate
from tests.evidence import drive, evidence_of
from tests.tables import table
from tests.unit.ranking.strategies import candidates, near, profiles, varied

ERROR = 1e-3
POINTWISE = sorted(name for name in BUILTIN_PROFILES if can_prune(builtin_profile(name)))


@dataclass
class Index:
    """What a database knows of candidates and recollect does not: their similarities, which it gives only nearly.

    It finds so many, but for those that it passes over, as an approximate index may.
    """

    pool: Sequence[Candidate]
    count: int = 4
    over: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()
    """The rows whose similarity the table has."""
    gone: frozenset[int] = frozenset()
    gone_since: frozenset[int] = frozenset()
    """The rows that are gone when their exact similarity is asked for."""
    asked: list[int] = field(default_factory=list[int])
    settled: list[int] = field(default_factory=list[int])

    @property
    def table(self) -> CandidateTable:
        table = CandidateTable.of(self.pool)
        similarity = self._blurred(range(len(self.pool)))
        similarity[[row for row in range(len(self.pool)) if row not in self.known]] = np.nan
        return table.with_evidence(similarity=similarity, similarity_error=ERROR)

    @property
    def rows(self) -> Rows:
        apart = [row for row, one in enumerate(self.pool) if one.similarity is not None and row not in self.known]
        return np.array(apart, dtype=np.intp)

    def nearest(self) -> NearestRows:
        order = sorted(self.rows.tolist(), key=lambda row: -self._true(row))
        found = [row for row in order if row not in self.over][: self.count]
        last = self._true(found[-1]) if found else 1.0
        ceiling = last if len(found) == self.count else -1.0  # one that finds all there is says so
        return NearestRows(np.array(found, dtype=np.intp), self._blurred(found), ceiling)

    def similarities(self, rows: Rows) -> Floats:
        self.asked += rows.tolist()
        found = self._blurred(rows.tolist())
        found[np.isin(rows, list(self.gone))] = np.nan
        return found

    def exact_similarities(self, rows: Rows) -> Floats:
        """Nothing of those that are gone since they were asked about."""
        self.settled += rows.tolist()
        return np.array([math.nan if row in self.gone_since else self._true(row) for row in rows.tolist()])

    @property
    def evidence(self) -> Evidence:
        remote = set(self.rows.tolist())
        known = {row: self._true(row) for row in range(len(self.pool)) if row not in remote}
        return replace(evidence_of(self.pool, self.table, asked=True, exact=known), remote_rows=self.rows)

    def _true(self, row: int) -> float:
        similarity = self.pool[row].similarity
        return math.nan if similarity is None else similarity

    def _blurred(self, rows: Sequence[int]) -> Floats:
        return np.array([self._true(row) + Random(row).uniform(-ERROR, ERROR) for row in rows], dtype=np.float64)


def ranked(index: Index, profile: Profile, at: datetime, limit: int, *, trusting: bool) -> Ranking:
    """The ranking of what is left after narrowing; what is yielded is looked up, as the engine does it."""
    pruning = prune(index.evidence, profile, at, limit=limit, nearest=index.nearest(), trusting=trusting)
    found = drive(
        pruning, lambda wanted: (index.exact_similarities if wanted.exact else index.similarities)(wanted.rows)
    )
    ranking = rank_evidence(found.evidence, profile, at, limit=limit, proof=found.proof)
    return replace(ranking, excluded={})


def facts(ranking: Ranking) -> object:
    """Who is in, in which order, with which score to the last bit, and why."""
    return [(one.id, float(one.score).hex(), one.explanation) for one in ranking]


def some_rows(size: int) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(0, max(size - 1, 0)))


@st.composite
def indexes(draw: st.DrawFn, *, passing_over: bool) -> Index:
    pool = draw(candidates() | varied(60))
    over = draw(some_rows(len(pool))) if passing_over else frozenset[int]()
    return Index(pool, draw(st.integers(0, 9)), over, draw(some_rows(len(pool)) | st.just(frozenset[int]())))


@pytest.fixture(autouse=True, scope="module")
def few_at_first() -> Iterator[None]:
    """Few are asked about at first, so that there is a second time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound_pruning, "FIRST_BATCH_ROWS", 5)
        yield


def by_itself(profile: Profile) -> Profile:
    """The profile without what looks at all candidates at once, and with the similarity for half of the score."""
    others = [term for term in profile.terms if isinstance(term.signal, Similarity | SetSignal)]
    kept = [term for term in profile.terms if term not in others]
    total = sum(term.weight for term in kept)
    shares = [replace(term, weight=0.5 * term.weight / total if total else 0.0) for term in kept]
    terms = (Term(Similarity(), 0.5 if total else 1.0, 0.25), *shares)  # what weighs nothing may be what a gate hears
    factors = tuple(one for one in profile.factors if not isinstance(one.signal, Similarity | SetSignal))
    return replace(profile, terms=terms, factors=factors, hearing=Hearing.ALONE)


@given(indexes(passing_over=True), profiles().map(by_itself), near, st.integers(1, 12))
def test_without_trust_in_the_index_the_best_are_those_of_the_oracle(
    index: Index, profile: Profile, at: datetime, limit: int
) -> None:
    assert can_prune(profile)
    found = ranked(index, profile, at, limit, trusting=False)
    assert facts(found) == facts(rank_candidates(index.pool, profile, at, limit=limit, asked=True))
    assert found.exact


@given(indexes(passing_over=True), st.sampled_from(POINTWISE), near, st.integers(1, 12))
def test_without_trust_the_built_in_profiles_rank_as_the_oracle_does(
    index: Index, name: str, at: datetime, limit: int
) -> None:
    found = ranked(index, builtin_profile(name), at, limit, trusting=False)
    assert facts(found) == facts(rank_candidates(index.pool, builtin_profile(name), at, limit=limit, asked=True))
    assert found.exact


@given(indexes(passing_over=False), st.sampled_from(POINTWISE), near, st.integers(1, 12))
def test_an_index_that_passes_over_nothing_may_be_trusted(index: Index, name: str, at: datetime, limit: int) -> None:
    found = ranked(index, builtin_profile(name), at, limit, trusting=True)
    assert facts(found) == facts(rank_candidates(index.pool, builtin_profile(name), at, limit=limit, asked=True))


@given(indexes(passing_over=True), st.sampled_from(POINTWISE), near, st.integers(1, 12))
def test_whatever_an_index_passes_over_exact_is_never_said_in_vain(
    index: Index, name: str, at: datetime, limit: int
) -> None:
    found = ranked(index, builtin_profile(name), at, limit, trusting=True)
    if found.exact:
        assert facts(found) == facts(rank_candidates(index.pool, builtin_profile(name), at, limit=limit, asked=True))


def crowd(size: int) -> list[Candidate]:
    """Candidates of which few are near and few are important."""
    dice = Random(7)
    return [
        a_candidate(f"m{number:05}", similarity=dice.random() ** 4, importance=dice.random() ** 4, created_at=NOW)
        for number in range(size)
    ]


def test_few_are_asked_about_and_the_proof_says_how_many() -> None:
    index = Index(crowd(20_000), count=200)
    found = ranked(index, builtin_profile("salience"), NOW, 10, trusting=True)
    assert facts(found) == facts(rank_candidates(index.pool, builtin_profile("salience"), NOW, limit=10, asked=True))
    assert found.proof.stopped is StopReason.INDEX
    assert found.proof.scanned == 200 + len(index.asked) < 2_000
    assert found.proof.eligible == 20_000
    assert not found.exact


def test_an_index_that_is_not_trusted_costs_more_and_proves_it() -> None:
    index = Index(crowd(20_000), count=200)
    found = ranked(index, builtin_profile("three-signal"), NOW, 10, trusting=False)
    assert facts(found) == facts(
        rank_candidates(index.pool, builtin_profile("three-signal"), NOW, limit=10, asked=True)
    )
    assert found.proof.stopped is StopReason.BOUND
    assert 200 < found.proof.scanned < 20_000
    assert found.exact


def test_what_an_index_passed_over_is_missed_and_not_called_exact() -> None:
    pool = [a_candidate(f"m{number}", similarity=number / 100, created_at=NOW) for number in range(100)]
    index = Index(pool, count=5, over=frozenset({99}))
    found = ranked(index, builtin_profile("salience"), NOW, 3, trusting=True)
    assert [one.id for one in found] == ["m98", "m97", "m96"]
    assert found.proof.stopped is StopReason.INDEX


def test_where_all_had_to_be_asked_about_it_is_a_scan() -> None:
    pool = [a_candidate(f"m{number}", similarity=0.5, created_at=NOW) for number in range(1_000)]
    found = ranked(Index(pool), builtin_profile("three-signal"), NOW, 5, trusting=True)
    assert [one.id for one in found] == sorted(one.id for one in pool)[:5]
    assert found.proof.stopped is StopReason.EVERY
    assert found.proof.scanned == found.proof.eligible == 1_000


def test_whoever_is_gone_by_the_time_it_is_asked_about_is_not_ranked() -> None:
    pool = [a_candidate(f"m{number}", similarity=0.9, importance=1.0, created_at=NOW) for number in range(9)]
    found = ranked(
        Index(pool, count=2, gone=frozenset({4, 5})), builtin_profile("three-signal"), NOW, 9, trusting=False
    )
    assert {one.id for one in found} == {one.id for one in pool} - {"m4", "m5"}
    assert found.proof == Proof(StopReason.EVERY, 7, 7)


def test_whoever_is_gone_after_that_ranks_by_what_was_known() -> None:
    pool = [a_candidate(f"m{number}", similarity=number / 10, created_at=NOW) for number in range(9)]
    found = ranked(Index(pool, gone_since=frozenset({8})), builtin_profile("salience"), NOW, 2, trusting=False)
    assert [one.id for one in found] == ["m8", "m7"]
    assert found[0].candidate.similarity == pytest.approx(0.8, abs=ERROR)
    assert found[0].candidate.similarity != 0.8
    assert found[1].candidate.similarity == 0.7


def test_exact_similarities_are_asked_for_near_the_last_place_and_near_a_gate_only() -> None:
    index, profile = Index(crowd(20_000), count=200), builtin_profile("three-signal")
    found = ranked(index, profile, NOW, 10, trusting=False)
    assert len(index.settled) == len(set(index.settled))
    near = [
        row for row in index.settled if all(abs(index._true(row) - gate.at_least) > ERROR for gate in profile.gates)
    ]
    assert 10 <= len(near) < 40 < found.proof.scanned


def test_what_the_profile_insists_on_is_missed_as_in_a_scan() -> None:
    plain = builtin_profile("five-signal")
    strict = replace(plain, terms=tuple(replace(term, missing=None) for term in plain.terms))
    pool = [a_candidate(f"m{number}", similarity=number / 50, created_at=NOW) for number in range(50)]
    with pytest.raises(SignalMissing):
        ranked(Index(pool, count=2), strict, NOW, 1, trusting=True)


@table(("name", "can"), [("three-signal", True), ("default", False), ("session", False)])
def test_bounds_are_for_similarity_and_one_memory_at_a_time(name: str, can: bool) -> None:
    assert can_prune(builtin_profile(name)) is can
