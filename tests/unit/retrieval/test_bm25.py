"""The lexical match: BM25 as a share of the best attainable, by hand."""

import math
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.retrieval.bm25 import (
    K1,
    MAX_COUNTED_TERMS,
    UNKNOWN_TERM_FACTOR,
    B,
    TermStatistics,
    count_terms,
    score_terms,
    weigh_terms,
)
from tests.tables import table

words = st.sampled_from("abcdefghijklmnop")
memories = st.dictionaries(words, st.integers(1, 5), max_size=6)
questions = st.lists(words, max_size=16)

Counts = Mapping[str, int]


def shares(question: str, *eligible: Counts) -> list[float | None]:
    """What each of the memories has of the question, whose terms are its characters."""
    counted = count_terms(question, eligible)
    return [score_terms(question, memory, counted) for memory in eligible]


def idf(count: int, frequency: int) -> float:
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def test_a_word_said_once_in_a_memory_of_mean_length_is_worth_one_of_two_point_two() -> None:
    assert shares("a", {"a": 1}) == [pytest.approx(1 / (1 + 1.2), rel=1e-15)]


@table("times", [1, 2, 7, 65_535])
def test_a_word_said_again_adds_ever_less(times: int) -> None:
    assert shares("a", {"a": times}) == [pytest.approx(times / (times + 1.2), rel=1e-15)]


def test_a_longer_memory_must_say_it_more_often() -> None:
    short, long = {"a": 1, "b": 1}, {"a": 1, "c": 5}
    mean = (2 + 6) / 2
    assert shares("a", short, long) == [
        pytest.approx(1 / (1 + K1 * (1 - B + B * 2 / mean)), rel=1e-15),
        pytest.approx(1 / (1 + K1 * (1 - B + B * 6 / mean)), rel=1e-15),
    ]


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    common, rare = idf(3, 2), idf(3, 1)
    parts = [common / (common + rare) / 2.2, rare / (common + rare) / 2.2]
    assert shares("cr", {"c": 1}, {"r": 1}, {"c": 1}) == [pytest.approx(parts[n], rel=1e-15) for n in (0, 1, 0)]


def test_a_word_that_nobody_has_counts_half_in_the_best_attainable() -> None:
    known, unknown = idf(1, 1), UNKNOWN_TERM_FACTOR * idf(1, 0)
    assert shares("ax", {"a": 1}) == [pytest.approx(known / (known + unknown) / 2.2, rel=1e-15)]


def test_only_the_ten_rarest_words_of_a_question_are_needed_for_the_whole() -> None:
    question = "abcdefghijklmnop"
    whole = dict.fromkeys(question, 100)
    assert shares(question, whole) == [1.0]
    assert weigh_terms(question, count_terms(question, [whole])).best == (K1 + 1) * math.fsum(
        [idf(1, 1)] * MAX_COUNTED_TERMS
    )


def test_a_question_of_ten_words_is_never_quite_attained() -> None:
    (found,) = shares("abcdefghij", dict.fromkeys("abcdefghij", 65_535))
    assert found is not None
    assert 0.9999 < found < 1.0


def test_a_word_asked_twice_is_asked_once() -> None:
    memories = [{"a": 1}, {"b": 2}, {"a": 1, "b": 1}]
    assert shares("abab", *memories) == shares("ab", *memories)


@table("question", ["", "x"])
def test_a_memory_without_any_of_the_words_has_no_evidence_and_not_a_zero(question: str) -> None:
    assert shares(question, {"a": 1}, {}) == [None, None]


def test_memories_without_words_have_no_evidence() -> None:
    assert shares("a", {}, {}) == [None, None]
    assert shares("a", {"a": 0}) == [None]


@given(questions, st.lists(memories, min_size=1, max_size=8))
def test_a_share_is_above_0_and_at_most_1_and_there_if_any_word_is(question: list[str], pool: list[Counts]) -> None:
    counted = count_terms(question, pool)
    for memory in pool:
        found = score_terms(question, memory, counted)
        assert (found is None) == set(question).isdisjoint(memory)
        assert found is None or 0.0 < found <= 1.0


@given(questions, st.lists(memories, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_memories_says_nothing(question: list[str], pool: list[Counts], chance: Random) -> None:
    assert count_terms(question, chance.sample(pool, len(pool))) == count_terms(question, pool)


@given(questions, st.lists(memories), st.lists(memories))
def test_statistics_of_two_sets_of_memories_add_up(question: list[str], some: list[Counts], more: list[Counts]) -> None:
    assert count_terms(question, some) + count_terms(question, more) == count_terms(question, [*some, *more])


def test_statistics_count_memories_words_and_those_that_have_a_term() -> None:
    expected = TermStatistics(count=3, total_length=3 + 1, frequencies={"b": 1, "a": 2, "x": 0})
    assert count_terms("bax", [{"a": 1, "b": 2}, {"a": 1}, {}]) == expected


def test_statistics_of_two_questions_do_not_add_up() -> None:
    with pytest.raises(InvalidInput, match="cannot be added; count the same terms"):
        count_terms("a", []) + count_terms("b", [])


def test_statistics_of_another_question_are_refused() -> None:
    with pytest.raises(InvalidInput, match="have no count of 'b'"):
        score_terms("ab", {"a": 1}, count_terms("a", [{"a": 1}]))


@table(("count", "total_length", "frequency"), [(1, 5, 2), (5, 1, 2), (1, 1, -1), (-1, 0, 0), (0, -1, 0)])
def test_statistics_that_cannot_be_are_refused(count: int, total_length: int, frequency: int) -> None:
    with pytest.raises(InvalidInput, match="over the same memories"):
        TermStatistics(count=count, total_length=total_length, frequencies={"a": frequency})
