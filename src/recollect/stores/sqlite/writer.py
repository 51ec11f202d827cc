"""Writer: all writing of one process, in the order it was asked for, many changes to a commit."""

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
"""How many seconds a change that is not urgent waits for one that is."""

MAX_DEFERRED_WRITES = 512
"""How many changes may wait before a caller that is in no hurry waits with them."""


class SqliteWriter:
    """Writes for all threads of this process; a thread of its own stands in line with other processes.

    `timeout` is how many seconds a caller waits at most for the change to begin. One that nobody has any more ends by
    itself, when what was put off is written.
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
        """What `change` returns, once all that it wrote is on the disk; if it raises, nothing of it is written.

        Changes of other threads may be part of the same transaction; each is undone by itself. `StoreBusy` means that
        the change was not begun and never will be: who has waited long enough either takes it back, or finds that
        it has begun and waits for its end, which no other process can delay any more.
        """
        return self._run(change, timeout)

    def defer(self, change: Callable[[apsw.Connection], object]) -> None:
        """Write with the next thing that is written, or soon; what fails is logged, and raised by `flush`.

        It is not promised for a process that dies; one that ends waits for it, for some seconds. Where too many changes
        wait already, the caller waits for them.
        """
        if len(self._queue) >= MAX_DEFERRED_WRITES and not self._is_in_writer_thread():
            self.write(_do_nothing)
        promise = self._enqueue(WriteRequest(change, due=time.monotonic() + DEFER_SECONDS))
        self._deferred.add(promise)
        promise.add_done_callback(self._note_result)

    def run_alone(self, act: Callable[[apsw.Connection], T], *, timeout: float | None = None) -> T:
        """What `act` returns, which is called outside of any transaction while no other process writes."""
        return self._run(act, timeout, alone=True)

    def settle(self, *, timeout: float | None = None) -> None:
        """Returns when all that was put off has been written, or has failed."""
        if self._thread is None:
            return
        try:
            self.write(_do_nothing, timeout=timeout)
        except StoreError as error:  # of the commit that it was to be part of, with what was put off: that has failed
            if error.retryable or self._closed:
                raise

    def flush(self, *, timeout: float | None = None) -> None:
        """The same; raises if any of it failed."""
        self.settle(timeout=timeout)
        self._raise_failures()

    def close(self) -> None:
        """Write what was put off, and end; `StoreBusy` if others write until the time is over."""
        self._refuse_in_writer_thread()
        with self._starting.rlock:
            self._closed = True
        if (
            self._thread is not None and threading.current_thread() in _WRITER_THREADS
        ):  # the collector's doing, amid a change
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
        """Have what was put off written, and then all of the log moved into the file; the promise that it was tried."""
        with suppress(StoreError):  # it was closed, and took back what it did not write
            return self._enqueue(WriteRequest(_truncate_log, alone=True)) if self._thread is not None else None
        return None

    def report_unflushed(self) -> None:
        """Tell that what was put off is not written, since the process ends."""
        if changes := len(self._deferred):
            self._deferred.clear()
            _LOG.warning("changes_put_off_not_written", extra={"store": self._database.name, "changes": changes})

    def after_fork(self) -> None:
        """Begin with nothing: the thread is the parent's, and so is what waits for it."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self._deferred: set[Future[Any]] = set()
        self._queue = WriteQueue()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._failures = 0

    def _run(self, act: Callable[[apsw.Connection], T], timeout: float | None, *, alone: bool = False) -> T:
        """What came of it, when it is done."""
        self._refuse_in_writer_thread()
        patience = self._wait_seconds(timeout)
        asked = WriteRequest(act, alone=alone)
        promise: Future[T] = asked.future
        try:
            self._enqueue(asked)
            with suppress(TimeoutError, CancelledError):
                promise.exception(patience)
        except BaseException:  # an interrupted caller gets no answer, so it takes its change back if it can
            promise.cancel()
            raise
        if promise.cancel():  # impossible once it has begun
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
        """Keep what became of a change that nobody waits for."""
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
"""The threads of this process that write."""


def _finish_thread(waiting: WriteQueue, thread: threading.Thread) -> None:
    """Have a thread end when it has done what is left to do."""
    join_at_exit(thread)
    waiting.add(WriteRequest(_truncate_log, alone=True))
    waiting.close()


def _do_nothing(_: apsw.Connection) -> None:
    """A change that changes nothing, to wait for those before it."""


def _truncate_log(db: apsw.Connection) -> None:
    """Move all of the log into the file, unless somebody reads or writes: who comes later will see to it."""
    patience = int(db.pragma("busy_timeout"))
    db.set_busy_timeout(0)
    with suppress(apsw.Error):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.set_busy_timeout(patience)
