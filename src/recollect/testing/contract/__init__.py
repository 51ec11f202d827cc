"""The contract tests of a store, by subject; `StoreContract` combines them.

A test names the variants of a store that can break it; the others need not run it again.
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

    def mark(test: ContractTest) -> ContractTest:
        test.__dict__["variants"] = frozenset(variants)
        return test

    return mark


def is_affected(test: Callable[..., object], variant: Variant) -> bool:
    """Return whether the test is marked as one that the variant can break."""
    return variant in getattr(test, "variants", frozenset[Variant]())
