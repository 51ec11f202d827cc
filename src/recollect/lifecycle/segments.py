"""Segments: the events of a session, cut into stretches of what was said in one go."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from recollect.model.memory import Memory, MemoryId

DEFAULT_SEGMENT_GAP = timedelta(minutes=30)
"""After a longer silence, what comes next is another stretch."""

DEFAULT_SEGMENT_TOKENS = 4_000
"""How many tokens a stretch has at most, unless one event alone has more."""

MAX_SEGMENT_EVENTS = 512
"""How many events a stretch has at most, however short they are."""


def group_by_session(events: Iterable[Memory]) -> list[list[Memory]]:
    """The events of each session in their order, in the order in which sessions began; those of none are one."""
    found = dict[str | None, list[Memory]]()
    for event in sorted(events, key=_event_key):
        found.setdefault(event.session, []).append(event)
    return list(found.values())


def split_into_segments(
    events: Iterable[Memory],
    *,
    gap: timedelta = DEFAULT_SEGMENT_GAP,
    most_tokens: int = DEFAULT_SEGMENT_TOKENS,
    count: Callable[[str], int],
) -> list[tuple[Memory, ...]]:
    """The events of one session as stretches, all of them in the order of time and id, whatever order they come in.

    A stretch ends where more than the gap passes until the next event, and where that would be too much for it. An
    event that comes late changes the stretch it falls into, or joins two; those after it only up to the next gap, and
    only if it makes one too long.
    """
    stretches, tokens = list[list[Memory]](), 0
    for event in sorted(events, key=_event_key):
        more = count(event.text)
        if stretches and _continues_segment(stretches[-1], event, gap) and tokens + more <= most_tokens:
            stretches[-1].append(event)
            tokens += more
        else:
            stretches.append([event])
            tokens = more
    return [tuple(stretch) for stretch in stretches]


def is_segment_closed(
    stretch: Sequence[Memory], later: bool, now: datetime, gap: timedelta = DEFAULT_SEGMENT_GAP
) -> bool:
    """Whether nothing that is said from now on can belong to the stretch: a later one of its session has begun, or the
    gap has passed since its last event.
    """
    return later or now - stretch[-1].created_at > gap


def _continues_segment(stretch: Sequence[Memory], event: Memory, gap: timedelta) -> bool:
    """Whether the event comes soon enough after the stretch, which has room for one more."""
    return event.created_at - stretch[-1].created_at <= gap and len(stretch) < MAX_SEGMENT_EVENTS


def _event_key(event: Memory) -> tuple[datetime, MemoryId]:
    return event.created_at, event.id
