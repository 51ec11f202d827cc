"""Similarity and words as one relevance that means the same for every question."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ProfileError
from recollect.model.table import CandidateTable
from recollect.ranking.columns import SignalColumns
from recollect.ranking.curves import Blend, NoisyOr
from recollect.ranking.signals import Relevance
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.strategies import cosines, shares, unknown_or


def test_one_witness_is_enough_and_words_are_heard_three_times() -> None:
    relevance = NoisyOr(3)(a_candidate(similarity=0.4, lexical=0.2))
    assert relevance == pytest.approx(1 - (1 - 0.4) * (1 - 0.2) ** 3, abs=1e-15)


def test_without_words_relevance_is_the_similarity_itself() -> None:
    assert NoisyOr(3)(a_candidate(similarity=0.4)) == 0.4
    assert NoisyOr(0)(a_candidate(similarity=0.4, lexical=0.9)) == 0.4


def test_a_candidate_that_brings_its_own_relevance_keeps_it() -> None:
    assert NoisyOr(3)(a_candidate(similarity=0.4, lexical=0.2, relevance=0.1)) == 0.1


def test_without_evidence_of_an_arm_that_is_heard_there_is_no_relevance() -> None:
    assert NoisyOr(3)(a_candidate()) is None
    assert NoisyOr(0)(a_candidate(lexical=0.9)) is None


def test_a_negative_cosine_counts_as_nothing() -> None:
    assert NoisyOr(3)(a_candidate(similarity=-0.9, lexical=0.0)) == 0.0


@given(unknown_or(cosines), unknown_or(shares), st.integers(0, 16))
def test_relevance_is_within_0_and_1(similarity: float | None, lexical: float | None, strength: int) -> None:
    relevance = NoisyOr(strength)(a_candidate(similarity=similarity, lexical=lexical))
    assert relevance is None or 0.0 <= relevance <= 1.0


@given(shares, shares, shares, st.integers(1, 16))
def test_more_words_never_make_a_memory_less_relevant(s: float, few: float, many: float, strength: int) -> None:
    few, many = sorted((few, many))
    less = NoisyOr(strength)(a_candidate(similarity=s, lexical=few))
    more = NoisyOr(strength)(a_candidate(similarity=s, lexical=many))
    assert less is not None
    assert more is not None
    assert less <= more + 1e-15


@table("strength", [-1, 17])
def test_a_strength_out_of_range_is_refused(strength: int) -> None:
    with pytest.raises(ProfileError, match=r"within 0\.\.16"):
        NoisyOr(strength)


@st.composite
def blends(draw: st.DrawFn) -> Blend:
    share = draw(shares)
    return Blend(share, draw(shares) * min(share, 1.0 - share))


@table(
    ("similarity", "lexical", "blended"),
    [
        (0.5, 0.25, (0.4 * 0.5 + 0.6 * 0.25 - 0.15 * 0.5 * 0.25) / 0.85),
        (0.5, None, 0.4 * 0.5 / 0.85),
        (None, 0.25, 0.6 * 0.25 / 0.85),
        (-0.5, 0.25, 0.6 * 0.25 / 0.85),
        (1.0 + 1e-7, 0.0, 0.4 / 0.85),
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 1.0),
    ],
)
def test_meaning_and_words_are_blended_by_their_shares_less_what_both_say(
    similarity: float | None, lexical: float | None, blended: float
) -> None:
    relevance = Blend(0.6, 0.15)(a_candidate(similarity=similarity, lexical=lexical))
    assert relevance == pytest.approx(blended, abs=1e-15)


def test_without_overlap_a_blend_is_the_weighted_mean() -> None:
    assert Blend(0.25)(a_candidate(similarity=0.4, lexical=0.8)) == pytest.approx(0.75 * 0.4 + 0.25 * 0.8, abs=1e-15)
    assert Blend(0.0)(a_candidate(similarity=0.4, lexical=0.8)) == 0.4
    assert Blend(1.0)(a_candidate(similarity=0.4, lexical=0.8)) == 0.8


def test_a_blend_keeps_a_candidates_own_relevance_and_knows_none_without_evidence() -> None:
    assert Blend(0.6, 0.15)(a_candidate(similarity=0.4, lexical=0.2, relevance=0.1)) == 0.1
    assert Blend(0.6, 0.15)(a_candidate(importance=1.0)) is None
    assert Blend(0.6).missing_fields(a_candidate(lexical=0.5)) == ("similarity",)


@given(blends(), shares)
def test_full_evidence_of_both_arms_is_fully_relevant_and_no_evidence_is_not(rule: Blend, own: float) -> None:
    assert rule(a_candidate(similarity=1.0, lexical=1.0)) == pytest.approx(1.0, abs=1e-15)
    assert rule(a_candidate(similarity=-1.0, lexical=0.0)) == 0.0
    assert rule(a_candidate(relevance=own)) == own


@given(blends(), shares, st.tuples(shares, shares).map(sorted))
def test_more_of_either_arm_never_makes_a_memory_less_relevant(rule: Blend, fixed: float, two: list[float]) -> None:
    less, more = two
    for arm, other in (("similarity", "lexical"), ("lexical", "similarity")):
        found: list[dict[str, Any]] = [{arm: value, other: fixed} for value in (less, more)]
        low, high = (rule(a_candidate(**evidence)) for evidence in found)
        assert low is not None
        assert high is not None
        assert 0.0 <= low <= high + 1e-15 <= 1.0 + 1e-15
        assert high - low <= (more - less) + 1e-15  # so that an error of an arm is no larger in the relevance


@given(
    st.lists(st.tuples(unknown_or(cosines), unknown_or(shares), unknown_or(shares)), min_size=1, max_size=8),
    blends(),
)
def test_columns_blend_to_the_bit(rows: list[tuple[float | None, ...]], rule: Blend) -> None:
    pool = [a_candidate(f"m{n}", similarity=s, lexical=w, relevance=r) for n, (s, w, r) in enumerate(rows)]
    signal = Relevance(lexical_share=rule.lexical_share, overlap=rule.overlap)
    values = SignalColumns(CandidateTable.of(pool), NOW).signal_values(signal).tolist()
    assert [None if value != value else value.hex() for value in values] == [
        None if value is None else value.hex() for value in map(rule, pool)
    ]


@table(
    ("options", "complaint"),
    [
        ((-0.1,), r"lexical_share is -0\.1; give a number within 0\.\.1"),
        ((1.1,), r"lexical_share is 1\.1; give a number within 0\.\.1"),
        ((math.nan,), "lexical_share is nan; give a number within"),
        ((0.6, -0.1), r"overlap is -0\.1; give at most 0\.4, or more evidence would count less"),
        ((0.6, 0.41), r"overlap is 0\.41; give at most 0\.4"),
        ((0.3, 0.31), r"overlap is 0\.31; give at most 0\.3"),
        ((1.0, 0.1), r"overlap is 0\.1; give at most 0,"),
        ((0.5, math.nan), r"overlap is nan; give at most 0\.5"),
    ],
)
def test_shares_that_make_no_blend_are_refused(options: tuple[float, ...], complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint):
        Blend(*options)
