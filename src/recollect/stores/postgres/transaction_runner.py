"""Transactions: what is seen or changed in one, tried again when the server of the database comes back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.driver_errors import translated
from recollect.stores.postgres.rls_scope import Reach
from recollect.stores.postgres.transaction import PostgresSession

T = TypeVar("T")

EVERYTHING = Reach()


@contextmanager
def reading(database: Database, reach: Reach) -> Iterator[PostgresSession]:
    """A session that sees so much of the database, as it is at one moment; for what is read only once, bit by bit."""
    with translated(database.name), _once(database, reach) as session:
        yield session


@contextmanager
def _once(database: Database, reach: Reach) -> Iterator[PostgresSession]:
    with database.reading(reach.whole) as db:
        yield PostgresSession(db, reach)


def seen(database: Database, reach: Reach, look: Callable[[PostgresSession], T]) -> T:
    """What is seen of so much of the database; it may be looked more than once."""

    def once() -> T:
        with _once(database, reach) as session:
            return look(session)

    return database.until_done(once)


def changed_everywhere(database: Database, change: Callable[[PostgresSession], T]) -> T:
    """What comes of a change that is about all roots; it may be made again, and must then find done what it did."""
    database.refuse_if_read_only()

    def once() -> T:
        with database.writing() as db:
            session = PostgresSession(db)
            session.go(EVERYTHING)
            return change(session)

    return database.until_done(once)


class PostgresTransactions:
    """A PostgreSQL database that is open, for what is about all roots or none."""

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT, make: bool = True) -> None:
        self._database = Database(target, patience=timeout, make=make)

    def seen(self, look: Callable[[PostgresSession], T]) -> T:
        return seen(self._database, EVERYTHING, look)

    def changed(self, change: Callable[[PostgresSession], T]) -> T:
        return changed_everywhere(self._database, change)

    def close(self) -> None:
        self._database.close()
