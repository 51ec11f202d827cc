"""Jobs and their occurrences, told to people and to programs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect.cli import scheduler
from recollect.model.plan import JobOccurrence, JobState, JobStatus
from tests.tables import table

DUE = datetime(2026, 11, 16, 1, tzinfo=UTC)
BEGUN = JobOccurrence(
    job="rollup",
    due_at=DUE,
    state=JobState.RUNNING,
    attempt=1,
    holder="host:7:1",
    until=DUE + timedelta(minutes=17),
    started_at=DUE + timedelta(minutes=2),
)
ENDED = BEGUN.started_at + timedelta(seconds=3.25)
DONE = BEGUN.finish(JobState.DONE, ENDED, {"scopes": 1, "made": 4, "revised": 0})
FAILED = BEGUN.finish(JobState.FAILED, ENDED + timedelta(hours=1), {"scopes": 2}, "StoreBusy in 1 scope")
INTERRUPTED = replace(BEGUN.finish(JobState.INTERRUPTED, ENDED), attempt=2)
STATUS = JobStatus(
    job="rollup", schedule="0 1 * * *", paused=False, next_at=DUE + timedelta(days=1), under_way=None, last=DONE
)


@table(
    ("one", "told"),
    [
        (BEGUN, "rollup started, due at 2026-11-16 01:00:00Z"),
        (replace(BEGUN, attempt=3), "rollup started, due at 2026-11-16 01:00:00Z, attempt 3"),
        (DONE, "rollup done at 2026-11-16 01:02:03Z in 3.2 s: 1 scope, 4 made"),
        (FAILED, "rollup failed at 2026-11-16 02:02:03Z in 1:00:03: StoreBusy in 1 scope; 2 scopes"),
        (
            BEGUN.finish(JobState.DONE, ENDED, {"scopes": 1, "topics": 1, "events": 1, "memories": 1}),
            "rollup done at 2026-11-16 01:02:03Z in 3.2 s: 1 scope, 1 topic, 1 event, 1 memory",
        ),
        (INTERRUPTED, "rollup interrupted at 2026-11-16 01:02:03Z in 3.2 s"),
        (
            replace(DONE, ended_at=DUE),
            "rollup done at 2026-11-16 01:00:00Z in 0.0 s: 1 scope, 4 made",
        ),  # a clock went back
    ],
)
def test_an_occurrence_in_a_sentence(one: JobOccurrence, told: str) -> None:
    assert scheduler.describe_occurrence(one) == told


@table(
    ("status", "shown"),
    [
        (STATUS, ("0 1 * * *", "2026-11-17 01:00Z", "done 2026-11-16 01:02Z: 1 scope, 4 made")),
        (replace(STATUS, schedule="", next_at=None, last=None), ("never", "–", "–")),
        (replace(STATUS, paused=True, next_at=None, last=None), ("0 1 * * *", "paused", "–")),
        (replace(STATUS, under_way=BEGUN, last=None), ("0 1 * * *", "running since 2026-11-16 01:02Z", "–")),
        (
            replace(STATUS, under_way=INTERRUPTED, last=FAILED),
            (
                "0 1 * * *",
                "interrupted since 2026-11-16 01:02Z, attempt 2",
                "failed 2026-11-16 02:02Z: StoreBusy in 1 scope; 2 scopes",
            ),
        ),
    ],
)
def test_how_it_stands_with_a_job_in_a_row(status: JobStatus, shown: tuple[str, ...]) -> None:
    table = scheduler.job_table([status])
    assert table.names == ("job", "schedule", "next", "last")
    assert table.rows == [("rollup", *shown)]


def test_what_comes_next_is_the_first_of_all() -> None:
    later = replace(STATUS, job="consolidate", next_at=DUE + timedelta(days=5))
    never = replace(STATUS, job="other", next_at=None)
    assert scheduler.describe_next_job([later, STATUS, never]) == "next job: rollup at 2026-11-17 01:00:00Z"
    assert scheduler.describe_next_job([never]) == "no job is due: all are paused or have no schedule"


def test_the_json_has_every_field() -> None:
    assert scheduler.job_fields(replace(STATUS, under_way=BEGUN, last=None)) == {
        "job": "rollup",
        "schedule": "0 1 * * *",
        "paused": False,
        "next_at": "2026-11-17T01:00:00+00:00",
        "under_way": scheduler.occurrence_fields(BEGUN),
        "last": None,
    }
    assert scheduler.occurrence_fields(FAILED) == {
        "job": "rollup",
        "due_at": "2026-11-16T01:00:00+00:00",
        "state": "failed",
        "attempt": 1,
        "holder": "host:7:1",
        "until": "2026-11-16T01:17:00+00:00",
        "started_at": "2026-11-16T01:02:00+00:00",
        "ended_at": "2026-11-16T02:02:03.250000+00:00",
        "counts": {"scopes": 2},
        "problem": "StoreBusy in 1 scope",
    }
