"""Indexing: the indexes of the nearest that an operator had made, each for one scope."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeVectorIndex:
    """An index of the vectors of a scope, and how much is in it.

    `scope` is nothing if the scope was erased, and `model` if it is not known any more; `present` if that is the model
    that the store's vectors come from. One that is not `valid` is being built, or was interrupted. `vectors` are those
    it had when the server last counted. `built` if it was not there before it was asked for.
    """

    name: str
    scope: str | None
    model: str | None
    vectors: int
    bytes: int
    valid: bool
    present: bool
    built: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether a question can be answered by it."""
        return self.valid and self.present and self.scope is not None
