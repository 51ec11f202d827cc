"""The scores of seed 003, which refuse to be compared, and the results of its eight methods."""

from datetime import datetime
from functools import total_ordering
from typing import Annotated, Any, ClassVar, Literal, Self, TypeGuard

from pydantic import AwareDatetime, BaseModel, Field, PlainSerializer

from recollect.compat import coercion
from recollect.errors import InvalidInput, SchemesDiffer, show
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind, Status
from recollect.model.memory import MemoryId
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
        return cls.from_explanation(
            _explain(SEARCH_PROFILE, now, fts5_rank=fts5_rank, updated_at=updated_at, revision_count=revision_count)
        )

    @classmethod
    def from_explanation(cls, explanation: Explanation) -> Self:
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
        return cls.from_explanation(
            _explain(SESSION_PROFILE, now, updated_at=updated_at, revision_count=revision_count, type=type)
        )

    @classmethod
    def from_explanation(cls, explanation: Explanation) -> Self:
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


UtcDatetime = Annotated[AwareDatetime, PlainSerializer(lambda at: at.isoformat(), return_type=str, when_used="json")]
"""A datetime in the common output format."""

SaveOutcome = Literal[
    "created", "updated", "deduped", "superseded", "outdated", "reactivated", "unindexed", "quarantined", "refused"
]


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
