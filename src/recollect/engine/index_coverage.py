"""Gaps: whether a change would leave a record outside of an index in which nothing is found in its place."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from recollect.lifecycle.index_retention import find_uncovered, is_findable_record
from recollect.lifecycle.record import RollupRecord
from recollect.model import validation
from recollect.model.level import CALENDAR_LEVELS, TIMELINE_LEVELS, Level
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction

TIME_MARGIN = timedelta(days=1)
"""How far the moments of finer records lie outside of the time that a record tells of, or from each other's, at most: a
segment is of one day.
"""


def find_coverage_gap(
    writing: WriteTransaction, scope: Scope, changes: Sequence[tuple[Memory, Memory]]
) -> Memory | None:
    """A record of the scope that is found, itself or by what stands in for it, and would not be any more if each of
    these memories, as it stands, were what it is to be.

    Where nothing leaves an index and nothing stands in for less, nothing is read. Else all that is of the calendar is,
    and of what is finer only what may be concerned: of the time that the records tell of, and events and excerpts only
    where somebody stood in for them.
    """
    concerned = [(now, lost) for now, then in changes if (lost := _lost_levels(now, then)) is not None]
    if not concerned:
        return None
    levels = {Level.SEGMENT, *CALENDAR_LEVELS}.union(*(lost for _, lost in concerned))
    finer = [level for level in TIMELINE_LEVELS if level in levels and level not in CALENDAR_LEVELS]
    changed = {now.id: (now, then) for now, then in changes}
    gone = list[Memory]()
    for since, before in (_time_range([now for now, _ in concerned]), (None, None)):  # all, before anything is refused
        there = [*writing.timeline(scope, CALENDAR_LEVELS), *writing.timeline(scope, finer, since=since, before=before)]
        now = {one.id: one for one in there} | {id: both[0] for id, both in changed.items()}
        then = now | {id: both[1] for id, both in changed.items()}
        gone = find_uncovered(then.values(), before=now.values())
        if not gone:
            return None
    return gone[0]


def _lost_levels(now: Memory, then: Memory) -> Collection[Level] | None:
    """The levels whose records may not be found through it any more; `None` if it is of no concern to anybody."""
    if not is_findable_record(now):
        return None
    leaves = not set(then.left) <= set(now.left)
    if now.level in (Level.EVENT, Level.GRIP):
        return () if leaves else None
    if not is_findable_record(then) or not set(now.derived_from) <= set(then.derived_from):
        return TIMELINE_LEVELS
    lost = [level for level in now.stands_for if leaves or level not in then.stands_for]
    return lost if lost or leaves else None


def _time_range(records: Iterable[Memory]) -> tuple[datetime, datetime]:
    """From when to when the records tell of anything, and a bit more."""
    told = [(one.created_at, RollupRecord.of(one).first, RollupRecord.of(one).last) for one in records]
    first, last = min(map(min, told)), max(map(max, told))
    return max(first, validation.EARLIEST_DATETIME + TIME_MARGIN) - TIME_MARGIN, min(
        last, validation.LATEST_DATETIME - TIME_MARGIN
    ) + TIME_MARGIN
