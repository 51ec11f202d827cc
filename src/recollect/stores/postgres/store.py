"""The PostgreSQL store, and the import of another store into a database.

In reading order: the store, which reads through cached columns and writes in the database; renumbering, which merges
the commits of several roots into one sequence for an export; and the import, during which the database cannot be opened
for other use.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from recollect.errors import Conflict, show
from recollect.model import changeset
from recollect.model.archive import (
    UNREACHABLE_SERVER_COPIES,
    ArchivedMemory,
    ArchiveInfo,
    ArchiveItem,
    ResidueSearch,
    Stats,
)
from recollect.model.context import ContextRecord
from recollect.model.format import make_printable
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.validation import BUSY_TIMEOUT_SECONDS, CACHE_BYTES, copy_with
from recollect.protocols import WriteTransaction
from recollect.retrieval.evidence import NearestRows
from recollect.retrieval.snapshot import Snapshot
from recollect.retrieval.vectors import Vector
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.erasure import TableSweeper
from recollect.stores.postgres.transaction import (
    ALL_SCOPES,
    ENTRIES_WITHOUT_VECTORS,
    PostgresTransaction,
    RlsScope,
    open_snapshot,
    read_with_retry,
    write_everywhere,
)
from recollect.stores.postgres.vector_index import PostgresVectorSearch, find_indexed_scope
from recollect.stores.postgres.writer import PostgresWriter
from recollect.stores.sql import rows
from recollect.stores.sql.archive import ArchiveLoader, keep_items, open_export
from recollect.stores.sql.column_cache import RemoteVectors
from recollect.stores.sql.deferred import BackgroundWrites
from recollect.stores.sql.reader import SqlReader, count_stats
from recollect.stores.sql.rows import refuse_other_encoder
from recollect.stores.sql.transaction import Transaction, read_current_encoder

T = TypeVar("T")


class PostgresStore(SqlReader):
    """Stores memories in PostgreSQL, for any number of processes on any number of machines."""

    def __init__(
        self,
        target: str,
        clock: Callable[[], datetime],
        *,
        timeout: float = BUSY_TIMEOUT_SECONDS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(cache_bytes)
        self._database = PostgresDatabase(target, timeout=timeout)
        self._writer = PostgresWriter(self._database, clock)
        self._sweeper = TableSweeper(self._database, target, timeout)
        self._background_writes = BackgroundWrites(self._database.name)

    def __str__(self) -> str:
        return make_printable(self._database.name)

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        def read(db: Transaction) -> Stats:
            (size,) = db.fetch_one("bytes")
            return count_stats(db, scope, below=below, schema=self._database.schema, size=size)

        return self._read(scope, read, below=below)

    def export(self, scope: Scope | None) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        def renumber_for_export(db: Transaction, items: Iterator[ArchiveItem]) -> Iterator[ArchiveItem]:
            numbers = number_commits(db.fetch_each("all_commits")) if scope is None else None
            return items if numbers is None else renumber_items(items, numbers)

        return open_export(open_snapshot(self._database, RlsScope.of(scope, wide=True)), scope, renumber_for_export)

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        self._column_cache.clear()
        return self._sweeper.scrub(scope, pieces) if pieces else ResidueSearch(out_of_reach=UNREACHABLE_SERVER_COPIES)

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        return self._writer.write(change)

    def defer(self, changes: changeset.Changeset) -> None:
        self._database.refuse_if_read_only()
        self._background_writes.add(lambda: self._writer.write(lambda writing: writing.apply(changes)))

    @property
    def takes_writes(self) -> bool:
        return self._database.takes_writes

    def settle(self) -> None:
        self._background_writes.settle()

    def flush(self) -> None:
        self._background_writes.flush()

    def close(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._database.close)
            self._background_writes.close()

    def nearest(self, snapshot: Snapshot, vector: Vector) -> NearestRows:
        return PostgresVectorSearch(self._database, snapshot, vector).nearest()

    def similarities(self, snapshot: Snapshot, vector: Vector, rows: Rows) -> Floats:
        return PostgresVectorSearch(self._database, snapshot, vector).similarities(rows)

    def exact_similarities(self, snapshot: Snapshot, vector: Vector, rows: Rows) -> Floats:
        return PostgresVectorSearch(self._database, snapshot, vector).exact_similarities(rows)

    def _choose_remote_vectors(
        self, db: Transaction, scope: Scope, encoder: int, *, use_index: bool
    ) -> RemoteVectors | None:
        return RemoteVectors(ENTRIES_WITHOUT_VECTORS, find_indexed_scope(db, scope, encoder) if use_index else None)

    def _read(self, scope: Scope | None, read: Callable[[Transaction], T], *, below: bool = False) -> T:
        return read_with_retry(self._database, RlsScope.of(scope, wide=below), read)


CommitNumbers = Mapping[tuple[str, int], int]
"""Maps a root and a commit number there to its number among the commits of all roots."""


def number_commits(commits: Iterable[tuple[str, int, int]]) -> CommitNumbers | None:
    """Return new numbers for commits, given as (root, number, recorded_at), or None.

    No new numbers are needed if no two roots have commits of the same number that were recorded at different moments.
    The new numbers follow the time of recording, and within a root the existing order.
    """
    times: dict[int, set[int]] = defaultdict(set)
    latest: dict[str, int] = defaultdict(int)
    order: list[tuple[int, str, int]] = []
    for root, number, recorded_at in sorted(commits):
        times[number].add(recorded_at)
        latest[root] = max(latest[root], recorded_at)  # a clock may have been set back
        order.append((latest[root], root, number))
    if all(len(found) == 1 for found in times.values()):
        return None
    return {(root, number): place for place, (_, root, number) in enumerate(sorted(order), 1)}


def renumber_items(items: Iterator[ArchiveItem], numbers: CommitNumbers) -> Iterator[ArchiveItem]:
    """Yield the items with the new commit numbers."""
    for item in items:
        yield _renumber_context(item, numbers) if isinstance(item, ContextRecord) else _renumber_memory(item, numbers)


def _renumber_context(record: ContextRecord, numbers: CommitNumbers) -> ContextRecord:
    if record.elsewhere:  # its commit belongs to another store
        return record
    return replace(record, commit=numbers.get((record.scope.parts[0], record.commit), record.commit))


def _renumber_memory(saved: ArchivedMemory, numbers: CommitNumbers) -> ArchivedMemory:
    root = saved.current.scope.parts[0]
    return replace(
        saved,
        versions=tuple(
            (copy_with(memory, commit=numbers[root, memory.commit or 0]), content) for memory, content in saved.versions
        ),
        uses=tuple(replace(use, commit=numbers[root, use.commit]) for use in saved.uses),
        votes=tuple(replace(vote, commit=numbers[root, vote.commit]) for vote in saved.votes),
    )


class _SourceMismatch(Exception):
    """The incoming items do not fit those that are already here."""


class PostgresImport:
    """Imports another store into an empty database, in batches.

    Each batch and the count of items so far are written in one transaction, so an interrupted import can resume.
    """

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._database = PostgresDatabase(target, timeout=timeout, require_complete=False)
        self._item_count = 0
        self._commit_times: dict[int, int] = {}
        """When each commit of the source was recorded; its numbers count over all of its roots."""

    def begin(self, source: str, inventory: ArchiveInfo) -> int:
        expected = _describe_inventory(inventory)

        def change(db: PostgresTransaction) -> int:
            move = db.fetch_first("moving")
            if move is None:
                if db.fetch_first("any_root") is not None:
                    remedy = "use an empty database, or import an export of the store"
                    raise Conflict(f"{self._database.name} already has memories; {remedy}")
            elif move[0] != source:
                problem = f"{show(move[0])} is being moved into it"
                raise Conflict(f"{self._database.name}: {problem}; finish that first, or use another database")
            elif move[1] == expected:
                self._commit_times = {number: recorded_at for _, number, recorded_at in db.fetch_each("all_commits")}
                return int(move[2])
            else:
                db.execute("empty")  # the source has changed since the import began
            db.execute("begin_moving", source=source, inventory=expected)
            _, present = read_current_encoder(db)
            refuse_other_encoder(present, inventory.encoder)
            if present is None and inventory.encoder is not None:
                db.execute("add_encoder", name=inventory.encoder.name, dimensions=inventory.encoder.dimensions)
            return 0

        self._item_count = self._write_exclusively(change)
        return self._item_count

    def take(self, items: Sequence[ArchiveItem]) -> None:
        before, after = self._item_count, self._item_count + len(items)

        def change(db: PostgresTransaction) -> None:
            *_, taken = db.fetch_one("moving")
            if taken == after:  # the batch was committed, but the answer was lost
                return
            if taken != before:
                raise Conflict(
                    f"{self._database.name}: another process is moving a store into it; wait until it is done"
                )

            known: set[tuple[str, int]] = set()

            def keep_commit(commit: int, recorded_at: datetime) -> tuple[int, int]:
                recorded = rows.to_micros(recorded_at)
                if (db.realm, commit) not in known:
                    known.add((db.realm, commit))
                    self._commit_times.setdefault(commit, recorded)
                    db.execute("load_commit", commit=commit, recorded_at=recorded)
                return commit, recorded

            try:
                with db.use_pipeline():
                    encoder, _ = read_current_encoder(db)
                    loader = ArchiveLoader(
                        db, keep_commit, lambda: True, encoder=encoder, commit_times=self._commit_times
                    )
                    loader.load(items)
            except Conflict as error:
                raise _SourceMismatch from error
            db.execute("moved", taken=after)

        try:
            self._write_exclusively(change)
        except _SourceMismatch as error:
            self.reject()
            problem = f"earlier batches are from another store, or from this one before it changed ({error.__cause__})"
            raise Conflict(f"{self._database.name}: {problem}; run it again to start over") from error.__cause__
        self._item_count = after

    def read_received(self) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        return open_export(open_snapshot(self._database, ALL_SCOPES), None, keep_items)

    def reject(self) -> None:
        self._write_exclusively(lambda db: db.execute("distrust"))

    def finish(self) -> None:
        self._write_exclusively(lambda db: db.execute("end_moving"))

    def close(self) -> None:
        self._database.close()

    def _write_exclusively(self, change: Callable[[PostgresTransaction], T]) -> T:
        """Return what `change` returns while no other process moves a store here or writes."""

        def alone(db: PostgresTransaction) -> T:
            db.execute("lock_moving")
            return change(db)

        return write_everywhere(self._database, alone)


def _describe_inventory(inventory: ArchiveInfo) -> str:
    """Return a text that stays the same as long as the source store does not change."""
    encoder = None if inventory.encoder is None else [inventory.encoder.name, inventory.encoder.dimensions]
    until = None if inventory.until is None else inventory.until.isoformat()
    return json.dumps([encoder, inventory.memories, inventory.contexts, until])
