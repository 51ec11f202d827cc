"""The oracle: a score is its explanation, order is promised, silence is the profile's decision."""

import math
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError, InvalidInput, SignalMissing
from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable
from recollect.ranking.explanation import Explanation, ScoreFactor, ScorePart
from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import explain, rank_candidates
from recollect.ranking.selection import rank_table
from recollect.ranking.signals import Confidence, Dated, Importance, Salience, Similarity
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.strategies import candidates, moments, profiles, shares

WORTH = Profile(name="worth", version="1", about="A test.", terms=(Term(Importance(), 1.0, 0.5),))


def test_a_score_is_the_sum_of_its_parts_times_its_scales() -> None:
    explanation = Explanation(
        (ScorePart("relevance", 0.9, 0.5), ScorePart("recency", 0.5, 0.5)),
        (ScoreFactor("salience", 0.5, 0.55), ScoreFactor("rarity", 0.8, 0.0)),
    )
    assert explanation.score == pytest.approx((0.9 * 0.5 + 0.5 * 0.5) * (0.55 + 0.45 * 0.5) * 0.8, abs=1e-15)


def test_an_explanation_gives_the_value_of_every_term_and_then_of_every_factor() -> None:
    explanation = Explanation(
        (ScorePart("relevance", 0.9, 0.5),), (ScoreFactor("salience", 0.4, 0.55), ScoreFactor("rarity", 0.8, 0.0))
    )
    assert explanation.opinions == (0.9, 0.4, 0.8)


def test_an_explanation_prints_part_by_part() -> None:
    explanation = explain(a_candidate(similarity=-0.5, served=3), builtin_profile("salience"), NOW)
    assert str(explanation) == (
        "0.000\n"
        "+ 0.000  similarity 0.000 × 1 (-0.5 counts as 0)\n"
        "× 0.775  salience 0.500 (assumed)\n"
        "× 0.690  rarity 0.690"
    )


def test_the_explanation_says_what_was_assumed() -> None:
    explanation = explain(a_candidate(similarity=0.5, served=3), builtin_profile("salience"), NOW)
    assert explanation == Explanation(
        (ScorePart("similarity", 0.5, 1.0),),
        (ScoreFactor("salience", 0.5, 0.55, assumed=True), ScoreFactor("rarity", 1 / (1 + 0.15 * 3), 0.0)),
    )


@given(candidates(), profiles(), moments)
def test_every_score_is_within_0_and_1_and_is_what_its_parts_give(
    pool: list[Candidate], profile: Profile, at: datetime
) -> None:
    for scored in rank_candidates(pool, profile, at):
        parts, scales = scored.explanation.parts, scored.explanation.scales
        total = min(math.fsum(part.value * part.weight for part in parts), 1.0)
        for scale in scales:
            total *= scale.times
        assert scored.score == total
        assert 0.0 <= scored.score <= 1.0
        assert all(0.0 <= part.value <= 1.0 for part in parts)


@given(candidates(), profiles(), moments, st.randoms(use_true_random=False))
def test_shuffling_the_candidates_changes_nothing(
    pool: list[Candidate], profile: Profile, at: datetime, chance: random.Random
) -> None:
    shuffled = chance.sample(pool, len(pool))
    assert rank_candidates(shuffled, profile, at) == rank_candidates(pool, profile, at)


@given(candidates(), profiles(), moments)
def test_ranked_and_excluded_together_are_all_candidates(pool: list[Candidate], profile: Profile, at: datetime) -> None:
    ranking = rank_candidates(pool, profile, at, limit=3)
    assert len(ranking) + sum(ranking.excluded.values()) == len(pool)
    assert all(count > 0 for count in ranking.excluded.values())


@given(candidates(), profiles(), moments)
def test_a_limit_keeps_the_first_of_the_whole_ranking(pool: list[Candidate], profile: Profile, at: datetime) -> None:
    assert rank_candidates(pool, profile, at, limit=3)[:] == rank_candidates(pool, profile, at)[:3]


@given(st.sampled_from(["five-signal", "three-signal", "assistant", "salience"]), shares, shares)
def test_more_similarity_never_lowers_a_score_all_else_equal(name: str, one: float, other: float) -> None:
    less, more = sorted((one, other))
    low, high = (explain(a_candidate(similarity=s), builtin_profile(name), NOW) for s in (less, more))
    assert low.score <= high.score


def test_equal_scores_are_ordered_by_id_so_that_a_ranking_never_flickers() -> None:
    tied = [a_candidate(id, importance=0.5) for id in ("c", "a", "b")]
    assert [scored.id for scored in rank_candidates(tied, WORTH, NOW)] == ["a", "b", "c"]


def test_the_order_is_by_the_whole_score_and_not_by_a_rounded_one() -> None:
    close = [a_candidate("a", importance=0.5), a_candidate("b", importance=0.5 + 1e-12)]
    assert [scored.id for scored in rank_candidates(close, WORTH, NOW)] == ["b", "a"]


def test_a_ranking_carries_its_profile_its_version_and_its_moment() -> None:
    ranking = rank_candidates([a_candidate(importance=0.5)], WORTH, NOW)
    assert (ranking.profile, ranking.version, ranking.at, ranking.exact) == ("worth", "1", NOW, True)
    assert (len(ranking), ranking[0].id, list(ranking)) == (1, "m", [ranking[0]])


def test_two_candidates_of_one_id_are_refused() -> None:
    with pytest.raises(FieldError, match="field 'id': 'm' occurs twice"):
        rank_candidates([a_candidate(), a_candidate()], WORTH, NOW)


@table(
    "at",
    [datetime(2026, 1, 1), datetime(9999, 1, 1, tzinfo=NOW.tzinfo), datetime(1, 1, 1, tzinfo=NOW.tzinfo)],
)
def test_a_moment_that_is_none_is_refused(at: datetime) -> None:
    with pytest.raises(FieldError, match="field 'at'"):
        rank_candidates([], WORTH, at)


@table("limit", [0, -3, 2.5, "3", True])
def test_a_limit_that_keeps_nothing_is_refused(limit: Any) -> None:
    with pytest.raises(InvalidInput, match=f"limit is {limit!r}; give a whole number of at least 1"):
        rank_candidates([], WORTH, NOW, limit=limit)


def test_a_gate_excludes_before_scoring_is_inclusive_and_is_the_reason() -> None:
    gated = Profile(
        name="gated",
        version="1",
        about="A test.",
        terms=(Term(Importance(), 1.0),),
        gates=(Gate(Similarity(), 0.15), Gate(Confidence(), 0.5)),
    )
    pool = [
        a_candidate("on", similarity=0.15, confidence=0.5, importance=0.1),
        a_candidate("under", similarity=0.1499, confidence=0.9),
        a_candidate("silent", confidence=0.9),
        a_candidate("unsure", similarity=0.9, confidence=0.4),
    ]
    ranking = rank_candidates(pool, gated, NOW)
    assert [scored.id for scored in ranking] == ["on"]
    assert ranking.excluded == {"gate:similarity": 2, "gate:confidence": 1}


def test_a_gate_may_be_opened_by_another_signal_and_keeps_its_own_name() -> None:
    gated = Profile(
        name="gated",
        version="1",
        about="A test.",
        terms=(Term(Importance(), 1.0, 0.0),),
        gates=(Gate(Similarity(), 0.5, (Gate(Dated(), 0.9), Gate(Confidence(), 0.5))),),
    )
    pool = [
        a_candidate("near", similarity=0.5),
        a_candidate("of-that-day", days_off=0.0),
        a_candidate("sure", similarity=0.1, confidence=0.5),
        a_candidate("of-another-day", similarity=0.1, days_off=30.0, confidence=0.1),
        a_candidate("silent"),
    ]
    ranking = rank_candidates(pool, gated, NOW)
    assert [scored.id for scored in ranking] == ["near", "of-that-day", "sure"]
    assert ranking.excluded == {"gate:similarity": 2}


def test_an_explanation_says_which_signal_opened_the_gate_that_another_did_not() -> None:
    instead = (Gate(Dated(), 0.9), Gate(Confidence(), 0.5))
    gated = Profile(
        name="gated",
        version="1",
        about="A test.",
        terms=(Term(Importance(), 0.5, 0.0), Term(Similarity(), 0.5, 0.0)),
        factors=(Factor(Salience(), 0.5, 1.0),),
        gates=(Gate(Similarity(), 0.5, instead), Gate(Salience(), 0.2, instead)),
    )
    sure = explain(a_candidate(similarity=-0.1, salience=0.1, confidence=0.5), gated, NOW)
    assert [part.note for part in sure.parts] == [
        None,
        "-0.1 counts as 0; under the gate's 0.5, which confidence opened",
    ]
    assert [scale.note for scale in sure.scales] == ["under the gate's 0.2, which confidence opened"]
    silent = explain(a_candidate(salience=0.2, confidence=0.5), gated, NOW)
    assert silent.parts[1].note == "no evidence for the gate, which confidence opened"
    apart = replace(gated, gates=(Gate(Confidence(), 0.5, (Gate(Importance(), 0.5),)),))
    told = explain(a_candidate(importance=0.5, confidence=0.1), apart, NOW)
    assert [part.note for part in told.parts] == ["opened the gate of confidence", None]
    for other in (a_candidate(similarity=0.5, salience=0.2, confidence=0.5), a_candidate()):
        silent = explain(other, gated, NOW)
        assert [*(part.note for part in silent.parts), *(scale.note for scale in silent.scales)] == [None] * 3


def test_a_minimum_score_is_inclusive_and_counted() -> None:
    profile = Profile(name="p", version="1", about="A test.", terms=WORTH.terms, min_score=0.5)
    pool = [a_candidate("on", importance=0.5), a_candidate("under", importance=0.4999)]
    ranking = rank_candidates(pool, profile, NOW)
    assert [scored.id for scored in ranking] == ["on"]
    assert ranking.excluded == {"min_score": 1}


def test_without_a_value_for_silence_a_candidate_must_have_the_evidence() -> None:
    strict = Profile(name="strict", version="1", about="A test.", terms=(Term(Importance(), 1.0),))
    with pytest.raises(SignalMissing, match=r"'m' has no evidence for importance.*`importance.missing`"):
        rank_candidates([a_candidate()], strict, NOW)


def test_a_factor_without_a_value_for_silence_insists_as_well() -> None:
    strict = Profile(name="s", version="1", about="A test.", terms=WORTH.terms, factors=(Factor(Salience(), 0.5),))
    with pytest.raises(SignalMissing, match="salience"):
        rank_candidates([a_candidate()], strict, NOW)


@table("name", ["default", "five-signal", "three-signal", "assistant", "search", "salience"])
def test_a_profile_about_a_question_refuses_to_rank_without_one(name: str) -> None:
    with pytest.raises(SignalMissing, match=f"profile '{name}' needs a question"):
        rank_candidates([a_candidate(importance=0.5)], builtin_profile(name), NOW)


def test_a_question_that_found_nothing_is_a_question_all_the_same() -> None:
    ranking = rank_candidates([a_candidate(age=timedelta(0))], builtin_profile("search"), NOW, asked=True)
    lexical = ranking[0].explanation.parts[0]
    assert (lexical.value, lexical.assumed) == (0.0, True)


def test_one_memory_the_question_brought_up_is_enough_for_all() -> None:
    ranking = rank_candidates([a_candidate("a", similarity=0.5), a_candidate("b")], builtin_profile("salience"), NOW)
    assert [(scored.id, float(scored.score) > 0.0) for scored in ranking] == [("a", True), ("b", False)]


def test_nothing_to_rank_is_an_empty_ranking_and_no_error() -> None:
    assert len(rank_candidates([], builtin_profile("default"), NOW)) == 0


def test_a_profile_that_takes_no_question_refuses_one_but_ignores_evidence_lying_about() -> None:
    session = builtin_profile("session")
    assert session.question is QuestionPolicy.REFUSED
    with pytest.raises(InvalidInput, match="'session' takes no question"):
        rank_candidates([], session, NOW, asked=True)
    bare = rank_candidates([a_candidate(age=timedelta(days=3))], session, NOW)
    found = rank_candidates([a_candidate(age=timedelta(days=3), similarity=0.9)], session, NOW)
    assert bare[0].explanation == found[0].explanation


def test_an_age_is_elapsed_time_and_not_the_difference_of_two_clocks_on_a_wall() -> None:
    berlin = ZoneInfo("Europe/Berlin")  # where the clocks went forward on 29 March 2026
    before, after = datetime(2026, 3, 28, 12, tzinfo=berlin), datetime(2026, 3, 29, 12, tzinfo=berlin)
    (scored,) = rank_candidates([a_candidate(created_at=before)], builtin_profile("session"), after)
    assert scored.explanation.parts[1].value == 2 ** (-(23 / 24) / 30)


def test_what_was_left_out_is_told_in_the_order_of_the_steps_whatever_the_input() -> None:
    gates = {"confidence": 0.5, "salience": 0.5}
    profile = override_profile(WORTH, {"gates": gates, "min_score": 0.5})
    pool = [
        a_candidate("a", salience=0.1, confidence=0.9),
        a_candidate("b", salience=0.9, confidence=0.1),
        a_candidate("c", salience=0.9, confidence=0.9, importance=0.4),
        *(a_candidate(f"d{n}", salience=0.9, confidence=0.9) for n in range(2)),
    ]
    for order in (pool, pool[::-1]):
        for found in (
            rank_candidates(order, profile, NOW, limit=1),
            rank_table(CandidateTable.of(order), profile, NOW, limit=1),
        ):
            assert list(found.excluded.items()) == [
                ("gate:confidence", 1),
                ("gate:salience", 1),
                ("min_score", 1),
                ("limit", 1),
            ]


def test_vectors_of_two_lengths_are_refused_whether_or_not_anyone_reads_them() -> None:
    pool = [a_candidate("a", importance=0.5, vector=(1.0,)), a_candidate("b", importance=0.5, vector=(1.0, 2.0))]
    with pytest.raises(FieldError, match="'b' has 2 dimensions, but others have 1"):
        rank_candidates(pool, WORTH, NOW)
    with pytest.raises(FieldError, match="'b' has 2 dimensions, but others have 1"):
        CandidateTable.of(pool)
