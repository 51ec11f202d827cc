"""Attend: a session begins, is active with whatever is saved in it, and ends, by a word or by silence.

Of a scope one session is under way at a time: whoever begins one looks and writes in one transaction. The state of each
is in the store alone, so it is the same for every process and after every restart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from recollect.engine.dependencies import World
from recollect.engine.episode_ops import isolated, screened
from recollect.engine.remember import remember_all
from recollect.errors import NotFound
from recollect.lifecycle.sessions import (
    active,
    begun,
    ended,
    ended_at,
    fell_silent,
    last_active,
    summarised,
)
from recollect.model.draft import Draft
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.verdict import Receipt
from recollect.protocols import Writing

OPEN = (Status.ACTIVE, Status.QUARANTINED)
"""Where a session stands that is under way."""

TOLD = (Status.ACTIVE, Status.COMPLETED)
"""Where one stands whose summary is told."""

LATELY = timedelta(days=30)
"""How far is looked back for the last sessions before all of them are read."""

_STEP = timedelta(microseconds=1)


class _Reading(Protocol):
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


def under_way(reading: _Reading, scope: Scope) -> list[Memory]:
    """The scope's sessions that have not ended. The last one is the one; others came by an import, or were restored."""
    found = reading.timeline(scope, [Level.SESSION], statuses=OPEN)
    return [one for one in found if ended_at(one) is None]


def last_ended(
    reading: _Reading, scope: Scope, now: datetime, limit: int, statuses: Sequence[Status] = TOLD
) -> list[Memory]:
    """The scope's last sessions that have ended, the newest first."""
    found: list[Memory] = []
    for since in (now - LATELY, None):
        if len(found) < limit:
            sessions = reading.timeline(scope, [Level.SESSION], since=since, statuses=statuses)
            found = [one for one in sessions if ended_at(one) is not None]
    return found[-limit:][::-1]


def start(world: World, scope: Scope, inactivity: timedelta, by: Provenance) -> tuple[Memory, bool]:
    """The session that is under way, and whether it has just begun; one that fell silent is ended before."""
    now = world.now()
    new = MemoryId(world.new_id(now))

    def change(writing: Writing) -> tuple[Memory, bool]:
        there = under_way(writing, scope)
        present = [one for one in there[-1:] if not fell_silent(one, inactivity, now)]
        for one in there:
            if one not in present:
                _let_go(writing, one)
        if present:
            return writing.put(active(present[0], now), None), False
        writing.adopt(world.encoder)  # a store with memories has a model, also if no vector was made yet
        return writing.put(begun(new, scope, _after_all(writing, scope, now), by), None), True

    return world.store.write(change)


def _let_go(writing: Writing, session: Memory) -> None:
    """End a session that nobody ended, when something happened in it last."""
    writing.put(ended(session, last_active(session)), None)


def _after_all(writing: Writing, scope: Scope, now: datetime) -> datetime:
    """When a new session begins: now, and after every other one, whatever the clock says."""
    later = writing.timeline(scope, [Level.SESSION], since=now, statuses=tuple(Status))
    return later[-1].created_at + _STEP if later else now


class _Over(Exception):
    """The session ended while something was about to be saved in it."""


def remember(world: World, draft: Draft, inactivity: timedelta) -> tuple[Receipt, MemoryId]:
    """Remember a draft in the session that is under way, or in a new one, which is active with that; gives both."""
    while True:
        session = _present(world, draft, inactivity)

        def attend(writing: Writing, session: MemoryId = session) -> None:
            there = under_way(writing, draft.scope)
            if not there or there[-1].id != session:
                raise _Over
            writing.put(active(there[-1], world.now()), None)

        try:
            (receipt,) = remember_all(world, [replace(draft, session=session)], attend)
        except _Over:
            continue
        return receipt, session


def _present(world: World, draft: Draft, inactivity: timedelta) -> MemoryId:
    there = under_way(world.store, draft.scope)
    if len(there) == 1 and not fell_silent(there[0], inactivity, world.now()):
        return there[0].id
    return start(world, draft.scope, inactivity, draft.provenance)[0].id


@dataclass(frozen=True, slots=True)
class _Words:
    """What is said of a session, under a name that is screened."""

    text: str


def summarise(world: World, scope: Scope, summary: str, by: Provenance) -> Memory:
    """Note what the session that is under way has come to until now, in place of what was noted before."""
    now, text = world.now(), screened(world, _Words(summary), "summary").text

    def change(writing: Writing) -> Memory:
        there = under_way(writing, scope)
        if not there:
            raise no_session(scope)
        return writing.put(active(_said(world, there[-1], text, by), now), None)

    return world.store.write(change)


def end(world: World, scope: Scope, summary: str, by: Provenance) -> Memory:
    """End the session that is under way with what it came to; the last one that ended just so is left as it is."""
    now, text = world.now(), screened(world, _Words(summary), "summary").text

    def change(writing: Writing) -> Memory:
        there = under_way(writing, scope)
        if not there:
            last = last_ended(writing, scope, now, 1, (*TOLD, Status.QUARANTINED))
            if last and last[0].text == text:
                return last[0]
            raise no_session(scope)
        for one in there[:-1]:
            _let_go(writing, one)
        return writing.put(ended(active(_said(world, there[-1], text, by), now), now), None)

    return world.store.write(change)


def _said(world: World, session: Memory, text: str, by: Provenance) -> Memory:
    """The session with its summary; quarantined if that speaks to a model."""
    return isolated(summarised(session, text, by).changed(status=Status.ACTIVE, remark=None), [text], world.policy)


def no_session(scope: Scope) -> NotFound:
    """What is said where no session is under way."""
    return NotFound(f"no session is under way in {scope}; start one first")
