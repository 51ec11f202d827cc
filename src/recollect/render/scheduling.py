"""Jobs and their occurrences, told: as JSON, and to people."""

from collections.abc import Sequence
from dataclasses import fields as fields_of
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.model.format import format_moment
from recollect.model.job_runs import JobOccurrence, JobState, JobStatus
from recollect.render.table import TextTable

NO_VALUE = "–"


def job_fields(status: JobStatus) -> dict[str, Any]:
    """The JSON of how it stands with a job."""
    return {
        "job": status.job,
        "schedule": status.schedule,
        "paused": status.paused,
        "next_at": None if status.next_at is None else status.next_at.isoformat(),
        "under_way": None if status.under_way is None else occurrence_fields(status.under_way),
        "last": None if status.last is None else occurrence_fields(status.last),
    }


def occurrence_fields(one: JobOccurrence) -> dict[str, Any]:
    """The JSON of an occurrence, as it is kept."""
    return {field.name: _to_json(getattr(one, field.name)) for field in fields_of(one) if field.compare}


def finished_occurrence_fields(one: JobOccurrence) -> dict[str, Any]:
    """The JSON of an occurrence that ended just now, with the runs that can be undone."""
    return {**occurrence_fields(one), "runs": [{"scope": str(scope), "run": run} for scope, run in one.runs]}


def job_table(statuses: Sequence[JobStatus]) -> TextTable:
    """How it stands with each job, one a row."""
    rows = [(one.job, one.schedule or "never", _format_next(one), _format_last(one)) for one in statuses]
    return TextTable(("job", "schedule", "next", "last"), rows)


def describe_occurrence(one: JobOccurrence) -> str:
    """What became of an occurrence, or that it has begun."""
    if one.ended_at is None:
        return f"{one.job} began, due at {format_moment(one.due_at)}{_format_attempt(one)}"
    took = _format_duration(max(one.ended_at - one.started_at, timedelta()))
    return f"{one.job} {one.state.value} at {format_moment(one.ended_at)} in {took}{_describe_outcome(one)}"


def describe_next_job(statuses: Sequence[JobStatus]) -> str:
    """What is run next."""
    moments = [(one.next_at, one.job) for one in statuses if one.next_at is not None]
    if not moments:
        return "no job falls due: all are paused, or have no schedule"
    at, job = min(moments)
    return f"next is {job}, at {format_moment(at)}"


def _format_next(status: JobStatus) -> str:
    if status.under_way is not None:
        begun = status.under_way
        since = begun.started_at if begun.ended_at is None else begun.ended_at
        return f"{begun.state.value} since {_format_minute(since)}{_format_attempt(begun)}"
    if status.paused:
        return "paused"
    return NO_VALUE if status.next_at is None else _format_minute(status.next_at)


def _format_last(status: JobStatus) -> str:
    last = status.last
    return (
        NO_VALUE
        if last is None or last.ended_at is None
        else f"{last.state.value} {_format_minute(last.ended_at)}{_describe_outcome(last)}"
    )


def _describe_outcome(one: JobOccurrence) -> str:
    """What went wrong, and how much was done."""
    done = ", ".join(_format_count(name, count) for name, count in one.counts.items() if count)
    told = "; ".join(text for text in (one.problem, done) if text)
    return f": {told}" if told else ""


def _format_count(name: str, count: int) -> str:
    return f"{count} {_SINGULARS.get(name, name) if count == 1 else name}"


_SINGULARS = {"scopes": "scope", "topics": "topic", "events": "event", "memories": "memory"}
"""What is counted that has another name when there is one of it."""


def _format_attempt(one: JobOccurrence) -> str:
    return "" if one.attempt == 1 else f", attempt {one.attempt}"


def _format_minute(at: datetime) -> str:
    """A moment to the minute, in UTC: jobs fall due at whole ones."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%MZ}"


def _format_duration(took: timedelta) -> str:
    if took < timedelta(minutes=1):
        return f"{took.total_seconds():.1f} s"
    return str(took - timedelta(microseconds=took.microseconds))


def _to_json(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case JobState():
            return value.value
        case _:
            return value
