"""Timeline: what happened, as one walks through it from years down to single events."""

from dataclasses import dataclass
from datetime import datetime

from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineNode:
    """A place on the timeline: what it is called, the time it covers, and its record, if there is one by now.

    `key` is by what one goes there: 2026, 2026-03, 2026-W09, 2026-03-01, or the id of a segment, a grip or an event.
    """

    level: Level
    key: str
    title: str
    first: datetime
    last: datetime
    record: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePage:
    """A place with what is below it, in order; without a place, all years. `grips` are those that a segment cites."""

    place: TimelineNode | None
    parts: tuple[TimelineNode, ...]
    grips: tuple[TimelineNode, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GripExpansion:
    """The events that a grip is an excerpt of, in order, with some before and after them."""

    record: Memory
    before: tuple[Memory, ...]
    events: tuple[Memory, ...]
    after: tuple[Memory, ...]
    gone: tuple[MemoryId, ...] = ()
    """Events that it was made of and that are not there any more, or were put away."""
