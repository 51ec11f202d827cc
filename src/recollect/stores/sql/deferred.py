"""Background writes: changes that no caller waits for, made soon by a thread of their own.

First comes the exit handler, which flushes the pending writes of all stores when the process ends, unless it is killed;
then `BackgroundWrites`, the queue and thread of one store.
"""

import atexit
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Protocol
from weakref import WeakMethod, WeakSet, finalize

from recollect.errors import StoreBusy, StoreError
from recollect.fork_safety import register_fork_aware

EXIT_FLUSH_SECONDS = 5.0
"""Maximum seconds that an ending process waits for the pending writes of all its stores."""


class ExitFlusher(Protocol):
    """An object that may have pending writes when the process ends."""

    def start_exit_flush(self) -> "Future[None] | None":
        """Start the flush; return a future that is done when all writes were tried, or None."""
        ...

    def report_unflushed(self) -> None:
        """Log that the pending writes were not made in time."""
        ...


class _ExitHandler:
    """Flushes pending writes at the end of the process.

    It may be called several times; all calls share one deadline.
    """

    def __init__(self) -> None:
        self.flushers: WeakSet[ExitFlusher] = WeakSet()
        self.threads: WeakSet[threading.Thread] = WeakSet()
        self.after_fork()
        register_fork_aware(self)

    def after_fork(self) -> None:
        """Reset: a child process ends on its own."""
        self._is_registered = False
        self._deadline: float | None = None

    def register_with_multiprocessing(self) -> None:
        """Register with `multiprocessing` too: its child processes skip `atexit` handlers."""
        processes = sys.modules.get("multiprocessing.process")
        if not self._is_registered and processes is not None and processes.parent_process() is not None:
            self._is_registered = True
            sys.modules["multiprocessing.util"].Finalize(None, self.flush_all, exitpriority=0)

    def flush_all(self) -> None:
        """Wait for all pending writes, until the deadline.

        Stores are not closed, since other threads may still use them. Must not raise, as it runs while the interpreter
        ends.
        """
        deadline = self._deadline = self._deadline or time.monotonic() + EXIT_FLUSH_SECONDS
        pending = [(flusher, future) for flusher in list(self.flushers) if (future := flusher.start_exit_flush())]
        for flusher, future in pending:
            if wait([future], max(deadline - time.monotonic(), 0.0)).not_done:
                flusher.report_unflushed()
        for thread in list(self.threads):
            thread.join(max(deadline - time.monotonic(), 0.0))


_EXIT_HANDLER = _ExitHandler()
atexit.register(_EXIT_HANDLER.flush_all)


def flush_at_exit(flusher: ExitFlusher) -> None:
    """Flush this object's writes when the process ends, as long as it is referenced elsewhere."""
    _EXIT_HANDLER.flushers.add(flusher)
    _EXIT_HANDLER.register_with_multiprocessing()


def join_at_exit(thread: threading.Thread) -> None:
    """Wait for this thread when the process ends."""
    _EXIT_HANDLER.threads.add(thread)


_LOG = logging.getLogger(__name__)

MAX_WAITING_WRITES = 512
"""Maximum number of pending changes; a caller that adds another waits until there is room."""

WriteTask = Callable[[], object]


class _TaskQueue:
    """Pending tasks; one thread runs them in order until the queue is closed and empty."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.tasks: deque[WriteTask] = deque()
        self.busy = False
        self.closed = False

    def close(self) -> None:
        with self.condition:
            self.closed = True
            self.condition.notify_all()

    def is_idle(self) -> bool:
        return not self.tasks and not self.busy

    def run(self, on_failure: "WeakMethod[Callable[[Exception, int], None]]", name: str) -> None:
        """Run the tasks one by one until the queue is closed and empty."""
        while True:
            with self.condition:
                self.busy = False
                self.condition.notify_all()
                self.condition.wait_for(lambda: self.tasks or self.closed)
                if not self.tasks:
                    return
                self.busy, task = True, self.tasks.popleft()
            try:
                task()
            except Exception as error:
                lost = 1 + self._discard_waiting(error)
                _LOG.exception("deferred_write_failed", extra={"store": name, "changes": lost})
                if (report_failure := on_failure()) is not None:
                    report_failure(error, lost)
            del task

    def _discard_waiting(self, error: Exception) -> int:
        """Drop the remaining tasks if the queue is closed and the server is away; return how many.

        Closing a store whose server cannot be reached must not wait for each task in turn.
        """
        with self.condition:
            if not (self.closed and isinstance(error, StoreBusy)):
                return 0
            count = len(self.tasks)
            self.tasks.clear()
            return count


class BackgroundWrites:
    """Runs a store's changes soon, in the order they came, at the latest when it is closed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._finalizer: finalize[[_TaskQueue, threading.Thread], BackgroundWrites] | None = None
        self._thread: threading.Thread | None = None
        self._first_error: Exception | None = None
        self._failures = 0
        self.after_fork()
        register_fork_aware(self)

    def add(self, task: WriteTask) -> None:
        """Queue a change; waits while the queue is full."""
        with self._queue.condition:
            self._start()
            if threading.current_thread() is not self._thread:
                self._queue.condition.wait_for(
                    lambda: len(self._queue.tasks) < MAX_WAITING_WRITES or self._queue.closed
                )
            self._refuse_closed()
            self._queue.tasks.append(task)
            self._queue.condition.notify_all()

    def settle(self) -> None:
        """Wait until every queued change has been made or has failed."""
        if threading.current_thread() is not self._thread:
            with self._queue.condition:
                self._queue.condition.wait_for(self._queue.is_idle)

    def flush(self) -> None:
        """Wait for all queued changes; raise an error if any of them failed."""
        self.settle()
        first_error, self._first_error = self._first_error, None
        count, self._failures = self._failures, 0
        if first_error is not None:
            error_class = StoreBusy if isinstance(first_error, StoreBusy) else StoreError
            raise error_class(
                f"{self._name}: {count} deferred writes failed, the first with: {first_error}"
            ) from first_error

    def close(self) -> None:
        """Make the remaining changes and end the thread."""
        self._queue.close()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        self.flush()

    def start_exit_flush(self) -> "Future[None] | None":
        """Return a future that is done when all queued changes were tried, or None without a thread."""
        if self._thread is None or not self._thread.is_alive():
            return None
        future: Future[None] = Future()
        with self._queue.condition:
            self._queue.tasks.append(lambda: future.set_result(None))
            self._queue.condition.notify_all()
        return future

    def report_unflushed(self) -> None:
        """Log how many changes were not written because the process ends."""
        if changes := len(self._queue.tasks):
            _LOG.warning("deferred_writes_lost", extra={"store": self._name, "changes": changes})

    def after_fork(self) -> None:
        """Start with an empty queue: the thread and its changes belong to the parent."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self._queue = _TaskQueue()
        self._thread = None
        self._first_error, self._failures = None, 0

    def _refuse_closed(self) -> None:
        if self._queue.closed:
            raise StoreError(f"{self._name} is closed; open the store again")

    def _start(self) -> None:
        self._refuse_closed()
        if self._thread is not None:
            return
        run = self._queue.run
        self._thread = threading.Thread(
            target=run, args=(WeakMethod(self._record_failure), self._name), name="recollect-deferred", daemon=True
        )
        self._thread.start()
        self._finalizer = finalize(self, _finish_thread, self._queue, self._thread)
        self._finalizer.atexit = False
        flush_at_exit(self)

    def _record_failure(self, error: Exception, count: int) -> None:
        self._first_error = self._first_error or error
        self._failures += count


def _finish_thread(queue: _TaskQueue, thread: threading.Thread) -> None:
    """Let the thread end once the queue is empty."""
    with suppress(RuntimeError):
        join_at_exit(thread)
        queue.close()
