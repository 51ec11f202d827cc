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
from recollect.cli.target import Place, place
from recollect.errors import RecollectError
from recollect.jobs.runner import JOBS, Failure
from recollect.jobs.scheduler import Scheduler
from recollect.model.format import printable
from recollect.model.job_runs import Occurrence, State
from recollect.render import scheduling

FAILED = 1
"""What a shell learns of a job that failed."""

OFTEN = 0.5
"""After how many seconds somebody who is to stop is told again."""

Told = Occurrence | Failure | None
"""What a scheduler has to say; the last word is nothing."""

Tell = Callable[[Occurrence | Failure], None]


def _jobs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [one for one in JOBS if one.startswith(incomplete)]


job = click.argument("job", metavar="[JOB]", required=False, shell_complete=_jobs)


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
@place
def run(place: Place, ctx: click.Context, once: bool, as_json: bool) -> None:
    """Run each job when it falls due, until Ctrl-C or SIGTERM; any number of them may do so at once.

    A job that is stopped ends between two scopes, and the next scheduler goes on with it.

    \b
    recollect scheduler run
    recollect scheduler run --once
    """
    place.refuse_missing()
    said, states = SimpleQueue[Told](), set[State]()

    def tell(one: Occurrence | Failure) -> None:
        _told(one, as_json=as_json)
        if isinstance(one, Occurrence):
            states.add(one.state)

    with factory.scheduler(place.target, heard=said.put) as ours:
        _work(ours, said, tell, once=once)
        if once:
            output.talk(scheduling.coming(ours.status()))
    if once and states & {State.FAILED, State.INTERRUPTED}:
        ctx.exit(FAILED)


@scheduler.command(short_help="Print when jobs run, and what came of it.")
@options.as_json
@place
def status(place: Place, as_json: bool) -> None:
    """Print of each job when it runs next, what is under way, and what came of the last time."""
    place.refuse_missing()
    with factory.scheduler(place.target) as ours:
        _standing(ours, as_json=as_json)


@scheduler.command(short_help="Let nothing of a job begin.")
@job
@options.as_json
@place
def pause(place: Place, job: str | None, as_json: bool) -> None:
    """Let nothing of JOB begin, or of any, on whatever scheduler of the store; what is under way goes on."""
    place.refuse_missing()
    with factory.scheduler(place.target) as ours:
        ours.pause(job)
        _standing(ours, as_json=as_json)


@scheduler.command(short_help="Let a job begin again.")
@job
@options.as_json
@place
def resume(place: Place, job: str | None, as_json: bool) -> None:
    """Let JOB begin again, or all of them; what fell due meanwhile is not made up for."""
    place.refuse_missing()
    with factory.scheduler(place.target) as ours:
        ours.resume(job)
        _standing(ours, as_json=as_json)


def _standing(ours: Scheduler, *, as_json: bool) -> None:
    found = ours.status()
    if as_json:
        output.data({"jobs": [scheduling.fields(one) for one in found]})
    else:
        output.rows(scheduling.table(found))


def _told(one: Occurrence | Failure, *, as_json: bool) -> None:
    match one:
        case Failure(job, scope, error):
            where = [str(one) for one in (job, scope) if one is not None]
            what = str(error) if isinstance(error, RecollectError) else f"{type(error).__name__}: {error}"
            output.talk(printable(": ".join([*where, what])))
        case Occurrence() if one.ended_at is None:
            output.talk(scheduling.sentence(one))
        case _ if as_json:
            output.data(scheduling.ended(one))
        case _:
            output.lines([scheduling.sentence(one)])
            for scope, run in one.runs:
                output.talk(f"{scope}: {receipts.way_back(run, scope, 'admin')}")


def _work(ours: Scheduler, said: "SimpleQueue[Told]", tell: Tell, *, once: bool) -> None:
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
    with _interrupted_when_told_to_end():
        try:
            if not once:
                output.talk(f"{scheduling.coming(ours.status())}; Ctrl-C ends")
            thread.start()
            _hear(said, tell)
        except KeyboardInterrupt:
            output.talk("stopping, after the scope that a job is at; Ctrl-C again ends at once")
            while thread.is_alive():
                ours.stop()
                thread.join(OFTEN)
            said.put(None)
            _hear(said, tell)
    if failures:
        raise failures[0]


def _hear(said: "SimpleQueue[Told]", tell: Tell) -> None:
    while (one := said.get()) is not None:
        tell(one)


@contextmanager
def _interrupted_when_told_to_end() -> Iterator[None]:
    """Have SIGTERM do what Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
