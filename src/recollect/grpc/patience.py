"""Patience: how long a call may take to say what it wants, and how many may be waited for at once."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_LOOK_AWAY = 1.0
"""How many seconds pass at most until it is noticed that a call is late."""


class Patience:
    """Ends calls that are waited for too long, which hold a thread all the while."""

    def __init__(self, seconds: float, *, most: int | None = None) -> None:
        """Patience for so many seconds, and if `most` is said, with so many at once: beyond that, who was silent for
        longest is waited for no more.
        """
        self._seconds, self._most = seconds, most
        self._awaited: dict[object, tuple[float, Callable[[], object]]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="recollect-patience", daemon=True)
        self._thread.start()

    @contextmanager
    def waiting(self, end: Callable[[], object]) -> Iterator[None]:
        """Have it ended if what is done meanwhile takes too long."""
        one = object()
        with self._lock:
            self._awaited[one] = (time.monotonic() + self._seconds, end)
            let_go = self._first() if self._most is not None and len(self._awaited) > self._most else None
        if let_go is not None:
            let_go()
        try:
            yield
        finally:
            with self._lock:
                self._awaited.pop(one, None)

    def hurry(self, seconds: float) -> None:
        """Wait for nobody any longer than that from now on."""
        until = time.monotonic() + seconds
        with self._lock:
            self._seconds = min(self._seconds, seconds)
            self._awaited = {one: (min(late, until), end) for one, (late, end) in self._awaited.items()}

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _first(self) -> Callable[[], object]:
        _, end = self._awaited.pop(next(iter(self._awaited)))
        return end

    def _look(self) -> None:
        while not self._over.wait(min(self._seconds, LONGEST_LOOK_AWAY)):
            now = time.monotonic()
            with self._lock:
                late = [end for until, end in self._awaited.values() if until <= now]
            for end in late:
                end()
