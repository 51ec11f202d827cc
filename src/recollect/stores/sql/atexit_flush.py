"""Ending: what writers have put off is written when the process ends, in whatever way, unless it is killed."""

import atexit
import sys
import threading
import time
from concurrent.futures import Future, wait
from typing import Protocol
from weakref import WeakSet

from recollect.fork_safety import tell_children

AT_EXIT = 5.0
"""How many seconds a process that ends waits at most for what was put off, in all stores that were not closed."""


class Leaver(Protocol):
    """Who may have something to write before the process ends."""

    def leave(self) -> "Future[None] | None":
        """Begin with it; the promise that it was tried."""
        ...

    def give_up(self) -> None:
        """Tell that there was no time."""
        ...


class _Ending:
    """The end of this process. It may be told of it several times; all of them have the same time."""

    def __init__(self) -> None:
        self.leavers: WeakSet[Leaver] = WeakSet()
        self.dismissed: WeakSet[threading.Thread] = WeakSet()
        self.after_fork()
        tell_children(self)

    def after_fork(self) -> None:
        """A child has an end of its own."""
        self._listens = False
        self._over: float | None = None

    def listen(self) -> None:
        """Be told of the end by `multiprocessing` too, whose processes end without what is registered with `atexit`."""
        processes = sys.modules.get("multiprocessing.process")
        if not self._listens and processes is not None and processes.parent_process() is not None:
            self._listens = True
            sys.modules["multiprocessing.util"].Finalize(None, self.come, exitpriority=0)

    def come(self) -> None:
        """Wait for all that was put off and is not written yet, as long as that may take when a process ends.

        Nothing is closed, since other threads may still use it; and what runs as the interpreter ends must not raise.
        """
        over = self._over = self._over or time.monotonic() + AT_EXIT
        pending = [(leaver, promise) for leaver in list(self.leavers) if (promise := leaver.leave())]
        for leaver, promise in pending:
            if wait([promise], max(over - time.monotonic(), 0.0)).not_done:
                leaver.give_up()
        for thread in list(self.dismissed):
            thread.join(max(over - time.monotonic(), 0.0))


_ENDING = _Ending()
atexit.register(_ENDING.come)


def before_the_end(leaver: Leaver) -> None:
    """Let somebody leave before the process ends, for as long as anybody else has it."""
    _ENDING.leavers.add(leaver)
    _ENDING.listen()


def wait_for_at_the_end(thread: threading.Thread) -> None:
    """Let a thread end before the process does."""
    _ENDING.dismissed.add(thread)
