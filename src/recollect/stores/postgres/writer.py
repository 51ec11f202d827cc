"""Write transactions of the PostgreSQL store.

Each change is applied once, even if a connection is lost. At the end is the re-embedding of a database for a new model.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

import psycopg

from recollect.errors import InvalidInput, StoreBusy, StoreError
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.protocols import WriteTransaction
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.pool import Connection, is_lost
from recollect.stores.postgres.transaction import PostgresTransaction, PostgresTransactionRunner, RlsScope
from recollect.stores.sql.reembedding import SqlReembedding
from recollect.stores.sql.transaction import Transaction
from recollect.stores.sql.writer import SqlWriteTransaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _UnconfirmedCommit(Generic[T]):
    """A commit whose answer never arrived: its roots, its token, and the result to return."""

    roots: frozenset[str]
    token: UUID
    result: T


class PostgresWriter:
    """Writes for all threads of a process; writers of the same root wait in the database."""

    def __init__(self, database: PostgresDatabase, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._thread_state = threading.local()

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        """Return what `change` returns once its writes are committed; if it raises, keep none.

        If the server goes away, `change` runs again on the rows that exist then. If it went away during a COMMIT, the
        next transaction first looks whether that commit was applied. It has to wait for the commit, since a server that
        still works on it holds the lock of the root.
        """
        if getattr(self._thread_state, "a_change", False):
            raise InvalidInput("a write cannot wait for another write; do both in one transaction, or use `later`")
        self._database.refuse_if_read_only()
        unconfirmed: list[_UnconfirmedCommit[T]] = []
        self._thread_state.a_change = True
        try:
            return self._database.retry(lambda: self._write_once(change, unconfirmed))
        except StoreBusy as error:
            if not unconfirmed:
                raise
            problem = "the connection was lost during the commit, so the write may or may not be stored"
            remedy = "read it to find out, or retry with the same idempotency key"
            raise StoreBusy(f"{self._database.name}: {problem}; {remedy}") from error
        except StoreError:
            self._database.takes_writes = False
            raise
        finally:
            self._thread_state.a_change = False

    def _write_once(self, change: Callable[[WriteTransaction], T], unconfirmed: list[_UnconfirmedCommit[T]]) -> T:
        commit: _UnconfirmedCommit[T] | None = None
        try:
            with self._database.write_transaction() as db:
                for one in unconfirmed:
                    if _was_committed(db, one.roots, one.token):
                        return one.result
                transaction = PostgresTransaction(db)
                with transaction.use_pipeline():
                    result = change(SqlWriteTransaction(transaction, self._clock()))
                if transaction.locked_roots:
                    commit = _UnconfirmedCommit(transaction.locked_roots, transaction.token, result)
        except psycopg.Error as error:
            if commit is not None and is_lost(error):
                unconfirmed.append(commit)
            raise
        if commit is not None:
            self._database.takes_writes = True
        return result


def _was_committed(db: Connection, roots: frozenset[str], token: UUID) -> bool:
    """Return whether any of these roots has a commit with the token.

    Waits for the transaction that holds the lock of a root. A change that only read has no commit.
    """
    transaction = PostgresTransaction(db)
    for root in sorted(roots):
        transaction.switch_scope(RlsScope(root))
        if transaction.fetch_first("commit_with_token", wanted=token) is not None:
            return True
    return False


class PostgresReembedding(SqlReembedding):
    """Re-embeds a store in transactions that cover all roots.

    A transaction whose answer was lost runs again, and finds done what it did.
    """

    numbers_out_of_order = True  # several transactions write at once

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        super().__init__()
        self._database = PostgresTransactionRunner(target, timeout=timeout, create=False)

    def close(self) -> None:
        self._database.close()

    def _run_read(self, read: Callable[[Transaction], T]) -> T:
        return self._database.read(read)

    def _run_write(self, change: Callable[[Transaction], T]) -> T:
        return self._database.write(change)
