"""SqliteTransactions: what is seen or changed in a SQLite file, between the transactions of others."""

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.sql.transaction import Transaction
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.readers import ReaderPool
from recollect.stores.sqlite.transaction import SqliteTransaction
from recollect.stores.sqlite.writer import SqliteWriter

T = TypeVar("T")


class SqliteTransactionRunner:
    """A SQLite file that is open."""

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._database = SqliteDatabase.open(target, patience=timeout)
        self._readers = ReaderPool(self._database)
        self._writer = SqliteWriter(self._database, timeout=timeout)

    def read(self, look: Callable[[Transaction], T]) -> T:
        with self._readers.borrow() as db:
            return look(SqliteTransaction(db))

    def write(self, change: Callable[[Transaction], T]) -> T:
        return self._writer.write(lambda db: change(SqliteTransaction(db)))

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            whatever_happens.callback(self._readers.close)
            self._writer.close()
