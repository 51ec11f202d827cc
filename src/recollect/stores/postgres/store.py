"""The PostgreSQL store: reads through shelves, writes in the database, and keeps the contract of every store."""

from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack
from datetime import datetime
from typing import TypeVar

from recollect.model.archive import ArchiveInfo, ArchiveItem
from recollect.model.erasure import UNREACHABLE_SERVER_COPIES, ResidueSearch
from recollect.model.format import make_printable
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.validation import BUSY_TIMEOUT_SECONDS, CACHE_BYTES
from recollect.protocols import WriteTransaction
from recollect.retrieval.evidence import EvidenceRequest
from recollect.stores.postgres.background_writes import BackgroundWrites
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.renumbering import number_commits, renumber_items
from recollect.stores.postgres.rls_scope import RlsScope
from recollect.stores.postgres.sql import ENTRIES_WITHOUT_VECTORS
from recollect.stores.postgres.table_rewrite import TableSweeper
from recollect.stores.postgres.transaction_runner import open_snapshot, read_with_retry
from recollect.stores.postgres.vector_search import PostgresVectorSearch, find_indexed_scope
from recollect.stores.postgres.writer import PostgresWriter
from recollect.stores.sql.archive import open_export
from recollect.stores.sql.column_cache import RemoteVectors
from recollect.stores.sql.reader import ColumnSnapshot, SqlReader
from recollect.stores.sql.stats import count_stats
from recollect.stores.sql.transaction import Transaction

T = TypeVar("T")


class PostgresStore(SqlReader):
    """Keeps memories in a PostgreSQL database, for any number of processes on any number of machines."""

    def __init__(
        self,
        target: str,
        clock: Callable[[], datetime],
        *,
        timeout: float = BUSY_TIMEOUT_SECONDS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(cache_bytes)
        self._database = PostgresDatabase(target, patience=timeout)
        self._writer = PostgresWriter(self._database, clock)
        self._sweeper = TableSweeper(self._database, target, timeout)
        self._background_writes = BackgroundWrites(self._database.name)

    def __str__(self) -> str:
        return make_printable(self._database.name)

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        def look(db: Transaction) -> Stats:
            (size,) = db.fetch_one("bytes")
            return count_stats(db, scope, below=below, schema=self._database.schema, size=size)

        return self._read(scope, look, below=below)

    def export(self, scope: Scope | None) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        def told(db: Transaction, items: Iterator[ArchiveItem]) -> Iterator[ArchiveItem]:
            new = number_commits(db.fetch_each("all_commits")) if scope is None else None
            return items if new is None else renumber_items(items, new)

        return open_export(open_snapshot(self._database, RlsScope.of(scope, wide=True)), scope, told)

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        self._column_cache.clear()
        return self._sweeper.scrub(scope, pieces) if pieces else ResidueSearch(out_of_reach=UNREACHABLE_SERVER_COPIES)

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        return self._writer.write(change)

    def later(self, change: Callable[[WriteTransaction], object]) -> None:
        self._database.refuse_if_read_only()
        self._background_writes.add(lambda: self._writer.write(change))

    @property
    def takes_writes(self) -> bool:
        return self._database.takes_writes

    def settle(self) -> None:
        self._background_writes.settle()

    def flush(self) -> None:
        self._background_writes.flush()

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            self._background_writes.close()

    def _choose_remote_vectors(self, db: Transaction, probe: EvidenceRequest, encoder: int) -> RemoteVectors | None:
        return RemoteVectors(
            ENTRIES_WITHOUT_VECTORS, find_indexed_scope(db, probe.scope, encoder) if probe.indexed else None
        )

    def _open_remote_similarity(self, probe: EvidenceRequest, seen: ColumnSnapshot) -> PostgresVectorSearch | None:
        if probe.vectors is None:
            return None
        indexed = None if seen.remote is None else seen.remote.indexed_scope
        return PostgresVectorSearch(self._database, probe, probe.vectors[0], seen.columns, seen.encoder_number, indexed)

    def _read(self, scope: Scope | None, look: Callable[[Transaction], T], *, below: bool = False) -> T:
        return read_with_retry(self._database, RlsScope.of(scope, wide=below), look)
