"""recollect admin prune-vectors, rebuild-index and prune-episodes: what has had its time is let go of."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from recollect.cli import options, output, receipts, scopes
from recollect.cli.options import F
from recollect.cli.progress import ReportProgress
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.engine import Engine
from recollect.model.level import Level
from recollect.model.plan import Job, Plan, RetentionOverrides, Run
from recollect.model.scope import Scope
from recollect.render.plan import INDEX_JOBS, describe_plan, describe_runs, describe_waiting, plan_fields, run_id_fields

DAYS_RANGE = click.IntRange(min=1)


def override_options(*names: str) -> Callable[[F], F]:
    """The options by which somebody says otherwise than the settings do."""
    known = {
        "level": options.choice(Level, "--level", help="Only records of this level."),
        "age_days": click.option("--age-days", type=DAYS_RANGE, metavar="N", help="Those of it older than N days."),
        "min_level": options.choice(Level, "--min-level", help="What is finer may leave once this level tells it."),
        "max_age_days": click.option(
            "--max-age-days", type=DAYS_RANGE, metavar="N", help="Once it is older than N days."
        ),
    }

    def add(command: F) -> F:
        for name in reversed(names):
            command = known[name](command)
        return command

    return add


dry_run_option = click.option("--dry-run", is_flag=True, help="Only say how many would leave.")


@click.command("prune-vectors", short_help="Let go of the vectors of records that have had their time.")
@options.scope_filter
@override_options("level", "age_days")
@dry_run_option
@options.as_json
@pass_target
def prune_vectors(
    place: StoreTarget, scope: Scope | None, level: Level | None, age_days: int | None, dry_run: bool, as_json: bool
) -> None:
    """Remove the vectors of records that are older than [lifecycle.vector] keeps their level, and that a coarser record
    tells: they are no longer found by what they mean, and that one is found in their place. The records stay.

    What is pinned stays, and what is not summed up yet: `recollect admin rollup` comes first. Others may read and write
    meanwhile. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin prune-vectors --dry-run
    recollect admin prune-vectors --level segment --age-days 60
    """
    _plan_or_run(place, scope, Job.PRUNE_VECTORS, dry=dry_run, as_json=as_json, level=level, age_days=age_days)


@click.command("rebuild-index", short_help="Bring what can be found to what [lifecycle] says.")
@options.scope_filter
@override_options("min_level", "max_age_days")
@dry_run_option
@options.as_json
@pass_target
def rebuild_index(
    place: StoreTarget,
    scope: Scope | None,
    min_level: Level | None,
    max_age_days: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Let records leave the index of words and that of vectors as [lifecycle.bm25] and [lifecycle.vector] say, and take
    back those that belong there: because they are to be kept longer by now, are pinned, or nothing tells them any more.

    Others may read and write meanwhile. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin rebuild-index
    recollect admin rebuild-index --min-level day --max-age-days 30
    """
    wish = {"min_level": min_level, "max_age_days": max_age_days}
    _plan_or_run(place, scope, Job.REBUILD_INDEX, dry=dry_run, as_json=as_json, **wish)


@click.command("prune-episodes", short_help="Let go of the episodes that teach least.")
@options.scope_filter
@click.option("--dry-run", is_flag=True, help="Only say how many would be let go of.")
@options.as_json
@pass_target
def prune_episodes(place: StoreTarget, scope: Scope | None, dry_run: bool, as_json: bool) -> None:
    """Put finished episodes away whose value is below what [episodic] says, and of more than max_episodes those that
    teach least. They are found no more, and `recollect restore` brings one back; what they taught stays remembered.

    What is under way stays, and what is pinned. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin prune-episodes --dry-run
    recollect admin prune-episodes --scope acme/ana
    """
    _plan_or_run(place, scope, Job.PRUNE_EPISODES, dry=dry_run, as_json=as_json)


_IDLE_MESSAGES: Mapping[Job, tuple[str, str]] = {
    **dict.fromkeys(
        (Job.PRUNE_VECTORS, Job.REBUILD_INDEX),
        ("nothing would leave or come back", "nothing has had its time; nothing was written"),
    ),
    Job.PRUNE_EPISODES: (
        "no episode would be let go of",
        "no episode has had its day; nothing was written",
    ),
}
"""What is said where there is nothing to do: if it was only to be looked, and if it was to be done."""


def _plan_or_run(place: StoreTarget, scope: Scope | None, job: Job, *, dry: bool, as_json: bool, **wish: Any) -> None:
    """Plan the job for each scope, or do it as well, and say what came of that."""

    def planned(engine: Engine, one: Scope, _: ReportProgress) -> Plan:
        return engine.plan(job, scope=one, **wish)

    def run(engine: Engine, one: Scope, show: ReportProgress) -> tuple[list[Run], list[str]]:
        done = engine.run(job, scope=one, progress=show, **wish)
        return done, describe_waiting(engine.plan(job, scope=one, **wish)) if job in INDEX_JOBS else []

    RetentionOverrides(**wish).for_job(job)  # which is refused once, and not for every scope
    idle, unwritten = _IDLE_MESSAGES[job]
    if dry:
        plans, failed = scopes.run_for_each_scope(place, scope, "looking at", planned)
        if as_json:
            output.print_json({"plans": [plan_fields(one) for one in plans]})
        else:
            output.print_lines(describe_plan(one) for one in plans if one.steps)
            output.print_note("nothing was written" if any(one.steps for one in plans) else idle)
    else:
        found, failed = scopes.run_for_each_scope(place, scope, job.value, run)
        runs, waiting = [one for some, _ in found for one in some], [line for _, lines in found for line in lines]
        if as_json:
            output.print_json({"runs": [run_id_fields(one) for one in runs]})
        else:
            output.print_lines(describe_runs(some) for some, _ in found if some)
            for one in runs:
                if one.run is not None:
                    output.print_note(receipts.undo_hint(one.run, one.scope, "admin"))
            for line in waiting:
                output.print_note(line)
            if not runs:
                output.print_note("nothing was written" if waiting else unwritten)
    if failed is not None:
        raise failed
