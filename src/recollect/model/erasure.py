"""Erasure: what was erased, and the proof that nothing of it is left.

Sweeping: what was written anew, so that no file has what was erased.
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
"""What no erasure of ours can touch; a receipt names it, so that somebody can see to it."""

UNREACHABLE_SERVER_COPIES = (
    "backups and exports of this store, and copies that others made of the files of the server",
    "the write-ahead log of the server and its archive, and replicas with theirs",
    "what the server tells of statements: its log, pg_stat_statements and pg_stat_activity",
    "the memory of the server, and of other processes that have the store open, until they close it",
    "blocks that the disk or the file system keeps for itself, as journals, snapshots and flash memory do",
)
"""The same where the store is in a database of PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a memory comes from, as one of its versions has it."""

    id: MemoryId
    source: str | None
    derived_from: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedRows:
    """What one transaction removed; `pieces` are bytes of it, for whoever looks whether any are left."""

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
    """Where erased bytes were looked for, and what was found.

    `rewritten` names the tables of a database whose files were written anew without what was erased: of what is
    compressed in them, that is the proof. `unsearched` says who can read the files of these, if it is not who erased.
    `remains` names places where something is left. `elsewhere` counts places where what stays has the same bytes, by
    where that is: two people may have said the same. `unfinished` says why it could not be proved now, and what to do
    before somebody looks again. `copies` names unfinished backups and exports that others were making
    beside the store: they may have what it had.
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
    """The receipt of an erasure: which memories, how many versions and whatever else went with them, and what the
    search found. The words of each version are gone from the index of texts as well.

    `restored` are memories that were recalled through one that is gone, and hold again by themselves. `made_of` is what
    the memory that was named was made of, and is still there: it may say the same.
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
        """How many memories are gone."""
        return len(self.ids)

    @property
    def proven(self) -> bool:
        """Whether nothing can be left: every file was searched, or in a database written anew without it."""
        return not self.search.remains and self.search.unfinished is None

    @property
    def retryable(self) -> bool:
        """Whether `prove_erased` may succeed in a moment."""
        return self.search.unfinished is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """The tables that were written anew, how many bytes they took `before` and take `after`, and of how many erasures
    there is nothing in their files any more.
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
