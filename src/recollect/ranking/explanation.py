"""The explanation of a score: the sum and the product that the score is computed from.

score = min(sum of the parts, 1) × product of the factors
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScorePart:
    """The value of one signal and the points that it adds to the score."""

    signal: str
    value: float
    weight: float
    assumed: bool = False
    """Whether the signal had no evidence, so that the profile supplied the value."""
    note: str | None = None

    @property
    def points(self) -> float:
        return self.value * self.weight

    def __str__(self) -> str:
        return f"{self.signal} {self.value:.3f} × {self.weight:g}{_format_note(self)}"


@dataclass(frozen=True, slots=True)
class ScoreFactor:
    """The value of one factor, which multiplies the sum by floor + (1 - floor) × value."""

    factor: str
    value: float
    floor: float
    assumed: bool = False
    note: str | None = None

    @property
    def times(self) -> float:
        return self.floor + (1.0 - self.floor) * self.value

    def __str__(self) -> str:
        return f"{self.factor} {self.value:.3f}{_format_note(self)}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts that add up and the factors that multiply the sum; no score is computed in another way."""

    parts: tuple[ScorePart, ...]
    scales: tuple[ScoreFactor, ...] = ()

    @property
    def base(self) -> float:
        """The sum of the parts, limited to 1 because rounded weights may add up to slightly more."""
        return min(math.fsum(part.points for part in self.parts), 1.0)

    @property
    def score(self) -> float:
        """The sum of the parts times every factor, within 0..1."""
        return math.prod((scale.times for scale in self.scales), start=self.base)

    @property
    def opinions(self) -> tuple[float, ...]:
        """The signal values of the parts and then of the factors, in the profile's order."""
        return (*(part.value for part in self.parts), *(scale.value for scale in self.scales))

    @property
    def shown(self) -> tuple[ScorePart, ...]:
        """The parts to list: those with evidence, and those whose assumed value adds points."""
        return tuple(part for part in self.parts if part.points != 0.0 or not part.assumed)

    @property
    def silence(self) -> str | None:
        """A note that names the parts that are not listed; `None` if there are none."""
        names = [part.signal for part in self.parts if part.points == 0.0 and part.assumed]
        return f"no evidence: {', '.join(names)}" if names else None

    def __str__(self) -> str:
        parts = [f"+ {part.points:.3f}  {part}" for part in self.shown]
        parts += [f"+ 0.000  {self.silence}"] if self.silence else []
        scales = [f"× {scale.times:.3f}  {scale}" for scale in self.scales]
        return "\n".join([f"{self.score:.3f}", *parts, *scales])

    def __repr__(self) -> str:
        return f"<Explanation {self}>"


def _format_note(entry: ScorePart | ScoreFactor) -> str:
    return (" (assumed)" if entry.assumed else "") + (f" ({entry.note})" if entry.note else "")
