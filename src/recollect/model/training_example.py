"""Training examples: recorded contexts with the feedback given on them since."""

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
    """A memory that was served: its position in the text, from 1, and its candidate index.

    The position is `None` if other memories of the context have been erased since.
    """

    memory: MemoryId
    place: int | None
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingExample:
    """A context with its query, its candidates, the memories it showed, and their feedback.

    It was ranked by the profile that learns from it, before any learning. `signal_values` are the profile's signals for
    the candidates, by what was known when the context was made: one row for every term and then every factor, with the
    default where a signal is silent; one column, in the order of ids, for every candidate that passed the gates and
    could come first. A shown memory that did not pass these gates is not in `shown`.
    """

    context: str
    scope: Scope
    question: tuple[str, ...]
    made_at: datetime
    opinions: Floats = field(repr=False)
    shown: tuple[ShownMemory, ...]
    votes: tuple[Vote, ...]
    signs: tuple[Sign, ...]

    def __post_init__(self) -> None:
        if self.opinions.ndim != 2 or not np.all((self.opinions >= 0.0) & (self.opinions <= 1.0)):
            raise InvalidInput(f"the opinions on the candidates of {self.context!r} are not all numbers within 0..1")
        candidates = [one.candidate for one in self.shown]
        places = [one.place for one in self.shown if one.place is not None]
        if any(not 0 <= one < self.opinions.shape[1] for one in candidates) or any(place < 1 for place in places):
            raise InvalidInput(f"a memory that {self.context!r} shows is no candidate of it, or has no place")
        if len(set(candidates)) < len(candidates) or len(set(places)) < len(places):
            raise InvalidInput(f"two memories that {self.context!r} shows are one, or have one place")

    @property
    def sort_key(self) -> tuple[datetime, str]:
        """The sort key of examples; it is unique."""
        return self.made_at, self.context

    @property
    def has_all_places(self) -> bool:
        """Whether the position of every memory is known."""
        return all(one.place is not None for one in self.shown)


class SkipReason(StrEnum):
    """Why a context with feedback cannot train a profile."""

    OTHER_STORE = "elsewhere"
    """It was made in another store, and only that store knows what was known then."""

    ONLY_FOLLOWED = "followed"
    """Its only feedback is that success followed, which applies to all its memories alike."""

    HAS_QUESTION = "asked"
    """It had a query, and the profile takes none."""

    NO_QUESTION = "unasked"
    """It had no query, and the profile needs one."""

    OTHER_PROFILE = "otherwise"
    """Another profile ranked it, so learning would only copy what that profile shows."""

    UNRECORDED = "unrecorded"
    """A model's output for it was not recorded, or the model has been replaced."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingSet:
    """The training examples of some scopes, oldest first, and the number skipped by reason."""

    scopes: tuple[Scope, ...]
    told: tuple[TrainingExample, ...]
    left_out: Mapping[SkipReason, int] = field(default_factory=dict[SkipReason, int], hash=False)

    @classmethod
    def merge(cls, several: Sequence["TrainingSet"]) -> Self:
        """Merge training sets; their order makes no difference."""
        left_out = Counter[SkipReason]()
        for one in several:
            left_out.update(one.left_out)
        return cls(
            scopes=tuple(sorted({scope for one in several for scope in one.scopes}, key=str)),
            told=tuple(sorted((one for some in several for one in some.told), key=lambda one: one.sort_key)),
            left_out=left_out,
        )
