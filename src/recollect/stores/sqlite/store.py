"""The SQLite store: reads through shelves, writes through one writer, and keeps the contract of every store."""

from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TypeVar

from recollect.model.archive import ArchiveInfo, ArchiveItem
from recollect.model.erasure import ResidueSearch
from recollect.model.format import make_printable
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.validation import BUSY_TIMEOUT_SECONDS, CACHE_BYTES
from recollect.protocols import ProgressListener, WriteTransaction
from recollect.stores.sql.archive import keep_items, open_export
from recollect.stores.sql.reader import SqlReader
from recollect.stores.sql.stats import count_stats
from recollect.stores.sql.transaction import Transaction
from recollect.stores.sql.writer import SqlWriteTransaction
from recollect.stores.sqlite import descriptors
from recollect.stores.sqlite.backup import write_backup
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.readers import ReaderPool
from recollect.stores.sqlite.residue import scrub_files
from recollect.stores.sqlite.transaction import SqliteTransaction
from recollect.stores.sqlite.writer import SqliteWriter

T = TypeVar("T")


class SqliteStore(SqlReader):
    """Keeps memories in one SQLite file, for many threads and processes at once."""

    def __init__(
        self,
        target: str | PathLike[str],
        clock: Callable[[], datetime],
        *,
        timeout: float = BUSY_TIMEOUT_SECONDS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(cache_bytes)
        self._clock = clock
        self._timeout = timeout
        self._database = SqliteDatabase.open(target, patience=timeout)
        self._readers = ReaderPool(self._database)
        self._writer = SqliteWriter(self._database, timeout=timeout)

    def __str__(self) -> str:
        return make_printable(self._database.name)

    def _read(self, scope: Scope | None, look: Callable[[Transaction], T], *, below: bool = False) -> T:
        with self._open_transaction() as db:
            return look(db)

    @contextmanager
    def _open_transaction(self) -> Iterator[SqliteTransaction]:
        with self._readers.borrow() as db:
            yield SqliteTransaction(db)

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        path = self._database.path
        size = sum(map(descriptors.file_size, descriptors.list_store_files(path))) if path else 0
        with self._readers.borrow() as db:
            return count_stats(SqliteTransaction(db), scope, below=below, schema=db.pragma("user_version"), size=size)

    def export(self, scope: Scope | None) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        return open_export(self._open_transaction(), scope, keep_items)

    def backup(self, path: Path, progress: ProgressListener) -> None:
        mode = self._database.path.stat().st_mode & 0o666 if self._database.path else 0o600
        with self._readers.borrow() as db:
            write_backup(db, path, mode, progress)

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        self._column_cache.clear()
        path = self._database.path
        return scrub_files(path, self._writer, pieces, patience=self._timeout) if path else ResidueSearch()

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        return self._writer.write(lambda db: change(SqlWriteTransaction(SqliteTransaction(db), self._clock())))

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def later(self, change: Callable[[WriteTransaction], object]) -> None:
        self._writer.defer(lambda db: change(SqlWriteTransaction(SqliteTransaction(db), self._clock())))

    @property
    def takes_writes(self) -> bool:
        return self._database.takes_writes

    def settle(self) -> None:
        self._writer.settle()

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            whatever_happens.callback(self._readers.close)
            self._writer.close()
