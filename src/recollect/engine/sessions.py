"""Sessions: what users hold to begin a stretch of work with what is known, to save in it, and to sum it up."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING

from recollect.engine import session_ops
from recollect.engine.count_served import served
from recollect.engine.dependencies import World
from recollect.engine.edit import not_there, visible
from recollect.engine.recall import read_request, search
from recollect.errors import FieldError, show
from recollect.lifecycle.sessions import a_summary, an_inactivity, session_of
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.level import BRIEFED, Level
from recollect.model.memory import Kind, Memory, MemoryId, named
from recollect.model.scope import Scope, a_scope
from recollect.model.session import Holdings, Session, Surroundings
from recollect.model.trust import Provenance
from recollect.model.verdict import Receipt
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Found

EARLIER = 5
"""How many earlier sessions are told when one starts."""

HANDED = 10
"""How many memories are."""

BESIDE = 5
"""How many memories are told before one, and after it."""

MOST_BESIDE = 100
"""How many may be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A session, whether it is `new`, the last ones before it, the newest first, and what to know before one asks."""

    session: Session
    new: bool
    earlier: tuple[Session, ...]
    memories: Ranking


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of something that was to be remembered, and the id of the session that was active with it."""

    receipt: Receipt
    session: MemoryId


class Sessions:
    """Stretches of work, of which a scope has one at a time; one in which nothing happens for long is over."""

    def __init__(self, opened: Callable[[], World]) -> None:
        self._opened = opened

    def __repr__(self) -> str:
        return "<recollect.Sessions>"

    def start(
        self,
        *,
        scope: str | Scope,
        inactivity: timedelta | None = None,
        profile: Profile | str = "session",
        earlier: int = EARLIER,
        limit: int = HANDED,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
    ) -> Started:
        """Go on with the session that is under way, or begin one, with the last ones and what is best to know, which
        counts as served. One that was silent for as long as `inactivity` is ended before. A new one is trusted as far
        as who begins it, by `provenance`, until it is summed up.
        """
        by = named("provenance", provenance, Provenance)
        validation.a_limit("earlier", earlier)
        validation.a_limit("limit", limit)
        world, whose = self._opened(), a_scope(scope)
        request = read_request(world, None, scope=whose, profile=profile, as_of=None, known_at=None)
        memory, new = session_ops.start(world, whose, _silence(world, inactivity), by)
        before = session_ops.last_ended(world.store, whose, request.made_at, earlier)
        ranking = search(world, request, limit)
        served(world, whose, ranking)
        return Started(session=session_of(memory), new=new, earlier=_told(world, whose, before), memories=ranking)

    def current(self, *, scope: str | Scope) -> Session | None:
        """The session that is under way, also if it has been silent for long: only the next one that starts ends it."""
        there = session_ops.under_way(self._opened().store, a_scope(scope))
        return session_of(there[-1]) if there else None

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
    ) -> Saved:
        """Remember a text in the session that is under way, or in a new one, which is active with that, also if the
        text is no news. A memory belongs to the session that changed it last.
        """
        draft = Draft(
            text=text,
            scope=a_scope(scope),
            kind=None if kind is None else named("kind", kind, Kind),
            title=title,
            topic_key=None if topic_key is None else validation.an_id("topic_key", topic_key),
            tags=validation.several("tags", tags),
            importance=importance,
            provenance=named("provenance", provenance, Provenance),
        )
        world = self._opened()
        return Saved(*session_ops.remember(world, draft, _silence(world, inactivity)))

    def summarise(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """Note what the session that is under way has come to, in place of what was noted before; it goes on."""
        by = named("provenance", provenance, Provenance)
        return session_of(session_ops.summarise(self._opened(), a_scope(scope), a_summary("summary", summary), by))

    def end(
        self, summary: str, *, scope: str | Scope, provenance: Provenance | str = Provenance.MODEL_INFERENCE
    ) -> Session:
        """End the session that is under way with what it came to. The same again changes nothing."""
        by = named("provenance", provenance, Provenance)
        return session_of(session_ops.end(self._opened(), a_scope(scope), a_summary("summary", summary), by))

    def list(self, *, scope: str | Scope, limit: int = EARLIER) -> list[Session]:
        """The scope's last sessions that have ended, the newest first."""
        validation.a_limit("limit", limit)
        world, whose = self._opened(), a_scope(scope)
        return list(_told(world, whose, session_ops.last_ended(world.store, whose, world.now(), limit)))

    def timeline(self, id: str, *, scope: str | Scope, before: int = BESIDE, after: int = BESIDE) -> Surroundings:
        """A plain memory with those that were created just before and just after it, of all that the scope may recall
        now.
        """
        for name, many in (("before", before), ("after", after)):
            if validation.a_count(name, many) > MOST_BESIDE:
                raise FieldError(f"{show(many)} is not within 0..{MOST_BESIDE}", field=name)
        world, whose = self._opened(), a_scope(scope)
        memory = visible(world, whose, id)
        if memory.level is not None:
            raise not_there(whose, id)
        return _surroundings(_known(world, whose), memory, before, after)

    def holdings(self, *, scope: str | Scope) -> Holdings:
        """How many plain memories and sessions of its own the scope has."""
        world, whose = self._opened(), a_scope(scope)
        sessions = world.store.timeline(whose, [Level.SESSION], statuses=(*session_ops.OPEN, *session_ops.TOLD))
        there = session_ops.under_way(world.store, whose)
        found = _known(world, whose)
        own = [one for one in found.candidates(found.rows.tolist()) if one.scope == whose]
        kinds = Counter(one.kind for one in own if one.kind is not None)
        created = [one.created_at for one in own if one.created_at is not None]
        updated = [one.updated_at for one in own if one.updated_at is not None]
        return Holdings(
            memories=len(own),
            kinds={kind: kinds[kind] for kind in Kind if kinds[kind]},
            sessions=len(sessions),
            first_at=min(created, default=None),
            last_at=max([*created, *updated], default=None),
            current=there[-1].id if there else None,
        )


def _silence(world: World, given: timedelta | None) -> timedelta:
    return world.sessions.inactivity if given is None else an_inactivity("inactivity", given)


def _known(world: World, scope: Scope) -> "Found":
    """The plain memories that the scope may recall now, as columns."""
    from recollect.retrieval.evidence import Probe

    return world.store.gather(Probe(scope=scope, at=world.now(), present=True, levels=BRIEFED))


def _told(world: World, scope: Scope, sessions: Sequence[Memory]) -> tuple[Session, ...]:
    """The sessions; of those that nobody summed up it is looked up what was saved in them and is still there."""
    silent = [one.id for one in sessions if not session_of(one).summarised]
    titles = _saved_in(_known(world, scope), scope, silent) if silent else {}
    return tuple(session_of(one, titles.get(one.id, ())) for one in sessions)


def _saved_in(found: "Found", scope: Scope, sessions: Sequence[MemoryId]) -> dict[str, Sequence[str]]:
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


def _surroundings(found: "Found", memory: Memory, before: int, after: int) -> Surroundings:
    """The memory among those that were found, by time and id; it need not be one of them."""
    from recollect.model.table import microseconds

    rows, table = found.rows.tolist(), found.table
    moments = table.dates["created_at"][found.rows].tolist() if rows else []
    places = [(at, table.ids[row], row) for at, row in zip(moments, rows, strict=True)]
    here = microseconds(memory.created_at), memory.id
    earlier = nlargest(before, (one for one in places if one[:2] < here))
    later = nsmallest(after, (one for one in places if one[:2] > here))
    return Surroundings(
        memory=memory,
        before=_memories(found, earlier[::-1]),
        after=_memories(found, later),
    )


def _memories(found: "Found", places: Sequence[tuple[float, MemoryId, int]]) -> tuple[Memory, ...]:
    return tuple(one for one in found.memories([row for _, _, row in places]) if one is not None)
