"""Going over to another model in a PostgreSQL database."""

from collections.abc import Callable
from typing import TypeVar

from recollect.model.limits import BUSY_TIMEOUT
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.reach import Reach
from recollect.stores.postgres.session import PostgresSession
from recollect.stores.relational.reembedding import RelationalReembedding
from recollect.stores.relational.session import Session

T = TypeVar("T")


class PostgresReembedding(RelationalReembedding):
    """Transactions about all roots. One whose answer was lost is made again, and finds done what it did."""

    out_of_order = True  # several write at once

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT) -> None:
        super().__init__()
        self._database = Database(target, patience=timeout, make=False)

    def close(self) -> None:
        self._database.close()

    def _seen(self, look: Callable[[Session], T]) -> T:
        def once() -> T:
            with self._database.reading(Reach().whole) as db:
                return look(PostgresSession(db, Reach()))

        return self._database.until_done(once)

    def _changed(self, change: Callable[[Session], T]) -> T:
        self._database.refuse_if_read_only()

        def once() -> T:
            with self._database.writing() as db:
                session = PostgresSession(db)
                session.go(Reach())
                return change(session)

        return self._database.until_done(once)
