"""recollect scheduler: jobs are run when they fall due, and looked at."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

import click

from recollect import factory
from recollect.cli import options, output, receipts
from recollect.cli.target import StoreTarget, pass_target
from recollect.errors import RecollectError
from recollect.jobs.runner import JOBS, JobFailure
from recollect.jobs.scheduler import Scheduler
from recollect.model.format import make_printable
from recollect.model.job_runs import JobOccurrence, JobState
from recollect.render import scheduling

EXIT_JOB_FAILED = 1
"""What a shell learns of a job that failed."""

STOP_RETRY_SECONDS = 0.5
"""After how many seconds somebody who is to stop is told again."""

SchedulerMessage = JobOccurrence | JobFailure | None
"""What a scheduler has to say; the last word is nothing."""

PrintMessage = Callable[[JobOccurrence | JobFailure], None]


def _complete_jobs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [one for one in JOBS if one.startswith(incomplete)]


job_argument = click.argument("job", metavar="[JOB]", required=False, shell_complete=_complete_jobs)


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
def run(place: StoreTarget, ctx: click.Context, once: bool, as_json: bool) -> None:
    """Run each job when it falls due, until Ctrl-C or SIGTERM; any number of them may do so at once.

    A job that is stopped ends between two scopes, and the next scheduler goes on with it.

    \b
    recollect scheduler run
    recollect scheduler run --once
    """
    place.refuse_missing()
    said, states = SimpleQueue[SchedulerMessage](), set[JobState]()

    def tell(one: JobOccurrence | JobFailure) -> None:
        _print_message(one, as_json=as_json)
        if isinstance(one, JobOccurrence):
            states.add(one.state)

    with factory.scheduler(place.target, heard=said.put) as ours:
        _run_in_thread(ours, said, tell, once=once)
        if once:
            output.print_note(scheduling.describe_next_job(ours.status()))
    if once and states & {JobState.FAILED, JobState.INTERRUPTED}:
        ctx.exit(EXIT_JOB_FAILED)


@scheduler.command(short_help="Print when jobs run, and what came of it.")
@options.as_json
@pass_target
def status(place: StoreTarget, as_json: bool) -> None:
    """Print of each job when it runs next, what is under way, and what came of the last time."""
    place.refuse_missing()
    with factory.scheduler(place.target) as ours:
        _print_status(ours, as_json=as_json)


@scheduler.command(short_help="Let nothing of a job begin.")
@job_argument
@options.as_json
@pass_target
def pause(place: StoreTarget, job: str | None, as_json: bool) -> None:
    """Let nothing of JOB begin, or of any, on whatever scheduler of the store; what is under way goes on."""
    place.refuse_missing()
    with factory.scheduler(place.target) as ours:
        ours.pause(job)
        _print_status(ours, as_json=as_json)


@scheduler.command(short_help="Let a job begin again.")
@job_argument
@options.as_json
@pass_target
def resume(place: StoreTarget, job: str | None, as_json: bool) -> None:
    """Let JOB begin again, or all of them; what fell due meanwhile is not made up for."""
    place.refuse_missing()
    with factory.scheduler(place.target) as ours:
        ours.resume(job)
        _print_status(ours, as_json=as_json)


def _print_status(ours: Scheduler, *, as_json: bool) -> None:
    found = ours.status()
    if as_json:
        output.print_json({"jobs": [scheduling.job_fields(one) for one in found]})
    else:
        output.print_table(scheduling.job_table(found))


def _print_message(one: JobOccurrence | JobFailure, *, as_json: bool) -> None:
    match one:
        case JobFailure(job, scope, error):
            where = [str(one) for one in (job, scope) if one is not None]
            what = str(error) if isinstance(error, RecollectError) else f"{type(error).__name__}: {error}"
            output.print_note(make_printable(": ".join([*where, what])))
        case JobOccurrence() if one.ended_at is None:
            output.print_note(scheduling.describe_occurrence(one))
        case _ if as_json:
            output.print_json(scheduling.finished_occurrence_fields(one))
        case _:
            output.print_lines([scheduling.describe_occurrence(one)])
            for scope, run in one.runs:
                output.print_note(f"{scope}: {receipts.undo_hint(run, scope, 'admin')}")


def _run_in_thread(ours: Scheduler, said: "SimpleQueue[SchedulerMessage]", tell: PrintMessage, *, once: bool) -> None:
    """Have it work in a thread of its own, and tell what it says; this thread waits for signals, which stop it."""
    failures: list[BaseException] = []

    def working() -> None:
        try:
            if once:
                ours.run_due()
            else:
                ours.run()
        except BaseException as error:
            failures.append(error)
        finally:
            said.put(None)

    thread = threading.Thread(target=working, name="recollect-jobs", daemon=True)
    logging.getLogger("recollect.jobs").addHandler(logging.NullHandler())  # what they log is told here
    with _interrupt_on_sigterm():
        try:
            if not once:
                output.print_note(f"{scheduling.describe_next_job(ours.status())}; Ctrl-C ends")
            thread.start()
            _print_messages(said, tell)
        except KeyboardInterrupt:
            output.print_note("stopping, after the scope that a job is at; Ctrl-C again ends at once")
            while thread.is_alive():
                ours.stop()
                thread.join(STOP_RETRY_SECONDS)
            said.put(None)
            _print_messages(said, tell)
    if failures:
        raise failures[0]


def _print_messages(said: "SimpleQueue[SchedulerMessage]", tell: PrintMessage) -> None:
    while (one := said.get()) is not None:
        tell(one)


@contextmanager
def _interrupt_on_sigterm() -> Iterator[None]:
    """Have SIGTERM do what Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, _raise_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise_interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
