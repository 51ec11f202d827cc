"""The SQLite store: reads through shelves, writes through one writer, and keeps the contract of every store."""

from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TypeVar

from recollect.model.archive import Inventory, Item
from recollect.model.erasure import Search
from recollect.model.format import printable
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.validation import BUSY_TIMEOUT, CACHE_BYTES
from recollect.protocols import Progress, Writing
from recollect.stores.sql.archive import as_they_are, exported
from recollect.stores.sql.reader import RelationalReading
from recollect.stores.sql.stats import count
from recollect.stores.sql.transaction import Session
from recollect.stores.sql.writer import RelationalWriting
from recollect.stores.sqlite import descriptors
from recollect.stores.sqlite.backup import backup
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.readers import Readers
from recollect.stores.sqlite.residue import scrub
from recollect.stores.sqlite.transaction import SqliteSession
from recollect.stores.sqlite.writer import Writer

T = TypeVar("T")


class SqliteStore(RelationalReading):
    """Keeps memories in one SQLite file, for many threads and processes at once."""

    def __init__(
        self,
        target: str | PathLike[str],
        clock: Callable[[], datetime],
        *,
        timeout: float = BUSY_TIMEOUT,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(cache_bytes)
        self._clock = clock
        self._timeout = timeout
        self._database = Database.open(target, patience=timeout)
        self._readers = Readers(self._database)
        self._writer = Writer(self._database, timeout=timeout)

    def __str__(self) -> str:
        return printable(self._database.name)

    def _read(self, scope: Scope | None, look: Callable[[Session], T], *, below: bool = False) -> T:
        with self._session() as db:
            return look(db)

    @contextmanager
    def _session(self) -> Iterator[SqliteSession]:
        with self._readers.reading() as db:
            yield SqliteSession(db)

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        path = self._database.path
        size = sum(map(descriptors.size, descriptors.files_of(path))) if path else 0
        with self._readers.reading() as db:
            return count(SqliteSession(db), scope, below=below, schema=db.pragma("user_version"), size=size)

    def export(self, scope: Scope | None) -> tuple[Inventory, Iterator[Item]]:
        return exported(self._session(), scope, as_they_are)

    def backup(self, path: Path, progress: Progress) -> None:
        mode = self._database.path.stat().st_mode & 0o666 if self._database.path else 0o600
        with self._readers.reading() as db:
            backup(db, path, mode, progress)

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> Search:
        self._library.forget()
        path = self._database.path
        return scrub(path, self._writer, pieces, patience=self._timeout) if path else Search()

    def write(self, change: Callable[[Writing], T]) -> T:
        return self._writer.write(lambda db: change(RelationalWriting(SqliteSession(db), self._clock())))

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def later(self, change: Callable[[Writing], object]) -> None:
        self._writer.later(lambda db: change(RelationalWriting(SqliteSession(db), self._clock())))

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
