"""Run each job once when it is due, however many schedulers share the store.

In reading order: the lease that keeps other schedulers from running the same job; what each job does with an engine,
scope by scope; and the scheduler.
"""

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Self

from recollect.engine.engine import Engine
from recollect.errors import FieldError, RecollectError, show, suggest
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.lifecycle.schedule import NEVER_EXPRESSION, Schedule, SchedulerPolicy
from recollect.model import validation
from recollect.model.enums import Status
from recollect.model.format import format_count
from recollect.model.plan import Job, JobOccurrence, JobState, JobStatus, Run
from recollect.model.scope import Scope
from recollect.protocols import JobStore

_LOG = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4
"""How many times a lease is renewed before it would expire.

Clocks of different machines may differ by the time that is left at each renewal.
"""


class Lease:
    """A lease on a running job; lost once another scheduler has taken the job over.

    A separate thread renews it.
    """

    def __init__(
        self, job_store: JobStore, occurrence: JobOccurrence, *, length: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self._job_store = job_store
        self._occurrence = occurrence
        self._length = length
        self._clock = clock
        self._until = occurrence.until
        self._lost = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_over, name="recollect-lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def is_held(self) -> bool:
        """Whether this scheduler still has the lease.

        If the lease may have expired, for example because the machine slept, it is renewed first. If the store cannot
        be reached, the answer is no, and the next scheduler continues the job.
        """
        if not self._lost and self._clock() > self._until:
            try:
                self._renew()
            except RecollectError as error:
                _LOG.warning("lease_not_renewed", extra={"job": self._occurrence.job, "error": type(error).__name__})
                return False
        return not self._lost

    def _renew_until_over(self) -> None:
        while not self._lost and not self._over.wait(self._length.total_seconds() / RENEWALS_PER_LEASE):
            try:
                self._renew()
            except RecollectError as error:  # the lease is still valid, so try again
                _LOG.warning("lease_not_renewed", extra={"job": self._occurrence.job, "error": type(error).__name__})

    def _renew(self) -> None:
        until = self._clock() + self._length
        if self._job_store.renew(self._occurrence, until):
            self._until = max(until, self._until)
        else:
            self._lost = True


@dataclass(frozen=True, slots=True)
class ScopeJobResult:
    """What a job did in a scope: counts by name, and its runs, which can be undone."""

    counts: Mapping[str, int]
    runs: Sequence[Run] = ()


JobFunction = Callable[[Engine, Scope], Mapping[str, int] | ScopeJobResult]
"""Runs a job in one scope and returns counts. If it is called again, it does the rest."""


def _run_rollup(engine: Engine, scope: Scope) -> Mapping[str, int]:
    report = engine.timeline.rollup(scope=scope)
    written = {"made": report.made, "revised": report.revised, "archived": report.archived}
    return {name: sum(levels.values()) for name, levels in written.items()}


def _run_extract(engine: Engine, scope: Scope) -> Mapping[str, int]:
    extraction = engine.timeline.extract_events(scope=scope)
    return {"events": extraction.events, "memories": sum(len(one.receipts) for one in extraction.extracted)}


def _run_topics(engine: Engine, scope: Scope) -> Mapping[str, int]:
    return {"topics": engine.topics.refresh(scope=scope).topics}


def _run_consolidate(engine: Engine, scope: Scope) -> ScopeJobResult:
    runs = engine.admin.run(Job.CONSOLIDATE, scope=scope)
    written = [one for run in runs for one in run.memories]
    consolidated = sum(one.status is Status.CONSOLIDATED for one in written)
    return ScopeJobResult({"made": len(written) - consolidated, "consolidated": consolidated}, runs)


def _run_planned_job(job: Job, engine: Engine, scope: Scope) -> ScopeJobResult:
    runs = engine.admin.run(job, scope=scope)
    return ScopeJobResult({"changed": sum(len(run.memories) for run in runs)}, runs)


JOBS: Mapping[str, JobFunction] = {
    "rollup": _run_rollup,
    "extract": _run_extract,
    "topics": _run_topics,
    "prune-vectors": partial(_run_planned_job, Job.PRUNE_VECTORS),
    "prune-episodes": partial(_run_planned_job, Job.PRUNE_EPISODES),
    "rebuild-index": partial(_run_planned_job, Job.REBUILD_INDEX),
    "consolidate": _run_consolidate,
}
"""Every job by name, in the order in which jobs run if they are due at the same time.

Rollups come first, since summarized records may then be pruned.
"""


@dataclass(frozen=True, slots=True)
class JobFailure:
    """A job failed, in one scope or as a whole.

    Without a job, the store failed while the scheduler looked for due jobs.
    """

    job: str | None
    scope: Scope | None
    error: Exception


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job did in all scopes: counts, errors, and its runs.

    It is complete if the job reached the last scope.
    """

    counts: Mapping[str, int]
    problem: str | None
    is_complete: bool
    runs: tuple[tuple[Scope, int], ...] = ()


def run_in_every_scope(
    engine: Engine, work: JobFunction, goes_on: Callable[[], bool], failed: Callable[[Scope, RecollectError], object]
) -> JobResult:
    """Run a job in every scope while `goes_on` returns true.

    An error in one scope is reported to `failed`, and the job continues with the next scope.
    """
    counts, errors, runs = Counter[str](), Counter[str](), list[tuple[Scope, int]]()
    scopes = engine.scopes()
    for number, scope in enumerate(scopes):
        if not goes_on():
            return JobResult(
                {"scopes": number, **counts}, _describe_errors(errors), is_complete=False, runs=tuple(runs)
            )
        try:
            outcome = work(engine, scope)
        except RecollectError as error:
            failed(scope, error)
            errors[type(error).__name__] += 1
            continue
        result = outcome if isinstance(outcome, ScopeJobResult) else ScopeJobResult(outcome)
        counts.update(result.counts)
        runs += [(scope, one.run) for one in result.runs if one.run is not None]
    return JobResult({"scopes": len(scopes), **counts}, _describe_errors(errors), is_complete=True, runs=tuple(runs))


def _describe_errors(errors: Counter[str]) -> str | None:
    """Name the errors without their messages, since a message may quote a memory."""
    descriptions = (f"{name} in {format_count(count, 'scope')}" for name, count in sorted(errors.items()))
    return ", ".join(descriptions) or None


POLL_SECONDS = 15.0
"""How many seconds pass between two checks for jobs that are due, resumed or left unfinished by another scheduler."""

TAKEN_OVER_PROBLEM = "another scheduler took the job over, because this one did not renew its lease"

JobListener = Callable[[JobOccurrence | JobFailure], object]
"""Called when a job begins and ends, and for each failure in between."""


class Scheduler:
    """Runs jobs that are due: now (`run_due`), until stopped (`run`), or in a thread (`start`).

    One job runs at a time. Close the scheduler, or use it in a `with` statement.
    """

    def __init__(
        self,
        job_store: JobStore,
        open_engine: Callable[[], AbstractContextManager[Engine]],
        *,
        jobs: Mapping[str, JobFunction],
        schedules: Mapping[str, Schedule],
        policy: SchedulerPolicy,
        clock: Callable[[], datetime],
        random: Callable[[], float],
        name: str,
        heard: JobListener,
    ) -> None:
        """Create a scheduler with a name that no other scheduler of the store has.

        It opens an engine for each job that it runs, so that the engine always has the store's present model.
        """
        self._job_store = job_store
        self._open_engine = open_engine
        self._jobs = jobs
        self._schedules = schedules
        self._policy = policy
        self._clock = clock
        self._random = random
        self._name = name
        self._on_event = heard
        self._failing = self._running = False
        self._start_times: dict[str, tuple[datetime, datetime]] = {}
        self._run_lock = ForkSafeLock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        register_fork_aware(self)

    def __repr__(self) -> str:
        return f"<recollect.Scheduler {self._name} of {', '.join(self._schedules)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def failing(self) -> bool:
        """Whether the store failed when `run` or `start` last looked for due jobs."""
        return self._failing

    @property
    def at_work(self) -> bool:
        """Whether this scheduler is running a job now."""
        return self._running

    def close(self) -> None:
        """Stop, and close the job store."""
        self.stop()
        self._job_store.close()

    def after_fork(self) -> None:
        """Become a separate scheduler in a forked child; the thread and the running job belong to the parent."""
        self._name = f"{self._name}:{os.getpid()}"
        self._thread = None
        self._stopping = threading.Event()
        self._running = False

    def run_due(self) -> list[JobOccurrence]:
        """Run all due jobs and those that other schedulers left unfinished, at once; return the results."""
        stopping = self._stopping
        with self._run_lock.rlock:
            return list(self._run_all(stopping, jitter=False))

    def run(self) -> None:
        """Run jobs as they become due, until `stop` is called."""
        self._run_until(self._stopping)

    def _run_until(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                with self._run_lock.rlock:
                    for _ in self._run_all(stopping, jitter=True):
                        pass
                self._failing = False
            except RecollectError as error:  # the store may work again at the next attempt
                self._failing = True
                _LOG.warning("scheduler_failed", extra={"scheduler": self._name, "error": type(error).__name__})
                self._on_event(JobFailure(None, None, error))
            stopping.wait(POLL_SECONDS)

    def start(self) -> None:
        """Run jobs as they become due in a thread, until `stop` or `close`.

        If the thread is already running, nothing happens.
        """
        if self._thread is None:
            arguments = (self._stopping,)  # the event that `stop` sets, even if it does so before the thread starts
            name = "recollect-scheduler"
            self._thread = threading.Thread(target=self._run_until, args=arguments, name=name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop running jobs, and wait for the thread if there is one.

        A running job ends after the scope it is working on, so that another scheduler can continue it at once.
        """
        stopping, self._stopping = self._stopping, threading.Event()
        stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def status(self) -> list[JobStatus]:
        """Return the state of each job: schedule, next time, running and last occurrence."""
        at = self._now()
        return [self._read_status(job, at) for job in self._schedules]

    def pause(self, job: str | None = None) -> None:
        """Pause one job or all jobs, on every scheduler of the store; running jobs finish."""
        for one in self._select_jobs(job):
            self._job_store.pause(one, self._now())

    def resume(self, job: str | None = None) -> None:
        """Resume one job or all jobs; runs that were missed during the pause are skipped."""
        for one in self._select_jobs(job):
            self._job_store.resume(one, self._now())

    def _select_jobs(self, job: str | None) -> list[str]:
        if job is None:
            return list(self._schedules)
        if job not in self._schedules:
            raise FieldError(f"{show(job)} is not a job; {suggest(str(job), self._schedules)}", field="job")
        return [job]

    def _now(self) -> datetime:
        return validation.require_moment("clock", self._clock())

    def _read_status(self, job: str, at: datetime) -> JobStatus:
        entry, due = self._job_store.entry(job), self._find_due(job, at)
        paused = entry is not None and entry.paused
        is_awaited = entry is not None and due is not None and entry.should_run(due, at)
        coming = due if is_awaited else self._schedules[job].after(at)
        return JobStatus(
            job=job,
            schedule=self._schedules[job].expression,
            paused=paused,
            next_at=None if paused else coming,
            under_way=None if entry is None else entry.unfinished,
            last=None if entry is None else entry.last_finished,
        )

    def _find_due(self, job: str, at: datetime) -> datetime | None:
        """Return the last time at which the job was due, if that run is not too late yet."""
        due = self._schedules[job].latest(at)
        return due if due is not None and self._policy.is_still_due(due, at) else None

    def _run_all(self, stopping: threading.Event, *, jitter: bool) -> Iterator[JobOccurrence]:
        for job, schedule in self._schedules.items():
            if stopping.is_set():
                return
            if schedule.expression == NEVER_EXPRESSION:  # unfinished occurrences are not resumed either
                continue
            at = self._now()
            due = self._find_due(job, at)
            if jitter and due is not None and at < self._choose_start(job, due):
                due = None
            occurrence = self._job_store.claim(job, due, by=self._name, at=at, until=at + self._policy.lease)
            if occurrence is not None:
                yield self._run_marked(occurrence, stopping)

    def _choose_start(self, job: str, due_at: datetime) -> datetime:
        """Choose the start time: a random delay after the due time, well before the next due time."""
        chosen = self._start_times.get(job)
        if chosen is None or chosen[0] != due_at:
            next_due = self._schedules[job].after(due_at)
            max_delay = self._policy.jitter
            if next_due is not None:
                max_delay = min(max_delay, (next_due - due_at) / 2)
            chosen = due_at, due_at + self._random() * max_delay
            self._start_times[job] = chosen
        return chosen[1]

    def _run_marked(self, occurrence: JobOccurrence, stopping: threading.Event) -> JobOccurrence:
        self._running = True
        try:
            return self._run_leased(occurrence, stopping)
        finally:
            self._running = False

    def _run_leased(self, occurrence: JobOccurrence, stopping: threading.Event) -> JobOccurrence:
        """Run an occurrence that this scheduler has claimed, and record how it ended."""
        self._on_event(occurrence)
        try:
            with Lease(self._job_store, occurrence, length=self._policy.lease, clock=self._now) as lease:
                ended = self._run_job(occurrence, lambda: lease.is_held and not stopping.is_set())
        except BaseException:  # so that others need not wait for the lease to expire
            self._job_store.finish(occurrence.finish(JobState.INTERRUPTED, self._now()))
            raise
        if not self._job_store.finish(ended):
            ended = replace(ended, state=JobState.INTERRUPTED, problem=TAKEN_OVER_PROBLEM)
        fields = {
            "job": occurrence.job,
            "due": occurrence.due_at.isoformat(),
            "state": ended.state.value,
            "counts": ended.counts,
            "runs": [f"run {run} of {scope}" for scope, run in ended.runs],
        }
        _LOG.info("job_ended", extra=fields)
        self._on_event(ended)
        return ended

    def _run_job(self, occurrence: JobOccurrence, goes_on: Callable[[], bool]) -> JobOccurrence:
        def report_failure(scope: Scope | None, error: Exception) -> None:
            _LOG.info("job_failed", extra={"job": occurrence.job, "scope": str(scope), "error": type(error).__name__})
            self._on_event(JobFailure(occurrence.job, scope, error))

        try:
            with self._open_engine() as engine:
                result = run_in_every_scope(engine, self._jobs[occurrence.job], goes_on, report_failure)
        except Exception as error:  # the next job runs, whatever the error was
            if not isinstance(error, RecollectError):
                _LOG.error("job_crashed", exc_info=error, extra={"job": occurrence.job})
            report_failure(None, error)
            return occurrence.finish(JobState.FAILED, self._now(), {}, type(error).__name__)
        state = JobState.DONE if result.problem is None else JobState.FAILED
        if not result.is_complete:
            state = JobState.INTERRUPTED
        ended = occurrence.finish(state, self._now(), result.counts, result.problem)
        return replace(ended, runs=result.runs)
