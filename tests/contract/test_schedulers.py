"""Schedulers that share a timetable: each moment is worked off once, whatever their clocks do and whoever dies."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect.errors import FieldError, ProviderBusy, StoreBusy
from recollect.jobs.scheduler import JOBS, TAKEN_OVER_PROBLEM, JobFailure, JobResult, Lease, run_in_every_scope
from recollect.lifecycle.schedule import Schedule, SchedulerPolicy
from recollect.model.plan import JobOccurrence, JobState
from recollect.model.scope import Scope
from recollect.protocols import JobStore, WriteTransaction
from recollect.stores.sql.jobs import SqlJobStore
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.store import SqliteTransactionRunner
from recollect.testing.builders import ManualClock
from recollect.testing.reference_store import ReferenceStore
from tests.contract.timetables import DAY, HOUR, LEASE, MINUTE, NOON, a_scheduler, a_timetable
from tests.integration.postgres.scene import until
from tests.postgres import Server
from tests.tables import check_each

T = TypeVar("T")

SCOPES = ("acme/ana", "acme/bo", "acme/cy")


@pytest.fixture(scope="module")
def engine() -> Iterator[recollect.Engine]:
    """An engine with three scopes."""
    with recollect.open(":memory:", embedder="hashing-16") as engine:
        for scope in SCOPES:
            engine.remember("a seat by the window", scope=scope)
        yield engine


@pytest.fixture
def timetable() -> Iterator[JobStore]:
    with closing(a_timetable(":memory:")) as timetable:
        yield timetable


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


class Diary:
    """A job that notes the scopes it was at; what else happens there, a test says."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def __call__(self, _: recollect.Engine, scope: Scope) -> Mapping[str, int]:
        self.scopes.append(str(scope))
        return {"noted": 1}


def test_a_job_is_run_for_the_last_moment_that_was_missed_and_once(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    diary = Diary()
    with a_scheduler(timetable, engine, clock=clock, works={"job": diary}) as ours:
        assert ours.run_due() == []  # never seen before, so that it begins with what falls due next
        clock.move(30 * DAY + MINUTE)
        (done,) = ours.run_due()
        assert (done.due_at, done.state, done.attempt) == (NOON + 30 * DAY, JobState.DONE, 1)
        assert done.counts == {"scopes": 3, "noted": 3}
        assert (done.started_at, done.ended_at, done.problem) == (clock.now, clock.now, None)
        assert diary.scopes == list(SCOPES)
        assert ours.run_due() == []


def test_without_catching_up_only_what_fell_due_a_moment_ago_is_run(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    policy = SchedulerPolicy(catch_up=False, jitter_seconds=60)
    with a_scheduler(timetable, engine, clock=clock, policy=policy) as ours:
        assert ours.run_due() == []
        clock.move(HOUR + 7 * MINUTE)
        assert ours.run_due() == []
        assert [one.next_at for one in ours.status()] == [NOON + 2 * HOUR]
        clock.move(HOUR - MINUTE)
        assert [one.due_at for one in ours.run_due()] == [NOON + 2 * HOUR]


def test_a_clock_that_goes_back_runs_nothing_twice(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    with a_scheduler(timetable, engine, clock=clock) as ours:
        ours.run_due()
        clock.move(5 * HOUR)
        assert [one.due_at for one in ours.run_due()] == [NOON + 5 * HOUR]
        for back in (-MINUTE, -HOUR, -5 * HOUR, 10 * HOUR - MINUTE):
            clock.move(back)
            due = [one.due_at for one in ours.run_due()]
            assert due == ([NOON + 8 * HOUR] if back > MINUTE else [])


def test_what_fails_in_one_scope_is_told_and_the_others_are_done(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    said: list[JobOccurrence | JobFailure] = []
    diary = Diary()

    def failing(engine: recollect.Engine, scope: Scope) -> Mapping[str, int]:
        if str(scope) in SCOPES[:2]:
            raise ProviderBusy("the model says: Ana prefers window seats")
        return diary(engine, scope)

    with a_scheduler(timetable, engine, clock=clock, works={"job": failing}, heard=said.append) as ours:
        ours.run_due()
        clock.move(HOUR)
        (done,) = ours.run_due()
        assert (done.state, done.problem) == (JobState.FAILED, "ProviderBusy in 2 scopes")
        assert done.counts == {"scopes": 3, "noted": 1}
        assert diary.scopes == [SCOPES[2]]
        begun, *failures, ended = said
        assert isinstance(begun, JobOccurrence)
        assert (begun.state, ended) == (JobState.RUNNING, done)
        assert [str(one.scope) for one in failures if isinstance(one, JobFailure)] == list(SCOPES[:2])
        entry = timetable.entry("job")
        assert entry is not None
        assert "Ana" not in repr(entry)


@pytest.mark.parametrize("error", [StoreBusy("others are writing"), ZeroDivisionError("Ana prefers window seats")])
def test_a_job_that_breaks_altogether_has_failed_and_the_next_is_run(
    error: Exception, timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    def breaking(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
        raise error

    diary = Diary()
    with a_scheduler(timetable, engine, clock=clock, works={"bad": breaking, "good": diary}) as ours:
        ours.run_due()
        clock.move(HOUR)
        bad, good = ours.run_due()
        problem = "StoreBusy in 3 scopes" if isinstance(error, StoreBusy) else "ZeroDivisionError"
        assert (bad.state, bad.problem, good.state) == (JobState.FAILED, problem, JobState.DONE)
        clock.move(HOUR)
        assert [one.state for one in ours.run_due()] == [JobState.FAILED, JobState.DONE]


def test_a_store_that_cannot_be_opened_is_a_failure_of_the_job(timetable: JobStore, clock: ManualClock) -> None:
    closed = recollect.open(":memory:", embedder="hashing-16")
    closed.close()
    with a_scheduler(timetable, closed, clock=clock) as ours:
        ours.run_due()
        clock.move(HOUR)
        assert [(one.state, one.problem) for one in ours.run_due()] == [(JobState.FAILED, "RecollectError")]


def test_who_is_interrupted_lets_go_at_once_and_the_next_goes_on(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    def interrupted(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
        raise KeyboardInterrupt

    diary = Diary()
    one = a_scheduler(timetable, engine, clock=clock, works={"job": interrupted}, name="one")
    two = a_scheduler(timetable, engine, clock=clock, works={"job": diary}, name="two")
    one.run_due()
    clock.move(HOUR)
    with pytest.raises(KeyboardInterrupt):
        one.run_due()
    (status,) = two.status()
    assert status.under_way is not None
    assert status.under_way.state is JobState.INTERRUPTED
    (done,) = two.run_due()
    assert (done.state, done.attempt, done.due_at) == (JobState.DONE, 2, NOON + HOUR)


def test_who_is_told_to_stop_ends_between_two_scopes(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    diary = Diary()

    def stopping(engine: recollect.Engine, scope: Scope) -> Mapping[str, int]:
        one.stop()
        return diary(engine, scope)

    one = a_scheduler(timetable, engine, clock=clock, works={"job": stopping, "other": diary}, name="one")
    two = a_scheduler(timetable, engine, clock=clock, works={"job": diary}, name="two")
    one.run_due()
    clock.move(HOUR)
    (stopped,) = one.run_due()  # and the other job is not begun
    assert (stopped.state, stopped.counts) == (JobState.INTERRUPTED, {"scopes": 1, "noted": 1})
    assert diary.scopes == [SCOPES[0]]
    (done,) = two.run_due()
    assert (done.state, done.attempt) == (JobState.DONE, 2)
    assert [str(one.job) for one in one.run_due()] == ["other"]  # it can be used again


def test_who_was_given_up_stops_when_it_wakes_and_has_no_say_any_more(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    late, early = Diary(), Diary()

    def sleeping(engine: recollect.Engine, scope: Scope) -> Mapping[str, int]:
        clock.move(LEASE + MINUTE)
        done.extend(two.run_due())
        return late(engine, scope)

    done: list[JobOccurrence] = []
    one = a_scheduler(timetable, engine, clock=clock, works={"job": sleeping}, name="one")
    two = a_scheduler(timetable, engine, clock=clock, works={"job": early}, name="two")
    one.run_due()
    clock.move(HOUR)
    (fenced,) = one.run_due()
    assert (fenced.state, fenced.problem, late.scopes) == (JobState.INTERRUPTED, TAKEN_OVER_PROBLEM, [SCOPES[0]])
    assert [(one.state, one.attempt, one.counts["noted"]) for one in done] == [(JobState.DONE, 2, 3)]
    entry = timetable.entry("job")
    assert entry is not None
    assert entry.occurrences == tuple(done)


def test_a_child_process_is_another_scheduler_and_not_at_what_its_parent_is_at(
    engine: recollect.Engine, clock: ManualClock, tmp_path: Path
) -> None:
    codes: list[int] = []

    def forking(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
        child = os.fork()
        if child == 0:
            os._exit(0 if ours.run_due() == [] and repr(ours) != before else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return {}

    with a_scheduler(a_timetable(str(tmp_path / "a.db")), engine, clock=clock, works={"job": forking}) as ours:
        before = repr(ours)
        ours.run_due()
        clock.move(HOUR)
        (done,) = ours.run_due()
        assert (codes, done.state, done.attempt, repr(ours)) == ([0, 0, 0], JobState.DONE, 1, before)


def test_a_machine_that_slept_while_nobody_else_was_there_goes_on(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    diary = Diary()

    def sleeping(engine: recollect.Engine, scope: Scope) -> Mapping[str, int]:
        clock.move(2 * LEASE)
        return diary(engine, scope)

    with a_scheduler(timetable, engine, clock=clock, works={"job": sleeping}) as ours:
        ours.run_due()
        clock.move(HOUR)
        (done,) = ours.run_due()
        assert (done.state, done.attempt, diary.scopes) == (JobState.DONE, 1, list(SCOPES))


def test_a_lease_is_renewed_while_somebody_is_at_work_and_no_longer(timetable: JobStore, clock: ManualClock) -> None:
    timetable.claim("job", None, by="one", at=NOON, until=NOON)
    one = timetable.claim("job", NOON + HOUR, by="one", at=NOON + HOUR, until=NOON + HOUR + LEASE)
    assert one is not None

    def is_kept_until(moment: datetime) -> bool:
        entry = timetable.entry("job")
        return entry is not None and entry.occurrences[0].until >= moment

    clock.now = NOON + 2 * HOUR
    length = timedelta(milliseconds=80)
    with Lease(timetable, one, length=length, clock=clock) as lease:
        until(lambda: is_kept_until(NOON + 2 * HOUR))
        clock.move(HOUR)
        until(lambda: is_kept_until(NOON + 3 * HOUR))
        assert lease.is_held
    assert "recollect-lease" not in [thread.name for thread in threading.enumerate()]


def is_kept(timetable: JobStore) -> bool:
    entry = timetable.entry("job")
    return entry is not None and entry.occurrences[0].until > NOON + 2 * HOUR


def test_a_lease_that_cannot_be_renewed_for_a_while_is_tried_again(clock: ManualClock, tmp_path: Path) -> None:
    path = str(tmp_path / "agent.db")
    hurried = SqlJobStore(SqliteTransactionRunner(path, timeout=2))
    hurried.claim("job", None, by="one", at=NOON, until=NOON)
    one = hurried.claim("job", NOON + HOUR, by="one", at=NOON + HOUR, until=NOON + HOUR)
    assert one is not None
    with closing(hurried), Lease(hurried, one, length=timedelta(milliseconds=80), clock=clock) as lease:
        with closing(SqliteDatabase.open(path).connect()) as other:
            other.execute("BEGIN IMMEDIATE")  # so that nobody else can write
            clock.now = NOON + 2 * HOUR
            assert not lease.is_held  # for all that anybody knows
            other.execute("ROLLBACK")
        until(lambda: is_kept(hurried))
        until(lambda: lease.is_held)  # which is not known while the one who keeps it has not come to an end


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.999])
def test_a_job_begins_by_chance_within_the_jitter_and_never_before_its_moment(
    chance: float, timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    begun: list[datetime] = []
    policy = SchedulerPolicy(jitter_seconds=600)

    def noting(one: JobOccurrence | JobFailure) -> None:
        if isinstance(one, JobOccurrence) and one.ended_at is None:
            begun.append(one.started_at)

    ours = a_scheduler(timetable, engine, clock=clock, policy=policy, dice=lambda: chance, heard=noting)
    stopping = threading.Event()
    clock.now = NOON - MINUTE
    for _ in range(121):
        list(ours._run_all(stopping, jitter=True))
        clock.move(timedelta(seconds=60))
    whole_minutes = -(-chance * 600 // 60)  # it is looked once a minute
    assert begun == [NOON + hour * HOUR + whole_minutes * MINUTE for hour in range(2)]


def test_the_jitter_leaves_room_before_the_next_moment(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    policy = SchedulerPolicy(jitter_seconds=3600)
    ours = a_scheduler(timetable, engine, clock=clock, policy=policy, dice=lambda: 1.0, expression="*/10 * * * *")
    stopping, done = threading.Event(), list[JobOccurrence]()
    for _ in range(60):
        done += ours._run_all(stopping, jitter=True)
        clock.move(MINUTE)
    assert [one.due_at for one in done] == [NOON + tens * MINUTE for tens in (10, 20, 30, 40, 50)]
    assert {one.started_at - one.due_at for one in done} == {5 * MINUTE}


def test_a_thread_runs_what_is_due_until_it_is_stopped(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    ended = threading.Event()

    def heard(one: JobOccurrence | JobFailure) -> None:
        if isinstance(one, JobOccurrence) and one.state is JobState.DONE:
            ended.set()

    ours = a_scheduler(timetable, engine, clock=clock, heard=heard)
    ours.run_due()
    clock.move(HOUR)
    ours.start()
    ours.start()  # which is one thread all the same
    assert ended.wait(60)
    assert [one.name for one in threading.enumerate()].count("recollect-scheduler") == 1
    ours.stop()
    assert "recollect-scheduler" not in [one.name for one in threading.enumerate()]
    clock.move(HOUR)
    ended.clear()
    ours.start()
    assert ended.wait(60)
    ours.stop()


def test_a_store_that_fails_for_a_while_is_told_of_and_the_thread_goes_on(
    engine: recollect.Engine, clock: ManualClock, tmp_path: Path
) -> None:
    path = str(tmp_path / "agent.db")
    said, failed, ended = list[JobOccurrence | JobFailure](), threading.Event(), threading.Event()

    def heard(one: JobOccurrence | JobFailure) -> None:
        said.append(one)
        (failed if isinstance(one, JobFailure) else ended).set()

    hurried = SqlJobStore(SqliteTransactionRunner(path, timeout=2))
    with a_scheduler(hurried, engine, clock=clock, heard=heard) as ours:
        ours.run_due()
        clock.move(HOUR)
        with closing(SqliteDatabase.open(path).connect()) as other:
            other.execute("BEGIN IMMEDIATE")  # so that nobody else can write
            ours.start()
            assert failed.wait(60)
            failing = [ours.failing]
            other.execute("ROLLBACK")
        assert [thread.name for thread in threading.enumerate()].count("recollect-scheduler") == 1
        ours.stop()
        ours.start()  # which looks at once
        assert ended.wait(60)
        ours.stop()
        failing.append(ours.failing)
    assert failing == [True, False]
    first = said[0]
    assert isinstance(first, JobFailure)
    assert (first.job, first.scope, type(first.error)) == (None, None, StoreBusy)


def test_status_says_what_is_next_what_is_under_way_and_what_came_of_the_last(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    seen = []

    def looking(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
        seen.extend(ours.status())
        return {}

    ours = a_scheduler(timetable, engine, clock=clock, works={"job": looking})
    (first,) = ours.status()
    assert (first.job, first.schedule, first.paused) == ("job", "0 * * * *", False)
    assert (first.next_at, first.under_way, first.last) == (NOON + HOUR, None, None)
    ours.run_due()
    clock.move(HOUR + MINUTE)
    (waiting,) = ours.status()
    assert waiting.next_at == NOON + HOUR  # nobody has begun yet
    (done,) = ours.run_due()
    running = seen[0].under_way
    assert running is not None
    assert (running.state, running.holder, running.due_at) == (JobState.RUNNING, "one", NOON + HOUR)
    assert seen[0].last is None
    (after,) = ours.status()
    assert (after.next_at, after.under_way, after.last) == (NOON + 2 * HOUR, None, done)
    ours.pause("job")
    (paused,) = ours.status()
    assert (paused.paused, paused.next_at) == (True, None)
    ours.resume()
    (resumed,) = ours.status()
    assert (resumed.paused, resumed.next_at) == (False, NOON + 2 * HOUR)


def test_it_is_at_work_while_a_job_is_under_way_whatever_comes_of_it(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    seen = list[bool]()

    def breaking(_: recollect.Engine, __: Scope) -> Mapping[str, int]:
        seen.append(ours.at_work)
        raise KeyboardInterrupt

    ours = a_scheduler(timetable, engine, clock=clock, works={"job": breaking})
    ours.run_due()
    seen.append(ours.at_work)
    clock.move(HOUR)
    with pytest.raises(KeyboardInterrupt):
        ours.run_due()
    assert [*seen, ours.at_work] == [False, True, False]


def test_a_job_without_a_schedule_never_runs(timetable: JobStore, engine: recollect.Engine, clock: ManualClock) -> None:
    assert timetable.claim("job", None, by="dead", at=NOON - DAY, until=NOON - DAY) is None
    assert timetable.claim("job", NOON - HOUR, by="dead", at=NOON - HOUR, until=NOON - HOUR) is not None
    with a_scheduler(timetable, engine, clock=clock, expression="") as ours:
        for _ in range(3):
            assert ours.run_due() == []
            clock.move(400 * DAY)
        (status,) = ours.status()
        assert (status.schedule, status.next_at) == ("", None)


def test_a_job_that_is_none_is_refused_by_its_name(
    timetable: JobStore, engine: recollect.Engine, clock: ManualClock
) -> None:
    with a_scheduler(timetable, engine, clock=clock, works=JOBS) as ours:

        def check(job: Any) -> None:
            for act in (ours.pause, ours.resume):
                with pytest.raises(FieldError, match="is not a job") as caught:
                    act(job)
                assert caught.value.field == "job"

        check_each(["rolup", "", 7, "\ud800"], check)
        assert not any(one.paused for one in ours.status())


COFFEE = ("in the morning", "in the early morning", "in the early and cold morning")


class Restless(ReferenceStore):
    """A store into which somebody else writes before each of the next changes that are made to it."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(clock)
        self.times = 0
        self.other: Callable[[int], object] = int

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        if self.times:
            times, self.times = self.times, 0
            self.other(times)
            self.times = times - 1
        return super().write(change)


@pytest.mark.parametrize("times", [0, 2, 3])
def test_a_scope_that_others_write_into_is_planned_anew_and_then_left(times: int) -> None:
    clock = ManualClock(NOON)
    scope, store = Scope.parse("acme/ana"), Restless(clock)
    few = {"consolidation": {"more_than": 2}}
    with recollect.open(":memory:", embedder="hashing", clock=clock, settings=few) as opened:
        engine = recollect.Engine(replace(opened._deps, store=store))
        first, *_ = [engine.remember(f"The kitchen smells of coffee {when}", scope=scope) for when in COFFEE]
        store.times, store.other = times, lambda left: engine.curator.weigh(first.id, 0.1 * left, scope=scope)
        done = run_in_every_scope(engine, JOBS["consolidate"], lambda: True, lambda *_: None)
    assert done == (
        JobResult({"scopes": 1, "made": 1, "consolidated": 3}, None, is_complete=True, runs=((scope, 4 + times),))
        if times < 3
        else JobResult({"scopes": 1}, "StoreBusy in 1 scope", is_complete=True)
    )


@dataclass(frozen=True)
class Tick:
    """One step of a simulation: time passes, and somebody looks, by a clock of their own, who may die of it."""

    passes: int
    who: int
    dies: bool
    stepped: int = field(default=0)


TICKS = st.lists(
    st.builds(Tick, st.integers(0, 40), st.integers(0, 4), st.booleans(), st.integers(-3, 3)), min_size=1, max_size=40
)
SKEWS = (-5, -2, 0, 3, 5)
"""By how many minutes the clock of each is wrong."""


@contextmanager
def of_sort(sort: str, request: pytest.FixtureRequest) -> Iterator[str]:
    if sort == "sqlite":
        yield ":memory:"
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.database(like=request.getfixturevalue("postgres_template")) as name:
        yield server.url(name)


@pytest.mark.parametrize(("sort", "share"), [("sqlite", 1), ("postgres", 10)])
def test_whoever_looks_when_and_dies_each_moment_is_worked_off_once_at_most_and_the_last_one_always(
    sort: str, share: int, request: pytest.FixtureRequest, engine: recollect.Engine
) -> None:
    def simulated(ticks: list[Tick]) -> None:
        with of_sort(sort, request) as target, closing(a_timetable(target)) as timetable:
            _simulate(ticks, timetable, engine)

    looking = settings(max_examples=max(settings().max_examples // share, 1))
    looking(given(TICKS)(simulated))()


def _simulate(ticks: list[Tick], timetable: JobStore, engine: recollect.Engine) -> None:
    done = Counter[datetime]()
    clocks = [ManualClock(NOON + skew * MINUTE) for skew in SKEWS]

    def heard(one: JobOccurrence | JobFailure) -> None:
        if isinstance(one, JobOccurrence) and one.state is JobState.DONE:
            done[one.due_at] += 1

    names = [f"scheduler {number}" for number in range(len(SKEWS))]
    ours = [
        a_scheduler(timetable, engine, clock=clock, name=name, heard=heard, expression="*/10 * * * *")
        for clock, name in zip(clocks, names, strict=True)
    ]
    schedule = Schedule("*/10 * * * *")
    for number, tick in enumerate(ticks):
        for clock in clocks:
            clock.move(tick.passes * MINUTE)
        clocks[tick.who].move(tick.stepped * MINUTE)
        at = clocks[tick.who]()
        if tick.dies:  # in the middle of it, and nobody is told
            timetable.claim("job", schedule.latest(at), by=f"dead {number}", at=at, until=at + LEASE)
        else:
            ours[tick.who].run_due()
        clocks[tick.who].move(-tick.stepped * MINUTE)

    for clock in clocks:
        clock.move(2 * HOUR)
    for one in (*ours, *ours):
        one.run_due()
    entry = timetable.entry("job")
    assert entry is not None
    assert all(count == 1 for count in done.values())
    assert {one.due_at for one in entry.occurrences if one.state is JobState.DONE} == done.keys()
    assert all(one.is_over for one in entry.occurrences)
    last = schedule.latest(max(clock() for clock in clocks))
    assert entry.since < (last or NOON)
    assert done[last or NOON] == 1
