"""Measures: how good one ranking is, by what was judged to be relevant.

A ranking has one id a place. Where a stored memory stands for several ids of the folder (its twins), all of them are
found at its one place: recall counts each, and the place gains the highest of their grades, once. The best order there
could be has one place for them too, so a perfect ranking is worth exactly 1.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from recollect.errors import InvalidInput

Number = TypeVar("Number", int, float)

Grades = Mapping[str, float]
"""The memories that are relevant to one query, each with how much: 1 or more. There is at least one."""

Twins = Mapping[str, str]
"""Judged ids in whose place another one is ranked, each with that one."""

NO_TWINS: Twins = MappingProxyType({})


def recall(ranked: Sequence[str], grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """The share of the judged memories that are among the first `k`, every twin counted."""
    first = set(ranked[:k])
    return sum(twins.get(id, id) in first for id in grades) / len(grades)


def any_recall(ranked: Sequence[str], grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """1 if any judged memory is among the first `k`, else 0."""
    return float(not gain_by_id(grades, twins).keys().isdisjoint(ranked[:k]))


def ndcg(ranked: Sequence[str], grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """The gain of the first `k`, each discounted by its place, as a share of the most there could be."""
    worth = gain_by_id(grades, twins)
    return _discounted_gain([worth.get(id, 0.0) for id in ranked[:k]]) / ideal_gain(grades, k, twins)


def reciprocal_rank(ranked: Sequence[str], grades: Grades, twins: Twins = NO_TWINS) -> float:
    """1 over the place of the first judged memory; 0 if there is none."""
    judged = gain_by_id(grades, twins)
    return next((1.0 / place for place, id in enumerate(ranked, start=1) if id in judged), 0.0)


def gain_by_id(grades: Grades, twins: Twins = NO_TWINS) -> dict[str, float]:
    """What the place of each id that can be ranked is worth: the highest grade of those that are found there."""
    found: dict[str, float] = {}
    for id, grade in grades.items():
        ranked = twins.get(id, id)
        found[ranked] = max(grade, found.get(ranked, 0.0))
    return found


def ideal_gain(grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """The discounted gain of the best order there could be, cut to `k` places."""
    return _discounted_gain(sorted(gain_by_id(grades, twins).values(), reverse=True)[:k])


def _discounted_gain(worth: Sequence[float]) -> float:
    return math.fsum(one / math.log2(place + 1) for place, one in enumerate(worth, start=1))


def measure_names(ks: Sequence[int]) -> list[str]:
    """What the measures are called, in the order in which they are shown."""
    return [*(f"{what}@{k}" for what in ("recall", "any", "ndcg") for k in ks), "mrr"]


def measure_ranking(
    ranked: Sequence[str], grades: Grades, ks: Sequence[int], twins: Twins = NO_TWINS
) -> dict[str, float]:
    """Every measure of one ranking, by its name."""
    values = [*(measure(ranked, grades, k, twins) for measure in (recall, any_recall, ndcg) for k in ks)]
    return dict(zip(measure_names(ks), [*values, reciprocal_rank(ranked, grades, twins)], strict=True))


def quantile(values: Sequence[Number], share: float) -> Number:
    """The smallest of the values that at least this share of them does not exceed; it is one of them."""
    if not values:
        raise InvalidInput("there is no quantile of no values")
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]
