"""Attend: a session begins, is active with whatever is saved in it, and ends, by a word or by silence.

Of a scope one session is under way at a time: whoever begins one looks and writes in one transaction. The state of each
is in the store alone, so it is the same for every process and after every restart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from recollect.engine.dependencies import Dependencies
from recollect.engine.episode_ops import quarantine_if_injected, screen_field
from recollect.engine.remember import remember_all
from recollect.errors import NotFound
from recollect.lifecycle.sessions import (
    end_session,
    is_inactive,
    read_ended_at,
    read_last_active_at,
    set_summary,
    start_session,
    touch_session,
)
from recollect.model.draft import Draft
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.verdict import Receipt
from recollect.protocols import WriteTransaction

OPEN_SESSION_STATUSES = (Status.ACTIVE, Status.QUARANTINED)
"""Where a session stands that is under way."""

LISTED_SESSION_STATUSES = (Status.ACTIVE, Status.COMPLETED)
"""Where one stands whose summary is told."""

RECENT_WINDOW = timedelta(days=30)
"""How far is looked back for the last sessions before all of them are read."""

_TIME_STEP = timedelta(microseconds=1)


class _TimelineReader(Protocol):
    """A store, or a transaction of one: whatever knows the records of a scope."""

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]: ...


def load_open_sessions(reading: _TimelineReader, scope: Scope) -> list[Memory]:
    """The scope's sessions that have not ended. The last one is the one; others came by an import, or were restored."""
    found = reading.timeline(scope, [Level.SESSION], statuses=OPEN_SESSION_STATUSES)
    return [one for one in found if read_ended_at(one) is None]


def load_ended_sessions(
    reading: _TimelineReader,
    scope: Scope,
    now: datetime,
    limit: int,
    statuses: Sequence[Status] = LISTED_SESSION_STATUSES,
) -> list[Memory]:
    """The scope's last sessions that have ended, the newest first."""
    found: list[Memory] = []
    for since in (now - RECENT_WINDOW, None):
        if len(found) < limit:
            sessions = reading.timeline(scope, [Level.SESSION], since=since, statuses=statuses)
            found = [one for one in sessions if read_ended_at(one) is not None]
    return found[-limit:][::-1]


def start_or_resume_session(
    world: Dependencies, scope: Scope, inactivity: timedelta, by: Provenance
) -> tuple[Memory, bool]:
    """The session that is under way, and whether it has just begun; one that fell silent is ended before."""
    now = world.now()
    new = MemoryId(world.new_id(now))

    def change(writing: WriteTransaction) -> tuple[Memory, bool]:
        there = load_open_sessions(writing, scope)
        present = [one for one in there[-1:] if not is_inactive(one, inactivity, now)]
        for one in there:
            if one not in present:
                _end_abandoned(writing, one)
        if present:
            return writing.put(touch_session(present[0], now), None), False
        writing.adopt(world.encoder)  # a store with memories has a model, also if no vector was made yet
        return writing.put(start_session(new, scope, _next_start(writing, scope, now), by), None), True

    return world.store.write(change)


def _end_abandoned(writing: WriteTransaction, session: Memory) -> None:
    """End a session that nobody ended, when something happened in it last."""
    writing.put(end_session(session, read_last_active_at(session)), None)


def _next_start(writing: WriteTransaction, scope: Scope, now: datetime) -> datetime:
    """When a new session begins: now, and after every other one, whatever the clock says."""
    later = writing.timeline(scope, [Level.SESSION], since=now, statuses=tuple(Status))
    return later[-1].created_at + _TIME_STEP if later else now


class _SessionEnded(Exception):
    """The session ended while something was about to be saved in it."""


def remember_in_session(world: Dependencies, draft: Draft, inactivity: timedelta) -> tuple[Receipt, MemoryId]:
    """Remember a draft in the session that is under way, or in a new one, which is active with that; gives both."""
    while True:
        session = _get_open_session(world, draft, inactivity)

        def attend(writing: WriteTransaction, session: MemoryId = session) -> None:
            there = load_open_sessions(writing, draft.scope)
            if not there or there[-1].id != session:
                raise _SessionEnded
            writing.put(touch_session(there[-1], world.now()), None)

        try:
            (receipt,) = remember_all(world, [replace(draft, session=session)], attend)
        except _SessionEnded:
            continue
        return receipt, session


def _get_open_session(world: Dependencies, draft: Draft, inactivity: timedelta) -> MemoryId:
    there = load_open_sessions(world.store, draft.scope)
    if len(there) == 1 and not is_inactive(there[0], inactivity, world.now()):
        return there[0].id
    return start_or_resume_session(world, draft.scope, inactivity, draft.provenance)[0].id


@dataclass(frozen=True, slots=True)
class _ScreenedSummary:
    """What is said of a session, under a name that is screened."""

    text: str


def summarize_open_session(world: Dependencies, scope: Scope, summary: str, by: Provenance) -> Memory:
    """Note what the session that is under way has come to until now, in place of what was noted before."""
    now, text = world.now(), screen_field(world, _ScreenedSummary(summary), "summary").text

    def change(writing: WriteTransaction) -> Memory:
        there = load_open_sessions(writing, scope)
        if not there:
            raise session_not_found(scope)
        return writing.put(touch_session(_with_summary(world, there[-1], text, by), now), None)

    return world.store.write(change)


def end_open_session(world: Dependencies, scope: Scope, summary: str, by: Provenance) -> Memory:
    """End the session that is under way with what it came to; the last one that ended just so is left as it is."""
    now, text = world.now(), screen_field(world, _ScreenedSummary(summary), "summary").text

    def change(writing: WriteTransaction) -> Memory:
        there = load_open_sessions(writing, scope)
        if not there:
            last = load_ended_sessions(writing, scope, now, 1, (*LISTED_SESSION_STATUSES, Status.QUARANTINED))
            if last and last[0].text == text:
                return last[0]
            raise session_not_found(scope)
        for one in there[:-1]:
            _end_abandoned(writing, one)
        return writing.put(end_session(touch_session(_with_summary(world, there[-1], text, by), now), now), None)

    return world.store.write(change)


def _with_summary(world: Dependencies, session: Memory, text: str, by: Provenance) -> Memory:
    """The session with its summary; quarantined if that speaks to a model."""
    return quarantine_if_injected(
        set_summary(session, text, by).changed(status=Status.ACTIVE, remark=None), [text], world.policy
    )


def session_not_found(scope: Scope) -> NotFound:
    """What is said where no session is under way."""
    return NotFound(f"no session is under way in {scope}; start one first")
