"""The two scores of an observation memory (seed 003); they refuse to be compared."""

from datetime import datetime
from functools import total_ordering
from typing import Annotated, Any, ClassVar, Self, TypeGuard

from pydantic import BaseModel, Field

from recollect.compat import coercion
from recollect.errors import InvalidInput, SchemesDiffer, show
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
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
    """A number within 0..1 that orders among its own kind, and with the other kind raises a TypeError."""

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
                f"a score of {self.profile.name!r} does not compare with one of {other.profile.name!r}; "
                "rank the observations by one of the two, or fuse the two rankings by rank"
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
