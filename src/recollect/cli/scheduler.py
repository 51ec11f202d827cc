"""The command `recollect scheduler`: runs jobs when they are due, and shows their status."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields as fields_of
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from types import FrameType
from typing import Any

import click

from recollect import factory
from recollect.cli import options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.tables import TextTable
from recollect.errors import RecollectError
from recollect.jobs.scheduler import JOBS, JobFailure, Scheduler
from recollect.model.format import format_moment, make_printable
from recollect.model.plan import JobOccurrence, JobState, JobStatus

EXIT_JOB_FAILED = 1
"""The exit code if a job failed."""

STOP_RETRY_SECONDS = 0.5
"""Seconds between repeated requests to stop the scheduler."""

SchedulerMessage = JobOccurrence | JobFailure | None
"""A message of the scheduler; None is the last one."""

PrintMessage = Callable[[JobOccurrence | JobFailure], None]


job_argument = click.argument("job", metavar="[JOB]", required=False, shell_complete=options.complete_from(JOBS))


@click.group(short_help="Run jobs when they fall due.")
def scheduler() -> None:
    """Run the jobs of a store when they fall due: each once, however many schedulers the store has.

    When that is, [scheduler] says. Jobs can be run by hand at any time with `recollect admin`.
    """


@scheduler.command(short_help="Run what falls due, until it is stopped.")
@click.option(
    "--once", is_flag=True, help="Run what is due now, and end; the exit code is 1 if a job failed or was stopped."
)
@options.as_json
@click.pass_context
@pass_target
def run(store: StoreTarget, ctx: click.Context, once: bool, as_json: bool) -> None:
    """Run each job when it falls due, until Ctrl-C or SIGTERM; any number of them may do so at once.

    A job that is stopped ends between two scopes, and the next scheduler goes on with it.

    \b
    recollect scheduler run
    recollect scheduler run --once
    """
    store.refuse_missing()
    messages, states = SimpleQueue[SchedulerMessage](), set[JobState]()

    def handle_message(one: JobOccurrence | JobFailure) -> None:
        _print_message(one, as_json=as_json)
        if isinstance(one, JobOccurrence):
            states.add(one.state)

    with factory.scheduler(store.target, heard=messages.put) as job_scheduler:
        _run_in_thread(job_scheduler, messages, handle_message, once=once)
        if once:
            output.print_note(describe_next_job(job_scheduler.status()))
    if once and states & {JobState.FAILED, JobState.INTERRUPTED}:
        ctx.exit(EXIT_JOB_FAILED)


@scheduler.command(short_help="Print when jobs run, and what came of it.")
@options.as_json
@pass_target
def status(store: StoreTarget, as_json: bool) -> None:
    """Print of each job when it runs next, what is under way, and what came of the last time."""
    store.refuse_missing()
    with factory.scheduler(store.target) as job_scheduler:
        _print_status(job_scheduler, as_json=as_json)


@scheduler.command(short_help="Let nothing of a job begin.")
@job_argument
@options.as_json
@pass_target
def pause(store: StoreTarget, job: str | None, as_json: bool) -> None:
    """Let nothing of JOB begin, or of any, on whatever scheduler of the store; what is under way goes on."""
    store.refuse_missing()
    with factory.scheduler(store.target) as job_scheduler:
        job_scheduler.pause(job)
        _print_status(job_scheduler, as_json=as_json)


@scheduler.command(short_help="Let a job begin again.")
@job_argument
@options.as_json
@pass_target
def resume(store: StoreTarget, job: str | None, as_json: bool) -> None:
    """Let JOB begin again, or all of them; what fell due meanwhile is not made up for."""
    store.refuse_missing()
    with factory.scheduler(store.target) as job_scheduler:
        job_scheduler.resume(job)
        _print_status(job_scheduler, as_json=as_json)


def _print_status(job_scheduler: Scheduler, *, as_json: bool) -> None:
    statuses = job_scheduler.status()
    if as_json:
        output.print_json({"jobs": [job_fields(one) for one in statuses]})
    else:
        output.print_table(job_table(statuses))


def _print_message(message: JobOccurrence | JobFailure, *, as_json: bool) -> None:
    match message:
        case JobFailure(job, scope, error):
            where = [str(message) for message in (job, scope) if message is not None]
            what = str(error) if isinstance(error, RecollectError) else f"{type(error).__name__}: {error}"
            output.print_note(make_printable(": ".join([*where, what])))
        case JobOccurrence() if message.ended_at is None:
            output.print_note(describe_occurrence(message))
        case _ if as_json:
            output.print_json(finished_occurrence_fields(message))
        case _:
            output.print_lines([describe_occurrence(message)])
            for scope, run in message.runs:
                output.print_note(f"{scope}: {output.undo_hint(run, scope, 'admin')}")


def _run_in_thread(
    job_scheduler: Scheduler, messages: "SimpleQueue[SchedulerMessage]", handle_message: PrintMessage, *, once: bool
) -> None:
    """Run the scheduler in a thread and print its messages; signals stop it.

    The main thread stays free to receive the signals.
    """
    failures: list[BaseException] = []

    def work() -> None:
        try:
            if once:
                job_scheduler.run_due()
            else:
                job_scheduler.run()
        except BaseException as error:
            failures.append(error)
        finally:
            messages.put(None)

    thread = threading.Thread(target=work, name="recollect-jobs", daemon=True)
    logging.getLogger("recollect.jobs").addHandler(logging.NullHandler())  # job log records are already printed here
    with _interrupt_on_sigterm():
        try:
            if not once:
                output.print_note(f"{describe_next_job(job_scheduler.status())}; Ctrl-C stops it")
            thread.start()
            _print_messages(messages, handle_message)
        except KeyboardInterrupt:
            output.print_note("stopping after the scope that a job is working on; Ctrl-C again stops at once")
            while thread.is_alive():
                job_scheduler.stop()
                thread.join(STOP_RETRY_SECONDS)
            messages.put(None)
            _print_messages(messages, handle_message)
    if failures:
        raise failures[0]


def _print_messages(messages: "SimpleQueue[SchedulerMessage]", handle_message: PrintMessage) -> None:
    while (message := messages.get()) is not None:
        handle_message(message)


@contextmanager
def _interrupt_on_sigterm() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, _raise_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise_interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


NO_VALUE = "–"


def job_fields(status: JobStatus) -> dict[str, Any]:
    """Return the status of a job as JSON fields."""
    return {
        "job": status.job,
        "schedule": status.schedule,
        "paused": status.paused,
        "next_at": None if status.next_at is None else status.next_at.isoformat(),
        "under_way": None if status.under_way is None else occurrence_fields(status.under_way),
        "last": None if status.last is None else occurrence_fields(status.last),
    }


def occurrence_fields(one: JobOccurrence) -> dict[str, Any]:
    """Return a job occurrence as JSON fields, as stored."""
    return {field.name: _to_json(getattr(one, field.name)) for field in fields_of(one) if field.compare}


def finished_occurrence_fields(one: JobOccurrence) -> dict[str, Any]:
    """Return a finished occurrence as JSON fields, with the runs that can be undone."""
    return {**occurrence_fields(one), "runs": [{"scope": str(scope), "run": run} for scope, run in one.runs]}


def job_table(statuses: Sequence[JobStatus]) -> TextTable:
    """Return the status of jobs as a table with one job a row."""
    rows = [(one.job, one.schedule or "never", _format_next(one), _format_last(one)) for one in statuses]
    return TextTable(("job", "schedule", "next", "last"), rows)


def describe_occurrence(one: JobOccurrence) -> str:
    """Describe the result of an occurrence, or that it has started."""
    if one.ended_at is None:
        return f"{one.job} started, due at {format_moment(one.due_at)}{_format_attempt(one)}"
    took = _format_duration(max(one.ended_at - one.started_at, timedelta()))
    return f"{one.job} {one.state.value} at {format_moment(one.ended_at)} in {took}{_describe_outcome(one)}"


def describe_next_job(statuses: Sequence[JobStatus]) -> str:
    """Describe which job runs next."""
    moments = [(one.next_at, one.job) for one in statuses if one.next_at is not None]
    if not moments:
        return "no job is due: all are paused or have no schedule"
    at, job = min(moments)
    return f"next job: {job} at {format_moment(at)}"


def _format_next(status: JobStatus) -> str:
    if status.under_way is not None:
        occurrence = status.under_way
        since = occurrence.started_at if occurrence.ended_at is None else occurrence.ended_at
        return f"{occurrence.state.value} since {_format_minute(since)}{_format_attempt(occurrence)}"
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
    """Describe what went wrong, and how much was done."""
    counts = ", ".join(_format_count(name, count) for name, count in one.counts.items() if count)
    parts = "; ".join(text for text in (one.problem, counts) if text)
    return f": {parts}" if parts else ""


def _format_count(name: str, count: int) -> str:
    return f"{count} {_SINGULARS.get(name, name) if count == 1 else name}"


_SINGULARS = {"scopes": "scope", "topics": "topic", "events": "event", "memories": "memory"}
"""Names of counts that differ in the singular."""


def _format_attempt(one: JobOccurrence) -> str:
    return "" if one.attempt == 1 else f", attempt {one.attempt}"


def _format_minute(at: datetime) -> str:
    """Format a moment to the minute in UTC, since jobs are due at whole minutes."""
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
