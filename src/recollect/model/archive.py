"""Archives, store statistics, and reports of what was moved, erased or verified.

An archive is the content of a store as values that another store can import. The end of this module has the receipts
for erased memories and the results of the search for leftover bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model.context import ContextRecord, Use, Vote
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Kind, Status
from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory, MemoryId, build_embedded_text, build_searched_text
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveInfo:
    """What an archive holds: the scope, the counts, and the latest commit time of the store."""

    encoder: Encoder | None
    analyser: str
    scope: Scope | None
    memories: int
    contexts: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class ArchivedContent:
    """A title, text and vector that a memory has or had.

    The vector is 32-bit floats, little-endian.
    """

    title: str | None
    text: str
    vector: bytes | None

    @property
    def searched_text(self) -> str:
        """The text that queries are matched against, as `Memory.searched_text`."""
        return build_searched_text(self.title, self.text)


@dataclass(frozen=True, slots=True)
class ArchivedUse:
    """A use of a memory, with the commit that recorded it and its time."""

    use: Use
    at: datetime
    context: str | None
    commit: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class ArchivedVote:
    """A vote on a memory, with the commit that recorded it and its time."""

    vote: Vote
    commit: int
    recorded_at: datetime


PAST_DATE_FIELDS = ("created_at", "observed_at", "updated_at", "recorded_at")
"""The timestamps of a memory that cannot lie in the future."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMemory:
    """A memory with everything that a store knows about it.

    `versions` lists every version, oldest first, each with the index of its content in `contents`.
    """

    contents: tuple[ArchivedContent, ...]
    versions: tuple[tuple[Memory, int], ...]
    uses: tuple[ArchivedUse, ...] = ()
    votes: tuple[ArchivedVote, ...] = ()
    keys: tuple[IdempotencyRecord, ...] = ()

    @property
    def embedded_texts(self) -> list[str]:
        """The text to embed for each content, without the speaker of its first version."""
        speakers = {place: memory.speaker for memory, place in reversed(self.versions)}
        return [
            build_embedded_text(one.title, one.text, speakers.get(place)) for place, one in enumerate(self.contents)
        ]

    @property
    def places_without_vector(self) -> list[int]:
        """Return the indexes of the contents that lack a vector and should have one.

        A content whose vector was removed to leave the vector index does not count.
        """
        gone = {place for memory, place in self.versions if Index.VECTOR in memory.left}
        present, place = self.versions[-1]
        gone -= set() if Index.VECTOR in present.left else {place}
        return [place for place, one in enumerate(self.contents) if one.vector is None and place not in gone]

    @property
    def current(self) -> Memory:
        """The current version of the memory."""
        return self.versions[-1][0]

    @property
    def commit_times(self) -> list[tuple[int, datetime]]:
        """Return every commit that recorded part of this memory, with its time."""
        found = [(one.commit, one.recorded_at) for one, _ in self.versions]
        known = [(commit, at) for commit, at in found if commit is not None and at is not None]
        known += [(use.commit, use.recorded_at) for use in self.uses]
        return known + [(vote.commit, vote.recorded_at) for vote in self.votes]

    @property
    def moments(self) -> list[tuple[str, datetime]]:
        """Return every timestamp that cannot lie in the future, with its field name."""
        found = [(name, getattr(one, name)) for one, _ in self.versions for name in PAST_DATE_FIELDS]
        known = [(name, moment) for name, moment in found if moment is not None]
        logged = [*(one.at for one in self.uses), *(one.vote.at for one in self.votes), *(one.at for one in self.keys)]
        known += [("at", moment) for moment in logged]
        return known + [("recorded_at", recorded_at) for _, recorded_at in self.commit_times]


ArchiveItem = ArchivedMemory | ContextRecord
"""An item of an archive: first come the memories, then the contexts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import: how many memories and contexts are new or already present.

    `re_embedded` is the model of the archive's vectors, if they were dropped and computed again because the store uses
    another model.
    """

    memories: int
    contexts: int
    skipped: int
    re_embedded: Encoder | None = None


def strip_store_fields(versions: "tuple[Memory, ...] | list[Memory]") -> list[Memory]:
    """Return the versions without the fields that only a store sets.

    The result is equal for two stores that know the same.
    """
    return [one.with_changes(recorded_at=None, commit=None) for one in versions]


MAX_NAMED_SCOPES = 10
"""How many of the largest scopes `Stats` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The size of a store or of a part of it, by status, kind and scope.

    `scopes` counts the scopes that have memories, and `largest` names those with most. `versions` counts each memory as
    often as it was written. `unembedded` counts the active memories without a vector, which no vector search finds.
    `bytes` is the size of all files of the store, even for a part of it; 0 if it has no files.
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
    """The content of a store file or backup, and every problem found in it.

    `sealed` means that the file carries a checksum of all its bytes and that it matches: a backup has it, a store in
    use cannot. `recalled` means that a recall from the restored copy found what it had to find.
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
        """Whether no problem was found."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """The result of a move: how much was moved, and the checksum that both stores share.

    `resumed` counts what an earlier run had moved.
    """

    memories: int
    contexts: int
    resumed: int
    checksum: str


UNREACHABLE_COPIES = (
    "backups and exports of this store, and copies that others made of its files",
    "the memory of other processes that have the store open, until they close it",
    "blocks that the disk or the file system retains, such as journals, snapshots and flash memory",
)
"""The copies that an erasure cannot reach; the receipt lists them for the operator."""

UNREACHABLE_SERVER_COPIES = (
    "backups and exports of this store, and copies that others made of the files of the server",
    "the write-ahead log of the server and its archive, and those of replicas",
    "what the server records of statements: its log, pg_stat_statements and pg_stat_activity",
    "the memory of the server, and of other processes that have the store open, until they close it",
    "blocks that the disk or the file system retains, such as journals, snapshots and flash memory",
)
"""The copies that an erasure cannot reach if the store is in PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The source and origins of a memory, from one of its versions."""

    id: MemoryId
    source: str | None
    derived_from: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedRows:
    """What one transaction removed; `pieces` are the erased bytes to search for."""

    ids: tuple[MemoryId, ...] = ()
    versions: int = 0
    vectors: int = 0
    uses: int = 0
    votes: int = 0
    keys: int = 0
    checkpoints: int = 0
    contexts: int = 0
    pieces: frozenset[bytes] = field(default=frozenset(), repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidueSearch:
    """Where erased bytes were searched for, and what was found.

    `rewritten` names database tables whose files were rewritten without the erased data; for compressed data, this is
    the proof. `unsearched` says who can read the files of these tables, if this process cannot. `remains` names the
    places where erased data is left. `elsewhere` counts, by place, how often data of other memories has the same bytes:
    two people may have said the same. `unfinished` says why there is no proof yet and what to do before the next
    search. `copies` names unfinished backups and exports beside the store, which may contain the erased data.
    """

    files: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    elsewhere: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    unfinished: str | None = None
    copies: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    unsearched: str | None = None
    out_of_reach: tuple[str, ...] = UNREACHABLE_COPIES


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """The receipt of an erasure: the erased memories and data, and the search result.

    The words of each version are removed from the text index as well. `restored` are memories that had been merged into
    an erased one and are active again. `made_of` are the origins of the named memory that still exist; they may have
    the same content.
    """

    scope: Scope
    ids: tuple[MemoryId, ...]
    versions: int
    vectors: int = 0
    uses: int = 0
    votes: int = 0
    keys: int = 0
    checkpoints: int = 0
    contexts: int
    restored: tuple[MemoryId, ...] = ()
    made_of: tuple[MemoryId, ...] = ()
    search: ResidueSearch
    pieces: frozenset[bytes] = field(default=frozenset(), repr=False, compare=False)
    out_of_reach: tuple[str, ...] = UNREACHABLE_COPIES

    def __repr__(self) -> str:
        memories = format_count(self.memories, "memory", "memories")
        left = [f"left in {place}" for place in self.search.remains]
        again = "then search again with `prove_erased`" if self.retryable else None
        why_not = "; ".join(filter(None, [*left, self.search.unfinished, again]))
        proof = "proven" if self.proven else f"not proven: {make_printable(why_not)}"
        return f"<Erasure of {memories} of {self.scope}, {proof}>"

    @property
    def memories(self) -> int:
        """The number of erased memories."""
        return len(self.ids)

    @property
    def proven(self) -> bool:
        """Whether nothing is left: every file was searched, or the tables were rewritten."""
        return not self.search.remains and self.search.unfinished is None

    @property
    def retryable(self) -> bool:
        """Whether `prove_erased` may succeed later."""
        return self.search.unfinished is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """The rewritten tables and their size in bytes before and after.

    `erasures` counts the erasures whose data is no longer in these files.
    """

    tables: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    erasures: int = 0

    def __add__(self, other: "SweepReport") -> "SweepReport":
        return SweepReport(
            tables=(*self.tables, *(one for one in other.tables if one not in self.tables)),
            before=self.before + other.before,
            after=self.after + other.after,
            erasures=self.erasures + other.erasures,
        )
