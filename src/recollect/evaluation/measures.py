"""Measures: how good one ranking is, by what was judged to be relevant."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

from recollect.errors import InvalidInput

Number = TypeVar("Number", int, float)

Grades = Mapping[str, float]
"""The memories that are relevant to one query, each with how much: 1 or more. There is at least one."""


def recall(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the judged memories that are among the first `k`."""
    return len(grades.keys() & set(ranked[:k])) / len(grades)


def any_found(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """1 if any judged memory is among the first `k`, else 0."""
    return float(not grades.keys().isdisjoint(ranked[:k]))


def ndcg(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """The gain of the first `k`, each discounted by its place, as a share of the most there could be."""
    gain = math.fsum(grades.get(id, 0.0) / math.log2(place + 1) for place, id in enumerate(ranked[:k], start=1))
    best = sorted(grades.values(), reverse=True)[:k]
    return gain / math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(best, start=1))


def reciprocal_rank(ranked: Sequence[str], grades: Grades) -> float:
    """1 over the place of the first judged memory; 0 if there is none."""
    return next((1.0 / place for place, id in enumerate(ranked, start=1) if id in grades), 0.0)


def names(ks: Sequence[int]) -> list[str]:
    """What the measures are called, in the order in which they are shown."""
    return [*(f"{what}@{k}" for what in ("recall", "any", "ndcg") for k in ks), "mrr"]


def scores(ranked: Sequence[str], grades: Grades, ks: Sequence[int]) -> dict[str, float]:
    """Every measure of one ranking, by its name."""
    values = [*(measure(ranked, grades, k) for measure in (recall, any_found, ndcg) for k in ks)]
    return dict(zip(names(ks), [*values, reciprocal_rank(ranked, grades)], strict=True))


def quantile(values: Sequence[Number], share: float) -> Number:
    """The smallest of the values that at least this share of them does not exceed; it is one of them."""
    if not values:
        raise InvalidInput("there is no quantile of no values")
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]
