"""The signals and their registries.

A pointwise signal rates one candidate at one moment. A set signal compares all candidates that passed the gates; at
the end of this module are the names and options of the set signals, and `set_signals` computes them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Protocol, TypeAlias

from recollect.errors import ProfileError
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.ranking.curves import (
    Blend,
    Clamp,
    Curve,
    ExponentialDecay,
    Fusion,
    HalfLife,
    HyperbolicDecay,
    LinearSaturation,
    NoisyOr,
)
from recollect.ranking.quantities import DAY, Age, AgeClock, FieldValue, FusedRelevance, KindWorth, Quantity


class Signal(Protocol):
    """A rating of one candidate: a quantity read from it, and a curve that maps it to 0..1.

    A signal is a frozen dataclass; its fields are the options a profile may set. Because it is data and not code,
    `columns` can compile it.
    """

    name: ClassVar[str]

    @property
    def quantity(self) -> Quantity: ...

    @property
    def curve(self) -> Curve: ...


def signal_value(signal: Signal, candidate: Candidate, at: datetime) -> float | None:
    """Return the signal's value: 0 worst, 1 best, `None` without evidence."""
    quantity = signal.quantity(candidate, at)
    return None if quantity is None else signal.curve(quantity)


@dataclass(frozen=True, slots=True)
class Relevance:
    """How well the memory matches the query, by all evidence together."""

    name: ClassVar[str] = "relevance"
    lexical_strength: int = 3
    lexical_share: float | None = None
    overlap: float = 0.0

    def __post_init__(self) -> None:
        if self.lexical_share is None and self.overlap != 0.0:
            raise ProfileError(f"overlap is {self.overlap!r}, but lexical_share is not set; set both")
        _ = self.rule

    @property
    def rule(self) -> Fusion:
        """The rule that combines the evidence: a blend if `lexical_share` is set, otherwise noisy-or."""
        if self.lexical_share is not None:
            return Blend(self.lexical_share, self.overlap)
        return NoisyOr(self.lexical_strength)

    @property
    def quantity(self) -> Quantity:
        return FusedRelevance(self.rule)

    @property
    def curve(self) -> Curve:
        return Clamp()


class _CandidateField:
    """A signal that reads the candidate's field of the same name."""

    __slots__ = ()
    name: ClassVar[str]

    @property
    def quantity(self) -> Quantity:
        return FieldValue(self.name)

    @property
    def curve(self) -> Curve:
        return Clamp()


@dataclass(frozen=True, slots=True)
class Similarity(_CandidateField):
    """The cosine of the memory's vector and the query's, at least 0."""

    name: ClassVar[str] = "similarity"


@dataclass(frozen=True, slots=True)
class Lexical(_CandidateField):
    """How much of the query's terms the memory has, as a share of the best BM25 score."""

    name: ClassVar[str] = "lexical"


@dataclass(frozen=True, slots=True)
class Importance(_CandidateField):
    """How important the memory is, as rated."""

    name: ClassVar[str] = "importance"


@dataclass(frozen=True, slots=True)
class Usefulness(_CandidateField):
    """The share of feedback that says the memory helped."""

    name: ClassVar[str] = "usefulness"


@dataclass(frozen=True, slots=True)
class Confidence(_CandidateField):
    """How sure the writer was that the memory is true."""

    name: ClassVar[str] = "confidence"


@dataclass(frozen=True, slots=True)
class Salience(_CandidateField):
    """How much the memory stood out from the others when it was written."""

    name: ClassVar[str] = "salience"


@dataclass(frozen=True, slots=True)
class Recency:
    """How fresh the memory is by one of its dates, by a half-life or by a decay rate."""

    name: ClassVar[str] = "recency"
    clock: AgeClock = AgeClock.CREATED
    half_life: timedelta | None = None
    rate_per_day: float | None = None

    def __post_init__(self) -> None:
        if (self.half_life is None) == (self.rate_per_day is None):
            raise ProfileError("recency needs half_life or rate_per_day; give exactly one of them")
        _ = self.curve

    @property
    def quantity(self) -> Quantity:
        return Age(self.clock)

    @property
    def curve(self) -> Curve:
        if self.half_life is not None:
            return HalfLife(self.half_life / DAY)
        return ExponentialDecay(self.rate_per_day or 0.0)


@dataclass(frozen=True, slots=True)
class Addressed(_CandidateField):
    """1 if the query names the memory's speaker, 0 if it names others."""

    name: ClassVar[str] = "addressed"


@dataclass(frozen=True, slots=True)
class Setting(_CandidateField):
    """How much of the query's terms the memory's session has, taken as one text."""

    name: ClassVar[str] = "setting"


@dataclass(frozen=True, slots=True)
class Linked(_CandidateField):
    """How strongly names link the memory to the query; 1 for a name that only this memory mentions."""

    name: ClassVar[str] = "linked"


@dataclass(frozen=True, slots=True)
class Dated:
    """How near the memory is to a day that the query names; a day before it counts as twice as far."""

    name: ClassVar[str] = "dated"
    half_life: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        _ = self.curve

    @property
    def quantity(self) -> Quantity:
        return FieldValue("days_off")

    @property
    def curve(self) -> Curve:
        return HalfLife(self.half_life / DAY)


class _CandidateCount(Protocol):
    """A signal that reads a count of the candidate and checks its curve when created."""

    count_field: ClassVar[str]

    def __post_init__(self) -> None:
        _ = self.curve

    @property
    def quantity(self) -> Quantity:
        return FieldValue(self.count_field)

    @property
    def curve(self) -> Curve: ...


@dataclass(frozen=True, slots=True)
class Frequency(_CandidateCount):
    """How often the memory was served, as a sign of its value; 1 from the cap on."""

    name: ClassVar[str] = "frequency"
    count_field: ClassVar[str] = "served"
    cap: float = 50.0

    @property
    def curve(self) -> Curve:
        return LinearSaturation(self.cap)


@dataclass(frozen=True, slots=True)
class Rarity(_CandidateCount):
    """How rarely the memory was served, which gives the others a chance; 1 if never."""

    name: ClassVar[str] = "rarity"
    count_field: ClassVar[str] = "served"
    rate: float = 0.15

    @property
    def curve(self) -> Curve:
        return HyperbolicDecay(self.rate)


@dataclass(frozen=True, slots=True)
class Revisions(_CandidateCount):
    """How often the memory was restated; 1 from the cap on."""

    name: ClassVar[str] = "revisions"
    count_field: ClassVar[str] = "revisions"
    cap: float = 10.0

    @property
    def curve(self) -> Curve:
        return LinearSaturation(self.cap)


@dataclass(frozen=True, slots=True)
class Substance(_CandidateCount):
    """How many searchable words the memory has, 0 if it is a question; 1 from the cap on."""

    name: ClassVar[str] = "substance"
    count_field: ClassVar[str] = "words"
    cap: float = 20.0

    @property
    def curve(self) -> Curve:
        return LinearSaturation(self.cap)


KIND_PRIORITIES: Mapping[Kind, float] = {
    Kind.PROFILE: 1.0,
    Kind.PREFERENCE: 0.9,
    Kind.DECISION: 0.7,
    Kind.PATTERN: 0.6,
    Kind.DISCOVERY: 0.5,
    Kind.SUMMARY: 0.3,
}
"""How useful each kind is at the start of a session (seed 003)."""


@dataclass(frozen=True, slots=True)
class KindPriority:
    """The value of the memory's kind, from a table."""

    name: ClassVar[str] = "kind"
    priorities: Mapping[Kind, float] = field(default_factory=lambda: KIND_PRIORITIES)
    otherwise: float = 0.5

    def __post_init__(self) -> None:
        for priority in (*self.priorities.values(), self.otherwise):
            if not 0.0 <= priority <= 1.0:
                raise ProfileError(f"priority {priority!r} is not within 0..1")

    @property
    def quantity(self) -> Quantity:
        return KindWorth(self.priorities, self.otherwise)

    @property
    def curve(self) -> Curve:
        return Clamp()


QUESTION_SIGNALS = frozenset(
    {Relevance.name, Similarity.name, Lexical.name, Addressed.name, Dated.name, Setting.name, Linked.name}
)
"""The signals that need a query."""

_SIGNAL_CLASSES: tuple[type[Signal], ...] = (
    Addressed,
    Confidence,
    Dated,
    Frequency,
    Importance,
    KindPriority,
    Lexical,
    Linked,
    Rarity,
    Recency,
    Relevance,
    Revisions,
    Salience,
    Setting,
    Similarity,
    Substance,
    Usefulness,
)

SIGNALS: Mapping[str, type[Signal]] = {signal.name: signal for signal in _SIGNAL_CLASSES}
"""Every pointwise signal by its name in a profile."""


@dataclass(frozen=True, slots=True)
class SetSignalValue:
    """The value of a set signal for one candidate: within 0..1 or `None`, and a note."""

    value: float | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Newest:
    """1 unless a newer memory says nearly the same, then 0.

    Two memories say nearly the same if the cosine of their vectors is above `above`. With `same`, the value falls as
    the cosine rises and is 0 from the cosine `same` on. Only the `among` most relevant candidates are compared; the
    others keep 1. For one speaker in one session, the threshold is `above_inside`, since a repeated statement there is
    a correction. A candidate without a vector or a date has no value.
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
                f"newest: above_inside is {self.same_voice_threshold!r}; give at most {self.above!r}, as above has"
            )
        if self.same is not None and not self.above < self.same <= 1.0:
            raise ProfileError(f"newest: same is {self.same!r}; give a cosine above {self.above!r} and at most 1")
        if self.among < 2:
            raise ProfileError(f"newest: among is {self.among!r}; give at least 2")

    @property
    def same_voice_threshold(self) -> float:
        """The cosine above which two statements of one speaker in one session count as the same."""
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
    `half_inside` of its own session. A less relevant memory counts by the square of its relevance. The value therefore
    falls with the number of newer memories, not with days: an old thread without a successor is still current.
    """

    name: ClassVar[str] = "thread"
    how_to_raise: ClassVar[str] = "if its session were more relevant, or fewer relevant memories were newer"
    possible_values: ClassVar[None] = None
    half: float = 8.0
    half_inside: float = 3.0
    clock: AgeClock = AgeClock.CURRENT

    def __post_init__(self) -> None:
        for option, half in (("half", self.half), ("half_inside", self.half_inside)):
            if not 0.0 < half < math.inf:
                raise ProfileError(f"thread: {option} is {half!r}; give a finite number above 0")


RELEVANCE_STEPS = 16
"""How many steps of relevance a thread has; only values near a step must be computed exactly."""

SetSignal: TypeAlias = Newest | Thread
"""A set signal: a frozen dataclass whose fields are the options a profile may set."""

SET_SIGNALS: Mapping[str, type[SetSignal]] = {Newest.name: Newest, Thread.name: Thread}
"""Every set signal by its name in a profile."""
