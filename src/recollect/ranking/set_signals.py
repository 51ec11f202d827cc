"""The set signals and their registry: opinions that look at all candidates at once.

Here are their names and options; `gather` computes them, once per ranking, over the columns of all candidates
that passed the gates. The scorer takes the outcome as given, like any other evidence.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from recollect.errors import ProfileError
from recollect.ranking.quantities import AgeClock


@dataclass(frozen=True, slots=True)
class SetSignalValue:
    """What a set signal found for one candidate: a value within 0..1, or `None`, and the reason in words."""

    value: float | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """1 unless a newer memory says nearly the same, then 0; or with `same`, less the nearer it is, and 0 from there on.

    Only the `among` most relevant candidates are compared, by the cosine of their vectors; the others keep
    their 1. What one speaker says again in the same session is a correction from `above_inside` on. Without a vector or
    a date there is no telling.
    """

    name: ClassVar[str] = "newest"
    how_to_raise: ClassVar[str] = "if no newer memory said nearly the same"
    """What would have had to be so for a higher value, in words."""
    above: float = 0.88
    among: int = 30
    clock: AgeClock = AgeClock.CURRENT
    same: float | None = None
    above_inside: float | None = None

    def __post_init__(self) -> None:
        for option, cosine in (("above", self.above), ("above_inside", self.same_voice_threshold)):
            if not 0.0 < cosine <= 1.0:
                raise ProfileError(f"newest: {option} is {cosine!r}; give a cosine above 0 and at most 1")
        if self.same_voice_threshold > self.above:
            raise ProfileError(
                f"newest: above_inside is {self.same_voice_threshold!r}; give at most what `above` has, {self.above!r}"
            )
        if self.same is not None and not self.above < self.same <= 1.0:
            raise ProfileError(f"newest: same is {self.same!r}; give a cosine over {self.above!r} and at most 1")
        if self.among < 2:
            raise ProfileError(f"newest: among is {self.among!r}; twins are at least 2")

    @property
    def same_voice_threshold(self) -> float:
        """From which cosine on one speaker says the same again in one session."""
        return self.above if self.above_inside is None else self.above_inside

    @property
    def possible_values(self) -> tuple[float, ...] | None:
        """The values it can have, if they are few."""
        return (0.0, 1.0) if self.same is None else None


@dataclass(frozen=True, slots=True)
class Thread:
    """How far the memory belongs to what is relevant and going on: 1 for the most relevant session that is newest.

    A memory is as relevant here as the best of its session, measured by the best of all, in `RELEVANCE_STEPS` steps.
    That is halved for every `half` memories of other sessions that are newer and as relevant as the best, and for
    every `half_inside` of its own session; those that are less relevant count by the square of how much they are. So
    it fades not with days but with what has come since: an old thread that nothing followed is still the current one.
    """

    name: ClassVar[str] = "thread"
    how_to_raise: ClassVar[str] = "if its session were more relevant, or less that is relevant were newer"
    possible_values: ClassVar[None] = None
    half: float = 8.0
    half_inside: float = 3.0
    clock: AgeClock = AgeClock.CURRENT

    def __post_init__(self) -> None:
        for option, half in (("half", self.half), ("half_inside", self.half_inside)):
            if not 0.0 < half < math.inf:
                raise ProfileError(f"thread: {option} is {half!r}; give a finite number above 0")


RELEVANCE_STEPS = 16
"""How finely a thread tells relevance apart: so many steps need not be told apart to the last bit, but for a few."""

SetSignal: TypeAlias = Newest | Thread
"""Any set signal: a frozen dataclass whose fields are the options a profile may set."""

SET_SIGNALS: Mapping[str, type[SetSignal]] = {Newest.name: Newest, Thread.name: Thread}
"""Every set signal by its name in a profile."""
