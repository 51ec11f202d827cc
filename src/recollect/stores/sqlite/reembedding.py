"""Going over to another model in a SQLite file."""

from collections.abc import Callable
from os import PathLike
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT
from recollect.stores.sql.reembedding import RelationalReembedding
from recollect.stores.sql.transaction import Session
from recollect.stores.sqlite.transaction_runner import SqliteTransactions

T = TypeVar("T")


class SqliteReembedding(RelationalReembedding):
    """Transactions of a SQLite file, between those of others."""

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT) -> None:
        super().__init__()
        self._file = SqliteTransactions(target, timeout=timeout)

    def close(self) -> None:
        self._file.close()

    def _seen(self, look: Callable[[Session], T]) -> T:
        return self._file.seen(look)

    def _changed(self, change: Callable[[Session], T]) -> T:
        return self._file.changed(change)
