"""A cached property without a lock, for values that never change."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lock_free_property(Generic[T]):  # noqa: N801 — named like `property`
    """A property that is computed on first access and cached, without a lock.

    Two threads may both compute it, and get the same value. Before Python 3.12, `functools.cached_property` has one
    lock for all objects; a child forked while another thread held it would wait forever.
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
        owner.__dict__[self._name] = found  # the instance's own attribute is found first from now on
        return found
