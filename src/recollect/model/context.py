"""The record of a context, and what is made of it: usage, votes, replays and training examples.

In this order: how a memory was used since it was written; the record of a context, to which feedback and replay refer;
the comparison of a record with its replay; the training examples made of records and feedback.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Self

from recollect.errors import InvalidInput
from recollect.model.encoder import Encoder
from recollect.model.format import format_count, shorten
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from recollect.model.table import Floats


class Use(StrEnum):
    """An event in the use of a memory."""

    SERVED = "served"
    HELPED = "helped"
    MISLED = "misled"
    ECHOED = "echoed"
    QUOTED = "quoted"
    FOLLOWED = "followed"


SIGN_USES = frozenset({Use.QUOTED, Use.FOLLOWED})
"""Signs: uses that suggest that a memory helped, without a vote.

The answer given from a context quotes the memory, or the work done with a context succeeded. Each is recorded once per
context.
"""

MAX_COUNTED_VOTES = 5
"""How many of one principal's votes on one memory count: the newest ones."""

_ERASED_NAME = re.compile(r"erased \d+")
"""The name that replaces an erased principal or context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How often a memory was served, helped, misled and repeated, and when last.

    `quoted` and `followed` count its signs, which do not affect ranking.
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
        counts = f"served {format_count(self.served, 'time')}, {self.helped} helped, {self.misled} misled"
        signs = f", {self.quoted} quoted, {self.followed} followed" if self.quoted or self.followed else ""
        return f"<Usage: {counts}{signs}, said again {format_count(self.echoed, 'time')}>"

    @property
    def usefulness(self) -> float | None:
        """(helped + 1) / (helped + misled + 2), or `None` without votes."""
        votes = self.helped + self.misled
        return None if votes == 0 else (self.helped + 1) / (votes + 2)


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One principal's vote on one memory of one context; voting again replaces it."""

    context: str
    memory: MemoryId
    by: str
    use: Use
    at: datetime


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign that a memory of a context helped."""

    context: str
    memory: MemoryId
    use: Use


@dataclass(frozen=True, slots=True)
class Noted:
    """The result of feedback: the number of votes recorded, and the memories that were quoted.

    `remark` says why quotes in the answer were not recorded, if so.
    """

    votes: int
    quoted: tuple[MemoryId, ...] = ()
    remark: str | None = None

    def __repr__(self) -> str:
        why = "" if self.remark is None else f": {self.remark}"
        return f"<Noted {format_count(self.votes, 'vote')}, {len(self.quoted)} quoted{why}>"


def select_current_votes(votes: Iterable[Vote]) -> list[Vote]:
    """Return the votes that no later vote replaces, each at the position of its last cast.

    Both lists are oldest first, in the order in which the store took the votes, whatever clock each voter had.
    """
    last: dict[tuple[MemoryId, str, str], Vote] = {}
    for one in votes:
        key = one.memory, one.context, one.by
        last.pop(key, None)
        last[key] = one
    return list(last.values())


def select_counted_votes(votes: Sequence[Vote]) -> list[Vote]:
    """Return the votes that count, newest first; `votes` are the current ones, oldest first.

    Of each principal, only the newest `MAX_COUNTED_VOTES` on a memory count. All erased principals count as one.
    """
    counted = Counter[tuple[MemoryId, str]]()
    found: list[Vote] = []
    for vote in reversed(votes):
        voter = vote.memory, "erased" if _ERASED_NAME.fullmatch(vote.by) else vote.by
        counted[voter] += 1
        if counted[voter] <= MAX_COUNTED_VOTES:
            found.append(vote)
    return found


def count_votes(votes: Sequence[Vote]) -> tuple[int, int]:
    """Return how many current votes on a memory, oldest first, count as helped and as misled."""
    uses = [vote.use for vote in select_counted_votes(votes)]
    return uses.count(Use.HELPED), uses.count(Use.MISLED)


def anonymize_votes(votes: Sequence[Vote], contexts: Collection[str], principal: str) -> list[Vote]:
    """Return the votes on one memory, with erased contexts and a principal made anonymous.

    The number and order of votes stay the same. All anonymous votes together count no more than those of one principal;
    otherwise a principal could cast any number of votes by erasing in between. The replacement names are not used by
    other votes on this memory.
    """
    affected = {one for one in votes if one.context in contexts or one.by == principal}
    principals = _assign_anonymous_names([one.by for one in votes if one in affected], {one.by for one in votes})
    places = _assign_anonymous_names(
        [one.context for one in votes if one.context in contexts], {one.context for one in votes}
    )
    return [
        replace(one, by=principals[one.by], context=places.get(one.context, one.context)) if one in affected else one
        for one in votes
    ]


def _assign_anonymous_names(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return an anonymous name for each name, in order, that is not in `taken`."""
    free = (name for number in count(1) if (name := f"erased {number}") not in taken)
    return {name: next(free) for name in dict.fromkeys(names)}


@dataclass(frozen=True, slots=True)
class PackedEntry:
    """A memory that was served, and its score."""

    id: MemoryId
    score: float


@dataclass(frozen=True, slots=True)
class OmittedEntry:
    """A memory that was considered but left out, with the reason and its cost."""

    id: MemoryId
    score: float
    reason: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecipe:
    """How a context was made, apart from the query, so that a replay can make it again.

    `present` means that it was made for the present. The budget fields are those that the record lacks. With a query,
    `encoder` is the model used, `directions` holds the query's vectors (32-bit floats in base64), and `directed` counts
    the memories that had a vector to compare. `packed` and `omitted` count also memories that were erased since. `text`
    is the SHA-256 of the rendered text, until part of it is erased.
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
    """The record of a context: the query, the clocks, the profile, and each memory's rank.

    `formula` is the profile in full as it was then. `at` is the moment the context was ranked for, `made_at` when it
    was made, `commit` the last commit of the store then. `levels` and `making` are empty in records older than these
    fields. `elsewhere` means that the commit is of another store: the context was imported when this store already had
    commits.
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
        """Return the timestamps that cannot lie after the making of the context, with field names."""
        known = [] if self.known_at is None else [("known_at", self.known_at)]
        return [("made_at", self.made_at), ("at", self.at), *known]

    def with_commit_of(self, other: "ContextRecord") -> "ContextRecord":
        """Return the record with the commit of another one, since each store counts its own commits."""
        return replace(self, commit=other.commit, elsewhere=other.elsewhere)

    def without_memories(self, gone: Collection[MemoryId]) -> "ContextRecord":
        """Return the record without these memories, and without the checksum of a text that had any."""
        packed = tuple(one for one in self.packed if one.id not in gone)
        making = self.making
        if making is not None and len(packed) < len(self.packed):
            making = replace(making, text=None)
        omitted = tuple(one for one in self.omitted if one.id not in gone)
        return replace(self, packed=packed, omitted=omitted, making=making)


class DifferenceKind(StrEnum):
    """What differs in a replay: first the possible causes, then the effects on the context."""

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
        """Whether the difference is in the context itself, not in a cause."""
        return self in _EFFECT_KINDS


_EFFECT_KINDS = frozenset(
    {DifferenceKind.PACKED, DifferenceKind.OMITTED, DifferenceKind.EXCLUDED, DifferenceKind.TOKENS, DifferenceKind.TEXT}
)


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """One difference: its kind, the memory or reason it concerns, and the value then and now."""

    what: DifferenceKind
    name: str | None = None
    was: str | None = None
    again: str | None = None

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {shorten(self.name)}"
        is_checksum = self.what is DifferenceKind.TEXT  # a checksum tells a reader nothing
        values = [] if is_checksum else [("was", self.was), ("is", self.again)]
        change = ", ".join(f"{when} {shorten(value)}" for when, value in values if value is not None)
        return f"<Difference {self.what.value}{name}{change and f': {change}'}>"


def compare_records(
    was: ContextRecord, now: ContextRecord, *, there: Collection[MemoryId], departed: int = 0
) -> tuple[ReplayDifference, ...]:
    """Return how a replayed context differs from its record, and why; empty if identical.

    Scores are compared to the last bit. `there` are all memories that the replay saw, and `departed` counts those that
    were embedded again.
    """
    effects = list(_find_effects(was, now))
    if not effects:
        return ()
    return (*_find_causes(was, now, there, departed), *effects)


def _find_effects(was: ContextRecord, now: ContextRecord) -> Iterator[ReplayDifference]:
    """Yield the differences in the context itself.

    The order of the memories is not compared: it follows from their scores.
    """
    descriptions = _describe_memories(now)
    for what, old in _describe_memories(was).items():
        new = descriptions[what]
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) != new.get(name):
                yield ReplayDifference(what, name, old.get(name), new.get(name))
    for what, then_count, now_count in zip(
        (DifferenceKind.PACKED, DifferenceKind.OMITTED),
        _count_packed_and_omitted(was),
        _count_packed_and_omitted(now),
        strict=True,
    ):
        if then_count != now_count:
            yield ReplayDifference(what, None, str(then_count), str(now_count))
    if was.tokens != now.tokens:
        yield ReplayDifference(DifferenceKind.TOKENS, None, str(was.tokens), str(now.tokens))
    then, again = (None if trace.making is None else trace.making.text for trace in (was, now))
    if then is None or then != again:
        yield ReplayDifference(DifferenceKind.TEXT, None, then, again)


def _describe_memories(trace: ContextRecord) -> dict[DifferenceKind, dict[str, str]]:
    """Return a description of each memory considered, and the number excluded for each reason."""
    return {
        DifferenceKind.PACKED: {one.id: repr(one.score) for one in trace.packed},
        DifferenceKind.OMITTED: {one.id: f"{one.score!r} {one.reason} {one.cost}" for one in trace.omitted},
        DifferenceKind.EXCLUDED: {reason: str(count) for reason, count in trace.excluded.items()},
    }


def _find_causes(
    was: ContextRecord, now: ContextRecord, there: Collection[MemoryId], departed: int
) -> Iterator[ReplayDifference]:
    """Yield the inputs of a context that are gone or have changed."""
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
    """Yield the changed inputs of the recipe.

    `directed` is compared only if both contexts saw as many memories.
    """
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
    """Return how many memories were packed and omitted, including those erased since."""
    making = trace.making
    return (len(trace.packed), len(trace.omitted)) if making is None else (making.packed, making.omitted)


def _count_seen(trace: ContextRecord) -> int:
    """Return how many memories the context saw: each was packed, omitted or excluded."""
    return sum(_count_packed_and_omitted(trace)) + sum(trace.excluded.values())


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory that was served: its position in the text, from 1, and its candidate index.

    The position is `None` if other memories of the context have been erased since.
    """

    memory: MemoryId
    place: int | None
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingExample:
    """A context with its query, its candidates, the memories it showed, and their feedback.

    The profile that learns from it ranked it, before any learning. `opinions` are the values of the profile's signals,
    by what was known when the context was made. They have a row for every term and then every factor, with the default
    where a signal has no evidence, and a column, in the order of ids, for every candidate that passed the gates and
    could come first. A memory that was served but did not pass these gates is not in `shown`.
    """

    context: str
    scope: Scope
    question: tuple[str, ...]
    made_at: datetime
    opinions: "Floats" = field(repr=False)
    shown: tuple[ShownMemory, ...]
    votes: tuple[Vote, ...]
    signs: tuple[Sign, ...]

    def __post_init__(self) -> None:
        if self.opinions.ndim != 2 or not ((self.opinions >= 0.0) & (self.opinions <= 1.0)).all():
            raise InvalidInput(f"the signal values of context {self.context!r} are not all within 0..1")
        candidates = [one.candidate for one in self.shown]
        places = [one.place for one in self.shown if one.place is not None]
        if any(not 0 <= one < self.opinions.shape[1] for one in candidates) or any(place < 1 for place in places):
            raise InvalidInput(
                f"context {self.context!r} shows a memory that is not a candidate or has an invalid position"
            )
        if len(set(candidates)) < len(candidates) or len(set(places)) < len(places):
            raise InvalidInput(f"context {self.context!r} shows a candidate or a position twice")

    @property
    def sort_key(self) -> tuple[datetime, str]:
        """The sort key of examples; it is unique."""
        return self.made_at, self.context

    @property
    def has_all_places(self) -> bool:
        """Whether the position of every memory is known."""
        return all(one.place is not None for one in self.shown)


class SkipReason(StrEnum):
    """Why a context with feedback cannot train a profile."""

    OTHER_STORE = "elsewhere"
    """It was made in another store, and only that store knows what was known then."""

    ONLY_FOLLOWED = "followed"
    """Its only feedback is that success followed, which applies to all its memories alike."""

    HAS_QUESTION = "asked"
    """It had a query, and the profile takes none."""

    NO_QUESTION = "unasked"
    """It had no query, and the profile needs one."""

    OTHER_PROFILE = "otherwise"
    """Another profile ranked it, so learning would only copy what that profile shows."""

    UNRECORDED = "unrecorded"
    """A model's output for it was not recorded, or the model has been replaced."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingSet:
    """The training examples of some scopes, oldest first, and the number skipped by reason."""

    scopes: tuple[Scope, ...]
    told: tuple[TrainingExample, ...]
    left_out: Mapping[SkipReason, int] = field(default_factory=dict[SkipReason, int], hash=False)

    @classmethod
    def merge(cls, sets: Sequence["TrainingSet"]) -> Self:
        """Merge training sets; their order makes no difference."""
        left_out = Counter[SkipReason]()
        for one in sets:
            left_out.update(one.left_out)
        return cls(
            scopes=tuple(sorted({scope for one in sets for scope in one.scopes}, key=str)),
            told=tuple(sorted((one for some in sets for one in some.told), key=lambda one: one.sort_key)),
            left_out=left_out,
        )
