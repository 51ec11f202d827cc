"""Waiting: what threads have asked to be done with the database, in order, until it is begun or taken back."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import apsw

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
