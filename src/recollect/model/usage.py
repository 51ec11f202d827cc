"""Usage: what happened to a memory since it was written, kept beside it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import count

from recollect.model.memory import MemoryId
from recollect.model.wording import counted


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

    def __repr__(self) -> str:
        said = f"served {counted(self.served, 'time')}, {self.helped} helped, {self.misled} misled"
        return f"<Usage: {said}, said again {counted(self.echoed, 'time')}>"

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


def standing(votes: Iterable[Vote]) -> list[Vote]:
    """Of all votes ever cast on a memory, the oldest first, those that stand."""
    return list({(one.context, one.by): one for one in votes}.values())


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


def without_names(votes: Sequence[Vote], contexts: Collection[str], principal: str) -> list[Vote]:
    """The votes on one memory, in their order; those of erased contexts, and of that principal, say no longer whose.

    They stay votes of as many principals as before. The names they get are no others' on this memory, and say nothing.
    """
    spoken = {one for one in votes if one.context in contexts or one.by == principal}
    voices = _nameless([one.by for one in votes if one in spoken], {one.by for one in votes})
    places = _nameless([one.context for one in votes if one.context in contexts], {one.context for one in votes})
    return [
        replace(one, by=voices[one.by], context=places.get(one.context, one.context)) if one in spoken else one
        for one in votes
    ]


def _nameless(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """A name that says nothing for each of these, the first one first; none that is taken."""
    free = (name for number in count(1) if (name := f"erased {number}") not in taken)
    return {name: next(free) for name in dict.fromkeys(names)}
