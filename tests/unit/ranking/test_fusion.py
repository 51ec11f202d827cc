"""Similarity and words as one relevance that means the same for every question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ProfileError
from recollect.ranking.fusion import Either
from recollect.testing import a_candidate
from tests.unit.ranking.strategies import cosines, shares, unknown_or


def test_one_witness_is_enough_and_words_are_heard_three_times() -> None:
    relevance = Either(3)(a_candidate(similarity=0.4, lexical=0.2))
    assert relevance == pytest.approx(1 - (1 - 0.4) * (1 - 0.2) ** 3, abs=1e-15)


def test_without_words_relevance_is_the_similarity_itself() -> None:
    assert Either(3)(a_candidate(similarity=0.4)) == 0.4
    assert Either(0)(a_candidate(similarity=0.4, lexical=0.9)) == 0.4


def test_a_candidate_that_brings_its_own_relevance_keeps_it() -> None:
    assert Either(3)(a_candidate(similarity=0.4, lexical=0.2, relevance=0.1)) == 0.1


def test_without_evidence_of_an_arm_that_is_heard_there_is_no_relevance() -> None:
    assert Either(3)(a_candidate()) is None
    assert Either(0)(a_candidate(lexical=0.9)) is None


def test_a_negative_cosine_counts_as_nothing() -> None:
    assert Either(3)(a_candidate(similarity=-0.9, lexical=0.0)) == 0.0


@given(unknown_or(cosines), unknown_or(shares), st.integers(0, 16))
def test_relevance_is_within_0_and_1(similarity: float | None, lexical: float | None, strength: int) -> None:
    relevance = Either(strength)(a_candidate(similarity=similarity, lexical=lexical))
    assert relevance is None or 0.0 <= relevance <= 1.0


@given(shares, shares, shares, st.integers(1, 16))
def test_more_words_never_make_a_memory_less_relevant(s: float, few: float, many: float, strength: int) -> None:
    few, many = sorted((few, many))
    less = Either(strength)(a_candidate(similarity=s, lexical=few))
    more = Either(strength)(a_candidate(similarity=s, lexical=many))
    assert less is not None
    assert more is not None
    assert less <= more + 1e-15


@pytest.mark.parametrize("strength", [-1, 17])
def test_a_strength_out_of_range_is_refused(strength: int) -> None:
    with pytest.raises(ProfileError, match=r"within 0\.\.16"):
        Either(strength)
