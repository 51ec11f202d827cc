"""Timetables of both sorts of store, and schedulers on them whose clocks are moved by hand."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import recollect
from recollect.jobs.scheduler import JobFunction, JobListener, Scheduler
from recollect.lifecycle.schedule import Schedule, SchedulerPolicy
from recollect.model.scope import Scope
from recollect.protocols import JobStore
from recollect.stores.postgres.transaction import PostgresTransactionRunner
from recollect.stores.sql.jobs import SqlJobStore
from recollect.stores.sqlite.store import SqliteTransactionRunner

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LEASE = 15 * MINUTE


def a_timetable(target: str) -> JobStore:
    """The timetable of a store, as one more process has it open."""
    database = PostgresTransactionRunner(target) if "://" in target else SqliteTransactionRunner(target)
    return SqlJobStore(database)


def nothing(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
    """A job that has nothing to do."""
    return {}


def a_scheduler(
    timetable: JobStore,
    engine: recollect.Engine,
    *,
    clock: Callable[[], datetime],
    works: Mapping[str, JobFunction] | None = None,
    expression: str = "0 * * * *",
    policy: SchedulerPolicy | None = None,
    dice: Callable[[], float] = lambda: 0.0,
    name: str = "one",
    heard: JobListener = lambda _: None,
) -> Scheduler:
    """A scheduler of jobs that all fall due at the same time, every hour unless it is said."""
    jobs = {"job": nothing} if works is None else works
    return Scheduler(
        timetable,
        lambda: nullcontext(engine),
        jobs=jobs,
        schedules=dict.fromkeys(jobs, Schedule(expression)),
        policy=policy or SchedulerPolicy(),
        clock=clock,
        random=dice,
        name=name,
        heard=heard,
    )
