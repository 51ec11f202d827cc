"""Timetables of both sorts of store, and schedulers on them whose clocks are moved by hand."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import recollect
from recollect.jobs.runner import Work
from recollect.jobs.scheduler import Heard, Scheduler
from recollect.lifecycle.schedule import Schedule, SchedulerPolicy
from recollect.model.scope import Scope
from recollect.protocols import Timetable
from recollect.stores.postgres.transaction_runner import PostgresTransactions
from recollect.stores.sql.jobs import RelationalTimetable
from recollect.stores.sqlite.transaction_runner import SqliteTransactions

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LEASE = 15 * MINUTE


def a_timetable(target: str) -> Timetable:
    """The timetable of a store, as one more process has it open."""
    database = PostgresTransactions(target) if "://" in target else SqliteTransactions(target)
    return RelationalTimetable(database)


def nothing(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
    """A job that has nothing to do."""
    return {}


def a_scheduler(
    timetable: Timetable,
    engine: recollect.Engine,
    *,
    clock: Callable[[], datetime],
    works: Mapping[str, Work] | None = None,
    expression: str = "0 * * * *",
    policy: SchedulerPolicy | None = None,
    dice: Callable[[], float] = lambda: 0.0,
    name: str = "one",
    heard: Heard = lambda _: None,
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
        dice=dice,
        name=name,
        heard=heard,
    )
