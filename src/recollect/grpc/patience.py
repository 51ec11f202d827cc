"""Patience: how long a call may take to say what it wants."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_LOOK_AWAY = 1.0
"""How many seconds pass at most until it is noticed that a call is late."""


class Patience:
    """Ends calls that are waited for too long, which hold a thread all the while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._awaited: dict[object, tuple[float, Callable[[], object]]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="recollect-patience", daemon=True)
        self._thread.start()

    @contextmanager
    def waiting(self, end: Callable[[], object], *, seconds: float | None = None) -> Iterator[None]:
        """Have it ended if what is done meanwhile takes too long."""
        one = object()
        self._awaited[one] = (time.monotonic() + (self._seconds if seconds is None else seconds), end)
        try:
            yield
        finally:
            del self._awaited[one]

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(min(self._seconds, LONGEST_LOOK_AWAY)):
            now = time.monotonic()
            for until, end in list(self._awaited.values()):
                if until <= now:
                    end()
