"""Schedulers in processes of their own, which look when they are told to, by clocks that are wrong as a test says."""

import multiprocessing
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import recollect
from recollect.jobs.scheduler import JOBS, JobFunction, ScopeJobResult
from recollect.lifecycle.schedule import Schedule, SchedulerPolicy
from recollect.model.scope import Scope
from recollect.testing.builders import ManualClock
from tests.contract.timetables import a_timetable

START = datetime(2026, 11, 16, 12, tzinfo=UTC)
EVERY = "*/10 * * * *"
HANGING = "hanging"


def _noted(diary: Path, name: str, _: recollect.Engine, scope: Scope) -> Mapping[str, int]:
    """A job that leaves one line behind for each time it is done in a scope."""
    with diary.open("a", encoding="utf-8") as file:
        file.write(f"{name} {scope}\n")
    return {"noted": 1}


def _hung(pipe: Connection, engine: recollect.Engine, scope: Scope) -> Mapping[str, int] | ScopeJobResult:
    """A rollup that comes to nothing more in the second scope."""
    done = JOBS["rollup"](engine, scope)
    if engine.scopes().index(scope) == 1:
        pipe.send(HANGING)
        signal.pause()
    return done


def _jobs(sort: str, pipe: Connection, diary: Path, name: str) -> Mapping[str, JobFunction]:
    if sort == HANGING:
        return {"rollup": partial(_hung, pipe)}
    return {"rollup": JOBS["rollup"], "note": partial(_noted, diary, name)}


def _serve(pipe: Connection, target: str, name: str, skew: timedelta, sort: str, diary: Path) -> None:
    """Look for something to do at each moment that is sent, and answer with what became of it."""
    clock = ManualClock(START + skew)
    jobs = _jobs(sort, pipe, diary, name)
    with recollect.Scheduler(
        a_timetable(target),
        partial(recollect.open, target, embedder="hashing-16", clock=clock),
        jobs=jobs,
        schedules=dict.fromkeys(jobs, Schedule(EVERY)),
        policy=SchedulerPolicy(),
        clock=clock,
        random=lambda: 0.0,
        name=name,
        heard=lambda _: None,
    ) as scheduler:
        pipe.send("ready")
        while (at := pipe.recv()) is not None:
            clock.now = at + skew
            pipe.send([(one.job, one.due_at, one.state.value, one.attempt) for one in scheduler.run_due()])


@dataclass
class Process:
    """A scheduler in a process of its own, and what it is told and says."""

    pipe: Any
    process: BaseProcess

    def kill(self) -> None:
        """End it as a machine ends that fails."""
        self.process.kill()
        self.process.join()


@contextmanager
def schedulers(target: str, skews: list[timedelta], diary: Path, sort: str = "") -> Iterator[list[Process]]:
    """So many of them, each with a clock that is wrong by so much, until the test is over."""
    context = multiprocessing.get_context("spawn")
    found: list[Process] = []
    for number, skew in enumerate(skews):
        ours, theirs = context.Pipe()
        given = (theirs, target, f"{sort}scheduler-{number}", skew, sort, diary)
        process = context.Process(target=_serve, args=given, daemon=True)
        process.start()
        theirs.close()
        found.append(Process(ours, process))
    try:
        for one in found:
            assert one.pipe.recv() == "ready"
        yield found
    finally:
        for one in found:
            if one.process.is_alive():
                one.pipe.send(None)
                one.process.join(20)
            one.kill()
