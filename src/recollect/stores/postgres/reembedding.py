"""Going over to another model in a PostgreSQL database."""

from collections.abc import Callable
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT
from recollect.stores.postgres.transaction_runner import PostgresTransactions
from recollect.stores.sql.reembedding import RelationalReembedding
from recollect.stores.sql.transaction import Session

T = TypeVar("T")


class PostgresReembedding(RelationalReembedding):
    """Transactions about all roots. One whose answer was lost is made again, and finds done what it did."""

    out_of_order = True  # several write at once

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT) -> None:
        super().__init__()
        self._database = PostgresTransactions(target, timeout=timeout, make=False)

    def close(self) -> None:
        self._database.close()

    def _seen(self, look: Callable[[Session], T]) -> T:
        return self._database.seen(look)

    def _changed(self, change: Callable[[Session], T]) -> T:
        return self._database.changed(change)
