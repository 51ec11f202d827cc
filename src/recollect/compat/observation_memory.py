"""The eight methods of seed 003 on an engine: sessions and observations."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from recollect.compat.observations import (
    CompactObservation,
    ContextScore,
    FoundObservation,
    KnownObservation,
    MemoryStats,
    Observation,
    SaveOutcome,
    SaveResult,
    SearchScore,
    SessionRecord,
    SessionStart,
    Timeline,
)
from recollect.engine.edit import memory_not_found
from recollect.engine.engine import Engine
from recollect.errors import FieldError, InvalidInput, NotFound, show
from recollect.lifecycle.sessions import require_inactivity
from recollect.model import validation
from recollect.model.conversation import Session
from recollect.model.draft import (
    Changed,
    Created,
    Outdated,
    Quarantined,
    Reactivated,
    Refused,
    Reinforced,
    Superseded,
    Unchanged,
    Unindexed,
    Updated,
    Verdict,
)
from recollect.model.enums import Kind, Provenance, Status, parse_choice
from recollect.model.format import shorten
from recollect.model.memory import Memory
from recollect.model.scope import as_scope

SNIPPET_CHARS = 200
"""How many characters of an observation its compact form has."""

MAX_SEARCH_RESULTS = 100
"""The highest limit of a search."""

SEARCH_OVERRIDES = {"gates": {"lexical": 1e-9}}
"""The search profile's change: only observations that share a word with the query are found.

The formula would also rank the others.
"""

RESERVED_KIND = Kind.SUMMARY
"""The type of session summaries, which callers cannot save."""

_OUTCOME_BY_VERDICT: Mapping[type[Verdict], SaveOutcome] = {
    Created: "created",
    Updated: "updated",
    Changed: "updated",
    Reinforced: "deduped",
    Unchanged: "deduped",
    Superseded: "superseded",
    Outdated: "outdated",
    Reactivated: "reactivated",
    Unindexed: "unindexed",
    Quarantined: "quarantined",
    Refused: "refused",
}
"""The seed's names for verdicts; the seed knows the first three."""


class ObservationMemory:
    """The memory of seed 003: eight methods on an engine.

    It keeps no state, so any number may share a store.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        inactivity: timedelta | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
    ) -> None:
        """Use an engine, with an optional `inactivity` in place of the engine's setting.

        `inactivity` is the time after which a session ends. `provenance` applies to everything that is saved.
        """
        self._engine = engine
        self._provenance = parse_choice("provenance", provenance, Provenance)
        self._inactivity = None if inactivity is None else require_inactivity("inactivity", inactivity)

    def __repr__(self) -> str:
        return f"<recollect.ObservationMemory on {self._engine!r}>"

    def mem_session_start(self, user_id: str) -> SessionStart:
        """Continue or start the user's session.

        The result has the last summaries and the most important memories.
        """
        started = self._engine.sessions.start(
            scope=as_scope(user_id), inactivity=self._inactivity, provenance=self._provenance
        )
        return SessionStart(
            session_id=started.session.id,
            is_new=started.new,
            sessions_context=tuple(_to_session_record(one) for one in started.earlier),
            memories=tuple(
                KnownObservation(**_compact_fields(one.memory), score=ContextScore.from_explanation(one.explanation))
                for one in started.memories
            ),
        )

    def mem_session_end(self, user_id: str, summary: str) -> SessionRecord:
        """End the user's session with a summary; the same call again changes nothing."""
        return _to_session_record(
            self._engine.sessions.end(summary, scope=as_scope(user_id), provenance=self._provenance)
        )

    def mem_session_summary(self, user_id: str, summary: str) -> SessionRecord:
        """Store a summary of the user's session so far, replacing the last one; the session goes on."""
        return _to_session_record(
            self._engine.sessions.summarise(summary, scope=as_scope(user_id), provenance=self._provenance)
        )

    def mem_save(self, user_id: str, content: str, type: str, title: str, topic_key: str | None = None) -> SaveResult:
        """Save an observation in the user's session; with a topic key, as a revision of the topic."""
        kind = parse_choice("type", validation.require_text("type", type), Kind)
        if kind is RESERVED_KIND:
            raise FieldError(f"{show(type)} is reserved; sum up a session with mem_session_summary", field="type")
        saved = self._engine.sessions.remember(
            validation.require_content("content", content),
            scope=as_scope(user_id),
            kind=kind,
            title=validation.require_content("title", title),
            topic_key=topic_key,
            provenance=self._provenance,
            inactivity=self._inactivity,
        )
        receipt = saved.receipt
        return SaveResult(
            id=receipt.id if receipt.kept else None,
            outcome=_OUTCOME_BY_VERDICT[receipt.verdict.__class__],
            session_id=saved.session,
            topic_key=receipt.memory.topic_key if receipt.kept else None,
            reason=receipt.reason or None,
            other=receipt.other,
            redacted=receipt.redacted,
        )

    def mem_search(
        self,
        user_id: str,
        query: str,
        limit: int = 10,
        types: list[str] | None = None,
        types_exclude: list[str] | None = None,
    ) -> tuple[FoundObservation, ...]:
        """Return the user's observations with words of the query, best first, filtered by type."""
        if validation.require_limit("limit", limit) > MAX_SEARCH_RESULTS:
            raise FieldError(f"{show(limit)} is not within 1..{MAX_SEARCH_RESULTS}", field="limit")
        kinds = _select_kinds(types, types_exclude)
        ranking = self._engine.search(
            validation.require_text("query", query),
            scope=as_scope(user_id),
            profile="search",
            limit=limit,
            kinds=kinds,
            levels=["plain"],
            overrides=SEARCH_OVERRIDES,
        )
        self._engine.contexts.count_served(ranking, scope=as_scope(user_id))
        return tuple(
            FoundObservation(**_compact_fields(one.memory), score=SearchScore.from_explanation(one.explanation))
            for one in ranking
        )

    def mem_get_observation(self, user_id: str, observation_id: str) -> Observation:
        """Return a full observation that the user may see."""
        return _to_observation(_require_visible(self._engine.get(observation_id, scope=as_scope(user_id)), user_id))

    def mem_timeline(self, user_id: str, observation_id: str, before: int = 5, after: int = 5) -> Timeline:
        """Return an observation with those created just before and after it, by time and id."""
        scope = as_scope(user_id)
        _require_visible(self._engine.get(observation_id, scope=scope), user_id)
        timeline = self._engine.sessions.timeline(observation_id, scope=scope, before=before, after=after)
        return Timeline(
            before=tuple(CompactObservation(**_compact_fields(one)) for one in timeline.before),
            observation=_to_observation(timeline.memory),
            after=tuple(CompactObservation(**_compact_fields(one)) for one in timeline.after),
        )

    def mem_stats(self, user_id: str) -> MemoryStats:
        """Return how many observations and sessions of the user there are."""
        scope = as_scope(user_id)
        holdings = self._engine.sessions.holdings(scope=scope)
        return MemoryStats(
            user_id=str(scope),
            observations=holdings.memories,
            types=dict(holdings.kinds),
            sessions=holdings.sessions,
            active_session_id=holdings.current,
            first_observed_at=holdings.first_at,
            last_updated_at=holdings.last_at,
        )


def _compact_fields(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "type": memory.kind,
        "title": memory.title,
        "topic_key": memory.topic_key,
        "snippet": shorten(memory.text, SNIPPET_CHARS),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at or memory.created_at,
    }


def _to_observation(memory: Memory) -> Observation:
    return Observation(
        id=memory.id,
        user_id=str(memory.scope),
        session_id=memory.session,
        type=memory.kind,
        title=memory.title,
        content=memory.text,
        topic_key=memory.topic_key,
        normalized_hash=memory.hash,
        revision_count=memory.revisions,
        status=memory.status,
        created_at=memory.created_at,
        updated_at=memory.updated_at or memory.created_at,
    )


def _require_visible(memory: Memory, user_id: str) -> Memory:
    """Return the memory if agents may see it as an observation; quarantined ones are hidden."""
    if memory.level is not None or memory.status is Status.FORGOTTEN:
        raise memory_not_found(as_scope(user_id), memory.id)
    if memory.status is Status.QUARANTINED:
        raise NotFound(f"memory {show(memory.id)} is quarantined; it can be read once an operator releases it")
    return memory


def _to_session_record(session: Session) -> SessionRecord:
    return SessionRecord(
        session_id=session.id,
        status="active" if session.under_way else "completed",
        started_at=session.started_at,
        last_activity_at=session.last_active_at,
        ended_at=session.ended_at,
        summary=session.summary,
        is_auto_generated=session.summary is not None and not session.summarised,
    )


def _select_kinds(types: Iterable[str] | None, types_exclude: Iterable[str] | None) -> list[Kind] | None:
    """Return the kinds to search: those named, or all but those excluded; by default all."""
    if types is not None and types_exclude is not None:
        raise InvalidInput("types and types_exclude are both given; give only one")
    if types is None and types_exclude is None:
        return None
    field, names = ("types", types) if types_exclude is None else ("types_exclude", types_exclude)
    selected = {
        parse_choice(field, validation.require_text(field, name), Kind)
        for name in validation.require_several(field, names or ())
    }
    kinds = [kind for kind in Kind if (kind in selected) is (types_exclude is None)]
    if not kinds:
        raise FieldError("leaves no type to search; give at least one, or omit it to search all", field=field)
    return kinds
