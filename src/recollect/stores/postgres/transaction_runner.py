"""Transactions: what is seen or changed in one, tried again when the server of the database comes back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.driver_errors import translate_errors
from recollect.stores.postgres.rls_scope import RlsScope
from recollect.stores.postgres.transaction import PostgresTransaction

T = TypeVar("T")

ALL_SCOPES = RlsScope()


@contextmanager
def open_snapshot(database: PostgresDatabase, reach: RlsScope) -> Iterator[PostgresTransaction]:
    """A session that sees so much of the database, as it is at one moment; for what is read only once, bit by bit."""
    with translate_errors(database.name), _begin_read(database, reach) as session:
        yield session


@contextmanager
def _begin_read(database: PostgresDatabase, reach: RlsScope) -> Iterator[PostgresTransaction]:
    with database.read_transaction(reach.full_statement) as db:
        yield PostgresTransaction(db, reach)


def read_with_retry(database: PostgresDatabase, reach: RlsScope, look: Callable[[PostgresTransaction], T]) -> T:
    """What is seen of so much of the database; it may be looked more than once."""

    def once() -> T:
        with _begin_read(database, reach) as session:
            return look(session)

    return database.retry(once)


def write_everywhere(database: PostgresDatabase, change: Callable[[PostgresTransaction], T]) -> T:
    """What comes of a change that is about all roots; it may be made again, and must then find done what it did."""
    database.refuse_if_read_only()

    def once() -> T:
        with database.write_transaction() as db:
            session = PostgresTransaction(db)
            session.switch_scope(ALL_SCOPES)
            return change(session)

    return database.retry(once)


class PostgresTransactionRunner:
    """A PostgreSQL database that is open, for what is about all roots or none."""

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS, make: bool = True) -> None:
        self._database = PostgresDatabase(target, patience=timeout, make=make)

    def read(self, look: Callable[[PostgresTransaction], T]) -> T:
        return read_with_retry(self._database, ALL_SCOPES, look)

    def write(self, change: Callable[[PostgresTransaction], T]) -> T:
        return write_everywhere(self._database, change)

    def close(self) -> None:
        self._database.close()
