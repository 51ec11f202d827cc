"""Browse: from years down to single events, and from a grip to what was really said."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from recollect.engine.dependencies import World
from recollect.engine.edit import not_there, sought
from recollect.errors import FieldError, InvalidInput, NotFound, show
from recollect.lifecycle.periods import Period
from recollect.lifecycle.record import Record, period_id
from recollect.model import validation
from recollect.model.format import shortened
from recollect.model.level import NODES, Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.timeline import Expansion, Outlook, Place

MOST_AROUND = 100
"""How many events before and after a grip may be asked for."""

KEYS = "a key is a year, month, week or day, as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or a grip"
"""What somebody is told who asks for a place that is none."""

_NEAR = timedelta(days=1)
"""How far from a grip its neighbours are looked for."""


def browse(world: World, scope: Scope, key: str | None) -> Outlook:
    """A place of the timeline with what is below it, or all years."""
    if key is None:
        return Outlook(place=None, parts=_periods(world, scope, None))
    period = _period(validation.a_text("key", key))
    if period is not None:
        place = _of_period(world, scope, period, _records(world, scope, [period]))
        return Outlook(place=place, parts=_below(world, scope, period))
    try:
        memory = _record(world, scope, key)
    except NotFound as error:
        raise NotFound(f"{error}; {KEYS}") from None
    events = () if memory.level is Level.EVENT else _there(world, scope, memory.derived_from)
    grips = _there(world, scope, Record.of(memory).cited if memory.level is Level.SEGMENT else ())
    return Outlook(
        place=_of_record(memory),
        parts=tuple(map(_of_record, events)),
        grips=tuple(_of_record(one) for one in grips if one.level is Level.GRIP),
    )


def expand(world: World, scope: Scope, id: str, around: int) -> Expansion:
    """The events that a grip, or a segment, is made of, with so many before and after them of the same session."""
    if validation.a_count("around", around) > MOST_AROUND:
        raise FieldError(f"{around} events; give at most {MOST_AROUND}", field="around")
    period = _period(validation.a_text("id", id))
    if period is not None:
        shows = f"is a {period.level.value}, which `browse` shows"
        raise InvalidInput(f"{show(id)} {shows}; `expand` takes the id of a grip or a segment")
    record = _record(world, scope, id)
    if record.level not in (Level.GRIP, Level.SEGMENT):
        raise InvalidInput(f"{show(id)} is of the level {record.level}; browse it down to a segment or a grip")
    events = _there(world, scope, record.derived_from)
    known = {one.id for one in events}
    gone = tuple(MemoryId(one) for one in record.derived_from if one not in known)
    before, after = _beside(world, scope, events, around) if events and around else ((), ())
    return Expansion(record=record, before=before, events=events, after=after, gone=gone)


def _beside(
    world: World, scope: Scope, events: Sequence[Memory], around: int
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """What the same session has just before and just after these events."""
    first, last = events[0], events[-1]
    since, before = first.created_at - _NEAR, last.created_at + _NEAR
    found = world.store.timeline(scope, [Level.EVENT], since=since, before=before)
    said = [one for one in found if one.session == first.session]
    earlier = [one for one in said if (one.created_at, one.id) < (first.created_at, first.id)]
    later = [one for one in said if (one.created_at, one.id) > (last.created_at, last.id)]
    return tuple(earlier[-around:]), tuple(later[:around])


def _period(key: str) -> Period | None:
    """The period that a key names, if it names one."""
    for level in NODES:
        try:
            return Period.parse(level, key)
        except FieldError:
            continue
    return None


def _record(world: World, scope: Scope, id: str) -> Memory:
    """The scope's own memory of that id, if it is on the timeline and holds."""
    found = world.store.get(scope, [sought(scope, id)])
    if not found or found[0].scope != scope or found[0].status is not Status.ACTIVE:
        raise not_there(scope, id)
    if found[0].level is None:
        raise InvalidInput(f"{show(id)} is a plain memory, which is on no timeline; show it instead")
    return found[0]


def _there(world: World, scope: Scope, ids: Sequence[str]) -> tuple[Memory, ...]:
    """Those of them that hold, in order of time."""
    found = world.store.get(scope, [MemoryId(one) for one in ids]) if ids else []
    held = [one for one in found if one.status is Status.ACTIVE]
    return tuple(sorted(held, key=lambda one: (one.created_at, one.id)))


def _below(world: World, scope: Scope, period: Period) -> tuple[Place, ...]:
    """What is below a period: finer ones, or for a day its segments and the events that are in none yet."""
    if period.level is not Level.DAY:
        return _periods(world, scope, period)
    zone = world.zone
    within = (period.begins(zone), period.ends(zone))
    segments = world.store.timeline(scope, [Level.SEGMENT], since=within[0], before=within[1])
    events = world.store.timeline(scope, [Level.EVENT], since=within[0], before=within[1])
    held = {id for one in segments for id in one.derived_from}
    loose = [one for one in events if one.id not in held]
    places = [_of_record(one) for one in (*segments, *loose)]
    return tuple(sorted(places, key=lambda one: (one.first, one.key)))


def _periods(world: World, scope: Scope, period: Period | None) -> tuple[Place, ...]:
    """The periods just below this one in which anything happened, or all years."""
    zone = world.zone
    moments, _ = world.store.touched(scope, Level.EVENT, 0)
    if period is None:
        found = sorted({Period.of(moment, Level.YEAR, zone) for moment in moments}, key=lambda one: one.key)
    else:
        first, last = period.begins(zone), period.ends(zone)
        found = [
            one
            for one in period.parts()
            if _any(moments, max(one.begins(zone), first), min(one.ends(zone), last))  # a week may be of two months
        ]
    records = _records(world, scope, found)
    held = [one for one in found if period_id(scope, one) in records or _anything(world, scope, one)]
    return tuple(_of_period(world, scope, one, records) for one in held)


def _anything(world: World, scope: Scope, period: Period) -> bool:
    """Whether any event of the period holds: all may have been forgotten."""
    within = (period.begins(world.zone), period.ends(world.zone))
    return bool(world.store.timeline(scope, [Level.EVENT], since=within[0], before=within[1]))


def _any(moments: Sequence[datetime], since: datetime, before: datetime) -> bool:
    place = bisect_left(moments, since)
    return place < len(moments) and moments[place] < before


def _records(world: World, scope: Scope, periods: Sequence[Period]) -> dict[MemoryId, Memory]:
    found = world.store.get(scope, [period_id(scope, one) for one in periods]) if periods else []
    return {one.id: one for one in found if one.status is Status.ACTIVE}


def _of_period(world: World, scope: Scope, period: Period, records: Mapping[MemoryId, Memory]) -> Place:
    zone, record = world.zone, records.get(period_id(scope, period))
    title = str(period) if record is None or record.title is None else record.title
    return Place(
        level=period.level,
        key=period.key,
        title=title,
        first=period.begins(zone),
        last=period.ends(zone),
        record=record,
    )


def _of_record(memory: Memory) -> Place:
    level = memory.level or Level.EVENT
    record = Record.of(memory) if level is not Level.EVENT else None
    said = shortened(memory.text if memory.speaker is None else f"{memory.speaker}: {memory.text}")
    return Place(
        level=level,
        key=memory.id,
        title=memory.title or said,
        first=memory.created_at if record is None else record.first,
        last=memory.created_at if record is None else record.last,
        record=memory,
    )
