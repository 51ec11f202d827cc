"""Trace: what a context was made of, kept so that feedback and replay can refer to it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from recollect.model.encoder import Encoder
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True)
class PackedEntry:
    """A memory that was handed over, and its score."""

    id: MemoryId
    score: float


@dataclass(frozen=True, slots=True)
class OmittedEntry:
    """A memory that was considered and left out: why, and what it would have cost."""

    id: MemoryId
    score: float
    reason: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecipe:
    """With what a context was made, as far as the question does not say it, so that it can be made again.

    `present` says that it was for the present; of the budget there is what the trace has not. If there was a question,
    `encoder` is the model that was asked, `directions` what it gave, 32-bit floats in base64, and `directed` how many
    memories had a direction to be near to. `packed` and `omitted` are how many there were, also when some of them have
    been erased since. `text` is the sum (SHA-256) of the rendered text, as long as nothing of it has been erased.
    """

    present: bool
    reserves: Mapping[str, int]
    items: int | None
    pinned_share: float
    counter: str
    analyser: str
    naming: str
    encoder: Encoder | None
    directions: str | None
    directed: int
    packed: int
    omitted: int
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecord:
    """What a context was made of: the question, the clocks, the profile, and each memory's place.

    `formula` is the profile as it was, written out. `at` is the moment it was ranked for, `made_at` when that was done,
    `commit` the last that the store then knew of. `levels` are those that were asked for, if there were any yet, and
    `making` is there if it was noted yet. `elsewhere` says that the commit is one of another store, whose context came
    here when there were other commits already.
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
    packed: tuple[PackedEntry, ...]
    omitted: tuple[OmittedEntry, ...]
    excluded: Mapping[str, int]
    past: bool = False
    levels: tuple[str, ...] = ()
    making: ContextRecipe | None = None
    elsewhere: bool = False

    @property
    def moments(self) -> list[tuple[str, datetime]]:
        """Every moment that had come when the context was made, by the name of its field."""
        known = [] if self.known_at is None else [("known_at", self.known_at)]
        return [("made_at", self.made_at), ("at", self.at), *known]

    def with_commit_of(self, other: "ContextRecord") -> "ContextRecord":
        """The trace with the commit of another one, which each store counts by itself."""
        return replace(self, commit=other.commit, elsewhere=other.elsewhere)

    def without_memories(self, gone: Collection[MemoryId]) -> "ContextRecord":
        """The trace without any mention of these memories, and without the sum of a text that they were in."""
        packed = tuple(one for one in self.packed if one.id not in gone)
        making = self.making
        if making is not None and len(packed) < len(self.packed):
            making = replace(making, text=None)
        omitted = tuple(one for one in self.omitted if one.id not in gone)
        return replace(self, packed=packed, omitted=omitted, making=making)
