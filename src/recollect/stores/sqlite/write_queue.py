"""Waiting: what threads have asked to be done with the database, in order, until it is begun or taken back.

Clerk: the one thread of a process that writes; it takes its turn, commits what waits, and keeps the log short.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import apsw

from recollect.errors import StoreError
from recollect.stores.sqlite import fork
from recollect.stores.sqlite.connection import SqliteDatabase, translate_error
from recollect.stores.sqlite.process_lock import WriteLock

DUE_NOW = 0.0
"""The moment something urgent is due."""

MAX_SLEEP_SECONDS = 1.0
"""After how many seconds the line is looked at without being woken, as an interrupt may swallow the call."""


@dataclass(slots=True, eq=False)
class WriteRequest:
    """Something to be done with the connection, and the promise of what comes of it."""

    run: Callable[[apsw.Connection], Any]
    due: float = DUE_NOW  # on the clock of `time.monotonic`
    alone: bool = False  # outside of any transaction
    future: "Future[Any]" = field(default_factory=Future)


class WriteQueue:
    """A line of what was asked. The promise of each decides, once and for all, whether it is begun or taken back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # entered by itself: an interrupt would leave the condition locked
        self._changed = threading.Condition(self._lock)
        self._requests: deque[WriteRequest] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, asked: WriteRequest) -> None:
        """Put it last."""
        with self._lock:
            self._requests.append(asked)
            if asked.due == DUE_NOW or len(self._requests) == 1:
                self._changed.notify()

    def wait_until_due(self) -> bool:
        """Sleeps until something is due, and then says so; says no when the line is closed and empty."""
        with self._lock:
            while not self._closed:
                rest = min((asked.due - time.monotonic() for asked in self._requests), default=None)
                if rest is not None and rest <= 0:
                    return True
                self._changed.wait(MAX_SLEEP_SECONDS if rest is None else min(rest, MAX_SLEEP_SECONDS))
            return bool(self._requests)

    def has_requests(self) -> bool:
        """Whether anything in line has not been taken back."""
        with self._lock:
            while self._requests and self._requests[0].future.cancelled():
                self._requests.popleft()
            return bool(self._requests)

    def begin_next(self, *, alone: bool) -> WriteRequest | None:
        """The first in line, which cannot be taken back any more; none if it is not of the sort asked for."""
        with self._lock:
            while self._requests and (self._requests[0].alone == alone or self._requests[0].future.cancelled()):
                asked = self._requests.popleft()
                if asked.future.set_running_or_notify_cancel():
                    return asked
        return None

    def cancel_all(self) -> int:
        """Take back all that has not begun, and say how much that was."""
        with self._lock:
            taken = [asked for asked in self._requests if not asked.future.cancelled() and asked.future.cancel()]
            self._requests.clear()
        return len(taken)

    def close(self) -> None:
        """Nothing more will be added: what is in line is due."""
        with self._lock:
            self._closed = True
            self._changed.notify()


_LOG = logging.getLogger(__name__)

MAX_BATCH_SECONDS = 0.02
"""For how many seconds changes are added to a transaction; meanwhile other processes wait."""

MAX_BATCH_WRITES = 1024
"""How many changes are committed together, at most."""

BUSY_RETRY_SECONDS = 0.25
"""How many seconds SQLite's own lock is waited for before we look whether anyone still needs it."""

CHECKPOINT_PAGES = 1000
"""How many pages in the log that are not in the file yet are worth a checkpoint."""

LONG_LOG_PAGES = 4 * CHECKPOINT_PAGES
"""From how many pages on the log is begun anew even if readers have to be waited for."""


class WriterThread:
    """Does what waits until the line is closed; the connection and the turn are its own."""

    def __init__(self, database: SqliteDatabase, waiting: WriteQueue) -> None:
        self._database = database
        self._queue = waiting
        self._lock: WriteLock | None = None
        self._db: apsw.Connection | None = None

    def run(self) -> None:
        """Work until nothing is left to do and nothing will come."""
        while self._queue.wait_until_due():
            try:
                self._run_locked()
            except BaseException as error:  # whatever it is, it belongs to those who wait
                while asked := self._queue.begin_next(alone=False) or self._queue.begin_next(alone=True):
                    asked.future.set_exception(self._error_for_all(error))
                self._release()
        self._release()

    def _run_locked(self) -> None:
        if self._lock is None:
            self._lock = self._database.open_write_lock()
        db = self._connect()  # before others have to wait for it
        if not self._lock.acquire():
            _LOG.info("line_stands_still", extra={"store": self._database.name})
        try:
            with fork.delay_forks():
                self._write_queued(db)
        finally:
            self._lock.release()

    def _connect(self) -> apsw.Connection:
        if self._db is None:
            self._db = self._database.connect()
            if self._database.path:  # in memory, a commit waits for readers, and nobody but us begins a transaction
                self._db.set_busy_timeout(round(BUSY_RETRY_SECONDS * 1000))
        return self._db

    def _write_queued(self, db: apsw.Connection) -> None:
        log = _count_log_pages(db)
        if self._begin(db):
            self._database.refuse_if_replaced(db)
            self._database.remove_checksum()
            self._commit(db)
        while self._db and (asked := self._queue.begin_next(alone=True)):
            self._run_alone(db, asked)
        if self._db:
            self._checkpoint_log(db, log)

    def _begin(self, db: apsw.Connection) -> bool:
        """Whether a transaction has begun; not if all have gone while somebody who does not stand in line wrote."""
        while self._queue.has_requests():
            with suppress(apsw.BusyError):
                db.execute("BEGIN IMMEDIATE")
                return True
        return False

    def _commit(self, db: apsw.Connection) -> None:
        """Run what waits in one transaction; who asked is told when it is on the disk, or that it never will be.

        Who was refused is told then too: what stood in the way can be read from then on, and would not be there if the
        commit failed.
        """
        group: list[tuple[WriteRequest, Callable[[], None]]] = []
        end, wrote = time.monotonic() + MAX_BATCH_SECONDS, False
        try:
            while (
                len(group) < MAX_BATCH_WRITES
                and time.monotonic() < end
                and (asked := self._queue.begin_next(alone=False))
            ):
                wrote |= self._attempt(db, asked, group)
            db.execute("COMMIT")
        except BaseException as error:
            self._roll_back(db)
            for asked, _ in group:
                asked.future.set_exception(self._error_for_all(error))
            return
        if wrote:
            self._database.takes_writes = True
        for _, tell in group:
            tell()

    def _attempt(
        self, db: apsw.Connection, asked: WriteRequest, group: list[tuple[WriteRequest, Callable[[], None]]]
    ) -> bool:
        """Run one change and add it to the group; one that fails is undone by itself. Says whether it wrote."""
        before, fails = db.total_changes(), False
        try:
            db.execute("SAVEPOINT change")
            tell = partial(asked.future.set_result, asked.run(db))
        except BaseException as error:
            tell = partial(asked.future.set_exception, self._error_for_one(error))
            if not db.in_transaction:  # as when the disk is full: the whole group is lost
                tell()
                raise
            db.execute("ROLLBACK TO change")
            fails = True
        group.append((asked, tell))
        db.execute("RELEASE change")
        return not fails and db.total_changes() > before

    def _roll_back(self, db: apsw.Connection) -> None:
        """Undo the transaction for good, and begin with a new connection next time.

        When a disk fails to make a commit durable, its pages stay in the log. Nobody reads them, but after a crash
        they would be taken for committed, unless the log has been emptied or written over by then.
        """
        with suppress(apsw.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._database.note_checkpoint(db)
        self._disconnect()

    def _run_alone(self, db: apsw.Connection, asked: WriteRequest) -> None:
        try:
            asked.future.set_result(asked.run(db))
        except BaseException as error:
            asked.future.set_exception(self._error_for_one(error))
        if db.in_transaction:
            db.execute("ROLLBACK")
        self._database.note_checkpoint(db)

    def _checkpoint_log(self, db: apsw.Connection, before: int) -> None:
        """Move the log into the file each time it has grown past another thousand pages.

        It is done while we have the turn: only when all of the log is in the file can the next writer begin it anew.
        Readers keep what they see in the log; if it has become long, they are waited for, a moment at a time, and
        those that come meanwhile read the file.
        """
        if db.txn_state() != apsw.SQLITE_TXN_NONE:  # a change left a statement that was not read to its end
            self._disconnect()
            return
        log = _count_log_pages(db)
        if log // CHECKPOINT_PAGES <= before // CHECKPOINT_PAGES:
            return
        mode = apsw.SQLITE_CHECKPOINT_RESTART if log >= LONG_LOG_PAGES else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            db.wal_checkpoint(mode=mode)
            self._database.note_checkpoint(db)
        except apsw.BusyError:
            _LOG.debug("checkpoint_put_off", extra={"store": self._database.name, "pages": log})
        except apsw.Error as error:  # what was committed is safe in the log
            _LOG.warning("checkpoint_failed", exc_info=error, extra={"store": self._database.name, "pages": log})

    def _error_for_one(self, error: BaseException) -> BaseException:
        """What somebody is told whose own change failed."""
        return self._error_for_all(error) if isinstance(error, apsw.Error) else error

    def _error_for_all(self, error: BaseException) -> StoreError:
        """What each of several is told about an error that is nobody's own."""
        name = self._database.name
        if isinstance(error, apsw.Error):
            told = translate_error(error, name)
        elif isinstance(error, StoreError):
            told = type(error)(str(error))
        else:
            told = StoreError(f"{name}: nothing was written: {error}")
        told.__cause__ = error
        if not told.retryable:
            self._database.takes_writes = False
        return told

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(StoreError):
                self._database.disconnect(db)

    def _release(self) -> None:
        self._disconnect()
        line, self._lock = self._lock, None
        if line is not None:
            line.close()


def _count_log_pages(db: apsw.Connection) -> int:
    """How many pages are in the log; 0 if it cannot be said now."""
    try:
        return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
    except apsw.BusyError:  # somebody mends the log of a process that died
        return 0
