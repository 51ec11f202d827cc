"""Erasure: receipts for erased memories, and the search for leftover bytes.

The last part reports tables that were rewritten so that no file holds erased data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.model.format import format_count, make_printable
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope

UNREACHABLE_COPIES = (
    "backups and exports of this store, and copies that others made of its files",
    "the memory of other processes that have the store open, until they close it",
    "blocks that the disk or the file system keeps for itself, as journals, snapshots and flash memory do",
)
"""The copies that an erasure cannot reach; the receipt lists them, so that an operator can."""

UNREACHABLE_SERVER_COPIES = (
    "backups and exports of this store, and copies that others made of the files of the server",
    "the write-ahead log of the server and its archive, and replicas with theirs",
    "what the server tells of statements: its log, pg_stat_statements and pg_stat_activity",
    "the memory of the server, and of other processes that have the store open, until they close it",
    "blocks that the disk or the file system keeps for itself, as journals, snapshots and flash memory do",
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
    the proof. `unsearched` says who can read the files of these tables, if the eraser cannot. `remains` names the
    places where something is left. `elsewhere` counts, by place, where kept data has the same bytes: two people may
    have said the same. `unfinished` says why there is no proof yet and what to do before the next search. `copies`
    names unfinished backups and exports beside the store, which may contain the erased data.
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

    The words of each version are gone from the text index as well. `restored` are memories that had been merged into an
    erased one and are active again. `made_of` are the origins of the named memory that still exist: they may say the
    same.
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
        again = "then look again with `prove_erased`" if self.retryable else None
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

    `erasures` counts the erasures of which their files now hold nothing.
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
