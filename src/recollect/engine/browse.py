"""Browse: from years down to single events, and from a grip to what was really said."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import memory_not_found, require_memory_id
from recollect.errors import FieldError, InvalidInput, NotFound, show
from recollect.lifecycle.periods import Period
from recollect.lifecycle.record import RollupRecord, make_period_id
from recollect.model import validation
from recollect.model.format import shorten
from recollect.model.level import CALENDAR_LEVELS, Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.timeline import GripExpansion, TimelineNode, TimelinePage

MAX_AROUND_EVENTS = 100
"""How many events before and after a grip may be asked for."""

KEY_HELP = (
    "a key is a year, month, week or day, as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or a grip"
)
"""What somebody is told who asks for a place that is none."""

_AROUND_WINDOW = timedelta(days=1)
"""How far from a grip its neighbours are looked for."""


def browse(world: Dependencies, scope: Scope, key: str | None) -> TimelinePage:
    """A place of the timeline with what is below it, or all years."""
    if key is None:
        return TimelinePage(place=None, parts=_list_periods(world, scope, None))
    period = _parse_period(validation.require_text("key", key))
    if period is not None:
        place = _node_of_period(world, scope, period, _load_records(world, scope, [period]))
        return TimelinePage(place=place, parts=_list_parts(world, scope, period))
    try:
        memory = _get_record(world, scope, key)
    except NotFound as error:
        raise NotFound(f"{error}; {KEY_HELP}") from None
    events = () if memory.level is Level.EVENT else _load_active(world, scope, memory.derived_from)
    grips = _load_active(world, scope, RollupRecord.of(memory).cited_ids if memory.level is Level.SEGMENT else ())
    return TimelinePage(
        place=_node_of_record(memory),
        parts=tuple(map(_node_of_record, events)),
        grips=tuple(_node_of_record(one) for one in grips if one.level is Level.GRIP),
    )


def expand(world: Dependencies, scope: Scope, id: str, around: int) -> GripExpansion:
    """The events that a grip, or a segment, is made of, with so many before and after them of the same session."""
    if validation.require_count("around", around) > MAX_AROUND_EVENTS:
        raise FieldError(f"{around} events; give at most {MAX_AROUND_EVENTS}", field="around")
    period = _parse_period(validation.require_text("id", id))
    if period is not None:
        shows = f"is a {period.level.value}, which `browse` shows"
        raise InvalidInput(f"{show(id)} {shows}; `expand` takes the id of a grip or a segment")
    record = _get_record(world, scope, id)
    if record.level not in (Level.GRIP, Level.SEGMENT):
        raise InvalidInput(f"{show(id)} is of the level {record.level}; browse it down to a segment or a grip")
    events = _load_active(world, scope, record.derived_from)
    known = {one.id for one in events}
    gone = tuple(MemoryId(one) for one in record.derived_from if one not in known)
    before, after = _load_around(world, scope, events, around) if events and around else ((), ())
    return GripExpansion(record=record, before=before, events=events, after=after, gone=gone)


def _load_around(
    world: Dependencies, scope: Scope, events: Sequence[Memory], around: int
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """What the same session has just before and just after these events."""
    first, last = events[0], events[-1]
    since, before = first.created_at - _AROUND_WINDOW, last.created_at + _AROUND_WINDOW
    found = world.store.timeline(scope, [Level.EVENT], since=since, before=before)
    said = [one for one in found if one.session == first.session]
    earlier = [one for one in said if (one.created_at, one.id) < (first.created_at, first.id)]
    later = [one for one in said if (one.created_at, one.id) > (last.created_at, last.id)]
    return tuple(earlier[-around:]), tuple(later[:around])


def _parse_period(key: str) -> Period | None:
    """The period that a key names, if it names one."""
    for level in CALENDAR_LEVELS:
        try:
            return Period.parse(level, key)
        except FieldError:
            continue
    return None


def _get_record(world: Dependencies, scope: Scope, id: str) -> Memory:
    """The scope's own memory of that id, if it is on the timeline and holds."""
    found = world.store.get(scope, [require_memory_id(scope, id)])
    if not found or found[0].scope != scope or found[0].status is not Status.ACTIVE:
        raise memory_not_found(scope, id)
    if found[0].level is None:
        raise InvalidInput(f"{show(id)} is a plain memory, which is on no timeline; show it instead")
    return found[0]


def _load_active(world: Dependencies, scope: Scope, ids: Sequence[str]) -> tuple[Memory, ...]:
    """Those of them that hold, in order of time."""
    found = world.store.get(scope, [MemoryId(one) for one in ids]) if ids else []
    held = [one for one in found if one.status is Status.ACTIVE]
    return tuple(sorted(held, key=lambda one: (one.created_at, one.id)))


def _list_parts(world: Dependencies, scope: Scope, period: Period) -> tuple[TimelineNode, ...]:
    """What is below a period: finer ones, or for a day its segments and the events that are in none yet."""
    if period.level is not Level.DAY:
        return _list_periods(world, scope, period)
    zone = world.time_zone
    within = (period.begins(zone), period.ends(zone))
    segments = world.store.timeline(scope, [Level.SEGMENT], since=within[0], before=within[1])
    events = world.store.timeline(scope, [Level.EVENT], since=within[0], before=within[1])
    held = {id for one in segments for id in one.derived_from}
    loose = [one for one in events if one.id not in held]
    places = [_node_of_record(one) for one in (*segments, *loose)]
    return tuple(sorted(places, key=lambda one: (one.first, one.key)))


def _list_periods(world: Dependencies, scope: Scope, period: Period | None) -> tuple[TimelineNode, ...]:
    """The periods just below this one in which anything happened, or all years."""
    zone = world.time_zone
    moments, _ = world.store.touched(scope, Level.EVENT, 0)
    if period is None:
        found = sorted({Period.of(moment, Level.YEAR, zone) for moment in moments}, key=lambda one: one.key)
    else:
        first, last = period.begins(zone), period.ends(zone)
        found = [
            one
            for one in period.parts()
            if _has_time_between(
                moments, max(one.begins(zone), first), min(one.ends(zone), last)
            )  # a week may be of two months
        ]
    records = _load_records(world, scope, found)
    held = [one for one in found if make_period_id(scope, one) in records or _has_events(world, scope, one)]
    return tuple(_node_of_period(world, scope, one, records) for one in held)


def _has_events(world: Dependencies, scope: Scope, period: Period) -> bool:
    """Whether any event of the period holds: all may have been forgotten."""
    within = (period.begins(world.time_zone), period.ends(world.time_zone))
    return bool(world.store.timeline(scope, [Level.EVENT], since=within[0], before=within[1]))


def _has_time_between(moments: Sequence[datetime], since: datetime, before: datetime) -> bool:
    place = bisect_left(moments, since)
    return place < len(moments) and moments[place] < before


def _load_records(world: Dependencies, scope: Scope, periods: Sequence[Period]) -> dict[MemoryId, Memory]:
    found = world.store.get(scope, [make_period_id(scope, one) for one in periods]) if periods else []
    return {one.id: one for one in found if one.status is Status.ACTIVE}


def _node_of_period(
    world: Dependencies, scope: Scope, period: Period, records: Mapping[MemoryId, Memory]
) -> TimelineNode:
    zone, record = world.time_zone, records.get(make_period_id(scope, period))
    title = str(period) if record is None or record.title is None else record.title
    return TimelineNode(
        level=period.level,
        key=period.key,
        title=title,
        first=period.begins(zone),
        last=period.ends(zone),
        record=record,
    )


def _node_of_record(memory: Memory) -> TimelineNode:
    level = memory.level or Level.EVENT
    record = RollupRecord.of(memory) if level is not Level.EVENT else None
    said = shorten(memory.text if memory.speaker is None else f"{memory.speaker}: {memory.text}")
    return TimelineNode(
        level=level,
        key=memory.id,
        title=memory.title or said,
        first=memory.created_at if record is None else record.first,
        last=memory.created_at if record is None else record.last,
        record=memory,
    )
