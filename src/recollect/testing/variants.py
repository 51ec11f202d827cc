"""Variant: another way to run a store, and the contract tests that it can break.

A store passes the whole contract once. A variant of it needs only the tests that are marked with `affected_by`:

- second writer: the test reads, another store or process writes, and it reads again; or both write at once
- small cache: a cached scope is dropped while another one is read, and must be read again as it was
- in memory: there is no file, so snapshots, rollbacks, paging and erasure work in another way

class TestMyStoreWithASmallCache(TestMyStore):
    variant = Variant.SMALL_CACHE
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

ContractTest = TypeVar("ContractTest", bound=Callable[..., None])


class Variant(StrEnum):
    """A way to run a store under which its behavior must stay the same."""

    SECOND_WRITER = "second writer"
    SMALL_CACHE = "small cache"
    IN_MEMORY = "in memory"


def affected_by(*variants: Variant) -> Callable[[ContractTest], ContractTest]:
    """Mark a test that these variants can break."""

    def mark(promise: ContractTest) -> ContractTest:
        promise.__dict__["variants"] = frozenset(variants)
        return promise

    return mark


def is_affected(promise: Callable[..., object], variant: Variant) -> bool:
    """Return whether the test is marked as one that the variant can break."""
    return variant in getattr(promise, "variants", frozenset[Variant]())
