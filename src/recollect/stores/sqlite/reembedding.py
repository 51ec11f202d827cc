"""Going over to another model in a SQLite file."""

from collections.abc import Callable
from os import PathLike
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.sql.reembedding import SqlReembedding
from recollect.stores.sql.transaction import Transaction
from recollect.stores.sqlite.transaction_runner import SqliteTransactionRunner

T = TypeVar("T")


class SqliteReembedding(SqlReembedding):
    """Transactions of a SQLite file, between those of others."""

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        super().__init__()
        self._transactions = SqliteTransactionRunner(target, timeout=timeout)

    def close(self) -> None:
        self._transactions.close()

    def _run_read(self, look: Callable[[Transaction], T]) -> T:
        return self._transactions.read(look)

    def _run_write(self, change: Callable[[Transaction], T]) -> T:
        return self._transactions.write(change)
