"""The explanation of a score: the sum and product that it is computed from."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScorePart:
    """The value of one signal and the points it adds."""

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
    """The value of one factor; it multiplies the sum by floor + (1 - floor) × value."""

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
    """Parts that add up, and factors that multiply the sum; every score is computed from these."""

    parts: tuple[ScorePart, ...]
    scales: tuple[ScoreFactor, ...] = ()

    @property
    def base(self) -> float:
        """The sum of the parts; at most 1, because weights may add up to slightly more."""
        return min(math.fsum(part.points for part in self.parts), 1.0)

    @property
    def score(self) -> float:
        return math.prod((scale.times for scale in self.scales), start=self.base)

    @property
    def opinions(self) -> tuple[float, ...]:
        """The value of every term and then every factor, in the profile's order."""
        return (*(part.value for part in self.parts), *(scale.value for scale in self.scales))

    @property
    def shown(self) -> tuple[ScorePart, ...]:
        """The parts that have evidence, or count although they have none."""
        return tuple(part for part in self.parts if part.points != 0.0 or not part.assumed)

    @property
    def silence(self) -> str | None:
        """A note on the parts without evidence that count 0; `None` if there are none."""
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
