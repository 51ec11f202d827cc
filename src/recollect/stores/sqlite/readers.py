"""Readers: connections that only read, each of which sees the database as it is at one moment."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import apsw

from recollect.errors import StoreError
from recollect.fork_safety import Lock, tell_children
from recollect.stores.sqlite import fork
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.driver_errors import translated


class Readers:
    """Connections that only read, lent to one thread at a time and kept for the next.

    As many are opened as read at once, so nobody waits for another to finish; `kept` of them stay open.
    """

    def __init__(self, database: Database, *, kept: int = 8) -> None:
        self._database = database
        self._kept = kept
        self._lock = Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        tell_children(self)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection whose statements all see the database as it is now, whatever is written meanwhile."""
        with fork.inside(), translated(self._database.name):
            db = self._lent()
            try:
                self._database.refuse_if_written()
                db.execute("BEGIN")
                self._database.refuse_if_replaced(db)  # and the first thing read fixes what is seen
                yield db
                self._database.refuse_if_written()  # meanwhile
            except apsw.Error:
                self._database.explain()
                raise
            finally:
                self._returned(db)

    def close(self) -> None:
        """Close what is idle now, and the rest as it comes back."""
        with self._lock.here:
            self._closed = True
            idle, self._idle = self._idle, []
        with ExitStack() as whatever_happens:
            for db in idle:
                whatever_happens.callback(self._database.disconnect, db)

    def after_fork(self) -> None:
        """Begin with no connection."""
        self._idle = []

    def _lent(self) -> apsw.Connection:
        with self._lock.here:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._idle:
                return self._idle.pop()
        return self._database.connect_reading()

    def _returned(self, db: apsw.Connection) -> None:
        if fork.is_inherited(db):
            return
        if db.in_transaction:
            db.execute("ROLLBACK")
        with self._lock.here:
            # a statement that was not read to its end would hold on to what it saw
            keep = not self._closed and len(self._idle) < self._kept and db.txn_state() == apsw.SQLITE_TXN_NONE
            if keep:
                self._idle.append(db)
        if not keep:
            self._database.disconnect(db)
