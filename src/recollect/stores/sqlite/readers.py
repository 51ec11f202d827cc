"""Readers: connections that only read, each of which sees the database as it is at one moment."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import apsw

from recollect.errors import StoreError
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.stores.sqlite import fork
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.driver_errors import translate_errors


class ReaderPool:
    """Connections that only read, lent to one thread at a time and kept for the next.

    As many are opened as read at once, so nobody waits for another to finish; `kept` of them stay open.
    """

    def __init__(self, database: SqliteDatabase, *, kept: int = 8) -> None:
        self._database = database
        self._max_idle = kept
        self._lock = ForkSafeLock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        register_fork_aware(self)

    @contextmanager
    def borrow(self) -> Iterator[apsw.Connection]:
        """A connection whose statements all see the database as it is now, whatever is written meanwhile."""
        with fork.delay_forks(), translate_errors(self._database.name):
            db = self._take_connection()
            try:
                self._database.refuse_if_written()
                db.execute("BEGIN")
                self._database.refuse_if_replaced(db)  # and the first thing read fixes what is seen
                yield db
                self._database.refuse_if_written()  # meanwhile
            except apsw.Error:
                self._database.refuse_if_changed()
                raise
            finally:
                self._return_connection(db)

    def close(self) -> None:
        """Close what is idle now, and the rest as it comes back."""
        with self._lock.rlock:
            self._closed = True
            idle, self._idle = self._idle, []
        with ExitStack() as whatever_happens:
            for db in idle:
                whatever_happens.callback(self._database.disconnect, db)

    def after_fork(self) -> None:
        """Begin with no connection."""
        self._idle = []

    def _take_connection(self) -> apsw.Connection:
        with self._lock.rlock:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._idle:
                return self._idle.pop()
        return self._database.connect_reading()

    def _return_connection(self, db: apsw.Connection) -> None:
        if fork.is_inherited(db):
            return
        if db.in_transaction:
            db.execute("ROLLBACK")
        with self._lock.rlock:
            # a statement that was not read to its end would hold on to what it saw
            keep = not self._closed and len(self._idle) < self._max_idle and db.txn_state() == apsw.SQLITE_TXN_NONE
            if keep:
                self._idle.append(db)
        if not keep:
            self._database.disconnect(db)
