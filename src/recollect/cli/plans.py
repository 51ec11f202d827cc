"""Commands for maintenance jobs: `recollect admin plan`, `apply`, `consolidate` and others.

The others are prune-vectors, rebuild-index and prune-episodes. A plan lists what a job would do; `apply` does exactly
that. The messages about plans and runs are at the end.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, assert_never

import click

from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.files import write_atomically
from recollect.cli.options import F, StoreTarget, pass_target
from recollect.cli.output import ReportProgress
from recollect.cli.tables import TextTable
from recollect.engine.engine import Engine
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.enums import Level, Status, parse_choice
from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory
from recollect.model.plan import (
    LEFT_COUNT,
    RETURNED_COUNT,
    STAND_IN_COUNT,
    STOOD_IN_COUNT,
    UNSUMMARIZED,
    Act,
    Job,
    Plan,
    RetentionOverrides,
    Run,
)
from recollect.model.scope import Scope

DAYS_RANGE = click.IntRange(min=1)


def override_options(*names: str) -> Callable[[F], F]:
    """Return a decorator that adds the named options, which override settings."""
    available = {
        "level": options.choice(Level, "--level", help="Only records of this level."),
        "age_days": click.option("--age-days", type=DAYS_RANGE, metavar="N", help="Those of it older than N days."),
        "min_level": options.choice(Level, "--min-level", help="What is finer may leave once this level tells it."),
        "max_age_days": click.option(
            "--max-age-days", type=DAYS_RANGE, metavar="N", help="Once it is older than N days."
        ),
    }

    def add(command: F) -> F:
        for name in reversed(names):
            command = available[name](command)
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
    store: StoreTarget, scope: Scope | None, level: Level | None, age_days: int | None, dry_run: bool, as_json: bool
) -> None:
    """Remove the vectors of records that are older than [lifecycle.vector] keeps their level, and that a coarser record
    tells: they are no longer found by what they mean, and that one is found in their place. The records stay.

    What is pinned stays, and what is not summed up yet: `recollect admin rollup` comes first. Others may read and write
    meanwhile. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin prune-vectors --dry-run
    recollect admin prune-vectors --level segment --age-days 60
    """
    _plan_or_run(store, scope, Job.PRUNE_VECTORS, dry=dry_run, as_json=as_json, level=level, age_days=age_days)


@click.command("rebuild-index", short_help="Bring what can be found to what [lifecycle] says.")
@options.scope_filter
@override_options("min_level", "max_age_days")
@dry_run_option
@options.as_json
@pass_target
def rebuild_index(
    store: StoreTarget,
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
    overrides = {"min_level": min_level, "max_age_days": max_age_days}
    _plan_or_run(store, scope, Job.REBUILD_INDEX, dry=dry_run, as_json=as_json, **overrides)


@click.command("prune-episodes", short_help="Let go of the episodes that teach least.")
@options.scope_filter
@click.option("--dry-run", is_flag=True, help="Only say how many would be let go of.")
@options.as_json
@pass_target
def prune_episodes(store: StoreTarget, scope: Scope | None, dry_run: bool, as_json: bool) -> None:
    """Put finished episodes away whose value is below what [episodic] says, and of more than max_episodes those that
    teach least. They are found no more, and `recollect restore` brings one back; what they taught stays remembered.

    What is under way stays, and what is pinned. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin prune-episodes --dry-run
    recollect admin prune-episodes --scope acme/ana
    """
    _plan_or_run(store, scope, Job.PRUNE_EPISODES, dry=dry_run, as_json=as_json)


_IDLE_MESSAGES: Mapping[Job, tuple[str, str]] = {
    **dict.fromkeys(
        (Job.PRUNE_VECTORS, Job.REBUILD_INDEX),
        ("no index would change", "no record is past its retention; nothing was written"),
    ),
    Job.PRUNE_EPISODES: (
        "no episode would be pruned",
        "no episode is due for pruning; nothing was written",
    ),
}
"""Messages for a job without work: the first for a dry run, the second for a real run."""


def _plan_or_run(
    store: StoreTarget, scope: Scope | None, job: Job, *, dry: bool, as_json: bool, **overrides: Any
) -> None:
    """Plan the job for each scope, or run it, and print the result."""

    def plan_job(engine: Engine, one: Scope, _: ReportProgress) -> Plan:
        return engine.plan(job, scope=one, **overrides)

    def run(engine: Engine, one: Scope, show: ReportProgress) -> tuple[list[Run], list[str]]:
        done = engine.admin.run(job, scope=one, progress=show, **overrides)
        return done, describe_waiting(engine.plan(job, scope=one, **overrides)) if job.changes_only_indexes else []

    RetentionOverrides(**overrides).for_job(job)  # refuse wrong values once, not for every scope
    idle, unwritten = _IDLE_MESSAGES[job]
    if dry:
        plans, error = output.run_for_each_scope(store, scope, "looking at", plan_job)
        if as_json:
            output.print_json({"plans": [one.to_json() for one in plans]})
        else:
            output.print_lines(describe_plan(one) for one in plans if one.steps)
            output.print_note("nothing was written" if any(one.steps for one in plans) else idle)
    else:
        results, error = output.run_for_each_scope(store, scope, job.value, run)
        runs, waiting = [one for some, _ in results for one in some], [line for _, lines in results for line in lines]
        if as_json:
            output.print_json({"runs": [schemas.admin.summarize_run(one) for one in runs]})
        else:
            output.print_lines(describe_runs(some) for some, _ in results if some)
            for one in runs:
                if one.run is not None:
                    output.print_note(output.undo_hint(one.run, one.scope, "admin"))
            for line in waiting:
                output.print_note(line)
            if not runs:
                output.print_note("nothing was written" if waiting else unwritten)
    if error is not None:
        raise error


MAX_PLAN_BYTES = 256 * 1024 * 1024
"""Maximum size of a plan file in bytes."""


UNPLANNED_JOBS = {"rollup": "admin rollup", "extract": "admin extract", "topics": "topics --refresh"}
"""Jobs that have no plan, since their results can be rebuilt, and the command for each."""


def _parse_job(_: click.Context, __: click.Parameter, value: str) -> Job:
    if value in UNPLANNED_JOBS:
        raise FieldError(f"{show(value)} has no plan; run it with `recollect {UNPLANNED_JOBS[value]}`", field="job")
    return parse_choice("job", value, Job)


@click.command(short_help="Say what a job would do.")
@click.argument(
    "job", metavar="JOB", callback=_parse_job, shell_complete=options.complete_from([one.value for one in Job])
)
@options.scope
@override_options("level", "age_days", "min_level", "max_age_days")
@click.option(
    "--output", "file", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan to FILE, for `apply`."
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@options.as_json
@pass_target
def plan(
    store: StoreTarget, /, job: Job, scope: Scope, file: Path | None, force: bool, as_json: bool, **overrides: Any
) -> None:
    """Say what JOB would do to each memory of SCOPE, and why; nothing is written to the store. JOB is consolidate,
    prune-vectors (which takes --level and --age-days), rebuild-index (--min-level and --max-age-days) or
    prune-episodes.

    `recollect admin apply FILE` does exactly that later, or nothing if any memory that the plan names has changed.

    \b
    recollect admin plan consolidate --scope acme/ana
    recollect admin plan consolidate --scope acme/ana --output plan.json
    """
    with store.open_existing() as engine:
        made = engine.plan(job, scope=scope, **overrides)
    if file is not None:
        with write_atomically(file, store=store.target, force=force) as path:
            path.write_text(output.dump_line(made.to_json()) + "\n", encoding="utf-8")
    _print_plan(made, as_json=as_json)
    if file is not None and made.changes and not as_json:
        output.print_note(f"to apply it: {output.format_command('admin', 'apply', str(file))}")


@click.command(short_help="Do what a plan says.")
@click.argument("file", type=click.File("rb"), metavar="FILE")
@options.as_json
@pass_target
def apply(store: StoreTarget, file: IO[bytes], as_json: bool) -> None:
    """Do exactly what the plan in FILE says, at once; - reads standard input.

    Refused, so that nothing is written, if any memory that the plan names has changed since it was made.

    \b
    recollect admin apply plan.json
    """
    planned = Plan.read(_read_plan(file))
    with store.open_existing() as engine:
        run = engine.apply(planned)
    _print_run(run, as_json=as_json)


@click.command(short_help="Let one memory speak for several that say the same.")
@options.scope_filter
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@options.as_json
@pass_target
def consolidate(store: StoreTarget, scope: Scope | None, dry_run: bool, as_json: bool) -> None:
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

    results, error = output.run_for_each_scope(store, scope, "consolidating", do)
    plans, runs = [made for made, _ in results], [run for _, run in results if run is not None and run.run is not None]
    if as_json:
        plan_list = {"plans": [one.to_json() for one in plans]}
        output.print_json(plan_list if dry_run else {"runs": [schemas.admin.JobRun.of(one).to_json() for one in runs]})
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
    if error is not None:
        raise error


def _suggest_review(plans: Sequence[Plan]) -> None:
    """Print which memories a person should review, and the command that lists them."""
    for one in plans:
        count = len(one.of(Act.KEEP))
        if count:
            way = output.format_command("admin", "plan", "consolidate", "--scope", str(one.scope))
            output.print_note(f"{count} {'needs' if count == 1 else 'need'} your review: {way}")


def _print_plan(plan_to_print: Plan, *, as_json: bool) -> None:
    if as_json:
        output.print_json(plan_to_print.to_json())
        return
    output.print_table(step_table(plan_to_print))
    output.print_note(describe_plan(plan_to_print))


def _print_run(run: Run, *, as_json: bool) -> None:
    if as_json:
        output.print_answer(schemas.admin.JobRun.of(run))
        return
    if run.job.changes_only_indexes and run.run is not None:
        output.print_lines([describe_runs([run])])
    else:
        output.print_table(formatting.memory_table(run.memories))
        output.print_note(describe_runs([run]))
    if run.run is not None:
        output.print_note(output.undo_hint(run.run, run.scope, "admin"))


def _read_plan(file: IO[bytes]) -> bytes:
    try:
        data = file.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"the plan cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_PLAN_BYTES:
        raise InvalidInput(
            f"the plan file has more than {MAX_PLAN_BYTES} bytes; name a file that `recollect admin plan` wrote"
        )
    return data


def step_table(plan: Plan) -> TextTable:
    """Return the steps of a plan as a table, each with its reason."""
    rows = [(one.act.value, one.memory, one.by or "", one.text) for one in plan.steps]
    return TextTable(("act", "id", "by", "text"), rows, [(one.reason,) for one in plan.steps])


def describe_plan(plan: Plan) -> str:
    """Describe how much a plan would do, and with which parameters."""
    if _is_too_small(plan):
        return f"plan {plan.hash[:12]} for {plan.scope}: {_describe_too_small(plan)}"
    acts = [(len(plan.of(act)), act) for act in Act]
    actions = ", ".join(f"{format_count(count, 'memory', 'memories')} to {act.value}" for count, act in acts if count)
    others = {name: count for name, count in plan.counts.items() if name not in (UNSUMMARIZED, *Act)}
    parameters = {name: value for name, value in plan.parameters.items() if value is not None}
    figures = ", ".join(f"{name} {value}" for name, value in {**others, **parameters}.items())
    summary = f"plan {plan.hash[:12]} for {plan.scope}: {actions or 'nothing to do'} ({make_printable(figures)})"
    return "; ".join([summary, *_describe_unsummarized(plan)])


def describe_idle_plans(plans: Sequence[Plan]) -> str:
    """Describe scopes in which there is nothing to consolidate."""
    if len(plans) == 1 and _is_too_small(plans[0]):
        return f"{plans[0].scope}: {_describe_too_small(plans[0])}"
    where = str(plans[0].scope) if len(plans) == 1 else format_count(len(plans), "scope")
    unseen = [one for one in plans if _is_too_small(one)]
    why = f" ({len(unseen)} skipped: {_describe_minimum(unseen[0])})" if unseen else ""
    return f"nothing to do in {where}{why}; nothing was written"


def _is_too_small(plan: Plan) -> bool:
    """Return whether a scope has too few memories to be consolidated."""
    least = plan.parameters.get("more_than")
    return plan.job is Job.CONSOLIDATE and isinstance(least, int) and plan.counts.get("active", 0) <= least


def _describe_too_small(plan: Plan) -> str:
    active = plan.counts["active"]
    return f"skipped: {format_count(active, 'active memory', 'active memories')}, but {_describe_minimum(plan)}"


def _describe_minimum(plan: Plan) -> str:
    return f"more than {plan.parameters['more_than']} are needed ([consolidation] more_than)"


def describe_waiting(plan: Plan) -> list[str]:
    """Describe what could leave an index after a rollup; empty if there is nothing."""
    return [f"{plan.scope}: {line}" for line in _describe_unsummarized(plan)]


def _describe_unsummarized(plan: Plan) -> list[str]:
    count = plan.counts.get(UNSUMMARIZED, 0)
    if not count:
        return []
    are = "is" if count == 1 else "are"
    return [f"{count} {are} old enough but not summarized yet; run `recollect admin rollup` first"]


def describe_runs(runs: Sequence[Run]) -> str:
    """Describe what a job did to a scope, in one or several runs."""
    job, scope = runs[0].job, runs[0].scope
    memories = [one for run in runs for one in run.memories]
    if not memories:
        return f"nothing to do in {scope}; nothing was written"
    match job:
        case Job.CONSOLIDATE:
            return _describe_consolidation(scope, memories)
        case Job.PRUNE_EPISODES:
            return f"{scope}: {format_count(len(memories), 'episode')} pruned"
        case Job.PRUNE_VECTORS | Job.REBUILD_INDEX:
            return _describe_index_changes(scope, runs)
        case _ as unknown:
            assert_never(unknown)


def _describe_consolidation(scope: Scope, memories: Sequence[Memory]) -> str:
    active = sum(one.status is Status.ACTIVE for one in memories)
    rest = len(memories) - active
    are = "is" if rest == 1 else "are"
    return f"{format_count(rest, 'memory', 'memories')} of {scope} {are} now recalled through {active}"


def _describe_index_changes(scope: Scope, runs: Sequence[Run]) -> str:
    counts = Counter[str]()
    for run in runs:
        counts.update(run.counts)
    stands, stood = counts[STAND_IN_COUNT], counts[STOOD_IN_COUNT]
    no_longer = ("does" if stood == 1 else "do") if stands else "stand in" if stood > 1 else "stands in"
    changes = {
        "left": counts[LEFT_COUNT],
        "came back": counts[RETURNED_COUNT],
        "stands in" if stands == 1 else "stand in": stands,
        f"no longer {no_longer}": stood,
    }
    parts = ", ".join(f"{count} {what}" for what, count in changes.items() if count)
    return f"{scope}: {parts or 'the number of stand-ins is the same, but they stand in for other records'}"
