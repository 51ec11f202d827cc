"""The set signals and their registry: signals that compare all candidates.

This module has their names and options. `set_signal_columns` computes them, once per ranking, over the columns of all
candidates that passed the gates. The scorer takes the result as given, like any other evidence.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from recollect.errors import ProfileError
from recollect.ranking.quantities import AgeClock


@dataclass(frozen=True, slots=True)
class SetSignalValue:
    """The value of a set signal for one candidate: within 0..1 or `None`, and a note."""

    value: float | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """1 unless a newer memory says nearly the same, then 0.

    With `same`, the value falls with the cosine and is 0 from the cosine `same` on. Only the `among` most relevant
    candidates are compared, by the cosine of their vectors; the others keep 1. For one speaker in one session, the
    threshold is `above_inside`, since a repeated statement there is a correction. Without a vector or a date there is
    no value.
    """

    name: ClassVar[str] = "newest"
    how_to_raise: ClassVar[str] = "if no newer memory said nearly the same"
    """What would give a higher value, in words."""
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
        """The cosine from which one speaker in one session says the same again."""
        return self.above if self.above_inside is None else self.above_inside

    @property
    def possible_values(self) -> tuple[float, ...] | None:
        """The values the signal can have, if they are few."""
        return (0.0, 1.0) if self.same is None else None


@dataclass(frozen=True, slots=True)
class Thread:
    """How much the memory belongs to the current topic: 1 for the newest, most relevant session.

    A memory is as relevant here as the best of its session, relative to the best of all, in `RELEVANCE_STEPS` steps.
    That is halved for every `half` newer memories of other sessions that are as relevant as the best, and for every
    `half_inside` of its own session; less relevant ones count by the square of their relevance. The value therefore
    fades with newer memories, not with days: an old thread without a successor is still current.
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
"""The steps of relevance in a thread; only values near a step must be computed exactly."""

SetSignal: TypeAlias = Newest | Thread
"""A set signal: a frozen dataclass whose fields are the options a profile may set."""

SET_SIGNALS: Mapping[str, type[SetSignal]] = {Newest.name: Newest, Thread.name: Thread}
"""Every set signal by its name in a profile."""
