"""Curves: the arithmetic of a signal, a quantity → 0..1.

A curve is `exact` if sums, products and comparisons make it: every engine then gives the same bits.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from recollect.errors import ProfileError


@dataclass(frozen=True, slots=True)
class Clamp:
    """The number itself, held within 0..1."""

    exact: ClassVar[bool] = True

    def __call__(self, quantity: float) -> float:
        return min(max(quantity, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class HalfLife:
    """1 at zero, ½ after one half-life, ¼ after two."""

    exact: ClassVar[bool] = False

    half: float

    def __post_init__(self) -> None:
        _require_positive("half_life", self.half)

    def __call__(self, quantity: float) -> float:
        return math.exp2(-(quantity / self.half))


@dataclass(frozen=True, slots=True)
class ExponentialDecay:
    """exp(-rate × quantity): the literal λ of a source that names no half-life."""

    exact: ClassVar[bool] = False

    rate: float

    def __post_init__(self) -> None:
        _require_positive("rate_per_day", self.rate)

    def __call__(self, quantity: float) -> float:
        return math.exp(-(self.rate * quantity))


@dataclass(frozen=True, slots=True)
class LinearSaturation:
    """A straight line from 0 to 1 at the cap, and 1 from there on."""

    exact: ClassVar[bool] = True

    cap: float

    def __post_init__(self) -> None:
        _require_positive("cap", self.cap)

    def __call__(self, quantity: float) -> float:
        return min(quantity / self.cap, 1.0)


@dataclass(frozen=True, slots=True)
class HyperbolicDecay:
    """1 / (1 + rate × quantity): 1 at zero, falling ever more slowly."""

    exact: ClassVar[bool] = True

    rate: float

    def __post_init__(self) -> None:
        _require_positive("rate", self.rate)

    def __call__(self, quantity: float) -> float:
        return 1.0 / (1.0 + self.rate * quantity)


Curve = Clamp | HalfLife | ExponentialDecay | LinearSaturation | HyperbolicDecay


def _require_positive(option: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ProfileError(f"{option} is {value!r}; give a finite number above 0")
