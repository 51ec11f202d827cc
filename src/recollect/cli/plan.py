"""recollect admin plan, apply and consolidate: a job says what it would do, and does just that."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click

from recollect.cli import options, output, receipts, scopes
from recollect.cli.files import write_atomically
from recollect.cli.progress import ReportProgress
from recollect.cli.prune import override_options
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.engine import Engine
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.memory import parse_choice
from recollect.model.plan import Act, Job, Plan, Run
from recollect.model.scope import Scope
from recollect.render import json_values, listing
from recollect.render.plan import (
    INDEX_JOBS,
    describe_idle_plans,
    describe_plan,
    describe_runs,
    plan_fields,
    run_fields,
    step_table,
)

MAX_PLAN_BYTES = 256 * 1024 * 1024
"""How many bytes of a plan are read at most."""


UNPLANNED_JOBS = {"rollup": "admin rollup", "extract": "admin extract", "topics": "topics --refresh"}
"""The jobs that write nothing which could not be made again, and so have no plan; and what runs each."""


def _parse_job(_: click.Context, __: click.Parameter, value: str) -> Job:
    if value in UNPLANNED_JOBS:
        raise FieldError(f"{show(value)} has no plan; run it with `recollect {UNPLANNED_JOBS[value]}`", field="job")
    return parse_choice("job", value, Job)


def _complete_jobs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [one.value for one in Job if one.value.startswith(incomplete)]


@click.command(short_help="Say what a job would do.")
@click.argument("job", metavar="JOB", callback=_parse_job, shell_complete=_complete_jobs)
@options.scope
@override_options("level", "age_days", "min_level", "max_age_days")
@click.option(
    "--output", "file", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan to FILE, for `apply`."
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@options.as_json
@pass_target
def plan(
    place: StoreTarget, /, job: Job, scope: Scope, file: Path | None, force: bool, as_json: bool, **wish: Any
) -> None:
    """Say what JOB would do to each memory of SCOPE, and why; nothing is written to the store. JOB is consolidate,
    prune-vectors (which takes --level and --age-days), rebuild-index (--min-level and --max-age-days) or
    prune-episodes.

    `recollect admin apply FILE` does exactly that later, or nothing if any memory that the plan names has changed.

    \b
    recollect admin plan consolidate --scope acme/ana
    recollect admin plan consolidate --scope acme/ana --output plan.json
    """
    with place.open_existing() as engine:
        made = engine.plan(job, scope=scope, **wish)
    if file is not None:
        with write_atomically(file, store=place.target, force=force) as path:
            path.write_text(json_values.dump_line(plan_fields(made)) + "\n", encoding="utf-8")
    _print_plan(made, as_json=as_json)
    if file is not None and made.changes and not as_json:
        output.print_note(f"to do it: {receipts.format_command('admin', 'apply', str(file))}")


@click.command(short_help="Do what a plan says.")
@click.argument("file", type=click.File("rb"), metavar="FILE")
@options.as_json
@pass_target
def apply(place: StoreTarget, file: IO[bytes], as_json: bool) -> None:
    """Do exactly what the plan in FILE says, at once; - reads standard input.

    Refused, so that nothing is written, if any memory that the plan names has changed since it was made.

    \b
    recollect admin apply plan.json
    """
    read = Plan.read(_read_plan(file))
    with place.open_existing() as engine:
        run = engine.apply(read)
    _print_run(run, as_json=as_json)


@click.command(short_help="Let one memory speak for several that say the same.")
@options.scope_filter
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@options.as_json
@pass_target
def consolidate(place: StoreTarget, scope: Scope | None, dry_run: bool, as_json: bool) -> None:
    """Make one memory of each group in a scope that says the same: plan it, and do just that.

    Only memories that are near each other and agree word by word are put together; what may contradict is left, and
    `recollect admin plan consolidate` lists it with the reason. Which are looked at, [consolidation] says.

    \b
    recollect admin consolidate --scope acme/ana --dry-run
    recollect admin consolidate
    """

    def do(engine: Engine, one: Scope, _: ReportProgress) -> tuple[Plan, Run | None]:
        made = engine.plan(Job.CONSOLIDATE, scope=one)
        return made, None if dry_run else engine.apply(made)

    found, failed = scopes.run_for_each_scope(place, scope, "consolidating", do)
    plans, runs = [made for made, _ in found], [run for _, run in found if run is not None and run.run is not None]
    if as_json:
        told_plans = {"plans": [plan_fields(one) for one in plans]}
        output.print_json(told_plans if dry_run else {"runs": [run_fields(one) for one in runs]})
    else:
        for one in plans if dry_run else ():
            if one.steps:
                _print_plan(one, as_json=False)
        for run in runs:
            _print_run(run, as_json=False)
        if not dry_run:
            _suggest_review(plans)
        if not runs and not any(one.steps for one in plans if dry_run):
            output.print_note(describe_idle_plans(plans))
    if failed is not None:
        raise failed


def _suggest_review(plans: Sequence[Plan]) -> None:
    """Say what somebody should look at who can tell what it means."""
    for one in plans:
        count = len(one.of(Act.KEEP))
        if count:
            way = receipts.format_command("admin", "plan", "consolidate", "--scope", str(one.scope))
            output.print_note(f"{count} {'is' if count == 1 else 'are'} left for you: {way}")


def _print_plan(made: Plan, *, as_json: bool) -> None:
    if as_json:
        output.print_json(plan_fields(made))
        return
    output.print_table(step_table(made))
    output.print_note(describe_plan(made))


def _print_run(run: Run, *, as_json: bool) -> None:
    if as_json:
        output.print_json(run_fields(run))
        return
    if run.job in INDEX_JOBS and run.run is not None:
        output.print_lines([describe_runs([run])])
    else:
        output.print_table(listing.memory_table(run.memories))
        output.print_note(describe_runs([run]))
    if run.run is not None:
        output.print_note(receipts.undo_hint(run.run, run.scope, "admin"))


def _read_plan(file: IO[bytes]) -> bytes:
    try:
        found = file.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"the plan cannot be read: {error.strerror or error}") from error
    if len(found) > MAX_PLAN_BYTES:
        raise InvalidInput(f"the plan has more than {MAX_PLAN_BYTES} bytes; it is none of ours")
    return found
