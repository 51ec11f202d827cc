"""The observation memory of seed 003: sessions, observations and two scores that refuse to be compared."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import total_ordering
from typing import Annotated, Any, ClassVar, Literal, Self, TypeGuard

from pydantic import AwareDatetime, BaseModel, Field, PlainSerializer

from recollect.compat import coercion
from recollect.engine.edit import memory_not_found
from recollect.engine.engine import Engine
from recollect.errors import FieldError, InvalidInput, NotFound, SchemesDiffer, show
from recollect.lifecycle.sessions import require_inactivity
from recollect.model import validation
from recollect.model.candidate import Candidate
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
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import as_scope
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import explain

SEARCH_PROFILE = builtin_profile("search")
SESSION_PROFILE = builtin_profile("session")

UnitInterval = Annotated[float, Field(strict=True, ge=0.0, le=1.0, allow_inf_nan=False)]


def recency_score(iso: str | datetime | None, now: datetime | None = None) -> float:
    """Return how fresh an observation is; without a date ½.

    A date without a time zone is taken as UTC.
    """
    return _signal_value("recency", _explain(SESSION_PROFILE, now, updated_at=iso))


def revision_score(n: int) -> float:
    """Return how often an observation was revised, as a share of the cap."""
    return _signal_value(
        "revisions", _explain(SESSION_PROFILE, None, revision_count=coercion.to_count("revision_count", n))
    )


def type_priority(type: str) -> float:
    """Return the weight of an observation type at session start; an unknown type gets ½."""
    return _signal_value("kind", _explain(SESSION_PROFILE, None, type=type))


@total_ordering
class _ObservationScore(BaseModel, frozen=True, extra="forbid"):
    """A number within 0..1; comparing it with the other kind of score raises a TypeError."""

    profile: ClassVar[Profile]

    value: UnitInterval

    def __float__(self) -> float:
        return self.value

    def __eq__(self, other: object) -> bool:
        return self.value == other.value if self._comparable(other) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.value < other.value if self._comparable(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.profile.name, self.value))

    def _comparable(self, other: object) -> TypeGuard["_ObservationScore"]:
        if isinstance(other, _ObservationScore) and other.profile is not self.profile:
            raise SchemesDiffer(
                f"a score of profile {self.profile.name!r} cannot be compared with one of {other.profile.name!r}; "
                "rank the observations by one profile, or fuse the two rankings"
            )
        return isinstance(other, _ObservationScore)


class SearchScore(_ObservationScore, frozen=True):
    """How relevant an observation is to a question, and the signals that say so."""

    profile = SEARCH_PROFILE

    fts5_rank: UnitInterval | None = None
    recency: UnitInterval | None = None
    revision: UnitInterval | None = None

    @classmethod
    def of(
        cls,
        *,
        fts5_rank: float | None,
        updated_at: str | datetime | None,
        revision_count: int | None,
        now: datetime | None = None,
    ) -> Self:
        """Score an observation by the `search` profile; `None` means unknown, or no match at all."""
        return cls.told(
            _explain(SEARCH_PROFILE, now, fts5_rank=fts5_rank, updated_at=updated_at, revision_count=revision_count)
        )

    @classmethod
    def told(cls, explanation: Explanation) -> Self:
        """Take the score from an explanation by the `search` profile."""
        return cls(
            value=explanation.score,
            fts5_rank=_signal_value("lexical", explanation),
            recency=_signal_value("recency", explanation),
            revision=_signal_value("revisions", explanation),
        )


class ContextScore(_ObservationScore, frozen=True):
    """How much an observation deserves to be known before anyone asks, and the signals that say so."""

    profile = SESSION_PROFILE

    recency: UnitInterval | None = None
    revision: UnitInterval | None = None
    type_priority: UnitInterval | None = None

    @classmethod
    def of(
        cls,
        *,
        updated_at: str | datetime | None,
        revision_count: int | None,
        type: str,
        now: datetime | None = None,
    ) -> Self:
        """Score an observation by the `session` profile; `None` means unknown."""
        return cls.told(_explain(SESSION_PROFILE, now, updated_at=updated_at, revision_count=revision_count, type=type))

    @classmethod
    def told(cls, explanation: Explanation) -> Self:
        """Take the score from an explanation by the `session` profile."""
        return cls(
            value=explanation.score,
            recency=_signal_value("recency", explanation),
            revision=_signal_value("revisions", explanation),
            type_priority=_signal_value("kind", explanation),
        )


def _explain(
    profile: Profile,
    now: datetime | None,
    *,
    fts5_rank: float | None = None,
    updated_at: str | datetime | None = None,
    revision_count: int | None = None,
    type: str | None = None,
) -> Explanation:
    observation = Candidate(
        id=MemoryId("observation"),
        lexical=coercion.read_optional(coercion.to_fraction, "fts5_rank", fts5_rank),
        updated_at=coercion.read_optional(coercion.to_datetime, "updated_at", updated_at),
        revisions=coercion.read_optional(coercion.to_count, "revision_count", revision_count),
        kind=coercion.read_optional(_parse_kind, "type", type),
    )
    return explain(observation, profile, coercion.datetime_or_now(now))


def _parse_kind(field: str, value: Any) -> Kind:
    """Return the kind with that name; an unknown type becomes a plain observation."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} is {show(value)}; give a text such as 'preference'")
    return Kind(value) if value in tuple(Kind) else Kind.OBSERVATION


def _signal_value(signal: str, explanation: Explanation) -> float:
    return next(part.value for part in explanation.parts if part.signal == signal)


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

UtcDatetime = Annotated[AwareDatetime, PlainSerializer(lambda at: at.isoformat(), return_type=str, when_used="json")]
"""A datetime in the common output format."""

SaveOutcome = Literal[
    "created", "updated", "deduped", "superseded", "outdated", "reactivated", "unindexed", "quarantined", "refused"
]

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


class MethodResult(BaseModel, frozen=True, extra="forbid"):
    """A frozen result of a method; `model_dump(mode="json")` gives its JSON."""


class CompactObservation(MethodResult, frozen=True):
    """An observation in few words; `mem_get_observation` tells all of it."""

    id: Annotated[str, Field(description="Its id.")]
    type: Annotated[Kind, Field(description="Which kind of observation it is.")]
    title: Annotated[str | None, Field(description="Its title, if it has one.")]
    topic_key: Annotated[str | None, Field(description="The topic it is the present state of, if it has one.")]
    snippet: Annotated[str, Field(description="How its content begins, on one line.")]
    created_at: Annotated[UtcDatetime, Field(description="When it was first observed, UTC.")]
    updated_at: Annotated[UtcDatetime, Field(description="When its present content was observed, UTC.")]


class FoundObservation(CompactObservation, frozen=True):
    """An observation that a question found."""

    score: Annotated[SearchScore, Field(description="How relevant it is to the question; compares with its like only.")]


class KnownObservation(CompactObservation, frozen=True):
    """An observation to know before anyone asks."""

    score: Annotated[ContextScore, Field(description="How much it deserves to be known; compares with its like only.")]


class Observation(MethodResult, frozen=True):
    """All of an observation."""

    id: Annotated[str, Field(description="Its id.")]
    user_id: Annotated[str, Field(description="Whose it is: the user, or one above who shares it.")]
    session_id: Annotated[str | None, Field(description="The session that changed it last, if one did.")]
    type: Annotated[Kind, Field(description="Which kind of observation it is.")]
    title: Annotated[str | None, Field(description="Its title, if it has one.")]
    content: Annotated[str, Field(description="What it says, without what was private or secret.")]
    topic_key: Annotated[str | None, Field(description="The topic it is the present state of, if it has one.")]
    normalized_hash: Annotated[str, Field(description="SHA-256 that is the same for contents that differ in blanks.")]
    revision_count: Annotated[int, Field(description="How often it was said anew, the first time included.")]
    status: Annotated[Status, Field(description="Where it stands; only an active one is found.")]
    created_at: Annotated[UtcDatetime, Field(description="When it was first observed, UTC.")]
    updated_at: Annotated[UtcDatetime, Field(description="When its present content was observed, UTC.")]


class SessionRecord(MethodResult, frozen=True):
    """A session of a user."""

    session_id: Annotated[str, Field(description="Its id.")]
    status: Annotated[Literal["active", "completed"], Field(description="Whether it is under way or has ended.")]
    started_at: Annotated[UtcDatetime, Field(description="When it began, UTC.")]
    last_activity_at: Annotated[UtcDatetime, Field(description="When it was last active, UTC.")]
    ended_at: Annotated[UtcDatetime | None, Field(description="When it ended, UTC, if it has.")]
    summary: Annotated[str | None, Field(description="What it came to, if that is known by now.")]
    is_auto_generated: Annotated[
        bool, Field(description="Whether nobody said the summary, and it was put together from what was saved.")
    ]


class SessionStart(MethodResult, frozen=True):
    """A session that is under way, with what to know before anyone asks."""

    session_id: Annotated[str, Field(description="The id of the session that is under way now.")]
    is_new: Annotated[bool, Field(description="Whether it has just begun; otherwise it goes on.")]
    sessions_context: Annotated[
        tuple[SessionRecord, ...], Field(description="The last sessions that ended, at most 5, the newest first.")
    ]
    memories: Annotated[
        tuple[KnownObservation, ...], Field(description="The observations that matter most, at most 10, best first.")
    ]


class SaveResult(MethodResult, frozen=True):
    """What became of something that was to be saved."""

    id: Annotated[str | None, Field(description="The observation that says it now; none if it was refused.")]
    outcome: Annotated[
        SaveOutcome,
        Field(
            description="created: it is news. updated: a new revision of its topic, or of what said the same. "
            "deduped: known already. superseded: it is news, and `other` holds no longer. outdated: kept, but `other` "
            "is later. reactivated: it was put away, and is back. unindexed: an event like one that is known. "
            "quarantined: kept, and told nobody until an operator releases it. refused: nothing was kept."
        ),
    ]
    session_id: Annotated[str, Field(description="The session that was active with it.")]
    topic_key: Annotated[str | None, Field(description="The topic of the observation, if it has one.")]
    reason: Annotated[str | None, Field(description="Why it was decided so, where the outcome does not say it all.")]
    other: Annotated[str | None, Field(description="The other observation that the decision was about, if any.")]
    redacted: Annotated[
        tuple[str, ...], Field(description="What was taken out before anything was kept: private parts, secrets.")
    ]


class Timeline(MethodResult, frozen=True):
    """An observation among those that were made around the same time."""

    before: Annotated[tuple[CompactObservation, ...], Field(description="Those just before it, the oldest first.")]
    observation: Annotated[Observation, Field(description="The one that was asked for.")]
    after: Annotated[tuple[CompactObservation, ...], Field(description="Those just after it, the oldest first.")]


class MemoryStats(MethodResult, frozen=True):
    """How much is known of a user."""

    user_id: Annotated[str, Field(description="The user.")]
    observations: Annotated[int, Field(description="How many observations of the user's own can be found.")]
    types: Annotated[dict[Kind, int], Field(description="The same by type.")]
    sessions: Annotated[int, Field(description="How many sessions there were, with the one under way.")]
    active_session_id: Annotated[str | None, Field(description="The session that is under way, if one is.")]
    first_observed_at: Annotated[UtcDatetime | None, Field(description="When the first was observed, UTC.")]
    last_updated_at: Annotated[UtcDatetime | None, Field(description="When the last one changed, UTC.")]


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
                KnownObservation(**_compact_fields(one.memory), score=ContextScore.told(one.explanation))
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
        self._engine.served(ranking, scope=as_scope(user_id))
        return tuple(
            FoundObservation(**_compact_fields(one.memory), score=SearchScore.told(one.explanation)) for one in ranking
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
