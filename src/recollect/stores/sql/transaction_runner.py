"""Transactions: what is seen or changed in one of all that a database has, for what belongs to no scope."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from recollect.stores.sql.transaction import Session

T = TypeVar("T")


class Transactions(Protocol):
    """A database, in small transactions between those of others."""

    def seen(self, look: Callable[[Session], T]) -> T:
        """What is seen in one transaction; it may be looked more than once."""
        ...

    def changed(self, change: Callable[[Session], T]) -> T:
        """What comes of a change; it may be made again, and must then find done what it did."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
