"""Derived: what follows from the other fields of a value that never changes, found when first asked for and kept."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lock_free_property(Generic[T]):  # noqa: N801 — written where `property` is
    """A property that is found once, without a lock: two threads may both find it, and find the same.

    The lock of `functools.cached_property` before Python 3.12 is one for all objects, and a child that was forked while
    another thread had it would wait for ever.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> T | Self:
        if owner is None:
            return self
        found = self._find(owner)
        owner.__dict__[self._name] = found  # which comes first from now on
        return found
