"""Quantities: the numbers that signals read from one candidate, before a curve maps them to 0..1."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.model.format import format_count, shorten
from recollect.ranking.curves import Fusion

DAY = timedelta(days=1)

MAX_PATH_CHARS = 120
"""How many characters of the names of a link are shown."""


class AgeClock(StrEnum):
    """The date from which a memory's age is counted."""

    CREATED = "created"
    UPDATED = "updated"
    ACCESSED = "accessed"
    REFERENCED = "referenced"
    CURRENT = "current"


Clock = AgeClock  # the old name, found in pickles of earlier versions


CLOCK_DATE_FIELDS: Mapping[AgeClock, tuple[tuple[str, ...], ...]] = {
    AgeClock.CREATED: (("created_at",),),
    AgeClock.UPDATED: (("updated_at",), ("created_at",)),
    AgeClock.ACCESSED: (("last_accessed_at",), ("created_at",)),
    AgeClock.REFERENCED: (("created_at", "last_accessed_at"),),
    AgeClock.CURRENT: (("valid_from",), ("created_at", "updated_at")),
}
"""The date fields of each clock: the latest of the first group, else of the second."""


def clock_date(candidate: Candidate, clock: AgeClock) -> datetime | None:
    """Return the date that the clock reads, or `None` if the candidate lacks these dates."""
    for group in CLOCK_DATE_FIELDS[clock]:
        dates: list[datetime | None] = [getattr(candidate, field) for field in group]
        known = [date for date in dates if date is not None]
        if known:
            return max(known)
    return None


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The value of a number field of the candidate."""

    field: str

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    def __call__(self, candidate: Candidate, at: datetime) -> float | None:
        value: float | None = getattr(candidate, self.field)
        return value

    def remark(self, candidate: Candidate, at: datetime) -> str | None:
        value = self(candidate, at)
        if value is None:
            return None
        return f"{value:g} counts as 0" if value < 0.0 else _describe_value(self.field, value, candidate)


def _describe_value(field: str, value: float, candidate: Candidate) -> str | None:
    """Return a note on what the number means, or `None` where the name of the field says it."""
    match field:
        case "days_off":
            days = f"{value:.3g} {'day' if value == 1.0 else 'days'}"
            return f"counts as {days} from a date in the question" if value > 0.0 else "on a date in the question"
        case "words":
            return format_count(int(value), "informative word")
        case "addressed" if candidate.speaker is not None and value in {0.0, 1.0}:
            match_note = "whom the question is about" if value == 1.0 else "but the question is about others"
            return f"said by {shorten(candidate.speaker)}, {match_note}"
        case "linked" if candidate.link is not None:
            return f"by {shorten(candidate.link, MAX_PATH_CHARS)}"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Age:
    """Days since one of the candidate's dates; 0 for a date in the future."""

    clock: AgeClock

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(field for group in CLOCK_DATE_FIELDS[self.clock] for field in group)

    def __call__(self, candidate: Candidate, at: datetime) -> float | None:
        since = clock_date(candidate, self.clock)
        return None if since is None else max((at - since) / DAY, 0.0)

    def remark(self, candidate: Candidate, at: datetime) -> str | None:
        since = clock_date(candidate, self.clock)
        if since is None:
            return None
        if since > at:
            return "dated in the future: counts as new"
        if self._counts_from_validity(candidate):
            return f"since {since.astimezone(UTC).date()}, when it became valid"
        return None

    def _counts_from_validity(self, candidate: Candidate) -> bool:
        """Return whether the age counts from `valid_from` and not from the day of the text, which readers see."""
        written = clock_date(candidate, AgeClock.UPDATED)
        start = candidate.valid_from if self.clock is AgeClock.CURRENT else None
        return (
            start is not None and written is not None and start.astimezone(UTC).date() != written.astimezone(UTC).date()
        )


@dataclass(frozen=True, slots=True)
class FusedRelevance:
    """The relevance of the candidate, combined from all evidence for it."""

    rule: Fusion

    @property
    def fields(self) -> tuple[str, ...]:
        return ("relevance", *self.rule.evidence_fields)

    def __call__(self, candidate: Candidate, at: datetime) -> float | None:
        return self.rule(candidate)

    def remark(self, candidate: Candidate, at: datetime) -> str | None:
        if candidate.relevance is not None:
            return None
        missing = self.rule.missing_fields(candidate)
        remarks = [f"no {' or '.join(missing)} evidence: counts as 0"] if missing else []
        if candidate.similarity is not None and candidate.similarity < 0.0:
            remarks.append(f"similarity {candidate.similarity:g} counts as 0")
        return "; ".join(remarks) or None


@dataclass(frozen=True, slots=True)
class KindWorth:
    """The value of the candidate's kind."""

    priorities: Mapping[Kind, float]
    otherwise: float

    @property
    def fields(self) -> tuple[str, ...]:
        return ("kind",)

    def __call__(self, candidate: Candidate, at: datetime) -> float | None:
        return None if candidate.kind is None else self.priorities.get(candidate.kind, self.otherwise)

    def remark(self, candidate: Candidate, at: datetime) -> str | None:
        return None


Quantity = FieldValue | Age | FusedRelevance | KindWorth
