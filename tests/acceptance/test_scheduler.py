"""Jobs run by themselves: once, however many schedulers there are, whatever their clocks say, and whoever dies."""

import threading
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import FieldError, NotFound
from recollect.jobs.scheduler import JOBS, JobFailure
from recollect.model.plan import JobOccurrence, JobState
from recollect.testing.builders import ManualClock
from tests.contract.timetables import a_timetable

from .schedulers import HANGING, START, schedulers
from .stores import on_both_stores

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SCOPES = ("acme/ana", "acme/bo", "labs/cy")
SKEWS = [minutes * MINUTE for minutes in (-5, -3, 0, 0, 3, 5, 5, 5, 5, 5)]
FEW_SKEWS = [-5 * MINUTE, timedelta(), 5 * MINUTE]
EVERY_MINUTE = {"scheduler": {"rollup": "* * * * *", "consolidate": "", "jitter_seconds": 0}}


def observe(target: str) -> None:
    """Something happened in each scope, days ago."""
    with recollect.open(target, embedder="hashing-16", clock=lambda: START) as engine:
        for scope in SCOPES:
            said = [{"text": f"{scope} drinks tea", "at": START - 3 * DAY}]
            engine.observe(said, scope=scope)


def days(target: str) -> dict[str, int]:
    """How many records of days each scope has."""
    with recollect.open(target, embedder="hashing-16", clock=lambda: START) as engine:
        levels = {scope: Counter(one.level for one in engine.memories(scope=scope)) for scope in SCOPES}
    return {scope: found[recollect.Level.DAY] for scope, found in levels.items()}


def occurrences(target: str, job: str) -> list[JobOccurrence]:
    with closing(a_timetable(target)) as timetable:
        entry = timetable.entry(job)
    assert entry is not None
    return list(entry.occurrences[::-1])


@on_both_stores
def test_of_processes_whose_clocks_differ_one_does_each_job_at_each_moment(
    target: str, tmp_path: Path, thorough: bool
) -> None:
    observe(target)
    diary = tmp_path / "diary"
    heard: list[Any] = []
    with schedulers(target, SKEWS if thorough else FEW_SKEWS, diary) as running:
        running[-1].pipe.send(START)  # who is ahead sees the jobs first: at five past, by its clock
        assert running[-1].pipe.recv() == []
        for step in range(25):  # two hours, every five minutes
            for one in running:
                one.pipe.send(START + 5 * step * MINUTE)
            for one in running:
                heard += one.pipe.recv()
    moments = [START + 10 * number * MINUTE for number in range(1, 13)]
    for job in ("rollup", "note"):
        found = occurrences(target, job)
        assert [(one.due_at, one.state, one.attempt) for one in found] == [(at, JobState.DONE, 1) for at in moments]
        told = [due for name, due, state, _ in heard if (name, state) == (job, "done")]
        assert sorted(told) == moments
    assert len(heard) == 2 * len(moments)
    lines = [line.split() for line in diary.read_text().splitlines()]
    assert Counter(scope for _, scope in lines) == dict.fromkeys(SCOPES, len(moments))
    assert days(target) == dict.fromkeys(SCOPES, 1)
    if "://" not in target:
        assert recollect.verify(target).ok


@on_both_stores
def test_a_job_whose_process_is_killed_in_the_middle_is_finished_by_another(target: str, tmp_path: Path) -> None:
    observe(target)
    diary = tmp_path / "diary"
    with (
        schedulers(target, [timedelta()], diary, HANGING) as (one,),
        schedulers(target, [timedelta()], diary) as (two,),
    ):
        one.pipe.send(START)
        assert one.pipe.recv() == []
        due = START + 10 * MINUTE
        one.pipe.send(due)
        assert one.pipe.recv() == HANGING
        one.kill()
        (begun,) = occurrences(target, "rollup")
        assert (begun.due_at, begun.state, begun.attempt, begun.ended_at) == (due, JobState.RUNNING, 1, None)
        assert days(target) == {**dict.fromkeys(SCOPES, 1), SCOPES[2]: 0}
        if "://" not in target:
            assert recollect.verify(target).ok

        two.pipe.send(due + 14 * MINUTE)  # its lease has not run out
        assert [job for job, *_ in two.pipe.recv()] == []
        two.pipe.send(due + 16 * MINUTE)
        (rollup, *_) = two.pipe.recv()
        assert rollup == ("rollup", due, "done", 2)
        assert days(target) == dict.fromkeys(SCOPES, 1)
        two.pipe.send(due + 17 * MINUTE)
        assert ("rollup", due + 10 * MINUTE, "done", 1) in two.pipe.recv()
    assert [(one.due_at, one.state) for one in occurrences(target, "rollup")] == [
        (due, JobState.DONE),
        (due + 10 * MINUTE, JobState.DONE),
    ]
    if "://" not in target:
        assert recollect.verify(target).ok


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def target_of_three(target: str) -> str:
    """A store in whose scopes something happened."""
    observe(target)
    return target


@on_both_stores
def test_the_jobs_of_a_store_run_by_its_settings(target_of_three: str, clock: ManualClock) -> None:
    settings = {
        "scheduler": {
            "rollup": "30 6 * * *",
            "extract": "31 6 * * *",
            "topics": "32 6 * * *",
            "consolidate": "0 7 * * 2",
        },
        "lifecycle": {
            "time_zone": "Asia/Tokyo",
            "vector": {"prune_schedule": "33 6 * * *", "segment_retention_days": 1},
            "bm25": {"rebuild_schedule": "34 6 * * *", "grip_retention_days": 1},
        },
        "episodic": {"prune_schedule": "33 6 * * *", "value": "normalised"},
    }
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock, "settings": settings}
    with recollect.open(target_of_three, **given) as memory:
        failed = memory.episodes.start("bake bread", scope=SCOPES[0]).id
        memory.episodes.complete(failed, 0.0, scope=SCOPES[0])
    with recollect.scheduler(target_of_three, **given) as scheduler:
        assert [(one.job, one.schedule, one.next_at) for one in scheduler.status()] == [
            ("rollup", "30 6 * * *", datetime(2026, 11, 16, 21, 30, tzinfo=UTC)),
            ("extract", "31 6 * * *", datetime(2026, 11, 16, 21, 31, tzinfo=UTC)),
            ("topics", "32 6 * * *", datetime(2026, 11, 16, 21, 32, tzinfo=UTC)),
            ("prune-vectors", "33 6 * * *", datetime(2026, 11, 16, 21, 33, tzinfo=UTC)),
            ("prune-episodes", "33 6 * * *", datetime(2026, 11, 16, 21, 33, tzinfo=UTC)),
            ("rebuild-index", "34 6 * * *", datetime(2026, 11, 16, 21, 34, tzinfo=UTC)),
            ("consolidate", "0 7 * * 2", datetime(2026, 11, 16, 22, tzinfo=UTC)),
        ]
        assert scheduler.run_due() == []
        clock.move(DAY)
        rollup, extract, topics, prune, retire, rebuild, consolidate = scheduler.run_due()
        assert (rollup.job, rollup.state, rollup.counts["scopes"]) == ("rollup", JobState.DONE, 3)
        assert (rollup.counts["made"], rollup.counts["revised"]) == (12, 0)
        assert (extract.job, extract.state, extract.counts["events"]) == ("extract", JobState.DONE, 3)
        assert (topics.job, topics.state, topics.counts) == ("topics", JobState.DONE, {"scopes": 3, "topics": 0})
        six = {"scopes": 3, "changed": 6}
        assert (prune.job, prune.state, prune.counts) == ("prune-vectors", JobState.DONE, six)
        one = {"scopes": 3, "changed": 1}
        assert (retire.job, retire.state, retire.counts) == ("prune-episodes", JobState.DONE, one)
        assert (rebuild.job, rebuild.state, rebuild.counts) == ("rebuild-index", JobState.DONE, six)
        assert (consolidate.job, consolidate.state) == ("consolidate", JobState.DONE)
        assert consolidate.counts == {"scopes": 3, "made": 0, "consolidated": 0}
        assert days(target_of_three) == dict.fromkeys(SCOPES, 1)


def test_every_job_has_a_schedule_and_a_job_without_one_never_runs(target_of_three: str, clock: ManualClock) -> None:
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock}
    with recollect.scheduler(target_of_three, **given) as scheduler:
        assert [one.job for one in scheduler.status()] == list(JOBS)
    never = {"scheduler": dict.fromkeys(("rollup", "consolidate"), "")}
    with recollect.scheduler(target_of_three, **given, settings=never) as scheduler:
        unset = [one for one in scheduler.status() if one.job in never["scheduler"]]
        assert [(one.schedule, one.next_at) for one in unset] == [("", None)] * 2
        scheduler.run_due()
        clock.move(30 * DAY)
        assert [one.job for one in scheduler.run_due() if one.job in never["scheduler"]] == []


def test_nothing_is_run_where_nothing_is_to_be_done_by_itself(target_of_three: str, clock: ManualClock) -> None:
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock}
    with recollect.scheduler(target_of_three, **given) as scheduler:
        scheduler.run_due()
        clock.move(30 * DAY)
    with recollect.scheduler(target_of_three, **given, settings={"lifecycle": {"enabled": False}}) as scheduler:
        assert scheduler.run_due() == []
        assert {one.next_at for one in scheduler.status()} == {None}
    with recollect.scheduler(target_of_three, **given) as scheduler:
        assert [one.job for one in scheduler.run_due()] == list(JOBS)


@on_both_stores
def test_after_a_month_of_downtime_a_job_runs_once_or_not_at_all(target_of_three: str, clock: ManualClock) -> None:
    for catch_up, expected in ((True, [START + 30 * DAY]), (False, [])):
        settings = {"scheduler": {**EVERY_MINUTE["scheduler"], "catch_up": catch_up}}
        given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock, "settings": settings}
        clock.now = START + (0 if catch_up else 30) * DAY
        with recollect.scheduler(target_of_three, **given) as scheduler:
            scheduler.run_due()
        clock.move(30 * DAY + (0 if catch_up else 10) * timedelta(seconds=1))
        rare = {"scheduler": {**settings["scheduler"], "rollup": "0 12 16 * *"}}
        with recollect.scheduler(target_of_three, **{**given, "settings": settings if catch_up else rare}) as scheduler:
            assert [one.due_at for one in scheduler.run_due() if one.job == "rollup"] == expected


def test_the_length_of_a_lease_is_the_one_of_the_settings(target_of_three: str, clock: ManualClock) -> None:
    settings = {"scheduler": {**EVERY_MINUTE["scheduler"], "lease_minutes": 3}}
    begun: list[JobOccurrence] = []

    def heard(one: JobOccurrence | JobFailure) -> None:
        if isinstance(one, JobOccurrence) and one.ended_at is None:
            begun.append(one)

    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock, "settings": settings, "heard": heard}
    with recollect.scheduler(target_of_three, **given) as scheduler:
        scheduler.run_due()
        clock.move(MINUTE)
        scheduler.run_due()
    assert [one.until - one.started_at for one in begun if one.job == "rollup"] == [3 * MINUTE]


def test_the_jitter_is_the_one_of_the_settings(target_of_three: str, clock: ManualClock) -> None:
    """With none, a job begins in the second it falls due; with an hour of it, it hardly ever does."""
    every_day = {"scheduler": {"rollup": "0 12 * * *", "consolidate": "", "jitter_seconds": 3600}}
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock}
    with recollect.scheduler(target_of_three, **given, settings=every_day) as scheduler:
        scheduler.run_due()
        clock.move(DAY)
        beginnings = {scheduler._choose_start("rollup", clock.now + number * DAY) - clock.now for number in range(50)}
        within = {one % DAY for one in beginnings}
        assert len(within) > 40
        assert max(within) > timedelta(minutes=30)
        assert max(within) <= HOUR
    at_once = {"scheduler": {**every_day["scheduler"], "jitter_seconds": 0}}
    with recollect.scheduler(target_of_three, **given, settings=at_once) as scheduler:
        assert scheduler._choose_start("rollup", clock.now) == clock.now


@on_both_stores
def test_a_scheduler_in_a_thread_of_a_program_runs_what_is_due_beside_it(
    target_of_three: str, clock: ManualClock
) -> None:
    ended = threading.Event()

    def heard(one: JobOccurrence | JobFailure) -> None:
        if isinstance(one, JobOccurrence) and one.state is JobState.DONE:
            ended.set()

    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock}
    with (
        recollect.open(target_of_three, **given) as memory,
        recollect.scheduler(target_of_three, **given, settings=EVERY_MINUTE, heard=heard) as scheduler,
    ):
        scheduler.run_due()
        clock.move(MINUTE)
        scheduler.start()
        memory.remember("somebody writes meanwhile", scope=SCOPES[0])
        assert ended.wait(120)
        scheduler.stop()
    assert days(target_of_three) == dict.fromkeys(SCOPES, 1)


@on_both_stores
def test_a_pause_is_for_every_scheduler_of_the_store(target_of_three: str, clock: ManualClock) -> None:
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock, "settings": EVERY_MINUTE}
    with recollect.scheduler(target_of_three, **given) as one, recollect.scheduler(target_of_three, **given) as two:
        one.run_due()
        one.pause("rollup")
        clock.move(5 * MINUTE)
        assert [done.job for done in two.run_due() if done.job == "rollup"] == []
        assert {status.job: status.paused for status in two.status()}["rollup"]
        two.resume()
        assert [done.job for done in one.run_due() if done.job == "rollup"] == []  # it is not made up for
        clock.move(MINUTE)
        assert [done.due_at for done in one.run_due() if done.job == "rollup"] == [clock.now]


@on_both_stores
def test_after_going_over_to_another_model_a_scheduler_goes_on(target_of_three: str, clock: ManualClock) -> None:
    given: dict[str, Any] = {"clock": clock, "settings": EVERY_MINUTE}
    with recollect.scheduler(target_of_three, **given) as scheduler:
        scheduler.run_due()
        clock.move(MINUTE)
        assert [one.state for one in scheduler.run_due() if one.job == "rollup"] == [JobState.DONE]
        recollect.re_embed(target_of_three, embedder="hashing-32")
        clock.move(MINUTE)
        assert [one.state for one in scheduler.run_due() if one.job == "rollup"] == [JobState.DONE]


CANARY = "xylophone-canary"


@on_both_stores
def test_nothing_of_what_is_erased_is_left_with_the_jobs(target: str, clock: ManualClock) -> None:
    """Whatever a job comes across, its occurrences have counts, and the sort of an error; no words, and no scope."""
    scope = f"acme/{CANARY}"
    with recollect.open(target, embedder="hashing-16", clock=clock) as memory:
        memory.observe([{"text": f"{CANARY} drinks tea", "at": START - 3 * DAY}], scope=scope)
    refusing = {
        **EVERY_MINUTE,
        "lifecycle": {"summariser": "llm"},
        "extraction": {"address": "http://127.0.0.1:9/v1", "model": CANARY, "attempts": 1},
    }
    told: list[JobOccurrence | JobFailure] = []
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock, "settings": refusing, "heard": told.append}
    with recollect.scheduler(target, **given) as scheduler:
        scheduler.run_due()
        clock.move(MINUTE)
        failed = next(one for one in scheduler.run_due() if one.job == "rollup")
        assert (failed.state, failed.problem) == (JobState.FAILED, "ProviderBusy in 1 scope")
    assert [str(one.scope) for one in told if isinstance(one, JobFailure)] == [scope]
    with closing(a_timetable(target)) as timetable:
        assert CANARY not in "".join(repr(timetable.entry(job)) for job in JOBS)
    with recollect.open(target, embedder="hashing-16", clock=clock) as memory:
        erasure = memory.erase(scope=scope, everything=True)
    if "://" not in target:
        assert erasure.proven
        path = Path(target)
        files = [path, *path.parent.glob(f"{path.name}-*")]
        assert not [file for file in files if CANARY.encode() in file.read_bytes()]
    assert occurrences(target, "rollup")[-1] == failed


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"target": ":memory:"}, "target"),
        ({"target": 7}, "target"),
        ({"clock": "noon"}, "clock"),
        ({"heard": "loudly"}, "heard"),
        ({"embedder": 7}, "embedder"),
        ({"target": None}, "target"),
        ({"target": b"agent.db"}, "target"),
        ({"settings": 7}, "settings"),
        ({"settings": {"scheduler": {"rollup": "daily"}}}, "scheduler.rollup"),
        ({"settings": {"scheduler": {"tidy": "0 1 * * *"}}}, "scheduler.tidy"),
    ],
)
def test_what_no_scheduler_can_be_made_of_is_refused_and_nothing_is_made(
    given: dict[str, Any], field: str, tmp_path: Path
) -> None:
    wanted = {"target": tmp_path / "agent.db", "embedder": "hashing-16", **given}
    with pytest.raises(FieldError) as caught:
        recollect.scheduler(**wanted)
    assert caught.value.field == field
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_looks_after_a_store_that_is_there_and_makes_none(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "agent.db"
    given: dict[str, Any] = {"embedder": "hashing-16", "clock": clock}
    with pytest.raises(NotFound, match=r"store '.*agent\.db' does not exist; create it with `recollect.open`"):
        recollect.scheduler(path, **given)
    assert not path.exists()
    with recollect.open(path, **given) as memory, pytest.raises(NotFound):
        memory.erase(scope="acme", everything=True)
    with recollect.scheduler(path, **given, settings=EVERY_MINUTE) as scheduler:
        scheduler.run_due()
        clock.move(MINUTE)
        assert [one.counts["scopes"] for one in scheduler.run_due() if one.job == "rollup"] == [0]
