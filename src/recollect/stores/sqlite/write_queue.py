"""Waiting: what threads have asked to be done with the database, in order, until it is begun or taken back."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import apsw

AT_ONCE = 0.0
"""The moment something urgent is due."""

LONGEST_SLEEP = 1.0
"""After how many seconds the line is looked at without being woken, as an interrupt may swallow the call."""


@dataclass(slots=True, eq=False)
class Asked:
    """Something to be done with the connection, and the promise of what comes of it."""

    act: Callable[[apsw.Connection], Any]
    due: float = AT_ONCE  # on the clock of `time.monotonic`
    alone: bool = False  # outside of any transaction
    promise: "Future[Any]" = field(default_factory=Future)


class Waiting:
    """A line of what was asked. The promise of each decides, once and for all, whether it is begun or taken back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # entered by itself: an interrupt would leave the condition locked
        self._changed = threading.Condition(self._lock)
        self._asked: deque[Asked] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._asked)

    def add(self, asked: Asked) -> None:
        """Put it last."""
        with self._lock:
            self._asked.append(asked)
            if asked.due == AT_ONCE or len(self._asked) == 1:
                self._changed.notify()

    def is_due(self) -> bool:
        """Sleeps until something is due, and then says so; says no when the line is closed and empty."""
        with self._lock:
            while not self._closed:
                rest = min((asked.due - time.monotonic() for asked in self._asked), default=None)
                if rest is not None and rest <= 0:
                    return True
                self._changed.wait(LONGEST_SLEEP if rest is None else min(rest, LONGEST_SLEEP))
            return bool(self._asked)

    def anyone(self) -> bool:
        """Whether anything in line has not been taken back."""
        with self._lock:
            while self._asked and self._asked[0].promise.cancelled():
                self._asked.popleft()
            return bool(self._asked)

    def begin(self, *, alone: bool) -> Asked | None:
        """The first in line, which cannot be taken back any more; none if it is not of the sort asked for."""
        with self._lock:
            while self._asked and (self._asked[0].alone == alone or self._asked[0].promise.cancelled()):
                asked = self._asked.popleft()
                if asked.promise.set_running_or_notify_cancel():
                    return asked
        return None

    def take_back(self) -> int:
        """Take back all that has not begun, and say how much that was."""
        with self._lock:
            taken = [asked for asked in self._asked if not asked.promise.cancelled() and asked.promise.cancel()]
            self._asked.clear()
        return len(taken)

    def close(self) -> None:
        """Nothing more will be added: what is in line is due."""
        with self._lock:
            self._closed = True
            self._changed.notify()
