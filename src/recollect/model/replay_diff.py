"""Difference: what is not as it was when a recorded context is made again, and why, as far as that can be told."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from recollect.model.context_record import ContextRecipe, ContextRecord
from recollect.model.format import shorten
from recollect.model.memory import MemoryId


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
