"""Ending: what writers have put off is written when the process ends, in whatever way, unless it is killed."""

import atexit
import sys
import threading
import time
from concurrent.futures import Future, wait
from typing import Protocol
from weakref import WeakSet

from recollect.fork_safety import register_fork_aware

EXIT_FLUSH_SECONDS = 5.0
"""How many seconds a process that ends waits at most for what was put off, in all stores that were not closed."""


class ExitFlusher(Protocol):
    """Who may have something to write before the process ends."""

    def start_exit_flush(self) -> "Future[None] | None":
        """Begin with it; the promise that it was tried."""
        ...

    def report_unflushed(self) -> None:
        """Tell that there was no time."""
        ...


class _ExitHandler:
    """The end of this process. It may be told of it several times; all of them have the same time."""

    def __init__(self) -> None:
        self.flushers: WeakSet[ExitFlusher] = WeakSet()
        self.threads: WeakSet[threading.Thread] = WeakSet()
        self.after_fork()
        register_fork_aware(self)

    def after_fork(self) -> None:
        """A child has an end of its own."""
        self._is_registered = False
        self._deadline: float | None = None

    def register_with_multiprocessing(self) -> None:
        """Be told of the end by `multiprocessing` too, whose processes end without what is registered with `atexit`."""
        processes = sys.modules.get("multiprocessing.process")
        if not self._is_registered and processes is not None and processes.parent_process() is not None:
            self._is_registered = True
            sys.modules["multiprocessing.util"].Finalize(None, self.flush_all, exitpriority=0)

    def flush_all(self) -> None:
        """Wait for all that was put off and is not written yet, as long as that may take when a process ends.

        Nothing is closed, since other threads may still use it; and what runs as the interpreter ends must not raise.
        """
        over = self._deadline = self._deadline or time.monotonic() + EXIT_FLUSH_SECONDS
        pending = [(leaver, promise) for leaver in list(self.flushers) if (promise := leaver.start_exit_flush())]
        for leaver, promise in pending:
            if wait([promise], max(over - time.monotonic(), 0.0)).not_done:
                leaver.report_unflushed()
        for thread in list(self.threads):
            thread.join(max(over - time.monotonic(), 0.0))


_EXIT_HANDLER = _ExitHandler()
atexit.register(_EXIT_HANDLER.flush_all)


def flush_at_exit(leaver: ExitFlusher) -> None:
    """Let somebody leave before the process ends, for as long as anybody else has it."""
    _EXIT_HANDLER.flushers.add(leaver)
    _EXIT_HANDLER.register_with_multiprocessing()


def join_at_exit(thread: threading.Thread) -> None:
    """Let a thread end before the process does."""
    _EXIT_HANDLER.threads.add(thread)
