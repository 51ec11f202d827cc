"""Run all writes of a process in the order requested, many of them in one commit."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import apsw

from recollect.errors import InvalidInput, StoreBusy, StoreError
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.sql.deferred import flush_at_exit, join_at_exit
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.write_queue import WriteQueue, WriteRequest, WriterThread

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

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
        promise = self._enqueue(WriteRequest(change, due=time.monotonic() + DEFER_SECONDS))
        self._deferred.add(promise)
        promise.add_done_callback(self._note_result)

    def run_alone(self, act: Callable[[apsw.Connection], T], *, timeout: float | None = None) -> T:
        """Return what `act` returns; it runs outside transactions while no other process writes."""
        return self._run(act, timeout, alone=True)

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
                told = f"{self._database.name}: others are writing; {left} changes put off were not written"
                raise StoreBusy(told) from self._failure
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
            _LOG.warning("changes_put_off_not_written", extra={"store": self._database.name, "changes": changes})

    def after_fork(self) -> None:
        """Start with an empty queue: the thread and its writes belong to the parent."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self._deferred: set[Future[Any]] = set()
        self._queue = WriteQueue()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._failures = 0

    def _run(self, act: Callable[[apsw.Connection], T], timeout: float | None, *, alone: bool = False) -> T:
        """Queue the request and return its result when it is done."""
        self._refuse_in_writer_thread()
        patience = self._wait_seconds(timeout)
        asked = WriteRequest(act, alone=alone)
        promise: Future[T] = asked.future
        try:
            self._enqueue(asked)
            with suppress(TimeoutError, CancelledError):
                promise.exception(patience)
        except BaseException:  # an interrupted caller gets no answer, so its change is cancelled if possible
            promise.cancel()
            raise
        if promise.cancel():  # fails once it has begun
            raise StoreBusy(f"{self._database.name}: others were writing for {patience:.3g} s; try again")
        return promise.result()

    def _enqueue(self, asked: WriteRequest) -> "Future[Any]":
        self._database.refuse_if_read_only()
        with self._starting.rlock:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._thread is None:
                clerk = WriterThread(self._database, self._queue)
                self._thread = threading.Thread(target=clerk.run, name="recollect-writer", daemon=True)
                _WRITER_THREADS.add(self._thread)
                self._thread.start()
                self._finalizer = finalize(self, _finish_thread, self._queue, self._thread)
                self._finalizer.atexit = False
                flush_at_exit(self)
            self._queue.add(asked)
        return asked.future

    def _wait_seconds(self, timeout: float | None) -> float:
        return min(max(self._timeout if timeout is None else timeout, 0.0), threading.TIMEOUT_MAX)

    def _is_in_writer_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _refuse_in_writer_thread(self) -> None:
        if self._is_in_writer_thread():
            raise InvalidInput("a change cannot wait for another one; write both in one change, or use `defer`")

    def _note_result(self, promise: "Future[Any]") -> None:
        """Keep the error of a deferred write."""
        error = None if promise.cancelled() else promise.exception()
        if error is not None:
            _LOG.error("change_put_off_failed", exc_info=error, extra={"store": self._database.name})
            self._failure = self._failure or error
            self._failures += 1
        self._deferred.discard(promise)

    def _raise_failures(self) -> None:
        first, self._failure = self._failure, None
        count, self._failures = self._failures, 0
        if first is not None:
            name = self._database.name
            raise StoreError(f"{name}: {count} of the changes put off failed, the first with: {first}") from first


_WRITER_THREADS: WeakSet[threading.Thread] = WeakSet()
"""The writer threads of this process."""


def _finish_thread(waiting: WriteQueue, thread: threading.Thread) -> None:
    """Let the thread end once the queue is empty."""
    join_at_exit(thread)
    waiting.add(WriteRequest(_truncate_log, alone=True))
    waiting.close()


def _do_nothing(_: apsw.Connection) -> None:
    """Change nothing; used to wait for earlier writes."""


def _truncate_log(db: apsw.Connection) -> None:
    """Move all of the log into the file, unless the file is in use; a later process can do it."""
    patience = int(db.pragma("busy_timeout"))
    db.set_busy_timeout(0)
    with suppress(apsw.Error):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.set_busy_timeout(patience)
