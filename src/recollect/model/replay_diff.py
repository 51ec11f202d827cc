"""Difference: what is not as it was when a recorded context is made again, and why, as far as that can be told."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from recollect.model.context_record import Making, Trace
from recollect.model.format import shortened
from recollect.model.memory import MemoryId


class What(StrEnum):
    """What differs: first what is not there any more or is another now, then what has come of it."""

    ELSEWHERE = "elsewhere"
    UNNOTED = "unnoted"
    ERASED = "erased"
    MISSING = "missing"
    FORMULA = "formula"
    ENCODER = "encoder"
    QUESTION = "question"
    DEPARTED = "departed"
    DIRECTED = "directed"
    ANALYSER = "analyser"
    NAMING = "naming"
    COUNTER = "counter"
    PACKED = "packed"
    OMITTED = "omitted"
    EXCLUDED = "excluded"
    TOKENS = "tokens"
    TEXT = "text"

    @property
    def effect(self) -> bool:
        """Whether it is a part of the context itself."""
        return self in _EFFECTS


_EFFECTS = frozenset({What.PACKED, What.OMITTED, What.EXCLUDED, What.TOKENS, What.TEXT})


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, of which memory or for which reason if it is of one, how it was, and how it came out again."""

    what: What
    name: str | None = None
    was: str | None = None
    again: str | None = None

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {shortened(self.name)}"
        sums = self.what is What.TEXT  # which say nothing to anybody
        both = [] if sums else [("was", self.was), ("is", self.again)]
        told = ", ".join(f"{when} {shortened(what)}" for when, what in both if what is not None)
        return f"<Difference {self.what.value}{name}{told and f': {told}'}>"


def differences(was: Trace, now: Trace, *, there: Collection[MemoryId], departed: int = 0) -> tuple[Difference, ...]:
    """How a context differs that was made again, and why; nothing, if what came out is the same to the last bit.

    `there` are all memories that were seen again, and `departed` is how many of them got a direction anew.
    """
    effects = list(_effects(was, now))
    if not effects:
        return ()
    return (*_causes(was, now, there, departed), *effects)


def _effects(was: Trace, now: Trace) -> Iterator[Difference]:
    """What of the context itself is not the same. In which order memories stand follows from their scores."""
    told = _told(now)
    for what, those in _told(was).items():
        yield from _apart(what, those, told[what])
    for what, many, left in zip((What.PACKED, What.OMITTED), _counts(was), _counts(now), strict=True):
        if many != left:
            yield Difference(what, None, str(many), str(left))
    if was.tokens != now.tokens:
        yield Difference(What.TOKENS, None, str(was.tokens), str(now.tokens))
    then, again = (None if trace.making is None else trace.making.text for trace in (was, now))
    if then is None or then != again:
        yield Difference(What.TEXT, None, then, again)


def _told(trace: Trace) -> dict[What, dict[str, str]]:
    """What is told of each memory that was considered, and how many others were excluded by which reason."""
    return {
        What.PACKED: {one.id: repr(one.score) for one in trace.packed},
        What.OMITTED: {one.id: f"{one.score!r} {one.reason} {one.cost}" for one in trace.omitted},
        What.EXCLUDED: {reason: str(count) for reason, count in trace.excluded.items()},
    }


def _apart(what: What, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Difference]:
    """Where two mappings differ, in the order of the first."""
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            yield Difference(what, name, was.get(name), now.get(name))


def _causes(was: Trace, now: Trace, there: Collection[MemoryId], departed: int) -> Iterator[Difference]:
    """What is not there any more, or is another now, that a context depends on."""
    if was.elsewhere:
        yield Difference(What.ELSEWHERE)
    if was.making is None:
        yield Difference(What.UNNOTED)
    named = [*(one.id for one in was.packed), *(one.id for one in was.omitted)]
    missing = [id for id in named if id not in there]
    seen, again = _seen(was), _seen(now)
    if seen - again > len(missing):
        yield Difference(What.ERASED, None, str(seen), str(again))
    for id in missing:
        yield Difference(What.MISSING, id)
    if was.formula != now.formula:
        yield Difference(What.FORMULA, was.profile, was.formula, now.formula)
    if was.making is not None and now.making is not None:
        yield from _made_otherwise(was.making, now.making, same=seen == again)
    if departed:
        yield Difference(What.DEPARTED, None, None, str(departed))


def _made_otherwise(was: Making, now: Making, *, same: bool) -> Iterator[Difference]:
    """What it was made with that is another now; how many had a direction tells something of as many memories alone."""
    if was.encoder != now.encoder:
        yield Difference(What.ENCODER, None, str(was.encoder), str(now.encoder))
    elif was.directions is not None and was.directions != now.directions:
        yield Difference(What.QUESTION)
    elif same and was.directed != now.directed:
        yield Difference(What.DIRECTED, None, str(was.directed), str(now.directed))
    for what in (What.ANALYSER, What.NAMING, What.COUNTER):
        then, again = getattr(was, what.value), getattr(now, what.value)
        if then != again:
            yield Difference(what, None, then, again)


def _counts(trace: Trace) -> tuple[int, int]:
    """How many were packed and omitted, also if some of them have been erased since."""
    making = trace.making
    return (len(trace.packed), len(trace.omitted)) if making is None else (making.packed, making.omitted)


def _seen(trace: Trace) -> int:
    """How many memories there were to see: each was packed, omitted or excluded."""
    return sum(_counts(trace)) + sum(trace.excluded.values())
