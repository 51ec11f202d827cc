"""Usage: what happened to a memory since it was written, kept beside it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import count

from recollect.model.format import format_count
from recollect.model.memory import MemoryId


class Use(StrEnum):
    """Something that happened to a memory."""

    SERVED = "served"
    HELPED = "helped"
    MISLED = "misled"
    ECHOED = "echoed"
    QUOTED = "quoted"
    FOLLOWED = "followed"


SIGN_USES = frozenset({Use.QUOTED, Use.FOLLOWED})
"""What nobody said of a memory and yet speaks for it: its words stand in the answer that was given from a context, or
what a context was used for ended in success. Each is noted once for a context."""

MAX_COUNTED_VOTES = 5
"""Of one principal's votes on one memory, only the newest so many count."""

_ERASED_NAME = re.compile(r"erased \d+")
"""What a principal or a context is called that was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How often a memory was served, helped, misled and said again, and when last.

    `quoted` and `followed` count its signs, which move nothing.
    """

    served: int = 0
    helped: int = 0
    misled: int = 0
    echoed: int = 0
    quoted: int = 0
    followed: int = 0
    last_served_at: datetime | None = None
    last_echoed_at: datetime | None = None

    def __repr__(self) -> str:
        said = f"served {format_count(self.served, 'time')}, {self.helped} helped, {self.misled} misled"
        signs = f", {self.quoted} quoted, {self.followed} followed" if self.quoted or self.followed else ""
        return f"<Usage: {said}{signs}, said again {format_count(self.echoed, 'time')}>"

    @property
    def usefulness(self) -> float | None:
        """(helped + 1) / (helped + misled + 2), once anyone has judged it."""
        judged = self.helped + self.misled
        return None if judged == 0 else (self.helped + 1) / (judged + 2)


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one principal says of one memory of one context; saying it again replaces it."""

    context: str
    memory: MemoryId
    by: str
    use: Use
    at: datetime


@dataclass(frozen=True, slots=True)
class Sign:
    """What speaks for a memory of a context without anybody saying so."""

    context: str
    memory: MemoryId
    use: Use


@dataclass(frozen=True, slots=True)
class Noted:
    """What came of feedback: how many votes were taken, and which memories the answer quotes.

    `remark` says why nothing of the answer was noted that has their words, if that is so.
    """

    votes: int
    quoted: tuple[MemoryId, ...] = ()
    remark: str | None = None

    def __repr__(self) -> str:
        why = "" if self.remark is None else f": {self.remark}"
        return f"<Noted {format_count(self.votes, 'vote')}, {len(self.quoted)} quoted{why}>"


def select_current_votes(votes: Iterable[Vote]) -> list[Vote]:
    """Of all votes ever cast, the oldest first, those that stand, each where it was last cast.

    The oldest is the one that the store took first, whatever clock each was cast by.
    """
    last: dict[tuple[MemoryId, str, str], Vote] = {}
    for one in votes:
        place = one.memory, one.context, one.by
        last.pop(place, None)
        last[place] = one
    return list(last.values())


def select_counted_votes(votes: Sequence[Vote]) -> list[Vote]:
    """Those of the standing votes, the oldest first, that count, the newest first: of each principal the newest few on
    a memory. All whose names were erased are one principal.
    """
    counted = Counter[tuple[MemoryId, str]]()
    found: list[Vote] = []
    for vote in reversed(votes):
        voice = vote.memory, "erased" if _ERASED_NAME.fullmatch(vote.by) else vote.by
        counted[voice] += 1
        if counted[voice] <= MAX_COUNTED_VOTES:
            found.append(vote)
    return found


def count_votes(votes: Sequence[Vote]) -> tuple[int, int]:
    """How many of the standing votes on a memory, the oldest first, count as helped and as misled."""
    uses = [vote.use for vote in select_counted_votes(votes)]
    return uses.count(Use.HELPED), uses.count(Use.MISLED)


def anonymize_votes(votes: Sequence[Vote], contexts: Collection[str], principal: str) -> list[Vote]:
    """The votes on one memory, in their order; those of erased contexts, and of that principal, say no longer whose.

    As many stand as before, but all that say no longer whose they are count for no more than those of one principal, or
    one could have as many as one likes by erasing in between. The names they get are no others' on this memory.
    """
    spoken = {one for one in votes if one.context in contexts or one.by == principal}
    voices = _assign_anonymous_names([one.by for one in votes if one in spoken], {one.by for one in votes})
    places = _assign_anonymous_names(
        [one.context for one in votes if one.context in contexts], {one.context for one in votes}
    )
    return [
        replace(one, by=voices[one.by], context=places.get(one.context, one.context)) if one in spoken else one
        for one in votes
    ]


def _assign_anonymous_names(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """A name that says nothing for each of these, the first one first; none that is taken."""
    free = (name for number in count(1) if (name := f"erased {number}") not in taken)
    return {name: next(free) for name in dict.fromkeys(names)}
