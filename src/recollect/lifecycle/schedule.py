"""Schedule: the due times of a job, from a cron expression in a time zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from recollect.errors import FieldError, show
from recollect.model import validation

NEVER_EXPRESSION = ""
"""The expression of a job that is never due."""

MAX_EXPRESSION_CHARS = 256
"""How many characters an expression may have."""

EXPRESSION_FIELD_COUNT = 5

MAX_CLOCK_FOLD = timedelta(hours=3)
"""Longer than any clock is set back at once, so that no repeated local time is missed."""

MAX_JITTER_SECONDS = 3_600.0
"""The longest random delay of a job, in seconds: an hour."""

MIN_LEASE_MINUTES, MAX_LEASE_MINUTES = 1.0, 1_440.0
"""The limits for the lease of a scheduler, in minutes; the longest is a day."""

LATE_START_GRACE = timedelta(minutes=5)
"""How late a job without catch-up may still start, in addition to the jitter."""

_EXAMPLE = "five cron fields, such as '0 3 * * *' for every day at 3"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The due times of a cron expression in a time zone, computed as Debian's cron does.

    A due time in an hour that the clocks skip moves to its end; in an hour that occurs twice, it is due the first time.
    """

    expression: str
    zone: tzinfo = UTC

    def __post_init__(self) -> None:
        require_expression("schedule", self.expression)

    def after(self, at: datetime) -> datetime | None:
        """Return the first due time after this moment; `None` if there is none before the last date."""
        return next((one for one in self._iterate(at) if one > at), None)

    def latest(self, at: datetime) -> datetime | None:
        """Return the last due time that is not after this moment."""
        return next((one for one in self._iterate(at + MAX_CLOCK_FOLD, reverse=True) if one <= at), None)

    def _iterate(self, at: datetime, *, reverse: bool = False) -> Iterator[datetime]:
        if self.expression == NEVER_EXPRESSION:
            return
        for one in CronSim(self.expression, at.astimezone(self.zone), reverse=reverse):
            moment = one.astimezone(UTC)
            if not validation.EARLIEST_DATETIME <= moment < validation.LATEST_DATETIME:
                return
            yield moment


def require_expression(field: str, value: str) -> str:
    """Return the cron expression; raise FieldError if it is invalid or never matches a date.

    An empty expression is allowed, and never due.
    """
    if validation.require_text(field, value) == NEVER_EXPRESSION:
        return value
    if len(value) > MAX_EXPRESSION_CHARS or len(value.split()) != EXPRESSION_FIELD_COUNT:
        raise FieldError(f"{show(value)} is not a schedule; use {_EXAMPLE}, or nothing for never", field=field)
    try:
        CronSim(value, validation.EARLIEST_DATETIME)
    except (CronSimError, AssertionError, TypeError) as error:  # the last two: unexpected input
        reason = str(error).lower() if isinstance(error, CronSimError) else "a bad field"
        problem = f"{show(value)} is not a schedule ({reason}); use {_EXAMPLE}, or nothing for never"
        raise FieldError(problem, field=field) from error
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerPolicy:
    """When each job is due, its random delay, the lease of a scheduler, and whether to catch up.

    A scheduler that does not renew its lease within `lease_minutes` loses it.
    """

    rollup: str = "0 1 * * *"
    extract: str = "0 2 * * *"
    topics: str = "30 2 * * *"
    consolidate: str = "0 5 * * 0"
    jitter_seconds: float = 300.0
    lease_minutes: float = 15.0
    catch_up: bool = True

    def __post_init__(self) -> None:
        for name in ("rollup", "extract", "topics", "consolidate"):
            require_expression(name, getattr(self, name))
        if not 0.0 <= validation.require_number("jitter_seconds", self.jitter_seconds) <= MAX_JITTER_SECONDS:
            problem = f"{show(self.jitter_seconds)} is not a number of seconds up to an hour"
            raise FieldError(problem, field="jitter_seconds")
        if not MIN_LEASE_MINUTES <= validation.require_number("lease_minutes", self.lease_minutes) <= MAX_LEASE_MINUTES:
            problem = f"{show(self.lease_minutes)} is not within {MIN_LEASE_MINUTES:g}..{MAX_LEASE_MINUTES:g} minutes"
            raise FieldError(problem, field="lease_minutes")
        validation.require_flag("catch_up", self.catch_up)

    @property
    def jitter(self) -> timedelta:
        """The longest random delay after a due time."""
        return timedelta(seconds=self.jitter_seconds)

    @property
    def lease(self) -> timedelta:
        """How long a job belongs to a scheduler that does not renew it."""
        return timedelta(minutes=self.lease_minutes)

    def is_still_due(self, due_at: datetime, at: datetime) -> bool:
        """Return whether a job with that due time should still run."""
        return self.catch_up or at - due_at <= self.jitter + LATE_START_GRACE
