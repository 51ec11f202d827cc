"""Retention: which episodes have had their day.

The plain value of an episode is never below 1 - max(target, 1 - target), which is 0.35 for a target of 0.65;
so a threshold of 0.18 cannot fire. The normalised value goes down to 0, and there the threshold bites: with
the same numbers, below an outcome of 0.65 - (1 - 0.18) × 0.65 ≈ 0.117.
"""

from recollect.model import limits

TARGET = 0.65
"""The outcome that teaches most: not too easy, not too hard (seed 004)."""

THRESHOLD = 0.18
"""The value from which on an episode is kept (seed 004)."""


def value(outcome: float, target: float = TARGET) -> float:
    """How much an episode teaches by its outcome: max(0, 1 - |outcome - target|), the form of the source.

    It is never below 0.35 for the default target, so the default threshold never lets such an episode go.
    """
    return max(0.0, 1.0 - _distance(outcome, target))


def normalised_value(outcome: float, target: float = TARGET) -> float:
    """The same on the whole of 0..1: 1 - |outcome - target| / max(target, 1 - target).

    For this form the default threshold bites, below an outcome of about 0.117.
    """
    return 1.0 - _distance(outcome, target) / max(target, 1.0 - target)


def retained(value: float, threshold: float = THRESHOLD) -> bool:
    """Whether an episode of that value is worth its place."""
    limits.a_share("value", value)
    limits.a_share("threshold", threshold)
    return value >= threshold


def _distance(outcome: float, target: float) -> float:
    limits.a_share("outcome", outcome)
    limits.a_share("target", target)
    return abs(outcome - target)
