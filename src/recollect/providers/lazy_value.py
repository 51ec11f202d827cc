"""Lazily: a value that is made when it is first needed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from recollect.fork_safety import Lock

T = TypeVar("T")


class Lazily(Generic[T]):
    """Calls `make` once, however many threads ask; if it fails, the next one to ask tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        with self._lock.here:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]
