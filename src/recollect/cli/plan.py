"""recollect admin plan, apply and consolidate: a job says what it would do, and does just that."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click

from recollect.cli import options, output, receipts, scopes
from recollect.cli.files import whole
from recollect.cli.progress import Tell
from recollect.cli.prune import wishes
from recollect.cli.target import Place, place
from recollect.engine.engine import Engine
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.memory import named
from recollect.model.plan import Act, Job, Plan, Run
from recollect.model.scope import Scope
from recollect.render import json_values, listing
from recollect.render import plan as told

LARGEST = 256 * 1024 * 1024
"""How many bytes of a plan are read at most."""


UNPLANNED = {"rollup": "admin rollup", "extract": "admin extract", "topics": "topics --refresh"}
"""The jobs that write nothing which could not be made again, and so have no plan; and what runs each."""


def _job(_: click.Context, __: click.Parameter, value: str) -> Job:
    if value in UNPLANNED:
        raise FieldError(f"{show(value)} has no plan; run it with `recollect {UNPLANNED[value]}`", field="job")
    return named("job", value, Job)


def _jobs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [one.value for one in Job if one.value.startswith(incomplete)]


@click.command(short_help="Say what a job would do.")
@click.argument("job", metavar="JOB", callback=_job, shell_complete=_jobs)
@options.scope
@wishes("level", "age_days", "min_level", "max_age_days")
@click.option(
    "--output", "file", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan to FILE, for `apply`."
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@options.as_json
@place
def plan(place: Place, /, job: Job, scope: Scope, file: Path | None, force: bool, as_json: bool, **wish: Any) -> None:
    """Say what JOB would do to each memory of SCOPE, and why; nothing is written to the store. JOB is consolidate,
    prune-vectors (which takes --level and --age-days), rebuild-index (--min-level and --max-age-days) or
    prune-episodes.

    `recollect admin apply FILE` does exactly that later, or nothing if any memory that the plan names has changed.

    \b
    recollect admin plan consolidate --scope acme/ana
    recollect admin plan consolidate --scope acme/ana --output plan.json
    """
    with place.there() as engine:
        made = engine.plan(job, scope=scope, **wish)
    if file is not None:
        with whole(file, store=place.target, force=force) as path:
            path.write_text(json_values.line(told.plan_fields(made)) + "\n", encoding="utf-8")
    _told(made, as_json=as_json)
    if file is not None and made.changes and not as_json:
        output.talk(f"to do it: {receipts.typed('admin', 'apply', str(file))}")


@click.command(short_help="Do what a plan says.")
@click.argument("file", type=click.File("rb"), metavar="FILE")
@options.as_json
@place
def apply(place: Place, file: IO[bytes], as_json: bool) -> None:
    """Do exactly what the plan in FILE says, at once; - reads standard input.

    Refused, so that nothing is written, if any memory that the plan names has changed since it was made.

    \b
    recollect admin apply plan.json
    """
    read = Plan.read(_read(file))
    with place.there() as engine:
        run = engine.apply(read)
    _done(run, as_json=as_json)


@click.command(short_help="Let one memory speak for several that say the same.")
@options.part
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@options.as_json
@place
def consolidate(place: Place, scope: Scope | None, dry_run: bool, as_json: bool) -> None:
    """Make one memory of each group in a scope that says the same: plan it, and do just that.

    Only memories that are near each other and agree word by word are put together; what may contradict is left, and
    `recollect admin plan consolidate` lists it with the reason. Which are looked at, [consolidation] says.

    \b
    recollect admin consolidate --scope acme/ana --dry-run
    recollect admin consolidate
    """

    def do(engine: Engine, one: Scope, _: Tell) -> tuple[Plan, Run | None]:
        made = engine.plan(Job.CONSOLIDATE, scope=one)
        return made, None if dry_run else engine.apply(made)

    found, failed = scopes.each(place, scope, "consolidating", do)
    plans, runs = [made for made, _ in found], [run for _, run in found if run is not None and run.run is not None]
    if as_json:
        told_plans = {"plans": [told.plan_fields(one) for one in plans]}
        output.data(told_plans if dry_run else {"runs": [told.run_fields(one) for one in runs]})
    else:
        for one in plans if dry_run else ():
            if one.steps:
                _told(one, as_json=False)
        for run in runs:
            _done(run, as_json=False)
        if not dry_run:
            _left(plans)
        if not runs and not any(one.steps for one in plans if dry_run):
            output.talk(told.idle(plans))
    if failed is not None:
        raise failed


def _left(plans: Sequence[Plan]) -> None:
    """Say what somebody should look at who can tell what it means."""
    for one in plans:
        count = len(one.of(Act.KEEP))
        if count:
            way = receipts.typed("admin", "plan", "consolidate", "--scope", str(one.scope))
            output.talk(f"{count} {'is' if count == 1 else 'are'} left for you: {way}")


def _told(made: Plan, *, as_json: bool) -> None:
    if as_json:
        output.data(told.plan_fields(made))
        return
    output.rows(told.steps(made))
    output.talk(told.sentence(made))


def _done(run: Run, *, as_json: bool) -> None:
    if as_json:
        output.data(told.run_fields(run))
        return
    if run.job in told.INDEXING and run.run is not None:
        output.lines([told.ran([run])])
    else:
        output.rows(listing.memories(run.memories))
        output.talk(told.ran([run]))
    if run.run is not None:
        output.talk(receipts.way_back(run.run, run.scope, "admin"))


def _read(file: IO[bytes]) -> bytes:
    try:
        found = file.read(LARGEST + 1)
    except OSError as error:
        raise InvalidInput(f"the plan cannot be read: {error.strerror or error}") from error
    if len(found) > LARGEST:
        raise InvalidInput(f"the plan has more than {LARGEST} bytes; it is none of ours")
    return found
