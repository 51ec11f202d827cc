"""Explanation: the score as the sum and product it is."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScorePart:
    """What one signal said, and what that was worth."""

    signal: str
    value: float
    weight: float
    assumed: bool = False
    """The signal had no evidence; the profile supplied the value."""
    note: str | None = None

    @property
    def points(self) -> float:
        return self.value * self.weight

    def __str__(self) -> str:
        return f"{self.signal} {self.value:.3f} × {self.weight:g}{_format_note(self)}"


@dataclass(frozen=True, slots=True)
class ScoreFactor:
    """What one factor said, and what it multiplied the sum by: floor + (1 - floor) × value."""

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
    """Parts that add up, and scales that multiply the sum. There is no other way to a score."""

    parts: tuple[ScorePart, ...]
    scales: tuple[ScoreFactor, ...] = ()

    @property
    def base(self) -> float:
        """The sum of the parts; at most 1, for weights may add up to a hair more."""
        return min(math.fsum(part.points for part in self.parts), 1.0)

    @property
    def score(self) -> float:
        return math.prod((scale.times for scale in self.scales), start=self.base)

    @property
    def opinions(self) -> tuple[float, ...]:
        """What every term and then every factor says, in the profile's order."""
        return (*(part.value for part in self.parts), *(scale.value for scale in self.scales))

    @property
    def shown(self) -> tuple[ScorePart, ...]:
        """The parts that say something, or count for something all the same."""
        return tuple(part for part in self.parts if part.points != 0.0 or not part.assumed)

    @property
    def silence(self) -> str | None:
        """The parts that neither say nor count for anything, in words; `None` if there are none."""
        silent = [part.signal for part in self.parts if part.points == 0.0 and part.assumed]
        return f"no evidence: {', '.join(silent)}" if silent else None

    def __str__(self) -> str:
        parts = [f"+ {part.points:.3f}  {part}" for part in self.shown]
        parts += [f"+ 0.000  {self.silence}"] if self.silence else []
        scales = [f"× {scale.times:.3f}  {scale}" for scale in self.scales]
        return "\n".join([f"{self.score:.3f}", *parts, *scales])

    def __repr__(self) -> str:
        return f"<Explanation {self}>"


def _format_note(heard: ScorePart | ScoreFactor) -> str:
    return (" (assumed)" if heard.assumed else "") + (f" ({heard.note})" if heard.note else "")
