"""Archive: what a store holds, as values that another store can take in.

Stats: how much a store, or a part of it, holds.

Report: what a check of a store or a backup found.

Moving: what became of a store that was moved to another place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model.context import ContextRecord, Use, Vote
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Kind, Status
from recollect.model.format import format_count
from recollect.model.memory import Memory, build_embedded_text, build_searched_text
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveInfo:
    """What is in an archive: whose memories, how many, and up to when the store had taken in what they say."""

    encoder: Encoder | None
    analyser: str
    scope: Scope | None
    memories: int
    contexts: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class ArchivedContent:
    """What a memory says or said, and the direction it has: 32-bit floats, little-endian."""

    title: str | None
    text: str
    vector: bytes | None

    @property
    def searched_text(self) -> str:
        """What of it a question is compared with, as `Memory.searched_text`."""
        return build_searched_text(self.title, self.text)


@dataclass(frozen=True, slots=True)
class ArchivedUse:
    """A use of a memory, and which commit took it in when."""

    use: Use
    at: datetime
    context: str | None
    commit: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class ArchivedVote:
    """A vote on a memory, and which commit took it in when."""

    vote: Vote
    commit: int
    recorded_at: datetime


PAST_DATE_FIELDS = ("created_at", "observed_at", "updated_at", "recorded_at")
"""The moments of a memory that it cannot have before they come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMemory:
    """One memory with all that a store knows of it: every version, the oldest first, each with its content's place."""

    contents: tuple[ArchivedContent, ...]
    versions: tuple[tuple[Memory, int], ...]
    uses: tuple[ArchivedUse, ...] = ()
    votes: tuple[ArchivedVote, ...] = ()
    keys: tuple[IdempotencyRecord, ...] = ()

    @property
    def embedded_texts(self) -> list[str]:
        """What of each content gets a direction: it is said by who says it in its first version."""
        speakers = {place: memory.speaker for memory, place in reversed(self.versions)}
        return [
            build_embedded_text(one.title, one.text, speakers.get(place)) for place, one in enumerate(self.contents)
        ]

    @property
    def places_without_vector(self) -> list[int]:
        """The places of the contents that lack a vector, and had not to let go of it to leave an index."""
        gone = {place for memory, place in self.versions if Index.VECTOR in memory.left}
        present, place = self.versions[-1]
        gone -= set() if Index.VECTOR in present.left else {place}
        return [place for place, one in enumerate(self.contents) if one.vector is None and place not in gone]

    @property
    def current(self) -> Memory:
        """The memory as it stands."""
        return self.versions[-1][0]

    @property
    def commit_times(self) -> list[tuple[int, datetime]]:
        """Every commit that took in something of it, and when."""
        found = [(one.commit, one.recorded_at) for one, _ in self.versions]
        known = [(commit, at) for commit, at in found if commit is not None and at is not None]
        known += [(use.commit, use.recorded_at) for use in self.uses]
        return known + [(vote.commit, vote.recorded_at) for vote in self.votes]

    @property
    def moments(self) -> list[tuple[str, datetime]]:
        """Every moment that had come when it was told, by the name of its field."""
        found = [(name, getattr(one, name)) for one, _ in self.versions for name in PAST_DATE_FIELDS]
        known = [(name, moment) for name, moment in found if moment is not None]
        logged = [*(one.at for one in self.uses), *(one.vote.at for one in self.votes), *(one.at for one in self.keys)]
        known += [("at", moment) for moment in logged]
        return known + [("recorded_at", recorded_at) for _, recorded_at in self.commit_times]


ArchiveItem = ArchivedMemory | ContextRecord
"""What an archive is made of: memories, then contexts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What came of an archive: how many memories and contexts are new, and how many were there already.

    `re_embedded` is the model whose vectors were dropped, since the store's are of another, and made anew.
    """

    memories: int
    contexts: int
    skipped: int
    re_embedded: Encoder | None = None


def strip_store_fields(versions: "tuple[Memory, ...] | list[Memory]") -> list[Memory]:
    """The versions without what only a store says of them: equal for two stores that know the same."""
    return [one.changed(recorded_at=None, commit=None) for one in versions]


MAX_NAMED_SCOPES = 10
"""How many of the largest scopes are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What there is: memories by status, by kind and by scope, and what happened to them.

    `scopes` is how many scopes have memories, and `largest` names those with most. `versions` counts every memory as
    often as it was written, `unembedded` the active ones that no question can be near to, since they have no vector.
    `bytes` is the size of all files of the store, whichever part was asked about; 0 if it has none.
    """

    memories: int
    statuses: Mapping[Status, int] = field(hash=False)
    kinds: Mapping[Kind, int] = field(hash=False)
    scopes: int
    largest: tuple[tuple[Scope, int], ...]
    versions: int
    contexts: int
    uses: Mapping[Use, int] = field(hash=False)
    unembedded: int
    encoder: Encoder | None
    analyser: str
    schema: int
    bytes: int

    def __repr__(self) -> str:
        memories = f"{format_count(self.memories, 'memory', 'memories')} of {format_count(self.scopes, 'scope')}"
        versions, contexts = format_count(self.versions, "version"), format_count(self.contexts, "context")
        return f"<Stats: {memories}, {versions}, {contexts}, {format_count(self.bytes, 'byte')}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What is in a file, and everything that is wrong with it, in words.

    `sealed` says that the file carries the sum of all its bytes, and that it is right: a backup does, a store in use
    cannot. `recalled` says that a recall from the restored copy found what it had to find.
    """

    path: str
    bytes: int
    sealed: bool
    schema: int = 0
    encoder: Encoder | None = None
    memories: int = 0
    versions: int = 0
    contexts: int = 0
    recalled: bool = False
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """How much was moved, how much of it an earlier run had moved, and the sum that both stores have in common."""

    memories: int
    contexts: int
    resumed: int
    checksum: str
