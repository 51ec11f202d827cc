"""Transactions: what is seen or changed in one of all that a database has, for what belongs to no scope."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from recollect.stores.sql.transaction import Transaction

T = TypeVar("T")


class TransactionRunner(Protocol):
    """A database, in small transactions between those of others."""

    def read(self, look: Callable[[Transaction], T]) -> T:
        """What is seen in one transaction; it may be looked more than once."""
        ...

    def write(self, change: Callable[[Transaction], T]) -> T:
        """What comes of a change; it may be made again, and must then find done what it did."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
