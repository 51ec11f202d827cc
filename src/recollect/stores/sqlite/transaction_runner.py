"""SqliteTransactions: what is seen or changed in a SQLite file, between the transactions of others."""

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT
from recollect.stores.sql.transaction import Session
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.readers import Readers
from recollect.stores.sqlite.transaction import SqliteSession
from recollect.stores.sqlite.writer import Writer

T = TypeVar("T")


class SqliteTransactions:
    """A SQLite file that is open."""

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = Database.open(target, patience=timeout)
        self._readers = Readers(self._database)
        self._writer = Writer(self._database, timeout=timeout)

    def seen(self, look: Callable[[Session], T]) -> T:
        with self._readers.reading() as db:
            return look(SqliteSession(db))

    def changed(self, change: Callable[[Session], T]) -> T:
        return self._writer.write(lambda db: change(SqliteSession(db)))

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            whatever_happens.callback(self._readers.close)
            self._writer.close()
