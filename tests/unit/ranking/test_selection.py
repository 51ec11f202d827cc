"""Columns select, the oracle's numbers are the output: the same ranking to the last bit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

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
from recollect.ranking.selection import _find_contenders, rank_table
from recollect.ranking.signals import RELEVANCE_STEPS, Importance, Newest, Recency, Similarity, signal_value
from recollect.testing import NOW, a_candidate
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
    found = rank_table(known.table, profile, at, limit=limit, fetch=known.fetch, rows=known.rows)
    assert facts(found) == facts(rank_candidates(known.eligible, profile, at, limit=limit))


@given(blurred(candidates()), near | moments, st.sampled_from(sorted(BUILTIN_PROFILES)), st.integers(1, 12), st.data())
def test_so_they_do_for_every_built_in_profile(
    known: Blurred, at: datetime, name: str, limit: int, data: st.DataObject
) -> None:
    asked, profile = name != "session", data.draw(lined_up(known.eligible, builtin_profile(name), at))
    found = rank_table(known.table, profile, at, limit=limit, asked=asked, fetch=known.fetch, rows=known.rows)
    assert facts(found) == facts(rank_candidates(known.eligible, profile, at, limit=limit, asked=asked))


@given(crowded(), st.integers(1, 12))
def test_gates_rivals_minimum_and_last_place_are_true_although_all_candidates_are_too_close_to_tell(
    crowd: tuple[Blurred, Profile], limit: int
) -> None:
    known, profile = crowd
    found = rank_table(known.table, profile, NOW, limit=limit, fetch=known.fetch)
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
    found = rank_table(turned, profile, NOW, limit=limit, fetch=lambda rows: [CLOSE[row] for row in rows])
    assert facts(found) == facts(rank_candidates(CLOSE, profile, NOW, limit=limit))


def test_nobody_is_fetched_to_settle_a_gate_that_opens_at_the_very_time_that_is_named() -> None:
    pool = [a_candidate(f"m{place}", relevance=place / 1000, days_off=float(place % 2)) for place in range(100)]
    gated = override_profile(
        builtin_profile("default"), {"gates": {"relevance": {"at_least": 0.05, "or": {"dated": 1.0}}}}
    )
    fetched: list[int] = []

    def fetch(rows: Sequence[int]) -> list[Candidate]:
        fetched.extend(rows)
        return [pool[row] for row in rows]

    found = rank_table(CandidateTable.of(pool), gated, NOW, limit=1, asked=True, fetch=fetch)
    assert facts(found) == facts(rank_candidates(pool, gated, NOW, limit=1))
    assert len(fetched) < 10


def test_similarities_that_look_alike_and_are_not_are_not_taken_for_equal() -> None:
    alike = roughly(CLOSE, 0.05, [-0.01, 0.01])
    found = rank_table(
        alike, builtin_profile("salience"), NOW, limit=2, fetch=lambda rows: [CLOSE[row] for row in rows]
    )
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
    contenders = set(_find_contenders(scores + noise, profile, limit, ROUNDING_ERROR, Counter()).tolist())
    best = [place for place, score in enumerate(scores) if score >= profile.min_score][:limit]
    assert contenders.issuperset(best)


@table(("noise", "found"), [((-0.99, 0.99), [0, 1]), ((0.99, -0.99), [0, 1]), ((1.0, -1.01), [0])])
def test_who_may_be_the_best_within_the_error_is_asked_about(noise: tuple[float, float], found: list[int]) -> None:
    scores = np.array([0.5, 0.5]) + np.array(noise) * ROUNDING_ERROR
    assert _find_contenders(scores, WORTH, 1, ROUNDING_ERROR, Counter()).tolist() == found


def test_a_fetch_that_brings_others_than_asked_for_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"`fetch` returned candidate '.' for '.'"):
        rank_table(
            CandidateTable.of(CLOSE),
            builtin_profile("salience"),
            NOW,
            limit=2,
            fetch=lambda rows: [CLOSE[1 - r] for r in rows],
        )


def test_a_fetch_that_brings_too_few_is_refused() -> None:
    with pytest.raises(InvalidInput, match="`fetch` returned 0 candidates for 2 rows"):
        rank_table(CandidateTable.of(CLOSE), builtin_profile("salience"), NOW, limit=2, fetch=lambda _: [])


@table(
    ("column", "brought", "complaint"),
    [
        (0.5, 0.6, r"returned similarity 0\.6 for 'a', but the table has 0\.5 with an error of at most 0\.01"),
        (0.5, None, r"returned similarity nan for 'a', but the table has 0\.5"),
        (None, 0.5, r"returned similarity 0\.5 for 'a', but the table has nan"),
    ],
)
def test_a_fetch_that_contradicts_the_table_is_refused(
    column: float | None, brought: float | None, complaint: str
) -> None:
    table = replace(CandidateTable.of([a_candidate("a", similarity=column)]), similarity_error=0.01)
    with pytest.raises(InvalidInput, match=complaint):
        rank_table(
            table,
            builtin_profile("salience"),
            NOW,
            limit=1,
            asked=True,
            fetch=lambda _: [a_candidate("a", similarity=brought)],
        )
    bare = CandidateTable(ids=[MemoryId("a")])
    with pytest.raises(InvalidInput, match=r"returned similarity 0\.5"):
        rank_table(
            bare,
            builtin_profile("search"),
            NOW,
            limit=1,
            asked=True,
            fetch=lambda _: [a_candidate("a", similarity=0.5)],
        )


def test_a_fetch_that_knows_what_the_table_lacks_is_refused() -> None:
    strict = Profile(name="strict", version="1", about="No guesses.", terms=(Term(Importance(), 1.0, missing=None),))
    with pytest.raises(InvalidInput, match="`fetch` returned evidence for 'a' that the table does not have"):
        rank_table(
            CandidateTable.of([a_candidate("a")]),
            strict,
            NOW,
            limit=1,
            fetch=lambda _: [a_candidate("a", importance=0.5)],
        )


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


@dataclass
class Counting:
    """Brings the true candidates, and remembers the rows it was asked for."""

    pool: list[Candidate]
    asked: list[int] = field(default_factory=list[int])

    def __call__(self, rows: Sequence[int]) -> list[Candidate]:
        self.asked.extend(rows)
        return [self.pool[row] for row in rows]


def test_nobody_is_fetched_twice_and_nothing_if_there_is_nothing_to_fetch() -> None:
    pool = [a_candidate(f"{n:03}", similarity=n / 200, vector=(1.0, n / 10), age=timedelta(days=n)) for n in range(200)]
    fetch = Counting(pool)
    rank_table(roughly(pool, 1e-3, [0.0] * 200), SAMPLE, NOW, limit=20, fetch=fetch)
    assert len(fetch.asked) == len(set(fetch.asked))
    nothing = Counting([])
    rank_table(CandidateTable(ids=[]), SAMPLE, NOW, limit=20, fetch=nothing)
    assert nothing.asked == []


def test_a_word_that_all_have_makes_all_of_them_relevant_without_anyone_being_asked() -> None:
    pool = [a_candidate(f"{n:03}", similarity=n / 400, lexical=1.0, age=timedelta(days=n)) for n in range(300)]
    fetch = Counting(pool)
    found = rank_table(roughly(pool, 1e-3, [0.0] * 300), SAMPLE, NOW, limit=3, fetch=fetch)
    assert facts(found) == facts(rank_candidates(pool, SAMPLE, NOW, limit=3))
    assert len(fetch.asked) == 3


def test_words_that_leave_little_to_the_similarity_leave_little_to_ask() -> None:
    pool = [
        a_candidate(f"{n:03}", similarity=0.5, lexical=1.0 - (n + 1) / 30_000, age=timedelta(days=n))
        for n in range(300)
    ]
    fetch = Counting(pool)
    found = rank_table(roughly(pool, 1e-3, [0.0] * 300), SAMPLE, NOW, limit=3, fetch=fetch)
    assert facts(found) == facts(rank_candidates(pool, SAMPLE, NOW, limit=3))
    assert len(fetch.asked) < 40


@table("error", [0.0, 1e-3])
def test_a_thousand_that_score_alike_whatever_their_similarity_are_asked_about_once(error: float) -> None:
    pool = [a_candidate(f"{n:04}", similarity=n / 999, lexical=1.0, created_at=NOW) for n in reversed(range(1000))]
    fetch = Counting(pool)
    found = rank_table(roughly(pool, error, [0.0] * 1000), SAMPLE, NOW, limit=5, fetch=fetch)
    assert facts(found) == facts(rank_candidates(pool, SAMPLE, NOW, limit=5))
    assert len(fetch.asked) <= 7


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
    fetch = Counting(pool)
    found = rank_table(roughly(pool, error, [0.0] * len(pool)), default, NOW, limit=limit, fetch=fetch)
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
    assert len(set(fetch.asked) - set(np.flatnonzero(undecided).tolist())) <= contenders
    assert len(fetch.asked) < 0.1 * size


@table("error", [0.0, 1e-3])
def test_a_thousand_that_are_worth_nothing_are_not_asked_about_one_by_one(error: float) -> None:
    pool = [a_candidate(f"{n:04}", similarity=-n / 999, salience=n / 999, served=n) for n in reversed(range(1000))]
    fetch = Counting(pool)
    found = rank_table(roughly(pool, error, [0.0] * 1000), builtin_profile("salience"), NOW, limit=5, fetch=fetch)
    assert facts(found) == facts(rank_candidates(pool, builtin_profile("salience"), NOW, limit=5))
    assert len(fetch.asked) <= 8


def test_what_is_worth_nothing_only_by_an_error_is_asked_about() -> None:
    pool = [a_candidate("a", similarity=0.0004), a_candidate("b", similarity=0.0006)]
    found = rank_table(
        roughly(pool, 0.001, [-0.001, -0.001]), builtin_profile("salience"), NOW, limit=1, fetch=Counting(pool)
    )
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
    fetch = Counting(pool)
    found = rank_table(CandidateTable.of(pool), builtin_profile("salience"), NOW, limit=3, fetch=fetch)
    assert [one.id for one in found] == ["0000", "0001", "0002"]
    assert found.excluded == {"limit": 997}
    assert len(fetch.asked) <= 4


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
