"""Usage: what happened to a memory since it was written, kept beside it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.model.memory import MemoryId


class Use(StrEnum):
    """Something that happened to a memory."""

    SERVED = "served"
    HELPED = "helped"
    MISLED = "misled"
    ECHOED = "echoed"


VOTES_THAT_COUNT = 5
"""Of one principal's votes on one memory, only the newest so many count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How often a memory was served, helped, misled and said again, and when last."""

    served: int = 0
    helped: int = 0
    misled: int = 0
    echoed: int = 0
    last_served_at: datetime | None = None
    last_echoed_at: datetime | None = None

    @property
    def usefulness(self) -> float | None:
        """(helped + 1) / (helped + misled + 2), once anyone has judged it."""
        judged = self.helped + self.misled
        return None if judged == 0 else (self.helped + 1) / (judged + 2)


UNUSED = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one principal says of one memory of one context; saying it again replaces it."""

    context: str
    memory: MemoryId
    by: str
    use: Use
    at: datetime


def tally_votes(votes: "list[Vote]") -> tuple[int, int]:
    """How many votes count as helped and as misled: of each principal the newest few, ties by context."""
    counted: dict[str, int] = {}
    helped = misled = 0
    for vote in sorted(votes, key=lambda vote: (vote.at, vote.context), reverse=True):
        counted[vote.by] = counted.get(vote.by, 0) + 1
        if counted[vote.by] <= VOTES_THAT_COUNT:
            helped += vote.use is Use.HELPED
            misled += vote.use is Use.MISLED
    return helped, misled
