"""The set signals and their registry: opinions that look at all candidates at once.

Here are their names and options; `gather` computes them, once per ranking, over the columns of all candidates
that passed the gates. The scorer takes the outcome as given, like any other evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from recollect.errors import ProfileError
from recollect.ranking.quantities import Clock


@dataclass(frozen=True, slots=True)
class Given:
    """What a set signal found for one candidate: a value within 0..1, or `None`, and the reason in words."""

    value: float | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """1 unless a newer memory says nearly the same, then 0.

    Only the `among` most relevant candidates are compared, by the cosine of their vectors; the others keep
    their 1. Without a vector or a date there is no telling.
    """

    name: ClassVar[str] = "newest"
    levels: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    """The values it can have."""
    to_rise: ClassVar[str] = "if no newer memory said nearly the same"
    """What would have had to be so for a higher value, in words."""
    above: float = 0.88
    among: int = 30
    clock: Clock = Clock.CURRENT

    def __post_init__(self) -> None:
        if not 0.0 < self.above <= 1.0:
            raise ProfileError(f"newest: above is {self.above!r}; give a cosine above 0 and at most 1")
        if self.among < 2:
            raise ProfileError(f"newest: among is {self.among!r}; twins are at least 2")


SetSignal: TypeAlias = Newest
"""Any set signal: a frozen dataclass whose fields are the options a profile may set."""

SET_SIGNALS: Mapping[str, type[SetSignal]] = {signal.name: signal for signal in (Newest,)}
"""Every set signal by its name in a profile."""
