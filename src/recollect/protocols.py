"""What recollect needs from outside: protocols, and no code."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from recollect.model import changeset
from recollect.model.archive import ArchiveInfo, ArchiveItem, ErasedRows, ImportReport, Lineage, ResidueSearch, Stats
from recollect.model.context import ContextRecord, Sign, Usage, Vote
from recollect.model.conversation import ConversationTurn, Extraction, LlmUsage
from recollect.model.encoder import ContentRow, EmbeddingBatch, Encoder, VectorRemoval
from recollect.model.enums import Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import JobOccurrence, JobRecord
from recollect.model.scope import Scope
from recollect.model.timeline import Passage, Summary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.model.table import Floats, Rows
    from recollect.retrieval.eligibility import View
    from recollect.retrieval.evidence import NearestRows
    from recollect.retrieval.snapshot import Snapshot
    from recollect.retrieval.vectors import Vector

T = TypeVar("T")

Purpose = Literal["memory", "query"]


class Embedder(Protocol):
    """Turns texts into vectors; the same text always gives the same vector."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], purpose: Purpose) -> "NDArray[Any]":
        """Return one row of numbers for each text, in order."""
        ...


class Extractor(Protocol):
    """Finds what is worth remembering in a conversation."""

    @property
    def name(self) -> str: ...

    @property
    def verbatim(self) -> bool:
        """Whether extracts use the conversation's own words, without a model that rephrases them."""
        ...

    def extract(self, turns: Sequence[ConversationTurn], *, most: int) -> Extraction:
        """Return at most `most` extracts, each with a quote that occurs in the turn it names."""
        ...


class Summarizer(Protocol):
    """Summarizes what happened in a period of time."""

    @property
    def name(self) -> str: ...

    @property
    def verbatim(self) -> bool:
        """Whether summaries use the passages' own words, without a model that rephrases them."""
        ...

    @property
    def spent(self) -> LlmUsage:
        """The model calls and tokens used so far, if a model is called."""
        ...

    def cost(self, spent: LlmUsage) -> float | None:
        """Return the cost of this usage, or None if no prices are configured."""
        ...

    def summarise(self, passages: Sequence[Passage], *, level: Level, most: int) -> Summary:
        """Return at most `most` points in order of time, each citing only what passages cite."""
        ...


@runtime_checkable
class SupportsForget(Protocol):
    """An adapter that caches its inputs and can clear that cache."""

    def forget(self) -> None:
        """Clear everything cached so far."""
        ...


@runtime_checkable
class TracksFailures(Protocol):
    """An adapter that knows whether it is failing or unresponsive, and counts its failures."""

    @property
    def failing(self) -> bool: ...

    @property
    def failures(self) -> int: ...


class WriteTransaction(Protocol):
    """One transaction of a store: reads stay valid until it ends, writes are all or nothing."""

    @property
    def at(self) -> datetime:
        """The time of this commit; never earlier than that of an earlier commit.

        A store may keep the time and the commit number per root scope: first read something of a scope.
        """
        ...

    @property
    def commit(self) -> int:
        """The number of this commit."""
        ...

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        """Return the scope's own memory with this id, whatever its status."""
        ...

    def version(
        self, scope: Scope, id: MemoryId, *, before: int | None = None
    ) -> "tuple[Memory, Vector | None] | None":
        """Return the scope's own memory and its vector, as they are or as they were before a commit."""
        ...

    def neighbors(self, query: changeset.NeighborQuery) -> changeset.Neighbors:
        """Return the stored memories with a memory's id, text, topic or subject, like `Store.neighbors`."""
        ...

    def put(self, memory: Memory, vector: "Vector | None" = None, index: changeset.IndexEntry | None = None) -> Memory:
        """Store the memory, as a new version if its id exists; return it as stored.

        Without a vector, a version with the same title and text keeps the former vector. `index` is what was computed
        from the text before the transaction; if it is missing or of another text, a new text is analyzed here.
        """
        ...

    def apply(self, changes: changeset.Changeset) -> list[Memory]:
        """Write everything in the change set; return its memories as stored."""
        ...

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        """Read like `Store.timeline`; the result stays valid until this transaction ends."""
        ...

    def changed_dates(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        """Read like `Store.changed_dates`; the result stays valid until this transaction ends."""
        ...

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        """Return the scope's checkpoint with this name."""
        ...

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        """Return the record of a context, like `Store.context`."""
        ...

    def written_by(self, scope: Scope, commit: int) -> list[MemoryId]:
        """Return the ids of the scope's own memories that this commit wrote, sorted."""
        ...

    def lineage(self, scope: Scope) -> list[Lineage]:
        """Return the part of `Store.lineage` whose versions name a source or an origin."""
        ...

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> ErasedRows:
        """Remove these memories with their versions, index entries, usage, keys and references."""
        ...

    def erase_all(self, scope: Scope) -> ErasedRows:
        """Remove every memory of exactly this scope, its contexts with their queries, and its name."""
        ...

    def load(self, items: Iterable[ArchiveItem], encoder: Encoder | None) -> ImportReport:
        """Import an archive whose vectors come from this model.

        A store that was never written to gets it unchanged, with its commits. Any other store imports it as of now and
        skips what it has; an id with different content here is a conflict.
        """
        ...


ProgressListener = Callable[[int, int], None]
"""Called with the steps done and the total number of steps."""


def ignore_progress(done: int, total: int) -> None:
    """Ignore the progress, for callers that do not report it."""


class Store(Protocol):
    """Stores memories and returns all that a view may see; it never ranks. Thread-safe."""

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written to; writes then raise."""
        ...

    @property
    def takes_writes(self) -> bool:
        """Whether the last write succeeded, deferred or not."""
        ...

    def encoder(self) -> Encoder | None:
        """Return the model of the store's vectors, or None before there are any."""
        ...

    def snapshot(self, view: "View") -> "Snapshot":
        """Return every memory that the view may see as columns; never a shortlist."""
        ...

    def load(self, snapshot: "Snapshot", rows: Sequence[int], /) -> Sequence[Memory | None]:
        """Return the memories of these rows as the snapshot has them, or None for one erased since."""
        ...

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        """Return the memories that the scope may see, in the order of `ids`; skip the others."""
        ...

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        """Return the usage of each memory in order; empty for memories that the scope may not see."""
        ...

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        """Return the current votes in these contexts, on memories that the scope may see.

        Only contexts of exactly this scope are read. Sorted by context, memory and principal.
        """
        ...

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        """Return the signs recorded in these contexts, for memories that the scope may see.

        Only contexts of exactly this scope are read. Sorted by context, memory and use.
        """
        ...

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Return every version of the scope's memory, the oldest first; empty if it does not exist."""
        ...

    def memories(
        self,
        scope: Scope,
        *,
        below: bool,
        statuses: Sequence[Status],
        after: MemoryId | None = None,
        limit: int | None = None,
    ) -> Iterator[Memory]:
        """Yield the memories of the scope, sorted by id; `below` adds the scopes below it.

        With `after`, only ids after that one, whether or not it exists. With a limit, the result is one consistent
        read, and its cost does not depend on how many memories follow.
        """
        ...

    def lineage(self, scope: Scope) -> list[Lineage]:
        """Return the source and origins of every version of every memory of exactly this scope.

        Versions that name no source and no origin are included; equal entries of several versions may appear once.
        """
        ...

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        """Return the scope's own records of these levels with `created_at` in [since, before).

        Sorted by time and id.
        """
        ...

    def changed_dates(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        """Return the times of the scope's own records of a level that changed after a commit.

        The times are distinct and sorted, and include records in every status. The second value is the last of the
        commits that wrote them, or `after` if none did.
        """
        ...

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        """Return the scope's checkpoint with this name; erasing anything of the scope removes it."""
        ...

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        """Return the record of a context of the scope."""
        ...

    def contexts(self, scope: Scope) -> Iterator[ContextRecord]:
        """Yield the records of all contexts of exactly this scope, the oldest first, then by id."""
        ...

    def neighbors(self, queries: Sequence[changeset.NeighborQuery]) -> list[changeset.Neighbors]:
        """Return for each query the stored memories with a memory's id, text, topic or subject."""
        ...

    def scopes(self, scope: Scope | None) -> list[Scope]:
        """Return every scope that has memories, sorted; with `scope`, only it and those below it."""
        ...

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        """Return counts for the scope, optionally with the scopes below it, or for the whole store."""
        ...

    def export(self, scope: Scope | None) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        """Export a scope and those below it, or everything: memories in commit order, then contexts.

        It is one consistent snapshot. Read the iterator to the end, or close it.
        """
        ...

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        """Search all files of the store for erased bytes, after removing leftover copies.

        Clears the in-memory caches as well.
        """
        ...

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        """Run the change as one transaction, and return its result once it is durable.

        The change may run again from the beginning if the first attempt was rolled back, for example when the server
        went away.
        """
        ...

    def defer(self, changes: changeset.Changeset) -> None:
        """Queue the changes; they are written soon, in a batch with others, at the latest on close."""
        ...

    def settle(self) -> None:
        """Wait until all queued changes have run or failed."""
        ...

    def flush(self) -> None:
        """Wait like `settle`; raise if a queued change has failed since the last report."""
        ...

    def close(self) -> None:
        """Run all queued changes and close the store; raises like `flush`."""
        ...


@runtime_checkable
class VectorSearch(Protocol):
    """A store that compares vectors in its database, for scopes whose vectors do not fit in memory."""

    def nearest(self, snapshot: "Snapshot", vector: "Vector") -> "NearestRows":
        """Return the nearest rows by an index, if there is one; the index may miss some."""
        ...

    def similarities(self, snapshot: "Snapshot", vector: "Vector", rows: "Rows") -> "Floats":
        """Return the similarities of these rows, within `cosine_error_bound`; NaN where a vector is gone."""
        ...

    def exact_similarities(self, snapshot: "Snapshot", vector: "Vector", rows: "Rows") -> "Floats":
        """Return the similarities of these rows to the last bit; NaN where a vector is gone."""
        ...


class Reembedding(Protocol):
    """A store during a change of its embedding model; it stays in use with the present one.

    Progress survives an interruption. It is separate from `Store` because a store is open for one model.
    """

    def begin(self, encoder: Encoder) -> Encoder | None:
        """Accept vectors of this model, beside the present ones; return the present model."""
        ...

    def lacking(self, limit: int) -> EmbeddingBatch:
        """Return the next contents, of all versions, without a vector of the new model.

        The batch is empty once all contents were checked.
        """
        ...

    def fill(self, contents: Sequence[ContentRow], vectors: "NDArray[np.float32]") -> int:
        """Store a vector for each content that was not erased meanwhile; return how many are new."""
        ...

    def finish(self, embed: "Callable[[Sequence[ContentRow]], NDArray[np.float32] | None]", most: int) -> int | None:
        """Switch to the new model if at most `most` contents still lack a vector.

        Returns how many did. They are embedded in the same transaction, while other writers wait. Nothing is done, and
        None is returned, if more contents lack a vector, or if `embed` returned None; `embed` must not take longer than
        other writers can wait.

        Afterwards, engines with another model are refused, and their unfinished writes are rolled back.
        """
        ...

    def remove(self, limit: int) -> VectorRemoval:
        """Remove some vectors of former models."""
        ...


class StoreImport(Protocol):
    """A store being filled with an exact copy of another, batch by batch; it is not in use yet.

    Batches survive an interruption. It is separate from `Store` because an incomplete store cannot be opened.
    """

    def begin(self, source: str, inventory: ArchiveInfo) -> int:
        """Prepare for this inventory of the source; return how many of its items are here already.

        A store with other content is refused. Items of an outdated inventory are removed first.
        """
        ...

    def take(self, items: Sequence[ArchiveItem]) -> None:
        """Store the next items in one transaction."""
        ...

    def read_received(self) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        """Return everything received so far, like `Store.export`. Read it to the end, or close it."""
        ...

    def reject(self) -> None:
        """Mark the received items as wrong, so that the next import starts over."""
        ...

    def finish(self) -> None:
        """Turn the import into a store."""
        ...


class JobStore(Protocol):
    """Due times and results of jobs, shared by all schedulers of a store.

    It is separate from `Store` because a job belongs to the whole store, not to a scope. Times are those of the cron
    expressions, so they do not depend on a scheduler's clock.
    """

    def entry(self, job: str) -> JobRecord | None:
        """Return the record of a job, or None if it was never claimed, paused or resumed."""
        ...

    def claim(
        self, job: str, due_at: datetime | None, *, by: str, at: datetime, until: datetime
    ) -> JobOccurrence | None:
        """Claim the occurrence to run now: an unfinished one, or the one now due.

        Returns None while another scheduler runs the job or the job is paused. A job seen for the first time is
        recorded.
        """
        ...

    def renew(self, ours: JobOccurrence, until: datetime) -> bool:
        """Extend the lease on a claimed occurrence; return whether it is still held."""
        ...

    def finish(self, ours: JobOccurrence) -> bool:
        """Store how a claimed occurrence ended; return whether it was still held.

        An occurrence may end as interrupted.
        """
        ...

    def pause(self, job: str, at: datetime) -> None:
        """Pause the job: no new occurrence starts."""
        ...

    def resume(self, job: str, at: datetime) -> None:
        """Resume the job with occurrences due from now on."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


@runtime_checkable
class SupportsBackup(Protocol):
    """A store on disk that can be copied."""

    def backup(self, path: Path, progress: ProgressListener) -> None:
        """Copy a consistent snapshot of the store to a new file, while readers and writers go on."""
        ...
