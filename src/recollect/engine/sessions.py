"""Sessions: the public API for work sessions, and the transactions behind it.

A scope has at most one open session. Starting one reads and writes in one transaction. The state of a session is only
in the store, so all processes agree on it, and it survives restarts.
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
"""How many earlier sessions are returned by default."""

DEFAULT_STARTING_MEMORIES = 10
"""How many memories a starting session returns by default."""

DEFAULT_AROUND_MEMORIES = 5
"""How many memories before and after a given one are returned by default."""

MAX_AROUND_MEMORIES = 100
"""How many memories before or after a given one may be requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSession:
    """A started or resumed session with what is worth knowing at its start.

    `new` says whether it was just created. `earlier` has the ended sessions before it, the newest first.
    """

    session: Session
    new: bool
    earlier: tuple[Session, ...]
    memories: Ranking


@dataclass(frozen=True, slots=True)
class SessionReceipt:
    """The receipt of a saved memory, and the id of the session it was saved in."""

    receipt: Receipt
    session: MemoryId


class Sessions:
    """Work sessions of a scope, one open at a time.

    The next `start` or `remember` ends a session that was inactive for a configured time.
    """

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
        """Resume the open session or start one; return it with memories worth knowing.

        Also returns the last ended sessions. The returned memories count as served. A session that was inactive for
        `inactivity` is ended first. A new session has the trust of `provenance` until it is summarized.
        """
        by = parse_choice("provenance", provenance, Provenance)
        validation.require_limit("earlier", earlier)
        validation.require_limit("limit", limit)
        deps, whose = self._opened(), as_scope(scope)
        request = read_request(deps, None, scope=whose, profile=profile, as_of=None, known_at=None)
        memory, new = start_or_resume_session(deps, whose, _resolve_inactivity(deps, inactivity), by)
        before = load_ended_sessions(deps.store, whose, request.made_at, earlier)
        ranking = search(deps, request, limit)
        count_served(deps, whose, ranking)
        return StartedSession(
            session=read_session(memory), new=new, earlier=_to_sessions(deps, whose, before), memories=ranking
        )

    def current(self, *, scope: str | Scope) -> Session | None:
        """Return the open session or None.

        A session that has been inactive for long is still open until the next `start` or `remember` ends it.
        """
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
        """Remember a text in the open session, or in a new one.

        This counts as activity of the session even if the text is not new or is refused. A memory belongs to the
        session that changed it last.
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
        deps = self._opened()
        return SessionReceipt(*remember_in_session(deps, draft, _resolve_inactivity(deps, inactivity)))

    def summarise(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """Replace the summary of the open session; the session stays open."""
        by = parse_choice("provenance", provenance, Provenance)
        return read_session(
            summarize_open_session(self._opened(), as_scope(scope), require_summary("summary", summary), by)
        )

    def end(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """End the open session with a summary; repeating the call changes nothing.

        Raises `NotFound` if no session is open.
        """
        by = parse_choice("provenance", provenance, Provenance)
        return read_session(end_open_session(self._opened(), as_scope(scope), require_summary("summary", summary), by))

    def list(self, *, scope: str | Scope, limit: int = DEFAULT_EARLIER_SESSIONS) -> list[Session]:
        """Return the scope's ended sessions, the newest first."""
        validation.require_limit("limit", limit)
        deps, whose = self._opened(), as_scope(scope)
        return list(_to_sessions(deps, whose, load_ended_sessions(deps.store, whose, deps.now(), limit)))

    def timeline(
        self,
        id: str,
        *,
        scope: str | Scope,
        before: int = DEFAULT_AROUND_MEMORIES,
        after: int = DEFAULT_AROUND_MEMORIES,
    ) -> NearbyMemories:
        """Return a plain memory with the memories created just before and just after it.

        The neighbors are of all memories that the scope may recall now, at most 100 on each side. Nothing counts as
        served.
        """
        for name, many in (("before", before), ("after", after)):
            if validation.require_count(name, many) > MAX_AROUND_MEMORIES:
                raise FieldError(f"{show(many)} is not within 0..{MAX_AROUND_MEMORIES}", field=name)
        deps, whose = self._opened(), as_scope(scope)
        memory = get_visible(deps, whose, id)
        if memory.level is not None:
            raise memory_not_found(whose, id)
        return _make_surroundings(_gather_memories(deps, whose), memory, before, after)

    def holdings(self, *, scope: str | Scope) -> ScopeHoldings:
        """Return counts of the scope's own plain memories and sessions."""
        deps, whose = self._opened(), as_scope(scope)
        sessions = deps.store.timeline(
            whose, [Level.SESSION], statuses=(*OPEN_SESSION_STATUSES, *LISTED_SESSION_STATUSES)
        )
        there = load_open_sessions(deps.store, whose)
        found = _gather_memories(deps, whose)
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


def _resolve_inactivity(deps: Dependencies, given: timedelta | None) -> timedelta:
    return deps.sessions.inactivity if given is None else require_inactivity("inactivity", given)


def _gather_memories(deps: Dependencies, scope: Scope) -> "RecallEvidence":
    """Return the plain memories that the scope may recall now, as columns."""
    from recollect.retrieval.evidence import EvidenceRequest

    return deps.store.gather(EvidenceRequest(scope=scope, at=deps.now(), present=True, levels=BRIEF_LEVELS))


def _to_sessions(deps: Dependencies, scope: Scope, sessions: Sequence[Memory]) -> tuple[Session, ...]:
    """Convert memories to sessions; a session without a summary gets the titles saved in it."""
    silent = [one.id for one in sessions if not read_session(one).summarised]
    titles = _load_saved_titles(_gather_memories(deps, scope), scope, silent) if silent else {}
    return tuple(read_session(one, titles.get(one.id, ())) for one in sessions)


def _load_saved_titles(found: "RecallEvidence", scope: Scope, sessions: Sequence[MemoryId]) -> dict[str, Sequence[str]]:
    """Return the titles of the memories saved in each session, in order of time."""
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
    """Return the memories around one, by time and id; it need not be among those found."""
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
"""The statuses of an open session."""

LISTED_SESSION_STATUSES = (Status.ACTIVE, Status.COMPLETED)
"""The statuses of sessions whose summaries are shown."""

RECENT_WINDOW = timedelta(days=30)
"""How far back ended sessions are searched first; only then are all of them read."""

_TIME_STEP = timedelta(microseconds=1)


class _TimelineReader(Protocol):
    """A store or a transaction: reads the records of a scope."""

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
    """Return the scope's sessions that have not ended.

    The last one is the current session. Others can exist only after an import or a restore.
    """
    found = reading.timeline(scope, [Level.SESSION], statuses=OPEN_SESSION_STATUSES)
    return [one for one in found if read_ended_at(one) is None]


def load_ended_sessions(
    reading: _TimelineReader,
    scope: Scope,
    now: datetime,
    limit: int,
    statuses: Sequence[Status] = LISTED_SESSION_STATUSES,
) -> list[Memory]:
    """Return the scope's last ended sessions, the newest first."""
    found: list[Memory] = []
    for since in (now - RECENT_WINDOW, None):
        if len(found) < limit:
            sessions = reading.timeline(scope, [Level.SESSION], since=since, statuses=statuses)
            found = [one for one in sessions if read_ended_at(one) is not None]
    return found[-limit:][::-1]


def start_or_resume_session(
    deps: Dependencies, scope: Scope, inactivity: timedelta, by: Provenance
) -> tuple[Memory, bool]:
    """Return the open session, and whether it was just started; an inactive one is ended first."""
    now = deps.now()
    new = MemoryId(deps.new_id(now))

    def change(writing: WriteTransaction) -> tuple[Memory, bool]:
        there = load_open_sessions(writing, scope)
        present = [one for one in there[-1:] if not is_inactive(one, inactivity, now)]
        for one in there:
            if one not in present:
                _end_abandoned(writing, one)
        if present:
            return writing.put(touch_session(present[0], now), None), False
        writing.adopt(deps.encoder)  # a store with memories has a model, even if it has no vector yet
        return writing.put(start_session(new, scope, _next_start(writing, scope, now), by), None), True

    return deps.store.write(change)


def _end_abandoned(writing: WriteTransaction, session: Memory) -> None:
    """End a session at the time of its last activity."""
    writing.put(end_session(session, read_last_active_at(session)), None)


def _next_start(writing: WriteTransaction, scope: Scope, now: datetime) -> datetime:
    """Return the start time of a new session: now, or just after the latest existing session."""
    later = writing.timeline(scope, [Level.SESSION], since=now, statuses=tuple(Status))
    return later[-1].created_at + _TIME_STEP if later else now


class _SessionEnded(Exception):
    """Raised when the session ended while a memory was about to be saved in it."""


def remember_in_session(deps: Dependencies, draft: Draft, inactivity: timedelta) -> tuple[Receipt, MemoryId]:
    """Remember a draft in the open session or a new one; return the receipt and session id."""
    while True:
        session = _get_open_session(deps, draft, inactivity)

        def attend(writing: WriteTransaction, session: MemoryId = session) -> None:
            there = load_open_sessions(writing, draft.scope)
            if not there or there[-1].id != session:
                raise _SessionEnded
            writing.put(touch_session(there[-1], deps.now()), None)

        try:
            (receipt,) = remember_all(deps, [replace(draft, session=session)], attend)
        except _SessionEnded:
            continue
        return receipt, session


def _get_open_session(deps: Dependencies, draft: Draft, inactivity: timedelta) -> MemoryId:
    there = load_open_sessions(deps.store, draft.scope)
    if len(there) == 1 and not is_inactive(there[0], inactivity, deps.now()):
        return there[0].id
    return start_or_resume_session(deps, draft.scope, inactivity, draft.provenance)[0].id


@dataclass(frozen=True, slots=True)
class _ScreenedSummary:
    """A session's summary under a field name that screening checks."""

    text: str


def summarize_open_session(deps: Dependencies, scope: Scope, summary: str, by: Provenance) -> Memory:
    """Replace the summary of the open session."""
    now, text = deps.now(), screen_field(deps, _ScreenedSummary(summary), "summary").text

    def change(writing: WriteTransaction) -> Memory:
        there = load_open_sessions(writing, scope)
        if not there:
            raise session_not_found(scope)
        return writing.put(touch_session(_with_summary(deps, there[-1], text, by), now), None)

    return deps.store.write(change)


def end_open_session(deps: Dependencies, scope: Scope, summary: str, by: Provenance) -> Memory:
    """End the open session with its summary.

    If the last session ended with the same summary, it is returned unchanged.
    """
    now, text = deps.now(), screen_field(deps, _ScreenedSummary(summary), "summary").text

    def change(writing: WriteTransaction) -> Memory:
        there = load_open_sessions(writing, scope)
        if not there:
            last = load_ended_sessions(writing, scope, now, 1, (*LISTED_SESSION_STATUSES, Status.QUARANTINED))
            if last and last[0].text == text:
                return last[0]
            raise session_not_found(scope)
        for one in there[:-1]:
            _end_abandoned(writing, one)
        return writing.put(end_session(touch_session(_with_summary(deps, there[-1], text, by), now), now), None)

    return deps.store.write(change)


def _with_summary(deps: Dependencies, session: Memory, text: str, by: Provenance) -> Memory:
    """Return the session with its summary; quarantine it if the summary instructs a model."""
    return quarantine_if_injected(
        set_summary(session, text, by).changed(status=Status.ACTIVE, remark=None), [text], deps.policy
    )


def session_not_found(scope: Scope) -> NotFound:
    """Return the error for a scope without an open session."""
    return NotFound(f"no session is under way in {scope}; start one first")
