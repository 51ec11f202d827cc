"""Intervals: how sure a mean over queries is, and whether two differ by more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLING_SEED = 20_260_101
"""What every resampling starts from, so that the same values give the same interval."""

RESAMPLES = 2_000
"""How often queries are drawn anew for an interval."""

SIGN_FLIPS = 10_000
"""How often signs are drawn anew for a test."""

CONFIDENCE_LEVEL = 0.95

DRAWS_PER_BATCH = 250
"""How many draws are held in memory together."""

TIE_TOLERANCE = 1e-12
"""How far below the observed difference a drawn one counts as equal: sums in another order differ by less."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the mean would lie in 95 of 100 draws of as many queries."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """What is gained on average by going over from one to the other, query by query.

    `p` is how often a difference as large would come about if the two were as good as each other; a win is a query
    for which the other one is better.
    """

    mean: float
    interval: Interval
    p: float
    wins: int
    losses: int
    ties: int


def bootstrap_intervals(rows: Sequence[Sequence[float]]) -> list[Interval]:
    """The interval of each column's mean, by drawing rows with repetition."""
    values = np.asarray(rows, dtype=np.float64)
    count = len(values)
    dice = np.random.default_rng(RESAMPLING_SEED)
    shares = np.full(count, 1.0 / count)
    means = [dice.multinomial(count, shares, size=size) @ values / count for size in _batch_sizes(RESAMPLES)]
    ends = 100.0 * np.array([(1.0 - CONFIDENCE_LEVEL) / 2, (1.0 + CONFIDENCE_LEVEL) / 2])
    low, high = np.percentile(np.concatenate(means), ends, axis=0)
    return [Interval(float(one), float(other)) for one, other in zip(low, high, strict=True)]


def compare_paired(one: Sequence[float], other: Sequence[float]) -> MeanDifference:
    """What `other` gains over `one`, the same queries in the same order, with a paired randomisation test."""
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
    """The share of draws of the signs that give a sum at least as large, the observed one counted among them."""
    dice = np.random.default_rng(RESAMPLING_SEED)
    observed = abs(float(gains.sum())) - TIE_TOLERANCE * len(gains)
    larger = 0
    for size in _batch_sizes(SIGN_FLIPS):
        signs = 2.0 * dice.integers(0, 2, size=(size, len(gains))) - 1.0
        larger += int(np.count_nonzero(np.abs(signs @ gains) >= observed))
    return (larger + 1) / (SIGN_FLIPS + 1)


def _batch_sizes(draws: int) -> list[int]:
    return [min(DRAWS_PER_BATCH, draws - begun) for begun in range(0, draws, DRAWS_PER_BATCH)]
