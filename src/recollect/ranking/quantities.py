"""Quantities: the number that a signal reads from one candidate, before its curve."""

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
"""How many characters of the linking names are shown."""


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
        moments: list[datetime | None] = [getattr(candidate, field) for field in group]
        known = [moment for moment in moments if moment is not None]
        if known:
            return max(known)
    return None


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A number field of the candidate."""

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
    """Return a note on what a number means, where its name does not tell."""
    match field:
        case "days_off":
            days = f"{value:.3g} {'day' if value == 1.0 else 'days'}"
            return f"counts as {days} off the time that is named" if value > 0.0 else "of the time that is named"
        case "words":
            return format_count(int(value), "telling word")
        case "addressed" if candidate.speaker is not None and value in {0.0, 1.0}:
            who = "whom the question is about" if value == 1.0 else "while the question is about others"
            return f"said by {shorten(candidate.speaker)}, {who}"
        case "linked" if candidate.link is not None:
            return f"by {shorten(candidate.link, MAX_PATH_CHARS)}"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Age:
    """Days since a date of the candidate; a future date counts as now."""

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
        return (
            f"since {since.astimezone(UTC).date()}, from when it holds"
            if self._counts_from_validity(candidate)
            else None
        )

    def _counts_from_validity(self, candidate: Candidate) -> bool:
        """Return whether age counts from another day than that of the text, which is the one shown."""
        written = clock_date(candidate, AgeClock.UPDATED)
        holds = candidate.valid_from if self.clock is AgeClock.CURRENT else None
        return (
            holds is not None and written is not None and holds.astimezone(UTC).date() != written.astimezone(UTC).date()
        )


@dataclass(frozen=True, slots=True)
class FusedRelevance:
    """The combined relevance of all evidence."""

    rule: Fusion

    @property
    def fields(self) -> tuple[str, ...]:
        return ("relevance", *self.rule.evidence_fields)

    def __call__(self, candidate: Candidate, at: datetime) -> float | None:
        return self.rule(candidate)

    def remark(self, candidate: Candidate, at: datetime) -> str | None:
        if candidate.relevance is not None:
            return None
        silent = self.rule.missing_fields(candidate)
        remarks = [f"no {' or '.join(silent)} evidence: counts as 0"] if silent else []
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
