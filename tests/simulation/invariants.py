"""Invariants: what must hold after every day, by the rows of a store and the ledger of those who filled it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, timedelta, tzinfo

from .ledger import Ledger
from .life import PEOPLE
from .rows import Row, Rows

NODES = ("day", "week", "month", "year")
THROUGH_PARTS = ("grip", "week")
"""Of these nothing coarser is made; what tells them is made of what they are made of."""


def problems(rows: Rows, ledger: Ledger, zone: tzinfo) -> list[str]:
    """All that is wrong, each in a line; nothing, if all is well."""
    found = [f"{count} {what}" for what, count in rows.torn.items() if count]
    found += _lost(rows, ledger)
    found += _pinned(rows, ledger)
    found += _vectors(rows)
    found += _untold(rows, _gaps(rows, ledger, zone), zone)
    found += _jobs(rows, ledger)
    for scope in PEOPLE:
        found += _calendar(rows, ledger, scope, zone)
        found += _days(rows, scope)
        found += _segments(rows, ledger, scope, zone)
    return found


def expected(rows: Rows, word: str, level: str | None) -> set[str]:
    """The ids that a search by that word finds when it asks for a level; without one, for events and what is plain."""
    wanted = {"event", None} if level is None else {level}
    found = [rows.memories[id] for id in rows.words.get(word, ())]
    there = [one for one in found if one.is_active and "text" not in one.left]
    return {one.id for one in there if wanted & {one.level, *one.stands_for}}


def _lost(rows: Rows, ledger: Ledger) -> Iterator[str]:
    there = {one.id: one.scope for one in rows.memories.values() if one.level == "event"}
    yield from (f"the event {id} of {scope} is lost" for id, scope in ledger.events.items() if there.get(id) != scope)
    yield from (f"nobody told the event {id}" for id in there if id not in ledger.events)
    yield from (f"{word} was erased, and is there" for word in sorted(ledger.erased & rows.secrets))


def _pinned(rows: Rows, ledger: Ledger) -> Iterator[str]:
    for id, before in ledger.pinned.items():
        row = rows.memories.get(id)
        if row is None or not row.pinned or not row.is_active:
            yield f"{id} was pinned and is lost: {row}"
        elif not row.left <= before:
            yield f"{id} is pinned and left {', '.join(sorted(row.left - before))}"


def _vectors(rows: Rows) -> Iterator[str]:
    for one in rows.memories.values():
        if one.embedded == ("vector" in one.left):
            yield f"{one.id} has {'left, and has a vector' if one.embedded else 'not left, and has no vector'}"


def _gaps(rows: Rows, ledger: Ledger, zone: tzinfo) -> set[tuple[str, str]]:
    """The days and weeks of which somebody forgot something since the indexes were rebuilt, with whose they are: what
    has left may be untold there until the next time.
    """
    away = [rows.memories[id] for id in ledger.missed if id in rows.memories]
    days = [(one, one.at.astimezone(zone).date()) for one in away]
    return {(one.scope, _week(day) if one.level == "week" else day.isoformat()) for one, day in days}


def _untold(rows: Rows, gaps: Set[tuple[str, str]], zone: tzinfo) -> Iterator[str]:
    """Whatever left an index, and is not told there by a record that was made of it."""
    above: dict[str, list[Row]] = defaultdict(list)
    for one in rows.memories.values():
        if one.is_active and one.level not in (None, "event", "grip"):
            for part in one.made_of:
                above[part].append(one)
    for one in rows.memories.values():
        if not one.left or not one.is_active:
            continue
        day = one.at.astimezone(zone).date()
        if {(one.scope, day.isoformat()), (one.scope, _week(day))} & gaps:
            continue
        tellers = [_above(part, above) for part in (one.made_of if one.level in THROUGH_PARTS else (one.id,))]
        for index in sorted(one.left):
            found = [[other for other in some if index not in other.left] for some in tellers]
            if not all(any(_coarser(other, one) for other in some) for some in found):
                yield f"{one.id} left {index}, and nothing tells it there"
            elif not any(one.level in other.stands_for for some in found for other in some):
                yield f"{one.id} left {index}, and nothing is found there in its place"


def _above(id: str, above: Mapping[str, Sequence[Row]]) -> list[Row]:
    found, waiting = dict[str, Row](), [id]
    while waiting:
        for one in above.get(waiting.pop(), ()):
            if one.id not in found:
                found[one.id] = one
                waiting.append(one.id)
    return list(found.values())


def _coarser(one: Row, other: Row) -> bool:
    """Whether it is a record of the calendar, of longer periods than the other is."""
    if one.level not in NODES:
        return False
    return other.level not in NODES or NODES.index(one.level) > NODES.index(other.level)


def _hushed(rows: Rows, ledger: Ledger, scope: str) -> set[str]:
    """The events of excerpts that somebody forgot."""
    grips = (one for one in rows.of(scope, "grip", active=False) if one.id in ledger.put_away and not one.is_active)
    return {event for one in grips for event in one.made_of}


def _told(rows: Rows, ledger: Ledger, scope: str, zone: tzinfo) -> dict[str, date]:
    """The events that must be summed up by now, with their days."""
    hushed = _hushed(rows, ledger, scope)
    days = {one.id: one.at.astimezone(zone).date() for one in rows.of(scope, "event") if one.id not in hushed}
    return {id: day for id, day in days.items() if ledger.reaches is not None and day <= ledger.reaches}


def _segments(rows: Rows, ledger: Ledger, scope: str, zone: tzinfo) -> Iterator[str]:
    """Each event is told by one segment, unless somebody put that away."""
    told = _told(rows, ledger, scope, zone)
    segments = rows.of(scope, "segment")
    away = {id for one in rows.of(scope, "segment", active=False) if one.id in ledger.put_away for id in one.made_of}
    found = Counter(id for one in segments for id in one.made_of)
    yield from (f"the event {id} is in {found[id]} segments" for id in told if found[id] != 1 and id not in away)
    gone = [id for id in found if id not in told]
    yield from (f"a segment tells {id}, which is no event of a day that is over" for id in gone)


def _calendar(rows: Rows, ledger: Ledger, scope: str, zone: tzinfo) -> Iterator[str]:
    """There is a record of each day that was over when all was summed up and on which something happened; likewise of
    weeks and months, by their days, and of years, by their months.
    """
    segments = {id: one for one in rows.of(scope, "segment") for id in one.made_of}
    days = {day.isoformat() for id, day in _told(rows, ledger, scope, zone).items() if id in segments}
    there = {level: _keys(rows.of(scope, level)) for level in NODES}
    away = {level: _keys(one for one in rows.of(scope, level, active=False) if not one.is_active) for level in NODES}
    last = ledger.reaches or date.min
    wanted = {
        "day": days,
        "week": {_week(date.fromisoformat(day)) for day in there["day"] if _week_ends(day) <= last},
        "month": {day[:7] for day in there["day"] if _month_ends(day) <= last},
        "year": {month[:4] for month in there["month"] if date(int(month[:4]), 12, 31) <= last},
    }
    for level in NODES:
        put_away = {key for key in away[level] if any(id.startswith(f"{level}-{key}-") for id in ledger.put_away)}
        for key in sorted((wanted[level] - put_away) ^ there[level]):
            yield f"{scope} has {'a' if key in there[level] else 'no'} record of the {level} {key}"


def _days(rows: Rows, scope: str) -> Iterator[str]:
    """Weeks and months tell all of their days, and no other."""
    days_of: dict[str, set[str]] = defaultdict(set)
    for one in rows.of(scope, "day"):
        (key,) = _keys([one])
        days_of[_week(date.fromisoformat(key))].add(one.id)
        days_of[key[:7]].add(one.id)
    for one in rows.of(scope, "week", "month"):
        (key,) = _keys([one])
        if set(one.made_of) != days_of[key]:
            yield f"{one.id} is not made of its days"


def _keys(records: Iterable[Row]) -> set[str]:
    """The periods of records, as their ids name them."""
    return {one.id.removeprefix(f"{one.level}-").rpartition("-")[0] for one in records}


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def _week_ends(day: str) -> date:
    there = date.fromisoformat(day)
    return there + timedelta(days=6 - there.weekday())


def _month_ends(day: str) -> date:
    first = date.fromisoformat(day).replace(day=1)
    return (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)


def _jobs(rows: Rows, ledger: Ledger) -> Iterator[str]:
    """Each was done once for each moment at which it fell due, and none is left behind."""
    yield from ledger.failures
    for (job, due), times in ledger.ran.items():
        if times != 1:
            yield f"{job} of {due} was done {times} times"
    yield from (f"{job} of {due} is {state}" for job, due, state in rows.occurrences if state != "done")
