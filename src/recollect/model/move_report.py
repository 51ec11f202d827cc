"""Moving: what became of a store that was moved to another place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """How much was moved, how much of it an earlier run had moved, and the sum that both stores have in common."""

    memories: int
    contexts: int
    resumed: int
    checksum: str
