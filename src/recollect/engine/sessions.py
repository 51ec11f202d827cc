"""Sessions: what users hold to begin a stretch of work with what is known, to save in it, and to sum it up.

Attend: a session begins, is active with whatever is saved in it, and ends, by a word or by silence.

Of a scope one session is under way at a time: whoever begins one looks and writes in one transaction. The state of each
is in the store alone, so it is the same for every process and after every restart.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING, Protocol

from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_visible, memory_not_found
from recollect.engine.episode_ops import quarantine_if_injected, screen_field
from recollect.engine.recall import count_served, read_request, search
from recollect.engine.remember import remember_all
from recollect.errors import FieldError, NotFound, show
from recollect.lifecycle.sessions import (
    end_session,
    is_inactive,
    read_ended_at,
    read_last_active_at,
    read_session,
    require_inactivity,
    require_summary,
    set_summary,
    start_session,
    touch_session,
)
from recollect.model import validation
from recollect.model.conversation import NearbyMemories, ScopeHoldings, Session
from recollect.model.draft import Draft, Receipt
from recollect.model.enums import BRIEF_LEVELS, Kind, Level, Provenance, Status, parse_choice
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking

if TYPE_CHECKING:
    from recollect.retrieval.evidence import RecallEvidence


DEFAULT_EARLIER_SESSIONS = 5
"""How many earlier sessions are told when one starts."""

DEFAULT_STARTING_MEMORIES = 10
"""How many memories are."""

DEFAULT_AROUND_MEMORIES = 5
"""How many memories are told before one, and after it."""

MAX_AROUND_MEMORIES = 100
"""How many may be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSession:
    """A session, whether it is `new`, the last ones before it, the newest first, and what to know before one asks."""

    session: Session
    new: bool
    earlier: tuple[Session, ...]
    memories: Ranking


@dataclass(frozen=True, slots=True)
class SessionReceipt:
    """What became of something that was to be remembered, and the id of the session that was active with it."""

    receipt: Receipt
    session: MemoryId


class Sessions:
    """Stretches of work, of which a scope has one at a time; one in which nothing happens for long is over."""

    def __init__(self, opened: Callable[[], Dependencies]) -> None:
        self._opened = opened

    def __repr__(self) -> str:
        return "<recollect.Sessions>"

    def start(
        self,
        *,
        scope: str | Scope,
        inactivity: timedelta | None = None,
        profile: Profile | str = "session",
        earlier: int = DEFAULT_EARLIER_SESSIONS,
        limit: int = DEFAULT_STARTING_MEMORIES,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
    ) -> StartedSession:
        """Go on with the session that is under way, or begin one, with the last ones and what is best to know, which
        counts as served. One that was silent for as long as `inactivity` is ended before. A new one is trusted as far
        as who begins it, by `provenance`, until it is summed up.
        """
        by = parse_choice("provenance", provenance, Provenance)
        validation.require_limit("earlier", earlier)
        validation.require_limit("limit", limit)
        world, whose = self._opened(), as_scope(scope)
        request = read_request(world, None, scope=whose, profile=profile, as_of=None, known_at=None)
        memory, new = start_or_resume_session(world, whose, _resolve_inactivity(world, inactivity), by)
        before = load_ended_sessions(world.store, whose, request.made_at, earlier)
        ranking = search(world, request, limit)
        count_served(world, whose, ranking)
        return StartedSession(
            session=read_session(memory), new=new, earlier=_to_sessions(world, whose, before), memories=ranking
        )

    def current(self, *, scope: str | Scope) -> Session | None:
        """The session that is under way, also if it has been silent for long: only the next one that starts ends it."""
        there = load_open_sessions(self._opened().store, as_scope(scope))
        return read_session(there[-1]) if there else None

    def remember(
        self,
        text: str,
        *,
        scope: str | Scope,
        kind: Kind | str | None = None,
        title: str | None = None,
        topic_key: str | None = None,
        tags: Iterable[str] = (),
        importance: float | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        inactivity: timedelta | None = None,
    ) -> SessionReceipt:
        """Remember a text in the session that is under way, or in a new one, which is active with that, also if the
        text is no news. A memory belongs to the session that changed it last.
        """
        draft = Draft(
            text=text,
            scope=as_scope(scope),
            kind=None if kind is None else parse_choice("kind", kind, Kind),
            title=title,
            topic_key=None if topic_key is None else validation.require_id("topic_key", topic_key),
            tags=validation.require_several("tags", tags),
            importance=importance,
            provenance=parse_choice("provenance", provenance, Provenance),
        )
        world = self._opened()
        return SessionReceipt(*remember_in_session(world, draft, _resolve_inactivity(world, inactivity)))

    def summarise(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """Note what the session that is under way has come to, in place of what was noted before; it goes on."""
        by = parse_choice("provenance", provenance, Provenance)
        return read_session(
            summarize_open_session(self._opened(), as_scope(scope), require_summary("summary", summary), by)
        )

    def end(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """End the session that is under way with what it came to. The same again changes nothing."""
        by = parse_choice("provenance", provenance, Provenance)
        return read_session(end_open_session(self._opened(), as_scope(scope), require_summary("summary", summary), by))

    def list(self, *, scope: str | Scope, limit: int = DEFAULT_EARLIER_SESSIONS) -> list[Session]:
        """The scope's last sessions that have ended, the newest first."""
        validation.require_limit("limit", limit)
        world, whose = self._opened(), as_scope(scope)
        return list(_to_sessions(world, whose, load_ended_sessions(world.store, whose, world.now(), limit)))

    def timeline(
        self,
        id: str,
        *,
        scope: str | Scope,
        before: int = DEFAULT_AROUND_MEMORIES,
        after: int = DEFAULT_AROUND_MEMORIES,
    ) -> NearbyMemories:
        """A plain memory with those that were created just before and just after it, of all that the scope may recall
        now.
        """
        for name, many in (("before", before), ("after", after)):
            if validation.require_count(name, many) > MAX_AROUND_MEMORIES:
                raise FieldError(f"{show(many)} is not within 0..{MAX_AROUND_MEMORIES}", field=name)
        world, whose = self._opened(), as_scope(scope)
        memory = get_visible(world, whose, id)
        if memory.level is not None:
            raise memory_not_found(whose, id)
        return _make_surroundings(_gather_memories(world, whose), memory, before, after)

    def holdings(self, *, scope: str | Scope) -> ScopeHoldings:
        """How many plain memories and sessions of its own the scope has."""
        world, whose = self._opened(), as_scope(scope)
        sessions = world.store.timeline(
            whose, [Level.SESSION], statuses=(*OPEN_SESSION_STATUSES, *LISTED_SESSION_STATUSES)
        )
        there = load_open_sessions(world.store, whose)
        found = _gather_memories(world, whose)
        own = [one for one in found.candidates(found.rows.tolist()) if one.scope == whose]
        kinds = Counter(one.kind for one in own if one.kind is not None)
        created = [one.created_at for one in own if one.created_at is not None]
        updated = [one.updated_at for one in own if one.updated_at is not None]
        return ScopeHoldings(
            memories=len(own),
            kinds={kind: kinds[kind] for kind in Kind if kinds[kind]},
            sessions=len(sessions),
            first_at=min(created, default=None),
            last_at=max([*created, *updated], default=None),
            current=there[-1].id if there else None,
        )


def _resolve_inactivity(world: Dependencies, given: timedelta | None) -> timedelta:
    return world.sessions.inactivity if given is None else require_inactivity("inactivity", given)


def _gather_memories(world: Dependencies, scope: Scope) -> "RecallEvidence":
    """The plain memories that the scope may recall now, as columns."""
    from recollect.retrieval.evidence import EvidenceRequest

    return world.store.gather(EvidenceRequest(scope=scope, at=world.now(), present=True, levels=BRIEF_LEVELS))


def _to_sessions(world: Dependencies, scope: Scope, sessions: Sequence[Memory]) -> tuple[Session, ...]:
    """The sessions; of those that nobody summed up it is looked up what was saved in them and is still there."""
    silent = [one.id for one in sessions if not read_session(one).summarised]
    titles = _load_saved_titles(_gather_memories(world, scope), scope, silent) if silent else {}
    return tuple(read_session(one, titles.get(one.id, ())) for one in sessions)


def _load_saved_titles(found: "RecallEvidence", scope: Scope, sessions: Sequence[MemoryId]) -> dict[str, Sequence[str]]:
    """What was saved in each of these sessions, by its titles, in the order of time."""
    import numpy as np

    labels = found.table.labels.get("session")
    if labels is None:
        return {}
    codes = [code for code, name in enumerate(labels.names) if name in sessions]
    rows = found.rows[np.isin(labels.codes[found.rows], codes)].tolist()
    own = (one for one in found.memories(rows) if one is not None and one.scope == scope)
    memories = sorted(own, key=lambda one: (one.created_at, one.id))
    return {id: [one.title or one.text for one in memories if one.session == id] for id in sessions}


def _make_surroundings(found: "RecallEvidence", memory: Memory, before: int, after: int) -> NearbyMemories:
    """The memory among those that were found, by time and id; it need not be one of them."""
    from recollect.model.table import to_microseconds

    rows, table = found.rows.tolist(), found.table
    moments = table.dates["created_at"][found.rows].tolist() if rows else []
    places = [(at, table.ids[row], row) for at, row in zip(moments, rows, strict=True)]
    here = to_microseconds(memory.created_at), memory.id
    earlier = nlargest(before, (one for one in places if one[:2] < here))
    later = nsmallest(after, (one for one in places if one[:2] > here))
    return NearbyMemories(
        memory=memory,
        before=_load_memories(found, earlier[::-1]),
        after=_load_memories(found, later),
    )


def _load_memories(found: "RecallEvidence", places: Sequence[tuple[float, MemoryId, int]]) -> tuple[Memory, ...]:
    return tuple(one for one in found.memories([row for _, _, row in places]) if one is not None)


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
