"""Lazily: a value that is made when it is first needed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from recollect.fork_safety import ForkSafeLock

T = TypeVar("T")


class Lazy(Generic[T]):
    """Calls `make` once, however many threads ask; if it fails, the next one to ask tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = ForkSafeLock()
        self._made: list[T] = []

    def __call__(self) -> T:
        with self._lock.rlock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]
