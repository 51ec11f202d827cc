"""Experience: a context that was recorded, with what was said of it since, as one can learn from it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

import numpy as np

from recollect.errors import InvalidInput
from recollect.model.context import Sign, Vote
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.table import Floats


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory that was handed over: its place in the text, from 1, and which of the candidates it is.

    Where others of its context have been erased since, nobody knows the place.
    """

    memory: MemoryId
    place: int | None
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingExample:
    """A context: what was asked, who was a candidate, who was shown at which place, and what was said of them.

    It was ranked by the profile that learns from it, before anything was learned. `signal_values` is what a profile's
    signals say of the candidates, by what was known when the context was made: a row for every term and then for
    every factor, with what silence is worth; a column for every candidate that passed the gates and could come first,
    in the order of ids. Who was shown and did not pass these gates is not in `shown`.
    """

    context: str
    scope: Scope
    question: tuple[str, ...]
    made_at: datetime
    signal_values: Floats = field(repr=False)
    shown: tuple[ShownMemory, ...]
    votes: tuple[Vote, ...]
    signs: tuple[Sign, ...]

    def __post_init__(self) -> None:
        if self.signal_values.ndim != 2 or not np.all((self.signal_values >= 0.0) & (self.signal_values <= 1.0)):
            raise InvalidInput(f"the opinions on the candidates of {self.context!r} are not all numbers within 0..1")
        candidates = [one.candidate for one in self.shown]
        places = [one.place for one in self.shown if one.place is not None]
        if any(not 0 <= one < self.signal_values.shape[1] for one in candidates) or any(place < 1 for place in places):
            raise InvalidInput(f"a memory that {self.context!r} shows is no candidate of it, or has no place")
        if len(set(candidates)) < len(candidates) or len(set(places)) < len(places):
            raise InvalidInput(f"two memories that {self.context!r} shows are one, or have one place")

    @property
    def sort_key(self) -> tuple[datetime, str]:
        """By what contexts are in order: no two have the same."""
        return self.made_at, self.context

    @property
    def has_all_places(self) -> bool:
        """Whether it is known at which place each memory stood."""
        return all(one.place is not None for one in self.shown)


class SkipReason(StrEnum):
    """Why nothing can be learned for a profile from a context that something was said of."""

    OTHER_STORE = "elsewhere"
    """It was made in another store, which knows what was known then."""

    ONLY_FOLLOWED = "followed"
    """Only success followed, which is said of all that it shows alike."""

    HAS_QUESTION = "asked"
    """It was asked something, and the profile takes no question."""

    NO_QUESTION = "unasked"
    """It was asked nothing, and the profile needs a question."""

    OTHER_PROFILE = "otherwise"
    """Another profile ranked it, and what would be learned is who was shown by that one."""

    UNRECORDED = "unrecorded"
    """A model would have to be asked again, since what it said then was not kept, or another one is there now."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingSet:
    """What can be learned from the contexts of some scopes, the oldest first; and how many were left out, by reason."""

    scopes: tuple[Scope, ...]
    examples: tuple[TrainingExample, ...]
    skipped: Mapping[SkipReason, int] = field(default_factory=dict[SkipReason, int], hash=False)

    @classmethod
    def merge(cls, several: Sequence["TrainingSet"]) -> Self:
        """All of them as one; their order makes no difference."""
        left_out = Counter[SkipReason]()
        for one in several:
            left_out.update(one.skipped)
        return cls(
            scopes=tuple(sorted({scope for one in several for scope in one.scopes}, key=str)),
            examples=tuple(sorted((one for some in several for one in some.examples), key=lambda one: one.sort_key)),
            skipped=left_out,
        )
