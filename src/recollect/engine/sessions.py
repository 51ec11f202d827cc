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
from recollect.model import changeset, validation
from recollect.model.conversation import NearbyMemories, ScopeHoldings, Session
from recollect.model.draft import Draft, Receipt
from recollect.model.enums import BRIEF_LEVELS, Kind, Level, Provenance, Status, parse_choice
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking
from recollect.retrieval.eligibility import View

if TYPE_CHECKING:
    from recollect.retrieval.snapshot import Snapshot


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
    """A started or resumed session, with the memories worth knowing at its start.

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

    A session that was inactive for a configured time is ended by the next `start` or `remember`.
    """

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

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
        caller = parse_choice("provenance", provenance, Provenance)
        validation.require_limit("earlier", earlier)
        validation.require_limit("limit", limit)
        deps, target = self._get_deps(), as_scope(scope)
        request = read_request(deps, None, scope=target, profile=profile, as_of=None, known_at=None)
        memory, new = start_or_resume_session(deps, target, _resolve_inactivity(deps, inactivity), caller)
        ended = load_ended_sessions(deps.store, target, request.made_at, earlier)
        ranking = search(deps, request, limit)
        count_served(deps, target, ranking)
        return StartedSession(
            session=read_session(memory), new=new, earlier=_to_sessions(deps, target, ended), memories=ranking
        )

    def current(self, *, scope: str | Scope) -> Session | None:
        """Return the open session or None.

        A session that has been inactive for long is still open until the next `start` or `remember` ends it.
        """
        open_sessions = load_open_sessions(self._get_deps().store, as_scope(scope))
        return read_session(open_sessions[-1]) if open_sessions else None

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
        deps = self._get_deps()
        return SessionReceipt(*remember_in_session(deps, draft, _resolve_inactivity(deps, inactivity)))

    def summarise(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """Replace the summary of the open session; the session stays open."""
        caller = parse_choice("provenance", provenance, Provenance)
        text = require_summary("summary", summary)
        return read_session(summarize_open_session(self._get_deps(), as_scope(scope), text, caller))

    def end(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """End the open session with a summary; repeating the call changes nothing.

        Raises `NotFound` if no session is open.
        """
        caller = parse_choice("provenance", provenance, Provenance)
        text = require_summary("summary", summary)
        return read_session(end_open_session(self._get_deps(), as_scope(scope), text, caller))

    def list(self, *, scope: str | Scope, limit: int = DEFAULT_EARLIER_SESSIONS) -> list[Session]:
        """Return the scope's ended sessions, the newest first."""
        validation.require_limit("limit", limit)
        deps, target = self._get_deps(), as_scope(scope)
        return list(_to_sessions(deps, target, load_ended_sessions(deps.store, target, deps.now(), limit)))

    def timeline(
        self,
        id: str,
        *,
        scope: str | Scope,
        before: int = DEFAULT_AROUND_MEMORIES,
        after: int = DEFAULT_AROUND_MEMORIES,
    ) -> NearbyMemories:
        """Return a plain memory with the memories created just before and just after it.

        The neighbors are chosen from all memories that the scope may recall now, at most 100 on each side. Nothing
        counts as served.
        """
        for name, count in (("before", before), ("after", after)):
            if validation.require_count(name, count) > MAX_AROUND_MEMORIES:
                raise FieldError(f"{show(count)} is not within 0..{MAX_AROUND_MEMORIES}", field=name)
        deps, target = self._get_deps(), as_scope(scope)
        memory = get_visible(deps, target, id)
        if memory.level is not None:
            raise memory_not_found(target, id)
        return _make_surroundings(deps, target, memory, before, after)

    def holdings(self, *, scope: str | Scope) -> ScopeHoldings:
        """Return counts of the scope's own plain memories and sessions."""
        deps, target = self._get_deps(), as_scope(scope)
        sessions = deps.store.timeline(
            target, [Level.SESSION], statuses=(*OPEN_SESSION_STATUSES, *LISTED_SESSION_STATUSES)
        )
        open_sessions = load_open_sessions(deps.store, target)
        snapshot = _read_memories(deps, target)
        own = [one for one in snapshot.columns.table.candidates(snapshot.rows.tolist()) if one.scope == target]
        kinds = Counter(one.kind for one in own if one.kind is not None)
        created = [one.created_at for one in own if one.created_at is not None]
        updated = [one.updated_at for one in own if one.updated_at is not None]
        return ScopeHoldings(
            memories=len(own),
            kinds={kind: kinds[kind] for kind in Kind if kinds[kind]},
            sessions=len(sessions),
            first_at=min(created, default=None),
            last_at=max([*created, *updated], default=None),
            current=open_sessions[-1].id if open_sessions else None,
        )


def _resolve_inactivity(deps: Dependencies, inactivity: timedelta | None) -> timedelta:
    return deps.sessions.inactivity if inactivity is None else require_inactivity("inactivity", inactivity)


def _read_memories(deps: Dependencies, scope: Scope) -> "Snapshot":
    """Return the plain memories that the scope may recall now, as columns."""
    return deps.store.snapshot(View(scope=scope, at=deps.now(), present=True, levels=BRIEF_LEVELS))


def _to_sessions(deps: Dependencies, scope: Scope, sessions: Sequence[Memory]) -> tuple[Session, ...]:
    """Convert memories to sessions; a session without a summary gets the titles of its memories."""
    unsummarized = [one.id for one in sessions if not read_session(one).summarised]
    titles = _load_saved_titles(deps, scope, unsummarized) if unsummarized else {}
    return tuple(read_session(one, titles.get(one.id, ())) for one in sessions)


def _load_saved_titles(deps: Dependencies, scope: Scope, sessions: Sequence[MemoryId]) -> dict[str, Sequence[str]]:
    """Return the titles of the memories saved in each session, in order of time."""
    import numpy as np

    snapshot = _read_memories(deps, scope)
    labels = snapshot.columns.sessions
    codes = [code for code, name in enumerate(labels.names) if name in sessions]
    rows = snapshot.rows[np.isin(labels.codes[snapshot.rows], codes)].tolist()
    own = (one for one in deps.store.load(snapshot, rows) if one is not None and one.scope == scope)
    memories = sorted(own, key=lambda one: (one.created_at, one.id))
    return {id: [one.title or one.text for one in memories if one.session == id] for id in sessions}


def _make_surroundings(deps: Dependencies, scope: Scope, memory: Memory, before: int, after: int) -> NearbyMemories:
    """Return the memories around one, by time and id; that one need not be recallable."""
    from recollect.model.table import to_microseconds

    snapshot = _read_memories(deps, scope)
    rows, ids = snapshot.rows.tolist(), snapshot.columns.ids
    dates = snapshot.columns.column("created_at")[snapshot.rows].tolist()
    entries = [(at, ids[row], row) for at, row in zip(dates, rows, strict=True)]
    position = to_microseconds(memory.created_at), memory.id
    earlier = nlargest(before, (one for one in entries if one[:2] < position))
    later = nsmallest(after, (one for one in entries if one[:2] > position))
    return NearbyMemories(
        memory=memory,
        before=_load_memories(deps, snapshot, earlier[::-1]),
        after=_load_memories(deps, snapshot, later),
    )


def _load_memories(
    deps: Dependencies, snapshot: "Snapshot", entries: Sequence[tuple[float, MemoryId, int]]
) -> tuple[Memory, ...]:
    memories = deps.store.load(snapshot, [row for _, _, row in entries])
    return tuple(one for one in memories if one is not None)


OPEN_SESSION_STATUSES = (Status.ACTIVE, Status.QUARANTINED)
"""The statuses of an open session."""

LISTED_SESSION_STATUSES = (Status.ACTIVE, Status.COMPLETED)
"""The statuses of sessions whose summaries are shown."""

RECENT_WINDOW = timedelta(days=30)
"""How far back to search for ended sessions first; all are read only if these are too few."""

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


def load_open_sessions(reader: _TimelineReader, scope: Scope) -> list[Memory]:
    """Return the scope's sessions that have not ended.

    The last one is the current session. Others can exist only after an import or a restore.
    """
    sessions = reader.timeline(scope, [Level.SESSION], statuses=OPEN_SESSION_STATUSES)
    return [one for one in sessions if read_ended_at(one) is None]


def load_ended_sessions(
    reader: _TimelineReader,
    scope: Scope,
    now: datetime,
    limit: int,
    statuses: Sequence[Status] = LISTED_SESSION_STATUSES,
) -> list[Memory]:
    """Return the scope's last ended sessions, the newest first."""
    ended: list[Memory] = []
    for since in (now - RECENT_WINDOW, None):
        if len(ended) < limit:
            sessions = reader.timeline(scope, [Level.SESSION], since=since, statuses=statuses)
            ended = [one for one in sessions if read_ended_at(one) is not None]
    return ended[-limit:][::-1]


def start_or_resume_session(
    deps: Dependencies, scope: Scope, inactivity: timedelta, caller: Provenance
) -> tuple[Memory, bool]:
    """Return the open session, and whether it was just started; an inactive one is ended first."""
    now = deps.now()
    new_id = MemoryId(deps.new_id(now))

    def change(writing: WriteTransaction) -> tuple[Memory, bool]:
        open_sessions = load_open_sessions(writing, scope)
        current = [one for one in open_sessions[-1:] if not is_inactive(one, inactivity, now)]
        for one in open_sessions:
            if one not in current:
                _end_abandoned(writing, one)
        if current:
            return writing.put(touch_session(current[0], now), None), False
        session = start_session(new_id, scope, _next_start(writing, scope, now), caller)
        # a store with memories has a model, even if it has no vector yet
        changes = changeset.Changeset(encoder=deps.encoder, puts=(changeset.Put(session),))
        return writing.apply(changes)[0], True

    return deps.store.write(change)


def _end_abandoned(writing: WriteTransaction, session: Memory) -> None:
    """End a session at the time of its last activity."""
    writing.put(end_session(session, read_last_active_at(session)), None)


def _next_start(writing: WriteTransaction, scope: Scope, now: datetime) -> datetime:
    """Return the start time of a new session: now, or just after a session that starts later."""
    later = writing.timeline(scope, [Level.SESSION], since=now, statuses=tuple(Status))
    return later[-1].created_at + _TIME_STEP if later else now


class _SessionEnded(Exception):
    """Raised when the session ended while a memory was about to be saved in it."""


def remember_in_session(deps: Dependencies, draft: Draft, inactivity: timedelta) -> tuple[Receipt, MemoryId]:
    """Remember a draft in the open session or a new one; return the receipt and session id."""
    while True:
        session = _get_open_session(deps, draft, inactivity)

        def touch(writing: WriteTransaction, session: MemoryId = session) -> None:
            open_sessions = load_open_sessions(writing, draft.scope)
            if not open_sessions or open_sessions[-1].id != session:
                raise _SessionEnded
            writing.put(touch_session(open_sessions[-1], deps.now()), None)

        try:
            (receipt,) = remember_all(deps, [replace(draft, session=session)], touch)
        except _SessionEnded:
            continue
        return receipt, session


def _get_open_session(deps: Dependencies, draft: Draft, inactivity: timedelta) -> MemoryId:
    open_sessions = load_open_sessions(deps.store, draft.scope)
    if len(open_sessions) == 1 and not is_inactive(open_sessions[0], inactivity, deps.now()):
        return open_sessions[0].id
    return start_or_resume_session(deps, draft.scope, inactivity, draft.provenance)[0].id


@dataclass(frozen=True, slots=True)
class _ScreenedSummary:
    """A session's summary under a field name that screening checks."""

    text: str


def summarize_open_session(deps: Dependencies, scope: Scope, summary: str, caller: Provenance) -> Memory:
    """Replace the summary of the open session."""
    now, text = deps.now(), screen_field(deps, _ScreenedSummary(summary), "summary").text

    def change(writing: WriteTransaction) -> Memory:
        open_sessions = load_open_sessions(writing, scope)
        if not open_sessions:
            raise session_not_found(scope)
        return writing.put(touch_session(_with_summary(deps, open_sessions[-1], text, caller), now), None)

    return deps.store.write(change)


def end_open_session(deps: Dependencies, scope: Scope, summary: str, caller: Provenance) -> Memory:
    """End the open session with its summary.

    If the last session ended with the same summary, it is returned unchanged.
    """
    now, text = deps.now(), screen_field(deps, _ScreenedSummary(summary), "summary").text

    def change(writing: WriteTransaction) -> Memory:
        open_sessions = load_open_sessions(writing, scope)
        if not open_sessions:
            ended = load_ended_sessions(writing, scope, now, 1, (*LISTED_SESSION_STATUSES, Status.QUARANTINED))
            if ended and ended[0].text == text:
                return ended[0]
            raise session_not_found(scope)
        for one in open_sessions[:-1]:
            _end_abandoned(writing, one)
        return writing.put(
            end_session(touch_session(_with_summary(deps, open_sessions[-1], text, caller), now), now), None
        )

    return deps.store.write(change)


def _with_summary(deps: Dependencies, session: Memory, text: str, caller: Provenance) -> Memory:
    """Return the session with its summary; quarantine it if the summary instructs a model."""
    return quarantine_if_injected(
        set_summary(session, text, caller).with_changes(status=Status.ACTIVE, remark=None), [text], deps.policy
    )


def session_not_found(scope: Scope) -> NotFound:
    """Return the error for a scope without an open session."""
    return NotFound(f"no session is open in {scope}; start one first")
