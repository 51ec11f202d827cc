"""recollect admin: what an operator does to a whole store."""

from typing import IO

import click

from recollect import config, factory
from recollect.cli import options, output, scopes
from recollect.cli.curate import undo
from recollect.cli.extract_events import extract_events
from recollect.cli.lines import open_rereadable
from recollect.cli.plan import apply, consolidate, plan
from recollect.cli.progress import ReportProgress, progress_bar, stage_bars
from recollect.cli.prune import prune_episodes, prune_vectors, rebuild_index
from recollect.cli.sweep import sweep
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.engine import Engine
from recollect.evaluation import calibration
from recollect.model.rollup import RollupReport
from recollect.model.scope import Scope
from recollect.render import indexing, moving, reembedding, timeline

SUGGESTED_EMBEDDERS = ("minilm", "wordllama", "hashing")
"""What a shell offers to go over to."""


def _complete_embedders(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in SUGGESTED_EMBEDDERS if name.startswith(incomplete)]


@click.group(short_help="Change a whole store.")
def admin() -> None:
    """Change a whole store."""


for _command in (plan, apply, undo, consolidate, prune_vectors, rebuild_index, prune_episodes, extract_events, sweep):
    admin.add_command(_command)


@admin.command("re-embed", short_help="Go over to another embedder.")
@click.option(
    "--embedder",
    metavar="NAME",
    required=True,
    shell_complete=_complete_embedders,
    help="The embedder to go over to: a name, or https://host/v1#model.",
)
@options.as_json
@pass_target
def re_embed(place: StoreTarget, embedder: str, as_json: bool) -> None:
    """Embed all that memories say or said anew, and make the embedder NAME the store's.

    Others may read and write meanwhile; when it is done, they are told to open the store again. It may be stopped
    at any moment: the same command goes on from there.

    \b
    recollect admin re-embed --embedder minilm
    """
    with stage_bars() as show:
        done = factory.re_embed(place.target, embedder=embedder, progress=show)
    if as_json:
        output.print_json(reembedding.re_embed_fields(done))
    else:
        output.print_lines([reembedding.describe_re_embed(done)])


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
    with progress_bar("moving") as tell:
        moved = factory.migrate_store(source, target, progress=tell)
    if as_json:
        output.print_json(moving.move_fields(moved))
    else:
        output.print_lines([moving.describe_move(moved)])


@admin.command(short_help="Sum up what happened: days, weeks, months and years.")
@options.scope_filter
@click.option("--unfinished", is_flag=True, help="Also what is under way: the present day, week, month and year.")
@options.as_json
@pass_target
def rollup(place: StoreTarget, scope: Scope | None, unfinished: bool, as_json: bool) -> None:
    """Bring the records of days, weeks, months and years up to the events that were observed, of all that is over.

    The same again changes nothing. It may be stopped at any moment: the same command goes on from there. Days are those
    of [lifecycle] time_zone.

    \b
    recollect admin rollup
    recollect admin rollup --scope acme/ana --unfinished
    """

    def roll(engine: Engine, one: Scope, show: ReportProgress) -> RollupReport:
        return engine.rollup(scope=one, unfinished=unfinished, progress=show)

    done, failed = scopes.run_for_each_scope(place, scope, "summing up", roll)
    happened = [one for one in done if not one.is_empty]
    if as_json:
        output.print_json({"scopes": [timeline.rollup_fields(one) for one in happened]})
    else:
        output.print_lines(map(timeline.describe_rollup, happened))
    if failed is not None:
        raise failed
    if not happened:
        output.print_note("nothing was observed there; `recollect observe` keeps what happens")


@admin.command(short_help="Index the vectors of a large scope in PostgreSQL.")
@click.option("--scope", metavar="SCOPE", help="The scope to build an index for, and not those below it.")
@click.option("--drop", is_flag=True, help="Drop the index of the scope; without one, all that are of no use any more.")
@options.as_json
@pass_target
def index(place: StoreTarget, scope: str | None, drop: bool, as_json: bool) -> None:
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
            output.print_json({"dropped": [indexing.index_fields(one) for one in gone]})
        else:
            output.print_lines([indexing.describe_dropped_indexes(gone)])
    elif scope is not None:
        built = factory.index_scope(place.target, scope)
        if as_json:
            output.print_json({**indexing.index_fields(built), "built": built.built})
        else:
            output.print_lines([indexing.describe_built_index(built)])
    else:
        found = factory.list_indexes(place.target)
        if as_json:
            output.print_json({"indexes": [indexing.index_fields(one) for one in found]})
        else:
            output.print_table(indexing.index_table(found))
            output.print_note(indexing.suggest_index_command(found))


@admin.command(short_help="Find the threshold for near-duplicates that suits an embedder.")
@click.option(
    "--embedder",
    metavar="NAME",
    shell_complete=_complete_embedders,
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

    settings = config.load_settings()
    chosen = factory.find_named_embedder(embedder or settings.embedder or "auto", settings)
    if pairs is None:
        known = labelled.shipped_pairs()
    else:
        with open_rereadable(pairs) as lines:
            known = labelled.read_pairs(lines)
    found = labelled.calibrate(chosen, known)
    if as_json:
        output.print_json(calibration.calibration_to_json(found))
    else:
        output.print_table(calibration.calibration_table(found))
        output.print_note(calibration.describe_calibration(found))
