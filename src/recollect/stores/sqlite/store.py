"""The SQLite store: cached columns and a reader pool for reads, one writer for writes.

Below `SqliteStore`: `write_backup`, which copies a store in use to one file with a checksum at its end; small
transactions for job runs and re-embedding; and `inspect_store_file`, which looks at a file without creating, repairing
or migrating it.
"""

import os
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TypeVar

import apsw

from recollect.atomic_files import companion_path, find_sqlite_log, move_into_place, temp_folder
from recollect.errors import Conflict, StoreError, show
from recollect.model import changeset
from recollect.model.archive import ArchiveInfo, ArchiveItem, ResidueSearch, Stats
from recollect.model.encoder import Encoder
from recollect.model.format import make_printable
from recollect.model.scope import Scope
from recollect.model.validation import BUSY_TIMEOUT_SECONDS, CACHE_BYTES
from recollect.protocols import ProgressListener, WriteTransaction, ignore_progress
from recollect.stores.sql.archive import keep_items, open_export
from recollect.stores.sql.migrations import load_migrations, schema_mismatch
from recollect.stores.sql.reader import SqlReader, count_stats
from recollect.stores.sql.reembedding import SqlReembedding
from recollect.stores.sql.transaction import Transaction, read_current_encoder
from recollect.stores.sql.writer import SqlWriteTransaction
from recollect.stores.sqlite import fork, store_files
from recollect.stores.sqlite.connection import (
    MIGRATIONS,
    SqliteDatabase,
    is_claimed,
    resolve_store_path,
    translate_errors,
)
from recollect.stores.sqlite.residue import scrub_files
from recollect.stores.sqlite.transaction import ReaderPool, SqliteTransaction, fetch_all
from recollect.stores.sqlite.write_queue import SqliteWriter

T = TypeVar("T")


class SqliteStore(SqlReader):
    """Keeps memories in one SQLite file, for many threads and processes at once.

    `SqlReader` has the reads: `snapshot`, `load`, `neighbors` and the others.
    """

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
        self._database = SqliteDatabase.open(target, timeout=timeout)
        self._readers = ReaderPool(self._database)
        self._writer = SqliteWriter(self._database, timeout=timeout)

    def __str__(self) -> str:
        return make_printable(self._database.name)

    def _read(self, scope: Scope | None, read: Callable[[Transaction], T], *, below: bool = False) -> T:
        with self._open_transaction() as db:
            return read(db)

    @contextmanager
    def _open_transaction(self) -> Iterator[SqliteTransaction]:
        with self._readers.borrow() as db:
            yield SqliteTransaction(db)

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        path = self._database.path
        size = sum(map(store_files.file_size, store_files.list_store_files(path))) if path else 0
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
        return scrub_files(path, self._writer, pieces, timeout=self._timeout) if path else ResidueSearch()

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        return self._writer.write(lambda db: change(SqlWriteTransaction(SqliteTransaction(db), self._clock())))

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def defer(self, changes: changeset.Changeset) -> None:
        self._writer.defer(lambda db: SqlWriteTransaction(SqliteTransaction(db), self._clock()).apply(changes))

    @property
    def takes_writes(self) -> bool:
        return self._database.takes_writes

    def settle(self) -> None:
        self._writer.settle()

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._database.close)
            stack.callback(self._readers.close)
            self._writer.close()


PAGES_PER_STEP = 256
"""Number of pages copied at a time."""


def write_backup(source: apsw.Connection, target: Path, mode: int, progress: ProgressListener) -> None:
    """Copy what the connection sees to a new file, which appears only when it is complete.

    An existing file is never overwritten.
    """
    resolve_store_path(os.fsdecode(target))
    _refuse_existing(target)
    try:
        with temp_folder(target.parent) as folder:
            copy = folder / "copy.db"
            with translate_errors(str(target)):
                _copy_pages(source, copy, progress)
            store_files.add_checksum(copy)
            copy.chmod(mode)
            _refuse_existing(target)  # a file may have appeared meanwhile
            move_into_place(copy, target)
    except FileExistsError as error:
        raise _exists_error(target) from error
    except OSError as error:
        remedy = "check its folder and the free space there"
        raise StoreError(f"{target} cannot be written ({error.strerror}); {remedy}") from error


def copy_database(source: apsw.Connection, target: Path) -> None:
    """Copy what the connection sees to a file, page by page."""
    _copy_pages(source, target, ignore_progress)


def _refuse_existing(target: Path) -> None:
    """Raise Conflict if the target exists, or if SQLite would read a file beside it as its log."""
    if target.exists():
        raise _exists_error(target)
    log = find_sqlite_log(target)
    if log is not None:
        problem = f"SQLite would read {log.name} beside it as its newest part"
        raise Conflict(f"{show(str(target))} cannot be created: {problem}; use another name, or move that file away")


def _exists_error(target: Path) -> Conflict:
    """Return the error for a file that would be overwritten."""
    return Conflict(f"{show(str(target))} already exists; use another name, or move it away")


def _copy_pages(source: apsw.Connection, target: Path, progress: ProgressListener) -> None:
    db = apsw.Connection(str(target))
    try:
        db.pragma("synchronous", "OFF")  # adding the checksum syncs the file
        with db.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES_PER_STEP)
                progress(copying.page_count - copying.remaining, copying.page_count)
        db.pragma("journal_mode", "wal")  # as in a store, so that opening the copy changes nothing
    finally:
        db.close()


class SqliteTransactionRunner:
    """Small transactions of a SQLite file, between those of other processes."""

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._database = SqliteDatabase.open(target, timeout=timeout)
        self._readers = ReaderPool(self._database)
        self._writer = SqliteWriter(self._database, timeout=timeout)

    def read(self, read: Callable[[Transaction], T]) -> T:
        with self._readers.borrow() as db:
            return read(SqliteTransaction(db))

    def write(self, change: Callable[[Transaction], T]) -> T:
        return self._writer.write(lambda db: change(SqliteTransaction(db)))

    def close(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._database.close)
            stack.callback(self._readers.close)
            self._writer.close()


class SqliteReembedding(SqlReembedding):
    """Re-embedding of a SQLite file, between the transactions of other processes."""

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        super().__init__()
        self._transactions = SqliteTransactionRunner(target, timeout=timeout)

    def close(self) -> None:
        self._transactions.close()

    def _run_read(self, read: Callable[[Transaction], T]) -> T:
        return self._transactions.read(read)

    def _run_write(self, change: Callable[[Transaction], T]) -> T:
        return self._transactions.write(change)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFileInfo:
    """Metadata of a file that is, or could become, a store.

    `latest_schema` is the newest schema of this version. `pending_encoders` are models that a re-embedding has begun to
    add. `retired_encoders` is the number of former models that still have vectors.
    """

    schema: int
    latest_schema: int
    encoder: Encoder | None = None
    pending_encoders: tuple[Encoder, ...] = ()
    retired_encoders: int = 0
    read_only: bool = False


def inspect_store_file(path: Path) -> StoreFileInfo:
    """Inspect the file at this path.

    Raise an error if it belongs to another program or a newer version, or cannot be read as it is.
    """
    latest = len(load_migrations(MIGRATIONS))
    name = os.fspath(path)
    database = SqliteDatabase(name, path.resolve())
    database.refuse_if_written()
    has_log = store_files.file_size(companion_path(path.resolve(), "-wal")) > 0
    with fork.delay_forks(), translate_errors(name), closing(database.connect_reading()) as db:
        if has_log:  # a log in use or left by a crash: closing would merge it into the file
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        schema = int(db.pragma("user_version")) if is_claimed(db, name) else 0
        if not 0 <= schema <= latest:
            raise schema_mismatch(name, schema, latest)
        info = _inspect_encoders(db, schema, latest) if schema else StoreFileInfo(schema=0, latest_schema=latest)
        return replace(info, read_only=database.read_only)


def _inspect_encoders(db: apsw.Connection, schema: int, latest: int) -> StoreFileInfo:
    _, encoder = read_current_encoder(SqliteTransaction(db))
    encoders = fetch_all(db, "waiting_encoders")
    return StoreFileInfo(
        schema=schema,
        latest_schema=latest,
        encoder=encoder,
        pending_encoders=tuple(Encoder(name, dimensions) for name, dimensions, dismissed in encoders if not dismissed),
        retired_encoders=sum(dismissed for _, _, dismissed in encoders),
    )
