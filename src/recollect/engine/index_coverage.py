"""Gaps: whether a change would leave a record outside of an index in which nothing is found in its place."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from recollect.lifecycle.index_retention import is_told, unfound
from recollect.lifecycle.record import Record
from recollect.model import validation
from recollect.model.level import HAPPENED, NODES, Level
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.protocols import Writing

NEAR = timedelta(days=1)
"""How far the moments of finer records lie outside of the time that a record tells of, or from each other's, at most: a
segment is of one day.
"""


def gap(writing: Writing, scope: Scope, changes: Sequence[tuple[Memory, Memory]]) -> Memory | None:
    """A record of the scope that is found, itself or by what stands in for it, and would not be any more if each of
    these memories, as it stands, were what it is to be.

    Where nothing leaves an index and nothing stands in for less, nothing is read. Else all that is of the calendar is,
    and of what is finer only what may be concerned: of the time that the records tell of, and events and excerpts only
    where somebody stood in for them.
    """
    concerned = [(now, lost) for now, then in changes if (lost := _lost(now, then)) is not None]
    if not concerned:
        return None
    levels = {Level.SEGMENT, *NODES}.union(*(lost for _, lost in concerned))
    finer = [level for level in HAPPENED if level in levels and level not in NODES]
    changed = {now.id: (now, then) for now, then in changes}
    gone = list[Memory]()
    for since, before in (_time([now for now, _ in concerned]), (None, None)):  # all, before anything is refused
        there = [*writing.timeline(scope, NODES), *writing.timeline(scope, finer, since=since, before=before)]
        now = {one.id: one for one in there} | {id: both[0] for id, both in changed.items()}
        then = now | {id: both[1] for id, both in changed.items()}
        gone = unfound(then.values(), before=now.values())
        if not gone:
            return None
    return gone[0]


def _lost(now: Memory, then: Memory) -> Collection[Level] | None:
    """The levels whose records may not be found through it any more; `None` if it is of no concern to anybody."""
    if not is_told(now):
        return None
    leaves = not set(then.left) <= set(now.left)
    if now.level in (Level.EVENT, Level.GRIP):
        return () if leaves else None
    if not is_told(then) or not set(now.derived_from) <= set(then.derived_from):
        return HAPPENED
    lost = [level for level in now.stands_for if leaves or level not in then.stands_for]
    return lost if lost or leaves else None


def _time(records: Iterable[Memory]) -> tuple[datetime, datetime]:
    """From when to when the records tell of anything, and a bit more."""
    told = [(one.created_at, Record.of(one).first, Record.of(one).last) for one in records]
    first, last = min(map(min, told)), max(map(max, told))
    return max(first, validation.EARLIEST + NEAR) - NEAR, min(last, validation.LATEST - NEAR) + NEAR
