"""Ranking measures (recall, nDCG, MRR), bootstrap intervals and a paired significance test.

A ranking has one id at each place. If several ids of the folder are duplicates, one stored memory represents them, and
all of them are found at its place: recall counts each, and the place gains the highest of their grades once. The ideal
order has one place for them too, so the score of a perfect ranking is exactly 1.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput

Number = TypeVar("Number", int, float)

Grades = Mapping[str, float]
"""The relevant memories of one query with their grades of 1 or more; never empty."""

Twins = Mapping[str, str]
"""Maps judged ids to the id of the duplicate that represents them in a ranking."""

NO_TWINS: Twins = MappingProxyType({})


def recall(ranked: Sequence[str], grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """Return the share of the judged memories among the first `k`, counting every duplicate."""
    first = set(ranked[:k])
    return sum(twins.get(id, id) in first for id in grades) / len(grades)


def any_recall(ranked: Sequence[str], grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """Return 1 if any judged memory is among the first `k`, else 0."""
    return float(not gain_by_id(grades, twins).keys().isdisjoint(ranked[:k]))


def ndcg(ranked: Sequence[str], grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """Return nDCG: the discounted gain of the first `k`, as a share of the ideal gain."""
    gains = gain_by_id(grades, twins)
    return _discounted_gain([gains.get(id, 0.0) for id in ranked[:k]]) / ideal_gain(grades, k, twins)


def reciprocal_rank(ranked: Sequence[str], grades: Grades, twins: Twins = NO_TWINS) -> float:
    """Return 1 over the place of the first judged memory; 0 if none was found."""
    judged = gain_by_id(grades, twins)
    return next((1.0 / place for place, id in enumerate(ranked, start=1) if id in judged), 0.0)


def gain_by_id(grades: Grades, twins: Twins = NO_TWINS) -> dict[str, float]:
    """Return the gain of each id that can be ranked: the highest grade among its duplicates."""
    gains: dict[str, float] = {}
    for id, grade in grades.items():
        ranked_id = twins.get(id, id)
        gains[ranked_id] = max(grade, gains.get(ranked_id, 0.0))
    return gains


def ideal_gain(grades: Grades, k: int, twins: Twins = NO_TWINS) -> float:
    """Return the discounted gain of the ideal order, cut to `k` places."""
    return _discounted_gain(sorted(gain_by_id(grades, twins).values(), reverse=True)[:k])


def _discounted_gain(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def measure_names(ks: Sequence[int]) -> list[str]:
    """Return the names of the measures, in display order."""
    return [*(f"{what}@{k}" for what in ("recall", "any", "ndcg") for k in ks), "mrr"]


def measure_ranking(
    ranked: Sequence[str], grades: Grades, ks: Sequence[int], twins: Twins = NO_TWINS
) -> dict[str, float]:
    """Return every measure of one ranking, by name."""
    values = [*(measure(ranked, grades, k, twins) for measure in (recall, any_recall, ndcg) for k in ks)]
    return dict(zip(measure_names(ks), [*values, reciprocal_rank(ranked, grades, twins)], strict=True))


def quantile(values: Sequence[Number], share: float) -> Number:
    """Return the smallest value that at least this share of the values does not exceed."""
    if not values:
        raise InvalidInput("cannot compute a quantile of an empty list")
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


RESAMPLING_SEED = 20_260_101
"""Seed of every resampling, so that the same values give the same interval."""

RESAMPLES = 2_000
"""Number of bootstrap samples for an interval."""

SIGN_FLIPS = 10_000
"""Number of random sign flips for a test."""

CONFIDENCE_LEVEL = 0.95

DRAWS_PER_BATCH = 250
"""Number of samples held in memory at once."""

TIE_TOLERANCE = 1e-12
"""Differences up to this much count as equal: the order of a sum changes it by less."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % bootstrap confidence interval of a mean over queries."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """The mean gain of one ranking over another, query by query.

    `p` is the probability of a difference at least this large if both were equally good. A win is a query for which the
    second one is better.
    """

    mean: float
    interval: Interval
    p: float
    wins: int
    losses: int
    ties: int


def bootstrap_intervals(rows: Sequence[Sequence[float]]) -> list[Interval]:
    """Return the bootstrap interval of each column's mean, by resampling rows."""
    values = np.asarray(rows, dtype=np.float64)
    count = len(values)
    rng = np.random.default_rng(RESAMPLING_SEED)
    shares = np.full(count, 1.0 / count)
    means = [rng.multinomial(count, shares, size=size) @ values / count for size in _batch_sizes(RESAMPLES)]
    ends = 100.0 * np.array([(1.0 - CONFIDENCE_LEVEL) / 2, (1.0 + CONFIDENCE_LEVEL) / 2])
    low, high = np.percentile(np.concatenate(means), ends, axis=0)
    return [Interval(float(one), float(other)) for one, other in zip(low, high, strict=True)]


def compare_paired(one: Sequence[float], other: Sequence[float]) -> MeanDifference:
    """Return the gain of `other` over `one`, with a paired randomization test.

    Both must have the same queries in the same order.
    """
    gains = np.asarray(other, dtype=np.float64) - np.asarray(one, dtype=np.float64)
    (interval,) = bootstrap_intervals(gains[:, None].tolist())
    return MeanDifference(
        mean=float(gains.mean()),
        interval=interval,
        p=_permutation_p_value(gains),
        wins=int(np.count_nonzero(gains > TIE_TOLERANCE)),
        losses=int(np.count_nonzero(gains < -TIE_TOLERANCE)),
        ties=int(np.count_nonzero(np.abs(gains) <= TIE_TOLERANCE)),
    )


def _permutation_p_value(gains: NDArray[np.float64]) -> float:
    """Return the share of sign flips with a sum at least as large, counting the observed one."""
    rng = np.random.default_rng(RESAMPLING_SEED)
    observed = abs(float(gains.sum())) - TIE_TOLERANCE * len(gains)
    larger = 0
    for size in _batch_sizes(SIGN_FLIPS):
        signs = 2.0 * rng.integers(0, 2, size=(size, len(gains))) - 1.0
        larger += int(np.count_nonzero(np.abs(signs @ gains) >= observed))
    return (larger + 1) / (SIGN_FLIPS + 1)


def _batch_sizes(draws: int) -> list[int]:
    return [min(DRAWS_PER_BATCH, draws - start) for start in range(0, draws, DRAWS_PER_BATCH)]
