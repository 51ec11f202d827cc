"""recollect admin prune-vectors and rebuild-index: what has had its time leaves an index, and the rest is in it."""

from collections.abc import Callable
from typing import Any

import click

from recollect.cli import options, output, receipts, scopes
from recollect.cli.bars import Tell
from recollect.cli.options import F
from recollect.cli.place import Place, place
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
    _aged(place, scope, Job.PRUNE_VECTORS, dry=dry_run, as_json=as_json, level=level, age_days=age_days)


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
    _aged(place, scope, Job.REBUILD_INDEX, dry=dry_run, as_json=as_json, **wish)


def _aged(place: Place, scope: Scope | None, job: Job, *, dry: bool, as_json: bool, **wish: Any) -> None:
    def planned(engine: Engine, one: Scope, _: Tell) -> Plan:
        return engine.plan(job, scope=one, **wish)

    def run(engine: Engine, one: Scope, show: Tell) -> list[Run]:
        return engine.run(job, scope=one, progress=show, **wish)

    Wish(**wish).of(job)  # which is refused once, and not for every scope
    if dry:
        plans, failed = scopes.each(place, scope, "looking at", planned)
        if as_json:
            output.data({"plans": [told.plan_fields(one) for one in plans]})
        else:
            output.lines(told.sentence(one) for one in plans if one.steps)
            output.talk(
                "nothing was written" if any(one.steps for one in plans) else "nothing would leave or come back"
            )
    else:
        found, failed = scopes.each(place, scope, job.value, run)
        runs = [one for some in found for one in some]
        if as_json:
            output.data({"runs": [told.aged_fields(one) for one in runs]})
        else:
            output.lines(told.aged(some) for some in found if some)
            for one in runs:
                if one.run is not None:
                    output.talk(receipts.way_back(one.run, one.scope))
            if not runs:
                output.talk("nothing has had its time; nothing was written")
    if failed is not None:
        raise failed
