"""Proof: what a ranking looked at, why it stopped, and whether nothing else can be among the best."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Exact(StrEnum):
    """Whether a ranking must be exact, or may take the word of an index that is approximate, and say so."""

    REQUIRED = "required"
    PREFERRED = "preferred"


class StopReason(StrEnum):
    """Why no other candidate was looked at."""

    EVERY = "every"
    BOUND = "bound"
    INDEX = "index"
    CUT = "cut"


STOP_DESCRIPTIONS: Mapping[StopReason, str] = {
    StopReason.EVERY: "every eligible memory was scored",
    StopReason.BOUND: "no other would be among the best, even if it were as near to the question as can be",
    StopReason.INDEX: (
        "no other would be among the best, unless the index, which is approximate, passed over a nearer one"
    ),
    StopReason.CUT: "it is made of rankings that did not look at each other's candidates",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """How many of those eligible were scored, and why that was enough."""

    stopped: StopReason
    scanned: int
    eligible: int

    @classmethod
    def scan(cls, eligible: int) -> "Proof":
        """Every one of so many was scored."""
        return cls(StopReason.EVERY, eligible, eligible)

    @property
    def exact(self) -> bool:
        """Whether it is certain that nothing else can be among the best."""
        return self.stopped in (StopReason.EVERY, StopReason.BOUND)

    @property
    def why(self) -> str:
        return STOP_DESCRIPTIONS[self.stopped]

    def __str__(self) -> str:
        exact = "exact" if self.exact else "not exact"
        return f"{exact}, {self.scanned:,} of {self.eligible:,} scored: {self.why}"
