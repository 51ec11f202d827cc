"""Columns select, the oracle's numbers are the output: the same ranking to the last bit."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput, SignalMissing
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.model.table import CandidateTable
from recollect.ranking.columns import ROUNDING_ERROR, nth_largest
from recollect.ranking.profile import Factor, Gate, Profile, Term
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.result import Ranking
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.selection import find_contenders, rank_evidence, rank_table, score_evidence, select_best
from recollect.ranking.signals import RELEVANCE_STEPS, Importance, Newest, Recency, Similarity, signal_value
from recollect.retrieval.evidence import Evidence
from recollect.testing import NOW, a_candidate
from tests.evidence import evidence_of
from tests.tables import table
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
    shares,
    varied,
)

WORTH = Profile(name="worth", version="1", about="A test.", terms=(Term(Importance(), 1.0, 0.5),))


def facts(ranking: Ranking) -> object:
    """Everything a ranking says, down to the last bit."""
    shown = [(one.id, float(one.score).hex(), one.explanation) for one in ranking]
    return shown, dict(ranking.excluded), ranking.exact, ranking.scheme


@given(candidates(), profiles(), near | moments, st.integers(1, 12))
def test_columns_and_oracle_give_the_same_ranking_to_the_last_bit(
    pool: list[Candidate], profile: Profile, at: datetime, limit: int
) -> None:
    oracle = rank_candidates(pool, profile, at, limit=limit)
    assert facts(rank_table(CandidateTable.of(pool), profile, at, limit=limit)) == facts(oracle)


@given(candidates(), near | moments, st.sampled_from(sorted(BUILTIN_PROFILES)), st.integers(1, 12))
def test_columns_and_oracle_agree_on_every_built_in_profile(
    pool: list[Candidate], at: datetime, name: str, limit: int
) -> None:
    asked = name != "session"
    oracle = rank_candidates(pool, builtin_profile(name), at, limit=limit, asked=asked)
    assert facts(rank_table(CandidateTable.of(pool), builtin_profile(name), at, limit=limit, asked=asked)) == facts(
        oracle
    )


@given(blurred(candidates()), profiles(), near | moments, st.integers(1, 12), st.data())
def test_rows_whose_similarities_are_known_to_within_an_error_rank_as_the_oracle_ranks_their_true_candidates(
    known: Blurred, profile: Profile, at: datetime, limit: int, data: st.DataObject
) -> None:
    profile = data.draw(lined_up(known.eligible, profile, at))
    found = rank_evidence(known.evidence, profile, at, limit=limit)
    assert facts(found) == facts(rank_candidates(known.eligible, profile, at, limit=limit))


@given(blurred(candidates()), near | moments, st.sampled_from(sorted(BUILTIN_PROFILES)), st.integers(1, 12), st.data())
def test_so_they_do_for_every_built_in_profile(
    known: Blurred, at: datetime, name: str, limit: int, data: st.DataObject
) -> None:
    asked, profile = name != "session", data.draw(lined_up(known.eligible, builtin_profile(name), at))
    found = rank_evidence(replace(known.evidence, asked=asked), profile, at, limit=limit)
    assert facts(found) == facts(rank_candidates(known.eligible, profile, at, limit=limit, asked=asked))


@given(crowded(), st.integers(1, 12))
def test_gates_rivals_minimum_and_last_place_are_true_although_all_candidates_are_too_close_to_tell(
    crowd: tuple[Blurred, Profile], limit: int
) -> None:
    known, profile = crowd
    found = rank_evidence(evidence_of(known.pool, known.table), profile, NOW, limit=limit)
    assert facts(found) == facts(rank_candidates(known.pool, profile, NOW, limit=limit))


def roughly(pool: list[Candidate], error: float, noise: list[float]) -> CandidateTable:
    """The candidates with similarities that are off by the noise, which is at most the error."""
    table = CandidateTable.of(pool)
    return table.with_evidence(similarity=table.numbers["similarity"] + np.array(noise), similarity_error=error)


CLOSE = [a_candidate("a", similarity=0.9), a_candidate("b", similarity=0.88)]


@table(
    "profile",
    [
        builtin_profile("salience"),
        Profile(
            name="gate",
            version="1",
            about="x",
            terms=(Term(Importance(), 1.0, 0.5),),
            gates=(Gate(Similarity(), 0.89),),
        ),
        Profile(
            name="factor",
            version="1",
            about="x",
            terms=(Term(Importance(), 1.0, 0.5),),
            factors=(Factor(Similarity(), 0.0, 0.0),),
        ),
        Profile(name="least", version="1", about="x", terms=(Term(Similarity(), 1.0, 0.0),), min_score=0.89),
    ],
    ids=["term", "gate", "factor", "min_score"],
)
@table("limit", [1, 2])
def test_an_error_that_turns_two_around_is_settled_by_the_true_similarities(profile: Profile, limit: int) -> None:
    turned = roughly(CLOSE, 0.05, [-0.04, 0.02])
    found = rank_evidence(evidence_of(CLOSE, turned), profile, NOW, limit=limit)
    assert facts(found) == facts(rank_candidates(CLOSE, profile, NOW, limit=limit))


def test_nobody_is_fetched_to_settle_a_gate_that_opens_at_the_very_time_that_is_named() -> None:
    pool = [a_candidate(f"m{place}", relevance=place / 1000, days_off=float(place % 2)) for place in range(100)]
    gated = override_profile(
        builtin_profile("default"), {"gates": {"relevance": {"at_least": 0.05, "or": {"dated": 1.0}}}}
    )
    found, settled = rank_and_count(evidence_of(pool, asked=True), gated, limit=1)
    assert facts(found) == facts(rank_candidates(pool, gated, NOW, limit=1))
    assert len(settled) < 10


def test_similarities_that_look_alike_and_are_not_are_not_taken_for_equal() -> None:
    alike = roughly(CLOSE, 0.05, [-0.01, 0.01])
    found = rank_evidence(evidence_of(CLOSE, alike), builtin_profile("salience"), NOW, limit=2)
    assert facts(found) == facts(rank_candidates(CLOSE, builtin_profile("salience"), NOW, limit=2))


def test_a_twin_behind_a_gate_is_nobodys_twin_in_columns_either() -> None:
    pool = [
        a_candidate("old", similarity=0.9, vector=(1.0, 0.0), age=timedelta(days=9)),
        a_candidate("new", similarity=0.1, vector=(1.0, 0.0), age=timedelta(days=1)),
    ]
    assert facts(rank_table(CandidateTable.of(pool), SAMPLE, NOW, limit=2)) == facts(
        rank_candidates(pool, SAMPLE, NOW, limit=2)
    )


@given(varied(), profiles(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_columns_may_be_off_by_what_they_are_allowed_and_still_find_the_best(
    pool: list[Candidate], profile: Profile, limit: int, chance: Random
) -> None:
    whole = rank_candidates(pool, replace(profile, min_score=0.0), NOW)
    scores = np.array([float(one.score) for one in whole])
    noise = np.array([chance.choice([-0.99, 0.99]) * ROUNDING_ERROR for _ in whole])
    known = {"min_score": profile.min_score, "error_bound": ROUNDING_ERROR}
    contenders = set(find_contenders(scores + noise, limit=limit, **known).tolist())
    best = [place for place, score in enumerate(scores) if score >= profile.min_score][:limit]
    assert contenders.issuperset(best)


@table(("noise", "found"), [((-0.99, 0.99), [0, 1]), ((0.99, -0.99), [0, 1]), ((1.0, -1.01), [0])])
def test_who_may_be_the_best_within_the_error_is_asked_about(noise: tuple[float, float], found: list[int]) -> None:
    scores = np.array([0.5, 0.5]) + np.array(noise) * ROUNDING_ERROR
    assert find_contenders(scores, min_score=WORTH.min_score, limit=1, error_bound=ROUNDING_ERROR).tolist() == found


@table(
    ("column", "exact", "complaint"),
    [
        (0.5, 0.6, r"similarity of 'a' is 0\.6, but the table has 0\.5 with an error of at most 0\.01"),
        (0.5, np.nan, r"similarity of 'a' is nan, but the table has 0\.5"),
        (None, 0.5, r"similarity of 'a' is 0\.5, but the table has nan"),
    ],
)
def test_exact_similarities_that_contradict_the_table_are_refused(
    column: float | None, exact: float, complaint: str
) -> None:
    pool = [a_candidate("a", similarity=column)]
    rough = replace(CandidateTable.of(pool), similarity_error=0.01)
    evidence = evidence_of(pool, rough, asked=True, exact={0: exact})
    with pytest.raises(InvalidInput, match=complaint):
        rank_evidence(evidence, builtin_profile("salience"), NOW, limit=1)


def test_exact_similarities_of_a_table_that_has_none_are_refused() -> None:
    bare = CandidateTable(ids=[MemoryId("a")], similarity_error=0.01)
    evidence = evidence_of([a_candidate("a")], bare, asked=True, exact={0: 0.5})
    with pytest.raises(InvalidInput, match=r"similarity of 'a' is 0\.5"):
        rank_evidence(evidence, builtin_profile("search"), NOW, limit=1)


@pytest.mark.thorough  # it tests the generators
def test_the_random_candidates_and_profiles_really_try_the_columns() -> None:
    tried: Counter[str] = Counter()

    @settings(max_examples=300, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(candidates(), profiles(), near | moments, st.integers(1, 12))
    def count(pool: list[Candidate], profile: Profile, at: datetime, limit: int) -> None:
        whole = rank_candidates(pool, profile, at)
        tried["several scores"] += len({float(one.score) for one in whole}) > 2
        tried["a cut between scores"] += len(whole) > limit and whole[limit - 1].score > whole[limit].score
        tried["a gate that splits"] += bool(profile.gates) and 0 < len(whole) < len(pool)
        tried["a twin"] += any("newer and nearly" in str(one.explanation) for one in whole)
        tried["a tie"] += len({float(one.score) for one in whole}) < len(whole)

    count()
    assert min(tried[what] for what in ("several scores", "a cut between scores")) >= 25, tried
    assert min(tried[what] for what in ("a gate that splits", "a twin", "a tie")) >= 4, tried


def test_rough_similarities_need_someone_who_knows_the_true_ones() -> None:
    table = replace(CandidateTable.of([a_candidate(similarity=0.5)]), similarity_error=0.01)
    with pytest.raises(InvalidInput, match=r"an error of up to 0\.01"):
        rank_table(table, builtin_profile("salience"), NOW, limit=1)


def rank_and_count(evidence: Evidence, profile: Profile, *, limit: int) -> tuple[Ranking, set[int]]:
    """Rank, and return the rows that the reference looked at."""
    scored = score_evidence(evidence, profile, NOW)
    return select_best(scored, limit), set(scored.columns._candidates)


class Counting(dict[int, float]):
    """Exact similarities that remember which rows were read."""

    read: list[int]

    def get(self, row: int, default: Any = None) -> Any:
        self.read.append(row)
        return super().get(row, default)


def test_no_similarity_is_computed_twice_and_none_if_there_is_nothing_to_rank() -> None:
    pool = [a_candidate(f"{n:03}", similarity=n / 200, vector=(1.0, n / 10), age=timedelta(days=n)) for n in range(200)]
    exact = Counting({row: row / 200 for row in range(200)})
    exact.read = []
    rank_evidence(evidence_of(pool, roughly(pool, 1e-3, [0.0] * 200), exact=exact), SAMPLE, NOW, limit=20)
    assert exact.read
    assert len(exact.read) == len(set(exact.read))
    _, settled = rank_and_count(evidence_of([]), SAMPLE, limit=20)
    assert settled == set()


def test_a_word_that_all_have_makes_all_of_them_relevant_without_anyone_being_asked() -> None:
    pool = [a_candidate(f"{n:03}", similarity=n / 400, lexical=1.0, age=timedelta(days=n)) for n in range(300)]
    found, settled = rank_and_count(evidence_of(pool, roughly(pool, 1e-3, [0.0] * 300)), SAMPLE, limit=3)
    assert facts(found) == facts(rank_candidates(pool, SAMPLE, NOW, limit=3))
    assert len(settled) == 3


def test_words_that_leave_little_to_the_similarity_leave_little_to_ask() -> None:
    pool = [
        a_candidate(f"{n:03}", similarity=0.5, lexical=1.0 - (n + 1) / 30_000, age=timedelta(days=n))
        for n in range(300)
    ]
    found, settled = rank_and_count(evidence_of(pool, roughly(pool, 1e-3, [0.0] * 300)), SAMPLE, limit=3)
    assert facts(found) == facts(rank_candidates(pool, SAMPLE, NOW, limit=3))
    assert len(settled) < 40


@table("error", [0.0, 1e-3])
def test_a_thousand_that_score_alike_whatever_their_similarity_are_asked_about_once(error: float) -> None:
    pool = [a_candidate(f"{n:04}", similarity=n / 999, lexical=1.0, created_at=NOW) for n in reversed(range(1000))]
    found, settled = rank_and_count(evidence_of(pool, roughly(pool, error, [0.0] * 1000)), SAMPLE, limit=5)
    assert facts(found) == facts(rank_candidates(pool, SAMPLE, NOW, limit=5))
    assert len(settled) <= 7


@table("error", [1e-6, 1e-3])
def test_of_a_thread_only_those_near_one_of_its_steps_are_asked_about(error: float) -> None:
    # The default profile looks at the relevance of everyone, in steps of the best: whoever is surely between two steps
    # need not be asked. Beside those at a step there are the twins that `newest` compares, whoever is too close to the
    # gate to tell, and whoever may be among the best.
    default, size, limit = builtin_profile("default"), 4000, 5
    pool = [
        a_candidate(f"{n:04}", similarity=n / size, lexical=n * 37 % 101 / 101, age=timedelta(days=n % 97), session="s")
        for n in range(1, size)
    ]
    found, settled = rank_and_count(evidence_of(pool, roughly(pool, error, [0.0] * len(pool))), default, limit=limit)
    assert facts(found) == facts(rank_candidates(pool, default, NOW, limit=limit))

    relevance = np.array([signal_value(default.relevance, one, NOW) for one in pool], dtype=np.float64)
    most, margin = relevance.max(), 2.0 * (error + ROUNDING_ERROR)
    steps = RELEVANCE_STEPS * relevance / most
    undecided = np.abs(steps - np.round(steps)) <= RELEVANCE_STEPS * margin / most
    undecided |= np.abs(relevance - default.gates[0].at_least) <= margin
    (twins,) = (signal for signal in default.set_signals if isinstance(signal, Newest))
    undecided |= relevance >= np.sort(relevance)[-twins.among] - 2.0 * margin
    whole = [float(one.score) for one in rank_candidates(pool, default, NOW)]
    contenders = sum(score >= whole[limit - 1] - 2.0 * margin for score in whole)
    assert len(settled - set(np.flatnonzero(undecided).tolist())) <= contenders
    assert len(settled) < 0.1 * size


@table("error", [0.0, 1e-3])
def test_a_thousand_that_are_worth_nothing_are_not_asked_about_one_by_one(error: float) -> None:
    pool = [a_candidate(f"{n:04}", similarity=-n / 999, salience=n / 999, served=n) for n in reversed(range(1000))]
    found, settled = rank_and_count(
        evidence_of(pool, roughly(pool, error, [0.0] * 1000)), builtin_profile("salience"), limit=5
    )
    assert facts(found) == facts(rank_candidates(pool, builtin_profile("salience"), NOW, limit=5))
    assert len(settled) <= 8


def test_what_is_worth_nothing_only_by_an_error_is_asked_about() -> None:
    pool = [a_candidate("a", similarity=0.0004), a_candidate("b", similarity=0.0006)]
    evidence = evidence_of(pool, roughly(pool, 0.001, [-0.001, -0.001]))
    found = rank_evidence(evidence, builtin_profile("salience"), NOW, limit=1)
    assert facts(found) == facts(rank_candidates(pool, builtin_profile("salience"), NOW, limit=1))


def test_weights_that_add_up_to_a_hair_more_than_1_tie_at_1_as_in_the_oracle() -> None:
    terms = (Term(Importance(), 0.5 + 9e-10, 0.5), Term(Similarity(), 0.5, 0.0))
    profile = Profile(name="p", version="1", about="A test.", terms=terms)
    pool = [a_candidate("b", importance=1.0, similarity=1.0), a_candidate("a", importance=1.0, similarity=1.0 - 5e-10)]
    assert facts(rank_table(CandidateTable.of(pool), profile, NOW, limit=1)) == facts(
        rank_candidates(pool, profile, NOW, limit=1)
    )


@table("rows", [[1, 0], [0, 0], [-1], [2], [0, 2]])
def test_rows_that_are_not_in_order_or_not_there_are_refused(rows: list[int]) -> None:
    with pytest.raises(InvalidInput, match="`rows` is not a sorted list of distinct rows of a table of 2"):
        rank_table(
            CandidateTable.of(CLOSE), builtin_profile("salience"), NOW, limit=1, rows=np.array(rows, dtype=np.intp)
        )


def test_rows_without_evidence_are_rows_without_a_question_whatever_the_others_have() -> None:
    table = CandidateTable.of([*CLOSE, a_candidate("c")])
    with pytest.raises(SignalMissing, match="needs a question"):
        rank_table(table, builtin_profile("salience"), NOW, limit=1, rows=np.array([2]))
    assert len(rank_table(table, builtin_profile("salience"), NOW, limit=1, rows=np.array([2]), asked=True)) == 1
    assert len(rank_table(table, builtin_profile("salience"), NOW, limit=1, rows=np.array([], dtype=np.intp))) == 0


def test_a_thousand_equal_candidates_are_ordered_by_id_and_asked_about_once() -> None:
    pool = [a_candidate(f"{n:04}", similarity=0.5, importance=0.5) for n in reversed(range(1000))]
    found, settled = rank_and_count(evidence_of(pool, CandidateTable.of(pool)), builtin_profile("salience"), limit=3)
    assert [one.id for one in found] == ["0000", "0001", "0002"]
    assert found.excluded == {"limit": 997}
    assert len(settled) <= 4


def test_evidence_a_profile_insists_on_is_missed_by_name_in_columns_too() -> None:
    strict = Profile(name="strict", version="1", about="No guesses.", terms=(Term(Importance(), 1.0, missing=None),))
    table = CandidateTable.of([a_candidate("a", importance=0.5), a_candidate("b")])
    with pytest.raises(SignalMissing, match="'b' has no evidence for importance"):
        rank_table(table, strict, NOW, limit=1)


def test_a_term_without_weight_still_insists_on_its_evidence() -> None:
    strict = Profile(
        name="strict",
        version="1",
        about="No guesses.",
        terms=(Term(Importance(), 0.0, missing=None), Term(Similarity(), 1.0, missing=0.0)),
    )
    pool = [a_candidate("a", similarity=0.9, importance=0.5), a_candidate("b", similarity=0.5)]
    with pytest.raises(SignalMissing, match="'b' has no evidence for importance"):
        rank_table(CandidateTable.of(pool), strict, NOW, limit=1)


@given(st.lists(shares, min_size=1, max_size=200), st.integers(1, 12))
def test_the_nth_largest_is_found_without_sorting(values: list[float], count: int) -> None:
    expected = sorted(values, reverse=True)[count - 1] if count <= len(values) else -np.inf
    assert nth_largest(np.array(values), count) == expected


@table("limit", [0, -1])
def test_a_limit_that_keeps_nothing_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        rank_table(CandidateTable.of([]), builtin_profile("session"), NOW, limit=limit)


def test_an_empty_table_ranks_to_nothing() -> None:
    assert facts(rank_table(CandidateTable(ids=[]), SAMPLE, NOW, limit=5)) == facts(
        rank_candidates([], SAMPLE, NOW, limit=5)
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
    found = rank_table(CandidateTable.of(pool), profile, NOW, limit=5)
    assert [one.id for one in found] == ["on"]
    assert found.excluded == {"gate:recency": 1}


def test_those_at_the_minimum_score_are_settled_by_the_oracle_although_others_are_far_ahead() -> None:
    profile = Profile(name="p", version="1", about="A test.", terms=(Term(Importance(), 1.0, 0.0),), min_score=0.5)
    pool = [a_candidate("a", importance=0.9), a_candidate("b", importance=0.5), a_candidate("c", importance=0.49)]
    found = rank_table(CandidateTable.of(pool), profile, NOW, limit=1)
    assert [one.id for one in found] == ["a"]
    assert found.excluded == {"min_score": 1, "limit": 1}


@table("name", sorted(BUILTIN_PROFILES))
def test_a_table_without_columns_ranks_like_candidates_of_which_nothing_is_known(name: str) -> None:
    asked = name != "session"
    table = CandidateTable(ids=[MemoryId("b"), MemoryId("a")])
    oracle = rank_candidates([a_candidate("b"), a_candidate("a")], builtin_profile(name), NOW, limit=2, asked=asked)
    assert facts(rank_table(table, builtin_profile(name), NOW, limit=2, asked=asked)) == facts(oracle)
