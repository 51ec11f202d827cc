"""Going over to another model in a PostgreSQL database."""

from collections.abc import Callable
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.postgres.transaction_runner import PostgresTransactionRunner
from recollect.stores.sql.reembedding import SqlReembedding
from recollect.stores.sql.transaction import Transaction

T = TypeVar("T")


class PostgresReembedding(SqlReembedding):
    """Transactions about all roots. One whose answer was lost is made again, and finds done what it did."""

    numbers_out_of_order = True  # several write at once

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        super().__init__()
        self._database = PostgresTransactionRunner(target, timeout=timeout, make=False)

    def close(self) -> None:
        self._database.close()

    def _run_read(self, look: Callable[[Transaction], T]) -> T:
        return self._database.read(look)

    def _run_write(self, change: Callable[[Transaction], T]) -> T:
        return self._database.write(change)
