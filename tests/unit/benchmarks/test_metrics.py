"""How good a ranking is beside the judgements."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peers.metrics import DEPTH, Quality, ndcg, quality, recall

ids = st.lists(st.text("abcdefghijklmnop", min_size=1, max_size=1), unique=True, max_size=16)
grades = st.dictionaries(st.text("abcdefghijklmnop", min_size=1, max_size=1), st.integers(1, 3), min_size=1)


def test_recall_is_the_share_of_the_answers_that_are_found() -> None:
    assert recall(["a", "x", "b"], {"a": 1, "b": 1, "c": 1}) == 2 / 3


def test_what_stands_below_the_tenth_place_is_not_found() -> None:
    found = [*"0123456789", "a"]
    assert recall(found, {"a": 1}) == 0.0
    assert ndcg(found, {"a": 1}) == 0.0


def test_a_gain_is_discounted_by_the_logarithm_of_its_place() -> None:
    assert ndcg(["x", "a"], {"a": 1}) == (1 / log2(3)) / (1 / log2(2))
    assert ndcg(["b", "a"], {"a": 2, "b": 1}) == (1 + 2 / log2(3)) / (2 + 1 / log2(3))


@given(ids, grades)
def test_both_are_within_nought_and_one(found: list[str], judged: dict[str, int]) -> None:
    assert 0.0 <= recall(found, judged) <= 1.0
    assert 0.0 <= ndcg(found, judged) <= 1.0 + 1e-12


@given(grades)
def test_the_best_order_there_is_is_worth_one(judged: dict[str, int]) -> None:
    best = sorted(judged, key=lambda id: -judged[id])
    assert ndcg(best, judged) == 1.0
    assert recall(best, judged) == min(len(judged), DEPTH) / len(judged)


def test_a_question_without_an_answer_counts_as_nothing_found() -> None:
    assert quality({"q": ["a"]}, {"q": {"a": 1}, "unanswered": {"b": 1}}) == Quality(1 / 2, 1 / 2, 2)


def test_a_folder_without_judgements_is_refused() -> None:
    with pytest.raises(ValueError, match="no question is judged"):
        quality({}, {})
