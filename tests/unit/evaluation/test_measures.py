"""Measures of one ranking: worked by hand, and what holds of every one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.evaluation.measures import (
    any_recall,
    gain_by_id,
    measure_names,
    measure_ranking,
    ndcg,
    quantile,
    recall,
    reciprocal_rank,
)
from tests.tables import table

ids = st.sampled_from([*"abcdefghij"])
rankings = st.lists(ids, unique=True)
judged = st.dictionaries(ids, st.integers(1, 3).map(float), min_size=1)
ks = st.integers(1, 12)

RANKED = ["x", "a", "y", "b"]


def test_recall_is_the_share_of_the_judged_among_the_first() -> None:
    grades = {"a": 1.0, "b": 1.0, "never written": 1.0}
    assert [recall(RANKED, grades, k) for k in (1, 2, 3, 4, 9)] == [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3]


def test_any_found_is_one_from_the_first_judged_on() -> None:
    assert [any_recall(RANKED, {"a": 1.0, "b": 1.0}, k) for k in (1, 2, 4)] == [0.0, 1.0, 1.0]


def test_ndcg_discounts_each_gain_by_the_logarithm_of_its_place() -> None:
    gain = 1 / math.log2(3) + 3 / math.log2(5)
    best = 3 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(RANKED, {"a": 1.0, "b": 3.0}, 4) == pytest.approx(gain / best)


def test_the_best_order_has_no_more_places_than_the_ranking_is_cut_to() -> None:
    assert ndcg(["a"], {"a": 1.0, "b": 1.0}, 1) == 1.0


def test_the_reciprocal_rank_is_that_of_the_first_judged() -> None:
    assert reciprocal_rank(RANKED, {"b": 1.0, "a": 1.0}) == 1 / 2
    assert reciprocal_rank(RANKED, {"z": 1.0}) == 0.0


def test_twins_are_all_found_at_one_place_which_gains_the_highest_of_their_grades() -> None:
    grades, twins = {"a": 1.0, "twin": 3.0, "other twin": 2.0, "b": 2.0}, {"twin": "a", "other twin": "a"}
    assert gain_by_id(grades, twins) == {"a": 3.0, "b": 2.0}
    assert [recall(RANKED, grades, k, twins) for k in (1, 2, 4)] == [0, 3 / 4, 4 / 4]
    gain = 3 / math.log2(3) + 2 / math.log2(5)
    best = 3 / math.log2(2) + 2 / math.log2(3)
    assert ndcg(RANKED, grades, 4, twins) == pytest.approx(gain / best)
    assert ndcg(["a", "b"], grades, 4, twins) == 1.0


def test_a_memory_that_is_judged_by_its_twin_alone_counts() -> None:
    found = measure_ranking(RANKED, {"twin": 2.0}, [2], {"twin": "a"})
    assert found == {"recall@2": 1.0, "any@2": 1.0, "ndcg@2": 1 / math.log2(3), "mrr": 1 / 2}


stand_ins = st.dictionaries(ids, st.sampled_from([*"ABC"]))


@given(judged, stand_ins, ks)
def test_the_best_order_of_memories_with_twins_is_worth_exactly_1(
    grades: dict[str, float], twins: dict[str, str], k: int
) -> None:
    worth = gain_by_id(grades, twins)
    best = sorted(worth, key=lambda id: -worth[id])
    assert ndcg(best, grades, k, twins) == 1.0
    assert recall(best, grades, len(best), twins) == 1.0
    assert reciprocal_rank(best, grades, twins) == 1.0


@given(rankings, judged, stand_ins, ks)
def test_every_measure_lies_within_0_and_1_with_twins_too(
    ranked: list[str], grades: dict[str, float], twins: dict[str, str], k: int
) -> None:
    ranked = [*dict.fromkeys(twins.get(id, id) for id in ranked)]
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in measure_ranking(ranked, grades, [k], twins).values())


@given(rankings, judged, ks)
def test_every_measure_lies_within_0_and_1(ranked: list[str], grades: dict[str, float], k: int) -> None:
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in measure_ranking(ranked, grades, [k]).values())


@given(judged, ks)
def test_the_best_order_there_can_be_is_worth_1(grades: dict[str, float], k: int) -> None:
    best = sorted(grades, key=lambda id: -grades[id])
    assert ndcg(best, grades, k) == pytest.approx(1.0)
    assert reciprocal_rank(best, grades) == 1.0
    assert recall(best, grades, len(best)) == 1.0


@given(rankings, judged, ks)
def test_looking_further_never_lowers_recall(ranked: list[str], grades: dict[str, float], k: int) -> None:
    assert recall(ranked, grades, k) <= recall(ranked, grades, k + 1)
    assert any_recall(ranked, grades, k) >= recall(ranked, grades, k)


@given(rankings, judged, ks, st.data())
def test_what_comes_behind_k_changes_nothing(
    ranked: list[str], grades: dict[str, float], k: int, data: st.DataObject
) -> None:
    behind = data.draw(st.permutations(ranked[k:]))
    other = [*ranked[:k], *behind]
    assert (recall(other, grades, k), ndcg(other, grades, k)) == (recall(ranked, grades, k), ndcg(ranked, grades, k))


@given(rankings.filter(lambda ranked: len(ranked) > 1), judged, st.data())
def test_a_judged_memory_that_moves_up_past_an_unjudged_one_never_costs(
    ranked: list[str], grades: dict[str, float], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(ranked) - 1))
    if ranked[place] in grades and ranked[place - 1] not in grades:
        better = [*ranked[: place - 1], ranked[place], ranked[place - 1], *ranked[place + 1 :]]
        before, after = measure_ranking(ranked, grades, [3]), measure_ranking(better, grades, [3])
        assert all(after[name] >= before[name] for name in before)


def test_measures_are_named_with_their_k_and_in_their_order() -> None:
    assert measure_names([5, 10]) == ["recall@5", "recall@10", "any@5", "any@10", "ndcg@5", "ndcg@10", "mrr"]
    assert list(measure_ranking(["a"], {"a": 1.0}, [5, 10])) == measure_names([5, 10])


@table(("share", "expected"), [(0.0, 1), (0.25, 1), (0.5, 2), (0.51, 3), (0.95, 4), (1.0, 4)])
def test_a_quantile_is_the_smallest_value_that_so_many_do_not_exceed(share: float, expected: int) -> None:
    assert quantile([4, 1, 3, 2], share) == expected


def test_nothing_has_no_quantile() -> None:
    with pytest.raises(InvalidInput, match="cannot compute a quantile of an empty list"):
        quantile([], 0.5)
