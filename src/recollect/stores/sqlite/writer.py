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
from recollect.fork_safety import Lock, tell_children
from recollect.model.validation import BUSY_TIMEOUT
from recollect.stores.sql.atexit_flush import before_the_end, wait_for_at_the_end
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.write_queue import Asked, Waiting
from recollect.stores.sqlite.writer_thread import Clerk

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

PUT_OFF = 0.2
"""How many seconds a change that is not urgent waits for one that is."""

MOST_PUT_OFF = 512
"""How many changes may wait before a caller that is in no hurry waits with them."""


class Writer:
    """Writes for all threads of this process; a thread of its own stands in line with other processes.

    `timeout` is how many seconds a caller waits at most for the change to begin. One that nobody has any more ends by
    itself, when what was put off is written.
    """

    def __init__(self, database: Database, *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = database
        self._timeout = timeout
        self._closed = False
        self._starting = Lock()
        self._farewell: finalize[[Waiting, threading.Thread], Writer] | None = None
        self.after_fork()
        tell_children(self)

    def write(self, change: Callable[[apsw.Connection], T], *, timeout: float | None = None) -> T:
        """What `change` returns, once all that it wrote is on the disk; if it raises, nothing of it is written.

        Changes of other threads may be part of the same transaction; each is undone by itself. `StoreBusy` means that
        the change was not begun and never will be: who has waited long enough either takes it back, or finds that
        it has begun and waits for its end, which no other process can delay any more.
        """
        return self._done(change, timeout)

    def later(self, change: Callable[[apsw.Connection], object]) -> None:
        """Write with the next thing that is written, or soon; what fails is logged, and raised by `flush`.

        It is not promised for a process that dies; one that ends waits for it, for some seconds. Where too many changes
        wait already, the caller waits for them.
        """
        if len(self._waiting) >= MOST_PUT_OFF and not self._is_within():
            self.write(_nothing)
        promise = self._ask(Asked(change, due=time.monotonic() + PUT_OFF))
        self._put_off.add(promise)
        promise.add_done_callback(self._note)

    def alone(self, act: Callable[[apsw.Connection], T], *, timeout: float | None = None) -> T:
        """What `act` returns, which is called outside of any transaction while no other process writes."""
        return self._done(act, timeout, alone=True)

    def settle(self, *, timeout: float | None = None) -> None:
        """Returns when all that was put off has been written, or has failed."""
        if self._thread is None:
            return
        try:
            self.write(_nothing, timeout=timeout)
        except StoreError as error:  # of the commit that it was to be part of, with what was put off: that has failed
            if error.retryable or self._closed:
                raise

    def flush(self, *, timeout: float | None = None) -> None:
        """The same; raises if any of it failed."""
        self.settle(timeout=timeout)
        self._raise_failures()

    def close(self) -> None:
        """Write what was put off, and end; `StoreBusy` if others write until the time is over."""
        self._refuse_within()
        with self._starting.here:
            self._closed = True
        if self._thread is not None and threading.current_thread() in _CLERKS:  # the collector's doing, amid a change
            _dismiss(self._waiting, self._thread)
            return
        self._waiting.close()
        if self._thread is not None:
            self._thread.join(self._patience(None))
            if left := self._waiting.take_back():
                told = f"{self._database.name}: others are writing; {left} changes put off were not written"
                raise StoreBusy(told) from self._failure
        self._raise_failures()

    def leave(self) -> "Future[None] | None":
        """Have what was put off written, and then all of the log moved into the file; the promise that it was tried."""
        with suppress(StoreError):  # it was closed, and took back what it did not write
            return self._ask(Asked(_empty_log, alone=True)) if self._thread is not None else None
        return None

    def give_up(self) -> None:
        """Tell that what was put off is not written, since the process ends."""
        if changes := len(self._put_off):
            self._put_off.clear()
            _LOG.warning("changes_put_off_not_written", extra={"store": self._database.name, "changes": changes})

    def after_fork(self) -> None:
        """Begin with nothing: the thread is the parent's, and so is what waits for it."""
        if self._farewell is not None:
            self._farewell.detach()
        self._put_off: set[Future[Any]] = set()
        self._waiting = Waiting()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._failures = 0

    def _done(self, act: Callable[[apsw.Connection], T], timeout: float | None, *, alone: bool = False) -> T:
        """What came of it, when it is done."""
        self._refuse_within()
        patience = self._patience(timeout)
        asked = Asked(act, alone=alone)
        promise: Future[T] = asked.promise
        try:
            self._ask(asked)
            with suppress(TimeoutError, CancelledError):
                promise.exception(patience)
        except BaseException:  # an interrupted caller gets no answer, so it takes its change back if it can
            promise.cancel()
            raise
        if promise.cancel():  # impossible once it has begun
            raise StoreBusy(f"{self._database.name}: others were writing for {patience:.3g} s; try again")
        return promise.result()

    def _ask(self, asked: Asked) -> "Future[Any]":
        self._database.refuse_if_read_only()
        with self._starting.here:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._thread is None:
                clerk = Clerk(self._database, self._waiting)
                self._thread = threading.Thread(target=clerk.serve, name="recollect-writer", daemon=True)
                _CLERKS.add(self._thread)
                self._thread.start()
                self._farewell = finalize(self, _dismiss, self._waiting, self._thread)
                self._farewell.atexit = False
                before_the_end(self)
            self._waiting.add(asked)
        return asked.promise

    def _patience(self, timeout: float | None) -> float:
        return min(max(self._timeout if timeout is None else timeout, 0.0), threading.TIMEOUT_MAX)

    def _is_within(self) -> bool:
        return threading.current_thread() is self._thread

    def _refuse_within(self) -> None:
        if self._is_within():
            raise InvalidInput("a change cannot wait for another one; write both in one change, or use `later`")

    def _note(self, promise: "Future[Any]") -> None:
        """Keep what became of a change that nobody waits for."""
        error = None if promise.cancelled() else promise.exception()
        if error is not None:
            _LOG.error("change_put_off_failed", exc_info=error, extra={"store": self._database.name})
            self._failure = self._failure or error
            self._failures += 1
        self._put_off.discard(promise)

    def _raise_failures(self) -> None:
        first, self._failure = self._failure, None
        count, self._failures = self._failures, 0
        if first is not None:
            name = self._database.name
            raise StoreError(f"{name}: {count} of the changes put off failed, the first with: {first}") from first


_CLERKS: WeakSet[threading.Thread] = WeakSet()
"""The threads of this process that write."""


def _dismiss(waiting: Waiting, thread: threading.Thread) -> None:
    """Have a thread end when it has done what is left to do."""
    wait_for_at_the_end(thread)
    waiting.add(Asked(_empty_log, alone=True))
    waiting.close()


def _nothing(_: apsw.Connection) -> None:
    """A change that changes nothing, to wait for those before it."""


def _empty_log(db: apsw.Connection) -> None:
    """Move all of the log into the file, unless somebody reads or writes: who comes later will see to it."""
    patience = int(db.pragma("busy_timeout"))
    db.set_busy_timeout(0)
    with suppress(apsw.Error):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.set_busy_timeout(patience)
