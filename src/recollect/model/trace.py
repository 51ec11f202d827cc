"""Trace: what a context was made of, kept so that feedback and replay can refer to it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from recollect.model.memory import MemoryId
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True)
class Placed:
    """A memory that was handed over, and its score."""

    id: MemoryId
    score: float


@dataclass(frozen=True, slots=True)
class Passed:
    """A memory that was considered and left out: why, and what it would have cost."""

    id: MemoryId
    score: float
    reason: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a context was made of: the question, the clocks, the profile, and each memory's place.

    `formula` is the profile as it was, written out. `at` is the moment it was ranked for, `made_at` when that was done,
    `commit` the last that the store then knew of. `levels` are those that were asked for, if there were any yet.
    """

    id: str
    scope: Scope
    made_at: datetime
    at: datetime
    commit: int
    known_at: datetime | None
    question: tuple[str, ...]
    profile: str
    version: str
    formula: str
    tokens: int
    budget: int
    depth: int
    kinds: tuple[str, ...]
    marker: str
    packed: tuple[Placed, ...]
    omitted: tuple[Passed, ...]
    excluded: Mapping[str, int]
    past: bool = False
    levels: tuple[str, ...] = ()

    @property
    def moments(self) -> list[tuple[str, datetime]]:
        """Every moment that had come when the context was made, by the name of its field."""
        known = [] if self.known_at is None else [("known_at", self.known_at)]
        return [("made_at", self.made_at), ("at", self.at), *known]

    def without(self, gone: Collection[MemoryId]) -> "Trace":
        """The trace without any mention of these memories."""
        return replace(
            self,
            packed=tuple(one for one in self.packed if one.id not in gone),
            omitted=tuple(one for one in self.omitted if one.id not in gone),
        )
