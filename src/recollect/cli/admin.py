"""recollect admin: what an operator does to a whole store."""

from typing import IO

import click

from recollect import config, factory
from recollect.cli import options, output, scopes
from recollect.cli.curate import undo
from recollect.cli.extract_events import extract
from recollect.cli.lines import read_again
from recollect.cli.plan import apply, consolidate, plan
from recollect.cli.progress import Tell, bar, bars
from recollect.cli.prune import prune_episodes, prune_vectors, rebuild_index
from recollect.cli.sweep import sweep
from recollect.cli.target import Place, place
from recollect.engine.engine import Engine
from recollect.evaluation import calibration
from recollect.model.rollup import Rolled
from recollect.model.scope import Scope
from recollect.render import indexing, moving, reembedding, timeline

EMBEDDERS = ("minilm", "wordllama", "hashing")
"""What a shell offers to go over to."""


def _embedders(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in EMBEDDERS if name.startswith(incomplete)]


@click.group(short_help="Change a whole store.")
def admin() -> None:
    """Change a whole store."""


for _command in (plan, apply, undo, consolidate, prune_vectors, rebuild_index, prune_episodes, extract, sweep):
    admin.add_command(_command)


@admin.command("re-embed", short_help="Go over to another embedder.")
@click.option(
    "--embedder",
    metavar="NAME",
    required=True,
    shell_complete=_embedders,
    help="The embedder to go over to: a name, or https://host/v1#model.",
)
@options.as_json
@place
def re_embed(place: Place, embedder: str, as_json: bool) -> None:
    """Embed all that memories say or said anew, and make the embedder NAME the store's.

    Others may read and write meanwhile; when it is done, they are told to open the store again. It may be stopped
    at any moment: the same command goes on from there.

    \b
    recollect admin re-embed --embedder minilm
    """
    with bars() as show:
        done = factory.re_embed(place.target, embedder=embedder, progress=show)
    if as_json:
        output.data(reembedding.fields(done))
    else:
        output.lines([reembedding.sentence(done)])


@admin.command("migrate-store", short_help="Move a store in a file to PostgreSQL.")
@click.argument("source", metavar="FILE")
@click.argument("target", metavar="ADDRESS")
@options.as_json
def migrate_store(source: str, target: str, as_json: bool) -> None:
    """Move all of the store FILE to the empty database of PostgreSQL at ADDRESS, with its whole history.

    What arrived is counted and compared before the database can be used. It may be stopped at any moment: the same
    command goes on from there. FILE stays as it is; nobody should write to it meanwhile.

    \b
    recollect admin migrate-store agent.db postgresql://recollect@localhost/memories
    """
    with bar("moving") as tell:
        moved = factory.migrate_store(source, target, progress=tell)
    if as_json:
        output.data(moving.fields(moved))
    else:
        output.lines([moving.sentence(moved)])


@admin.command(short_help="Sum up what happened: days, weeks, months and years.")
@options.part
@click.option("--unfinished", is_flag=True, help="Also what is under way: the present day, week, month and year.")
@options.as_json
@place
def rollup(place: Place, scope: Scope | None, unfinished: bool, as_json: bool) -> None:
    """Bring the records of days, weeks, months and years up to the events that were observed, of all that is over.

    The same again changes nothing. It may be stopped at any moment: the same command goes on from there. Days are those
    of [lifecycle] time_zone.

    \b
    recollect admin rollup
    recollect admin rollup --scope acme/ana --unfinished
    """

    def roll(engine: Engine, one: Scope, show: Tell) -> Rolled:
        return engine.rollup(scope=one, unfinished=unfinished, progress=show)

    done, failed = scopes.each(place, scope, "summing up", roll)
    happened = [one for one in done if not one.is_empty]
    if as_json:
        output.data({"scopes": [timeline.rolled(one) for one in happened]})
    else:
        output.lines(map(timeline.sentence, happened))
    if failed is not None:
        raise failed
    if not happened:
        output.talk("nothing was observed there; `recollect observe` keeps what happens")


@admin.command(short_help="Index the vectors of a large scope in PostgreSQL.")
@click.option("--scope", metavar="SCOPE", help="The scope to build an index for, and not those below it.")
@click.option("--drop", is_flag=True, help="Drop the index of the scope; without one, all that are of no use any more.")
@options.as_json
@place
def index(place: Place, scope: str | None, drop: bool, as_json: bool) -> None:
    """Build an index of the nearest for SCOPE, or drop it; without SCOPE, show those that there are.

    For a database of PostgreSQL, as the owner of its tables. Others may read and write meanwhile. A build that was
    interrupted is begun anew by the same command. Of no use is what was interrupted, or is of a former model or of a
    scope that was erased.

    \b
    recollect admin index --scope acme/ana
    recollect admin index --scope acme/ana --drop
    """
    if drop:
        gone = factory.drop_useless_indexes(place.target) if scope is None else factory.drop_index(place.target, scope)
        if as_json:
            output.data({"dropped": [indexing.fields(one) for one in gone]})
        else:
            output.lines([indexing.dropped(gone)])
    elif scope is not None:
        built = factory.index_scope(place.target, scope)
        if as_json:
            output.data({**indexing.fields(built), "built": built.built})
        else:
            output.lines([indexing.sentence(built)])
    else:
        found = factory.indexes(place.target)
        if as_json:
            output.data({"indexes": [indexing.fields(one) for one in found]})
        else:
            output.rows(indexing.table(found))
            output.talk(indexing.hint(found))


@admin.command(short_help="Find the threshold for near-duplicates that suits an embedder.")
@click.option(
    "--embedder",
    metavar="NAME",
    shell_complete=_embedders,
    help="The embedder to measure: a name, or https://host/v1#model; else the configured or the best installed.",
)
@click.option("--pairs", type=click.File("rb"), metavar="FILE", help="Labelled pairs as JSON lines; else our own.")
@options.as_json
def calibrate(embedder: str | None, pairs: IO[bytes] | None, as_json: bool) -> None:
    """Measure on labelled pairs what each threshold comes to, and print the one that suits the embedder.

    A pair has old, new and label: same, update or other. The threshold goes into the settings, as [duplicates]
    threshold, or by_embedder for one of several.

    \b
    recollect admin calibrate --embedder minilm
    """
    from recollect.evaluation import pairs as labelled

    settings = config.settings()
    chosen = factory.named_embedder(embedder or settings.embedder or "auto", settings)
    if pairs is None:
        known = labelled.shipped_pairs()
    else:
        with read_again(pairs) as lines:
            known = labelled.read_pairs(lines)
    found = labelled.calibrate(chosen, known)
    if as_json:
        output.data(calibration.fields(found))
    else:
        output.rows(calibration.table(found))
        output.talk(calibration.sentence(found))
