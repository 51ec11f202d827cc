"""Helpers for tests of code that uses recollect: builders of values, and contract tests.

A builder fills in everything that a test does not name. `StoreContract` and `EmbedderContract` test your own
implementation.
"""

from typing import TYPE_CHECKING, Any

from recollect.testing.builders import NOW, a_candidate, a_memory, a_ranking

if TYPE_CHECKING:
    from recollect.testing.embedder_contract import EmbedderContract
    from recollect.testing.store_contract import StoreContract

__all__ = ["NOW", "EmbedderContract", "StoreContract", "a_candidate", "a_memory", "a_ranking"]


def __getattr__(name: str) -> Any:
    # The contract tests need pytest; a test that only builds a memory does not.
    if name == "StoreContract":
        from recollect.testing.store_contract import StoreContract

        return StoreContract
    if name == "EmbedderContract":
        from recollect.testing.embedder_contract import EmbedderContract

        return EmbedderContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
