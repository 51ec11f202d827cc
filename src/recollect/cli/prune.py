"""recollect admin prune-vectors, rebuild-index and prune-episodes: what has had its time is let go of."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from recollect.cli import options, output, receipts, scopes
from recollect.cli.options import F
from recollect.cli.progress import Tell
from recollect.cli.target import Place, place
from recollect.engine.engine import Engine
from recollect.model.level import Level
from recollect.model.plan import Job, Plan, Run, Wish
from recollect.model.scope import Scope
from recollect.render import plan as told

DAYS = click.IntRange(min=1)


def wishes(*names: str) -> Callable[[F], F]:
    """The options by which somebody says otherwise than the settings do."""
    known = {
        "level": options.choice(Level, "--level", help="Only records of this level."),
        "age_days": click.option("--age-days", type=DAYS, metavar="N", help="Those of it older than N days."),
        "min_level": options.choice(Level, "--min-level", help="What is finer may leave once this level tells it."),
        "max_age_days": click.option("--max-age-days", type=DAYS, metavar="N", help="Once it is older than N days."),
    }

    def add(command: F) -> F:
        for name in reversed(names):
            command = known[name](command)
        return command

    return add


dry_run = click.option("--dry-run", is_flag=True, help="Only say how many would leave.")


@click.command("prune-vectors", short_help="Let go of the vectors of records that have had their time.")
@options.part
@wishes("level", "age_days")
@dry_run
@options.as_json
@place
def prune_vectors(
    place: Place, scope: Scope | None, level: Level | None, age_days: int | None, dry_run: bool, as_json: bool
) -> None:
    """Remove the vectors of records that are older than [lifecycle.vector] keeps their level, and that a coarser record
    tells: they are no longer found by what they mean, and that one is found in their place. The records stay.

    What is pinned stays, and what is not summed up yet: `recollect admin rollup` comes first. Others may read and write
    meanwhile. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin prune-vectors --dry-run
    recollect admin prune-vectors --level segment --age-days 60
    """
    _done(place, scope, Job.PRUNE_VECTORS, dry=dry_run, as_json=as_json, level=level, age_days=age_days)


@click.command("rebuild-index", short_help="Bring what can be found to what [lifecycle] says.")
@options.part
@wishes("min_level", "max_age_days")
@dry_run
@options.as_json
@place
def rebuild_index(
    place: Place, scope: Scope | None, min_level: Level | None, max_age_days: int | None, dry_run: bool, as_json: bool
) -> None:
    """Let records leave the index of words and that of vectors as [lifecycle.bm25] and [lifecycle.vector] say, and take
    back those that belong there: because they are to be kept longer by now, are pinned, or nothing tells them any more.

    Others may read and write meanwhile. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin rebuild-index
    recollect admin rebuild-index --min-level day --max-age-days 30
    """
    wish = {"min_level": min_level, "max_age_days": max_age_days}
    _done(place, scope, Job.REBUILD_INDEX, dry=dry_run, as_json=as_json, **wish)


@click.command("prune-episodes", short_help="Let go of the episodes that teach least.")
@options.part
@click.option("--dry-run", is_flag=True, help="Only say how many would be let go of.")
@options.as_json
@place
def prune_episodes(place: Place, scope: Scope | None, dry_run: bool, as_json: bool) -> None:
    """Put finished episodes away whose value is below what [episodic] says, and of more than max_episodes those that
    teach least. They are found no more, and `recollect restore` brings one back; what they taught stays remembered.

    What is under way stays, and what is pinned. It may be stopped at any moment: the same command goes on from there.

    \b
    recollect admin prune-episodes --dry-run
    recollect admin prune-episodes --scope acme/ana
    """
    _done(place, scope, Job.PRUNE_EPISODES, dry=dry_run, as_json=as_json)


_NOTHING: Mapping[Job, tuple[str, str]] = {
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


def _done(place: Place, scope: Scope | None, job: Job, *, dry: bool, as_json: bool, **wish: Any) -> None:
    """Plan the job for each scope, or do it as well, and say what came of that."""

    def planned(engine: Engine, one: Scope, _: Tell) -> Plan:
        return engine.plan(job, scope=one, **wish)

    def run(engine: Engine, one: Scope, show: Tell) -> tuple[list[Run], list[str]]:
        done = engine.run(job, scope=one, progress=show, **wish)
        return done, told.waiting(engine.plan(job, scope=one, **wish)) if job in told.INDEXING else []

    Wish(**wish).of(job)  # which is refused once, and not for every scope
    idle, unwritten = _NOTHING[job]
    if dry:
        plans, failed = scopes.each(place, scope, "looking at", planned)
        if as_json:
            output.data({"plans": [told.plan_fields(one) for one in plans]})
        else:
            output.lines(told.sentence(one) for one in plans if one.steps)
            output.talk("nothing was written" if any(one.steps for one in plans) else idle)
    else:
        found, failed = scopes.each(place, scope, job.value, run)
        runs, waiting = [one for some, _ in found for one in some], [line for _, lines in found for line in lines]
        if as_json:
            output.data({"runs": [told.run_ids(one) for one in runs]})
        else:
            output.lines(told.ran(some) for some, _ in found if some)
            for one in runs:
                if one.run is not None:
                    output.talk(receipts.way_back(one.run, one.scope, "admin"))
            for line in waiting:
                output.talk(line)
            if not runs:
                output.talk("nothing was written" if waiting else unwritten)
    if failed is not None:
        raise failed
