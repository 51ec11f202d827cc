"""Patience: how long a call may take to say what it wants, and how many may be waited for at once."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

MAX_POLL_SECONDS = 1.0
"""How many seconds pass at most until it is noticed that a call is late."""


CancelCall = Callable[[], object]
"""What ends a call."""


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """A call that is waited for: whose it is, since when, until when, and what ends it."""

    client: str
    since: float
    deadline: float
    cancel: CancelCall


class ReadDeadlines:
    """Ends calls that are waited for too long, which hold a thread all the while."""

    def __init__(self, seconds: float, *, most: int | None = None, least: float = 0.0) -> None:
        """Patience for so many seconds, and if `most` is said, with so many at once.

        Beyond that, of whoever has most of them, the one that was silent for longest is waited for no more; but each
        is for the `least` seconds, since what many say at once takes a moment to come.
        """
        self._seconds, self._most, self._least = seconds, most, least
        self._awaited: dict[object, _PendingCall] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="recollect-patience", daemon=True)
        self._thread.start()

    @contextmanager
    def guard(self, end: CancelCall, whose: str = "") -> Iterator[None]:
        """Have it ended if what is done meanwhile takes too long, or if somebody has too many of them."""
        one, now = object(), time.monotonic()
        with self._lock:
            self._awaited[one] = _PendingCall(whose, now, now + self._seconds, end)
            too_many = self._evict_excess(now)
        for let_go in too_many:
            let_go()
        try:
            yield
        finally:
            with self._lock:
                self._awaited.pop(one, None)

    def shorten(self, seconds: float) -> None:
        """Wait for nobody any longer than that from now on."""
        until = time.monotonic() + seconds
        with self._lock:
            self._seconds = min(self._seconds, seconds)
            self._awaited = {
                one: replace(awaited, deadline=min(awaited.deadline, until)) for one, awaited in self._awaited.items()
            }

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _evict_excess(self, now: float) -> list[CancelCall]:
        """What ends those who are let go for the others."""
        ends = list[CancelCall]()
        while self._most is not None and len(self._awaited) > self._most:
            ((whose, _),) = Counter(one.client for one in self._awaited.values()).most_common(1)
            first = next(one for one, awaited in self._awaited.items() if awaited.client == whose)
            if now - self._awaited[first].since < self._least:
                break
            ends.append(self._awaited.pop(first).cancel)
        return ends

    def _poll(self) -> None:
        while not self._over.wait(min(self._seconds, MAX_POLL_SECONDS)):
            now = time.monotonic()
            with self._lock:
                late = [one.cancel for one in self._awaited.values() if one.deadline <= now] + self._evict_excess(now)
            for end in late:
                end()
