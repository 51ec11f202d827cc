"""The queue of writes in a process, the one thread that runs them, and the writer that callers wait for.

`WriteQueue` keeps requests until they begin or are cancelled. `WriterThread` takes the write lock, commits queued
requests in batches, and keeps the write-ahead log short. Writes run in the order requested, many of them in one commit.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import apsw

from recollect.errors import InvalidInput, StoreBusy, StoreError
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.sql.deferred import flush_at_exit, join_at_exit
from recollect.stores.sqlite import fork
from recollect.stores.sqlite.connection import SqliteDatabase, translate_error
from recollect.stores.sqlite.process_lock import WriteLock

DUE_NOW = 0.0
"""Due time of an urgent request."""

MAX_SLEEP_SECONDS = 1.0
"""Seconds after which the queue is checked without a notification.

An interrupt may swallow a notification.
"""


@dataclass(slots=True, eq=False)
class WriteRequest:
    """A function to run with the connection, and the future of its result."""

    run: Callable[[apsw.Connection], Any]
    due: float = DUE_NOW  # on the clock of `time.monotonic`
    alone: bool = False  # outside of any transaction
    future: "Future[Any]" = field(default_factory=Future)


class WriteQueue:
    """Pending requests; the future of each decides whether it begins or is cancelled."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # entered directly: an interrupt would leave the condition locked
        self._changed = threading.Condition(self._lock)
        self._requests: deque[WriteRequest] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: WriteRequest) -> None:
        """Append a request."""
        with self._lock:
            self._requests.append(request)
            if request.due == DUE_NOW or len(self._requests) == 1:
                self._changed.notify()

    def wait_until_due(self) -> bool:
        """Sleep until a request is due; return False once the queue is closed and empty."""
        with self._lock:
            while not self._closed:
                seconds = min((request.due - time.monotonic() for request in self._requests), default=None)
                if seconds is not None and seconds <= 0:
                    return True
                self._changed.wait(MAX_SLEEP_SECONDS if seconds is None else min(seconds, MAX_SLEEP_SECONDS))
            return bool(self._requests)

    def has_requests(self) -> bool:
        """Whether any queued request has not been cancelled."""
        with self._lock:
            while self._requests and self._requests[0].future.cancelled():
                self._requests.popleft()
            return bool(self._requests)

    def begin_next(self, *, alone: bool) -> WriteRequest | None:
        """Begin the first request, which cannot be cancelled afterwards; None if its kind differs."""
        with self._lock:
            while self._requests and (self._requests[0].alone == alone or self._requests[0].future.cancelled()):
                request = self._requests.popleft()
                if request.future.set_running_or_notify_cancel():
                    return request
        return None

    def cancel_all(self) -> int:
        """Cancel all requests that have not begun; return how many."""
        with self._lock:
            cancelled = [
                request for request in self._requests if not request.future.cancelled() and request.future.cancel()
            ]
            self._requests.clear()
        return len(cancelled)

    def close(self) -> None:
        """Mark the queue as closed: the caller adds nothing more, and queued requests are due at once."""
        with self._lock:
            self._closed = True
            self._changed.notify()


_LOG = logging.getLogger(__name__)

MAX_BATCH_SECONDS = 0.02
"""Seconds during which requests join a transaction; other processes wait meanwhile."""

MAX_BATCH_WRITES = 1024
"""Maximum number of requests in one commit."""

BUSY_RETRY_SECONDS = 0.25
"""Seconds to wait for SQLite's own lock before checking whether any request is still wanted."""

CHECKPOINT_PAGES = 1000
"""Number of pages by which the log grows until the next checkpoint."""

LONG_LOG_PAGES = 4 * CHECKPOINT_PAGES
"""Number of pages from which the log is restarted even if readers must be waited for."""


class WriterThread:
    """Runs requests until the queue is closed and empty; owns its connection and write lock."""

    def __init__(self, database: SqliteDatabase, queue: WriteQueue) -> None:
        self._database = database
        self._queue = queue
        self._lock: WriteLock | None = None
        self._db: apsw.Connection | None = None

    def run(self) -> None:
        """Work until the queue is closed and empty."""
        while self._queue.wait_until_due():
            try:
                self._run_locked()
            except BaseException as error:  # any error is reported to the waiting callers
                while request := self._queue.begin_next(alone=False) or self._queue.begin_next(alone=True):
                    request.future.set_exception(self._error_for_all(error))
                self._release()
        self._release()

    def _run_locked(self) -> None:
        if self._lock is None:
            self._lock = self._database.open_write_lock()
        db = self._connect()  # before other processes have to wait for us
        if not self._lock.acquire():
            _LOG.info("write_queue_stalled", extra={"store": self._database.name})
        try:
            with fork.delay_forks():
                self._write_queued(db)
        finally:
            self._lock.release()

    def _connect(self) -> apsw.Connection:
        if self._db is None:
            self._db = self._database.connect()
            if self._database.path:  # in memory, a commit must wait for readers, and there is no other writer
                self._db.set_busy_timeout(round(BUSY_RETRY_SECONDS * 1000))
        return self._db

    def _write_queued(self, db: apsw.Connection) -> None:
        log = _count_log_pages(db)
        if self._begin(db):
            self._database.refuse_if_replaced(db)
            self._database.remove_checksum()
            self._commit(db)
        while self._db and (request := self._queue.begin_next(alone=True)):
            self._run_alone(db, request)
        if self._db:
            self._checkpoint_log(db, log)

    def _begin(self, db: apsw.Connection) -> bool:
        """Begin a transaction; return False if all requests were cancelled while others wrote.

        This happens if a process that is not in the write queue holds SQLite's own lock.
        """
        while self._queue.has_requests():
            with suppress(apsw.BusyError):
                db.execute("BEGIN IMMEDIATE")
                return True
        return False

    def _commit(self, db: apsw.Connection) -> None:
        """Run queued requests in one transaction; report results once the commit is on disk.

        A refused request is reported then, too: what it conflicts with can be read only after the commit, and would not
        exist if the commit failed.
        """
        group: list[tuple[WriteRequest, Callable[[], None]]] = []
        deadline, has_written = time.monotonic() + MAX_BATCH_SECONDS, False
        try:
            while (
                len(group) < MAX_BATCH_WRITES
                and time.monotonic() < deadline
                and (request := self._queue.begin_next(alone=False))
            ):
                has_written |= self._attempt(db, request, group)
            db.execute("COMMIT")
        except BaseException as error:
            self._roll_back(db)
            for request, _ in group:
                request.future.set_exception(self._error_for_all(error))
            return
        if has_written:
            self._database.takes_writes = True
        for _, report in group:
            report()

    def _attempt(
        self, db: apsw.Connection, request: WriteRequest, group: list[tuple[WriteRequest, Callable[[], None]]]
    ) -> bool:
        """Run one request in a savepoint and add it to the group; return whether it wrote.

        A request that fails is undone alone.
        """
        before, has_failed = db.total_changes(), False
        try:
            db.execute("SAVEPOINT change")
            report = partial(request.future.set_result, request.run(db))
        except BaseException as error:
            report = partial(request.future.set_exception, self._error_for_one(error))
            if not db.in_transaction:  # e.g. the disk is full: the whole group is lost
                report()
                raise
            db.execute("ROLLBACK TO change")
            has_failed = True
        group.append((request, report))
        db.execute("RELEASE change")
        return not has_failed and db.total_changes() > before

    def _roll_back(self, db: apsw.Connection) -> None:
        """Undo the transaction for good, and use a new connection next time.

        When the disk fails during a commit, the commit's pages stay in the log. Readers ignore them, but after a crash
        SQLite would treat them as committed unless the log was emptied or overwritten first.
        """
        with suppress(apsw.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._database.note_checkpoint(db)
        self._disconnect()

    def _run_alone(self, db: apsw.Connection, request: WriteRequest) -> None:
        try:
            request.future.set_result(request.run(db))
        except BaseException as error:
            request.future.set_exception(self._error_for_one(error))
        if db.in_transaction:
            db.execute("ROLLBACK")
        self._database.note_checkpoint(db)

    def _checkpoint_log(self, db: apsw.Connection, before: int) -> None:
        """Move the log into the file each time it has grown by another thousand pages.

        This needs the write lock: the next writer can restart the log only if all of it is in the file. Readers keep
        using the log. If the log is long, they are waited for briefly, and new readers use the file.
        """
        if db.txn_state() != apsw.SQLITE_TXN_NONE:  # a request left a statement unfinished
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
            _LOG.debug("checkpoint_deferred", extra={"store": self._database.name, "pages": log})
        except apsw.Error as error:  # committed data is safe in the log
            _LOG.warning("checkpoint_failed", exc_info=error, extra={"store": self._database.name, "pages": log})

    def _error_for_one(self, error: BaseException) -> BaseException:
        """Return the error for a caller whose own request failed; a failure of SQLite is noted for the health check."""
        return self._error_for_all(error) if isinstance(error, apsw.Error) else error

    def _error_for_all(self, error: BaseException) -> StoreError:
        """Return the error for each caller of a failed transaction; noted for the health check too."""
        name = self._database.name
        if isinstance(error, apsw.Error):
            store_error = translate_error(error, name)
        elif isinstance(error, StoreError):
            store_error = type(error)(str(error))
        else:
            store_error = StoreError(f"{name}: nothing was written: {error}")
        store_error.__cause__ = error
        if not store_error.retryable:
            self._database.takes_writes = False
        return store_error

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(StoreError):
                self._database.disconnect(db)

    def _release(self) -> None:
        self._disconnect()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()


def _count_log_pages(db: apsw.Connection) -> int:
    """Return the number of pages in the log; 0 if it is unknown now."""
    try:
        return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
    except apsw.BusyError:  # another process is recovering the log after a crash
        return 0


T = TypeVar("T")

DEFER_SECONDS = 0.2
"""Seconds that a deferred write waits for an urgent one to join."""

MAX_DEFERRED_WRITES = 512
"""Number of pending writes from which a caller that defers one waits, too."""


class SqliteWriter:
    """Writes for all threads of this process, on one thread that queues with other processes.

    `timeout` is the maximum number of seconds that a caller waits for its write to begin. A writer that is no longer
    referenced ends by itself, after its deferred writes.
    """

    def __init__(self, database: SqliteDatabase, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._database = database
        self._timeout = timeout
        self._closed = False
        self._starting = ForkSafeLock()
        self._finalizer: finalize[[WriteQueue, threading.Thread], SqliteWriter] | None = None
        self.after_fork()
        register_fork_aware(self)

    def write(self, change: Callable[[apsw.Connection], T], *, timeout: float | None = None) -> T:
        """Return what `change` returns, once its writes are on disk; if it raises, nothing is kept.

        Writes of other threads may be in the same transaction; each is undone alone. `StoreBusy` means that the change
        was not begun and never will be. After the timeout, the caller either cancels the change or finds that it has
        begun and waits for its end, which no other process can delay any more.
        """
        return self._run(change, timeout)

    def defer(self, change: Callable[[apsw.Connection], object]) -> None:
        """Write with the next commit, or soon; a failure is logged, and raised by `flush`.

        The write is lost if the process dies; a process that ends normally waits some seconds for it. Where too many
        writes are pending, the caller waits for them.
        """
        if len(self._queue) >= MAX_DEFERRED_WRITES and not self._is_in_writer_thread():
            self.write(_do_nothing)
        future = self._enqueue(WriteRequest(change, due=time.monotonic() + DEFER_SECONDS))
        self._deferred.add(future)
        future.add_done_callback(self._note_result)

    def run_alone(self, change: Callable[[apsw.Connection], T], *, timeout: float | None = None) -> T:
        """Return what `change` returns; it runs outside transactions while no other process writes."""
        return self._run(change, timeout, alone=True)

    def settle(self, *, timeout: float | None = None) -> None:
        """Wait until all deferred writes are done or have failed."""
        if self._thread is None:
            return
        try:
            self.write(_do_nothing, timeout=timeout)
        except StoreError as error:  # its commit failed, and the deferred writes with it
            if error.retryable or self._closed:
                raise

    def flush(self, *, timeout: float | None = None) -> None:
        """Wait for all deferred writes; raise an error if any of them failed."""
        self.settle(timeout=timeout)
        self._raise_failures()

    def close(self) -> None:
        """Make the deferred writes and end; raise `StoreBusy` if others write until the timeout."""
        self._refuse_in_writer_thread()
        with self._starting.rlock:
            self._closed = True
        if (
            self._thread is not None and threading.current_thread() in _WRITER_THREADS
        ):  # garbage collection during a write of another store
            _finish_thread(self._queue, self._thread)
            return
        self._queue.close()
        if self._thread is not None:
            self._thread.join(self._wait_seconds(None))
            if left := self._queue.cancel_all():
                name = self._database.name
                raise StoreBusy(
                    f"{name}: another process is writing; {left} deferred writes were not made"
                ) from self._failure
        self._raise_failures()

    def start_exit_flush(self) -> "Future[None] | None":
        """Start the deferred writes and a checkpoint of the log; return a future, or None."""
        with suppress(StoreError):  # it is closed and has cancelled what it did not write
            return self._enqueue(WriteRequest(_truncate_log, alone=True)) if self._thread is not None else None
        return None

    def report_unflushed(self) -> None:
        """Log how many deferred writes were not made because the process ends."""
        if changes := len(self._deferred):
            self._deferred.clear()
            _LOG.warning("deferred_writes_lost", extra={"store": self._database.name, "changes": changes})

    def after_fork(self) -> None:
        """Start with an empty queue: the thread and its writes belong to the parent."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self._deferred: set[Future[Any]] = set()
        self._queue = WriteQueue()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._failures = 0

    def _run(self, change: Callable[[apsw.Connection], T], timeout: float | None, *, alone: bool = False) -> T:
        """Queue the request and return its result when it is done."""
        self._refuse_in_writer_thread()
        wait_seconds = self._wait_seconds(timeout)
        request = WriteRequest(change, alone=alone)
        future: Future[T] = request.future
        try:
            self._enqueue(request)
            with suppress(TimeoutError, CancelledError):
                future.exception(wait_seconds)
        except BaseException:  # an interrupted caller gets no answer, so its change is cancelled if possible
            future.cancel()
            raise
        if future.cancel():  # fails once it has begun
            raise StoreBusy(f"{self._database.name}: another process was writing for {wait_seconds:.3g} s; try again")
        return future.result()

    def _enqueue(self, request: WriteRequest) -> "Future[Any]":
        self._database.refuse_if_read_only()
        with self._starting.rlock:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._thread is None:
                writer = WriterThread(self._database, self._queue)
                self._thread = threading.Thread(target=writer.run, name="recollect-writer", daemon=True)
                _WRITER_THREADS.add(self._thread)
                self._thread.start()
                self._finalizer = finalize(self, _finish_thread, self._queue, self._thread)
                self._finalizer.atexit = False
                flush_at_exit(self)
            self._queue.add(request)
        return request.future

    def _wait_seconds(self, timeout: float | None) -> float:
        return min(max(self._timeout if timeout is None else timeout, 0.0), threading.TIMEOUT_MAX)

    def _is_in_writer_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _refuse_in_writer_thread(self) -> None:
        if self._is_in_writer_thread():
            raise InvalidInput("a write cannot wait for another write; do both in one transaction, or use `defer`")

    def _note_result(self, future: "Future[Any]") -> None:
        """Keep the error of a deferred write."""
        error = None if future.cancelled() else future.exception()
        if error is not None:
            _LOG.error("deferred_write_failed", exc_info=error, extra={"store": self._database.name})
            self._failure = self._failure or error
            self._failures += 1
        self._deferred.discard(future)

    def _raise_failures(self) -> None:
        first_error, self._failure = self._failure, None
        count, self._failures = self._failures, 0
        if first_error is not None:
            name = self._database.name
            raise StoreError(f"{name}: {count} deferred writes failed, the first with: {first_error}") from first_error


_WRITER_THREADS: WeakSet[threading.Thread] = WeakSet()
"""The writer threads of this process."""


def _finish_thread(queue: WriteQueue, thread: threading.Thread) -> None:
    """Let the thread end once the queue is empty."""
    join_at_exit(thread)
    queue.add(WriteRequest(_truncate_log, alone=True))
    queue.close()


def _do_nothing(_: apsw.Connection) -> None:
    """Change nothing; used to wait for earlier writes."""


def _truncate_log(db: apsw.Connection) -> None:
    """Move all of the log into the file, unless the file is in use; a later process can do it."""
    timeout = int(db.pragma("busy_timeout"))
    db.set_busy_timeout(0)
    with suppress(apsw.Error):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.set_busy_timeout(timeout)
