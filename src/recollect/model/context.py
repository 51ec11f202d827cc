"""Usage: what happened to a memory since it was written, kept beside it.

Trace: what a context was made of, kept so that feedback and replay can refer to it.

Difference: what is not as it was when a recorded context is made again, and why, as far as that can be told.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import count

from recollect.model.encoder import Encoder
from recollect.model.format import format_count, shorten
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope


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


@dataclass(frozen=True, slots=True)
class PackedEntry:
    """A memory that was handed over, and its score."""

    id: MemoryId
    score: float


@dataclass(frozen=True, slots=True)
class OmittedEntry:
    """A memory that was considered and left out: why, and what it would have cost."""

    id: MemoryId
    score: float
    reason: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecipe:
    """With what a context was made, as far as the question does not say it, so that it can be made again.

    `present` says that it was for the present; of the budget there is what the trace has not. If there was a question,
    `encoder` is the model that was asked, `directions` what it gave, 32-bit floats in base64, and `directed` how many
    memories had a direction to be near to. `packed` and `omitted` are how many there were, also when some of them have
    been erased since. `text` is the sum (SHA-256) of the rendered text, as long as nothing of it has been erased.
    """

    present: bool
    reserves: Mapping[str, int]
    items: int | None
    pinned_share: float
    counter: str
    analyser: str
    naming: str
    encoder: Encoder | None
    directions: str | None
    directed: int
    packed: int
    omitted: int
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecord:
    """What a context was made of: the question, the clocks, the profile, and each memory's place.

    `formula` is the profile as it was, written out. `at` is the moment it was ranked for, `made_at` when that was done,
    `commit` the last that the store then knew of. `levels` are those that were asked for, if there were any yet, and
    `making` is there if it was noted yet. `elsewhere` says that the commit is one of another store, whose context came
    here when there were other commits already.
    """

    id: str
    scope: Scope
    made_at: datetime
    at: datetime
    commit: int
    known_at: datetime | None
    question: tuple[str, ...]
    profile: str
    version: str
    formula: str
    tokens: int
    budget: int
    depth: int
    kinds: tuple[str, ...]
    marker: str
    packed: tuple[PackedEntry, ...]
    omitted: tuple[OmittedEntry, ...]
    excluded: Mapping[str, int]
    past: bool = False
    levels: tuple[str, ...] = ()
    making: ContextRecipe | None = None
    elsewhere: bool = False

    @property
    def moments(self) -> list[tuple[str, datetime]]:
        """Every moment that had come when the context was made, by the name of its field."""
        known = [] if self.known_at is None else [("known_at", self.known_at)]
        return [("made_at", self.made_at), ("at", self.at), *known]

    def with_commit_of(self, other: "ContextRecord") -> "ContextRecord":
        """The trace with the commit of another one, which each store counts by itself."""
        return replace(self, commit=other.commit, elsewhere=other.elsewhere)

    def without_memories(self, gone: Collection[MemoryId]) -> "ContextRecord":
        """The trace without any mention of these memories, and without the sum of a text that they were in."""
        packed = tuple(one for one in self.packed if one.id not in gone)
        making = self.making
        if making is not None and len(packed) < len(self.packed):
            making = replace(making, text=None)
        omitted = tuple(one for one in self.omitted if one.id not in gone)
        return replace(self, packed=packed, omitted=omitted, making=making)


class DifferenceKind(StrEnum):
    """What differs: first what is not there any more or is another now, then what has come of it."""

    ELSEWHERE = "elsewhere"
    NOT_RECORDED = "unnoted"
    ERASED = "erased"
    MISSING = "missing"
    FORMULA = "formula"
    ENCODER = "encoder"
    QUESTION = "question"
    RESTORED_VECTORS = "departed"
    VECTOR_COUNT = "directed"
    ANALYZER = "analyser"
    NAMING = "naming"
    COUNTER = "counter"
    PACKED = "packed"
    OMITTED = "omitted"
    EXCLUDED = "excluded"
    TOKENS = "tokens"
    TEXT = "text"

    @property
    def is_effect(self) -> bool:
        """Whether it is a part of the context itself."""
        return self in _EFFECT_KINDS


_EFFECT_KINDS = frozenset(
    {DifferenceKind.PACKED, DifferenceKind.OMITTED, DifferenceKind.EXCLUDED, DifferenceKind.TOKENS, DifferenceKind.TEXT}
)


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """What differs, of which memory or for which reason if it is of one, how it was, and how it came out again."""

    what: DifferenceKind
    name: str | None = None
    was: str | None = None
    again: str | None = None

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {shorten(self.name)}"
        sums = self.what is DifferenceKind.TEXT  # which say nothing to anybody
        both = [] if sums else [("was", self.was), ("is", self.again)]
        told = ", ".join(f"{when} {shorten(what)}" for when, what in both if what is not None)
        return f"<Difference {self.what.value}{name}{told and f': {told}'}>"


def compare_records(
    was: ContextRecord, now: ContextRecord, *, there: Collection[MemoryId], departed: int = 0
) -> tuple[ReplayDifference, ...]:
    """How a context differs that was made again, and why; nothing, if what came out is the same to the last bit.

    `there` are all memories that were seen again, and `departed` is how many of them got a direction anew.
    """
    effects = list(_find_effects(was, now))
    if not effects:
        return ()
    return (*_find_causes(was, now, there, departed), *effects)


def _find_effects(was: ContextRecord, now: ContextRecord) -> Iterator[ReplayDifference]:
    """What of the context itself is not the same. In which order memories stand follows from their scores."""
    told = _describe_memories(now)
    for what, those in _describe_memories(was).items():
        yield from _compare_mappings(what, those, told[what])
    for what, many, left in zip(
        (DifferenceKind.PACKED, DifferenceKind.OMITTED),
        _count_packed_and_omitted(was),
        _count_packed_and_omitted(now),
        strict=True,
    ):
        if many != left:
            yield ReplayDifference(what, None, str(many), str(left))
    if was.tokens != now.tokens:
        yield ReplayDifference(DifferenceKind.TOKENS, None, str(was.tokens), str(now.tokens))
    then, again = (None if trace.making is None else trace.making.text for trace in (was, now))
    if then is None or then != again:
        yield ReplayDifference(DifferenceKind.TEXT, None, then, again)


def _describe_memories(trace: ContextRecord) -> dict[DifferenceKind, dict[str, str]]:
    """What is told of each memory that was considered, and how many others were excluded by which reason."""
    return {
        DifferenceKind.PACKED: {one.id: repr(one.score) for one in trace.packed},
        DifferenceKind.OMITTED: {one.id: f"{one.score!r} {one.reason} {one.cost}" for one in trace.omitted},
        DifferenceKind.EXCLUDED: {reason: str(count) for reason, count in trace.excluded.items()},
    }


def _compare_mappings(
    what: DifferenceKind, was: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[ReplayDifference]:
    """Where two mappings differ, in the order of the first."""
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            yield ReplayDifference(what, name, was.get(name), now.get(name))


def _find_causes(
    was: ContextRecord, now: ContextRecord, there: Collection[MemoryId], departed: int
) -> Iterator[ReplayDifference]:
    """What is not there any more, or is another now, that a context depends on."""
    if was.elsewhere:
        yield ReplayDifference(DifferenceKind.ELSEWHERE)
    if was.making is None:
        yield ReplayDifference(DifferenceKind.NOT_RECORDED)
    named = [*(one.id for one in was.packed), *(one.id for one in was.omitted)]
    missing = [id for id in named if id not in there]
    seen, again = _count_seen(was), _count_seen(now)
    if seen - again > len(missing):
        yield ReplayDifference(DifferenceKind.ERASED, None, str(seen), str(again))
    for id in missing:
        yield ReplayDifference(DifferenceKind.MISSING, id)
    if was.formula != now.formula:
        yield ReplayDifference(DifferenceKind.FORMULA, was.profile, was.formula, now.formula)
    if was.making is not None and now.making is not None:
        yield from _compare_recipes(was.making, now.making, same=seen == again)
    if departed:
        yield ReplayDifference(DifferenceKind.RESTORED_VECTORS, None, None, str(departed))


def _compare_recipes(was: ContextRecipe, now: ContextRecipe, *, same: bool) -> Iterator[ReplayDifference]:
    """What it was made with that is another now; how many had a direction tells something of as many memories alone."""
    if was.encoder != now.encoder:
        yield ReplayDifference(DifferenceKind.ENCODER, None, str(was.encoder), str(now.encoder))
    elif was.directions is not None and was.directions != now.directions:
        yield ReplayDifference(DifferenceKind.QUESTION)
    elif same and was.directed != now.directed:
        yield ReplayDifference(DifferenceKind.VECTOR_COUNT, None, str(was.directed), str(now.directed))
    for what in (DifferenceKind.ANALYZER, DifferenceKind.NAMING, DifferenceKind.COUNTER):
        then, again = getattr(was, what.value), getattr(now, what.value)
        if then != again:
            yield ReplayDifference(what, None, then, again)


def _count_packed_and_omitted(trace: ContextRecord) -> tuple[int, int]:
    """How many were packed and omitted, also if some of them have been erased since."""
    making = trace.making
    return (len(trace.packed), len(trace.omitted)) if making is None else (making.packed, making.omitted)


def _count_seen(trace: ContextRecord) -> int:
    """How many memories there were to see: each was packed, omitted or excluded."""
    return sum(_count_packed_and_omitted(trace)) + sum(trace.excluded.values())
