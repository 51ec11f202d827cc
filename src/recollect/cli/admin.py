"""Commands for a whole store: `recollect admin` and `recollect stats`.

The commands come first. The functions below them format each result as JSON and as text: statistics, re-embedding,
migration, vector indexes and rollups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import IO, Any

import click

from recollect import config, factory
from recollect.api import schemas
from recollect.cli import options, output
from recollect.cli.curate import undo
from recollect.cli.events import extract_events
from recollect.cli.files import open_rereadable
from recollect.cli.memories import sweep
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import ReportProgress, progress_bar, stage_bars
from recollect.cli.plans import apply, consolidate, plan, prune_episodes, prune_vectors, rebuild_index
from recollect.cli.tables import TextTable
from recollect.engine.engine import Engine
from recollect.evaluation import duplicates
from recollect.model.archive import MoveReport, Stats
from recollect.model.encoder import Encoder, ReembeddingReport, ScopeVectorIndex
from recollect.model.enums import Level
from recollect.model.format import format_count
from recollect.model.scope import Scope
from recollect.model.timeline import RollupReport

SUGGESTED_EMBEDDERS = ("minilm", "wordllama", "hashing")
"""Embedder names offered by shell completion."""


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
    shell_complete=options.complete_from(SUGGESTED_EMBEDDERS),
    help="The embedder to go over to: a name, or https://host/v1#model.",
)
@options.as_json
@pass_target
def re_embed(store: StoreTarget, embedder: str, as_json: bool) -> None:
    """Embed all that memories say or said anew, and make the embedder NAME the store's.

    Others may read and write meanwhile; when it is done, they are told to open the store again. It may be stopped
    at any moment: the same command goes on from there.

    \b
    recollect admin re-embed --embedder minilm
    """
    with stage_bars() as show:
        report = factory.re_embed(store.target, embedder=embedder, progress=show)
    if as_json:
        output.print_json(re_embed_fields(report))
    else:
        output.print_lines([describe_re_embed(report)])


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
        report = factory.migrate_store(source, target, progress=tell)
    if as_json:
        output.print_json(move_fields(report))
    else:
        output.print_lines([describe_move(report)])


@admin.command(short_help="Sum up what happened: days, weeks, months and years.")
@options.scope_filter
@click.option("--unfinished", is_flag=True, help="Also what is under way: the present day, week, month and year.")
@options.as_json
@pass_target
def rollup(store: StoreTarget, scope: Scope | None, unfinished: bool, as_json: bool) -> None:
    """Bring the records of days, weeks, months and years up to the events that were observed, of all that is over.

    The same again changes nothing. It may be stopped at any moment: the same command goes on from there. Days are those
    of [lifecycle] time_zone.

    \b
    recollect admin rollup
    recollect admin rollup --scope acme/ana --unfinished
    """

    def roll(engine: Engine, one: Scope, show: ReportProgress) -> RollupReport:
        return engine.timeline.rollup(scope=one, unfinished=unfinished, progress=show)

    reports, failed = output.run_for_each_scope(store, scope, "summing up", roll)
    happened = [one for one in reports if not one.is_empty]
    if as_json:
        output.print_json({"scopes": [rollup_fields(one) for one in happened]})
    else:
        output.print_lines(map(describe_rollup, happened))
    if failed is not None:
        raise failed
    if not happened:
        output.print_note("no events there; `recollect observe` adds them")


@admin.command(short_help="Index the vectors of a large scope in PostgreSQL.")
@click.option("--scope", metavar="SCOPE", help="The scope to build an index for, and not those below it.")
@click.option("--drop", is_flag=True, help="Drop the index of the scope; without one, all that are of no use any more.")
@options.as_json
@pass_target
def index(store: StoreTarget, scope: str | None, drop: bool, as_json: bool) -> None:
    """Build an index of the nearest for SCOPE, or drop it; without SCOPE, show those that there are.

    For a database of PostgreSQL, as the owner of its tables. Others may read and write meanwhile. A build that was
    interrupted is begun anew by the same command. Of no use is what was interrupted, or is of a former model or of a
    scope that was erased.

    \b
    recollect admin index --scope acme/ana
    recollect admin index --scope acme/ana --drop
    """
    if drop:
        dropped = (
            factory.drop_useless_indexes(store.target) if scope is None else factory.drop_index(store.target, scope)
        )
        if as_json:
            output.print_json({"dropped": [index_fields(one) for one in dropped]})
        else:
            output.print_lines([describe_dropped_indexes(dropped)])
    elif scope is not None:
        built = factory.index_scope(store.target, scope)
        if as_json:
            output.print_json({**index_fields(built), "built": built.built})
        else:
            output.print_lines([describe_built_index(built)])
    else:
        found = factory.list_indexes(store.target)
        if as_json:
            output.print_json({"indexes": [index_fields(one) for one in found]})
        else:
            output.print_table(index_table(found))
            output.print_note(suggest_index_command(found))


@admin.command(short_help="Find the threshold for near-duplicates that suits an embedder.")
@click.option(
    "--embedder",
    metavar="NAME",
    shell_complete=options.complete_from(SUGGESTED_EMBEDDERS),
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

    settings = config.load_settings()
    chosen = factory.find_named_embedder(embedder or settings.embedder or "auto", settings)
    if pairs is None:
        labeled = duplicates.shipped_pairs()
    else:
        with open_rereadable(pairs) as lines:
            labeled = duplicates.read_pairs(lines)
    calibration = duplicates.calibrate(chosen, labeled)
    if as_json:
        output.print_json(duplicates.calibration_to_json(calibration))
    else:
        output.print_table(calibration_table(calibration))
        output.print_note(describe_calibration(calibration))


def calibration_table(found: duplicates.Calibration) -> TextTable:
    """Return the figures as a table: the full decision next to similarity alone."""
    rows = [
        (
            f"{row.threshold:.2f}",
            _format_known_share(row.precision),
            _format_known_share(row.recall),
            _format_known_share(alone.precision),
            _format_known_share(alone.recall),
        )
        for row, alone in zip(found.rows, found.by_similarity, strict=True)
    ]
    return TextTable(("threshold", "precision", "recall", "by similarity alone", "recall"), rows)


def describe_calibration(found: duplicates.Calibration) -> str:
    """Describe the best threshold for the embedder, and the setting to use it."""
    setting = f'[duplicates] by_embedder = {{ "{found.embedder}" = {found.threshold:g} }}'
    return (
        f"{found.embedder} on {found.pairs} pairs: the best threshold is {found.threshold:g}; to use it, set {setting}"
    )


def _format_known_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@click.command(short_help="Count what a store holds.")
@options.scope_filter
@options.as_json
@pass_target
def stats(store: StoreTarget, scope: Scope | None, as_json: bool) -> None:
    """Count the memories by status, kind and scope, their versions and uses, and the bytes of the store.

    In a pipe there is one line a figure: what it is of, the figure, and which of them, between tabs.
    """
    with store.open_existing() as engine:
        stats = engine.stats(scope=scope)
        hints = [] if scope is None else output.explain_empty_scope(engine, scope, below=True)
    if as_json:
        output.print_answer(schemas.admin.Stats.of(stats, scope=scope))
    else:
        output.print_table(stats_table(stats))
    for hint in hints:
        output.print_note(hint)


def stats_table(stats: Stats) -> TextTable:
    """Return the statistics of a store as a table with one figure a row."""
    rows = [
        ("memories", stats.memories, ""),
        *(("status", count, status.value) for status, count in stats.statuses.items()),
        *(("kind", count, kind.value) for kind, count in stats.kinds.items()),
        ("scopes", stats.scopes, ""),
        *(("scope", count, str(scope)) for scope, count in stats.largest),
        ("versions", stats.versions, ""),
        ("contexts", stats.contexts, ""),
        *(("use", count, use.value) for use, count in stats.uses.items()),
        ("unembedded", stats.unembedded, ""),
        *(("dimensions", one.dimensions, one.name) for one in [stats.encoder] if one is not None),
        ("schema", stats.schema, f"analyser {stats.analyser}"),
        ("bytes", stats.bytes, ""),
    ]
    return TextTable(("what", "count", "which"), [(what, str(count), which) for what, count, which in rows])


def re_embed_fields(report: ReembeddingReport) -> dict[str, Any]:
    """Return a re-embedding report as JSON fields."""
    return {
        "embedder": _encoder_fields(report.encoder),
        "former": None if report.former is None else _encoder_fields(report.former),
        "changed": report.changed,
        "embedded": report.embedded,
        "removed": report.removed,
    }


def describe_re_embed(report: ReembeddingReport) -> str:
    """Describe the result of a re-embedding in one sentence."""
    embedded, removed = f"{report.embedded} embedded", f"{format_count(report.removed, 'old vector')} removed"
    if report.changed:
        return f"the vectors are now from {report.encoder}: {embedded}, {removed}"
    late = [f"{embedded} that had none"] * bool(report.embedded) + [removed] * bool(report.removed)
    already = f"the vectors are already from {report.encoder}"
    return f"{already}: {', '.join(late)}" if late else already


def _encoder_fields(encoder: Encoder) -> dict[str, Any]:
    return {"name": encoder.name, "dimensions": encoder.dimensions}


def move_fields(report: MoveReport) -> dict[str, Any]:
    """Return a migration report as JSON fields."""
    return {
        "memories": report.memories,
        "contexts": report.contexts,
        "resumed": report.resumed,
        "checksum": report.checksum,
    }


def describe_move(report: MoveReport) -> str:
    """Describe what a migration moved in one sentence."""
    what = f"{format_count(report.memories, 'memory', 'memories')} and {format_count(report.contexts, 'context')}"
    earlier = f", {report.resumed} of them by an earlier run" if report.resumed else ""
    return f"moved {what}{earlier}; both stores have the checksum {report.checksum[:16]}"


def index_fields(one: ScopeVectorIndex) -> dict[str, Any]:
    """Return a vector index as JSON fields."""
    return {
        "name": one.name,
        "scope": one.scope,
        "model": one.model,
        "vectors": one.vectors,
        "bytes": one.bytes,
        "valid": one.valid,
        "present": one.present,
    }


def index_table(indexes: Sequence[ScopeVectorIndex]) -> TextTable:
    """Return vector indexes as a table with one index a row."""
    rows = [
        (
            one.name,
            one.scope or "",
            one.model or "",
            str(one.vectors),
            _format_index_size(one),
            describe_index_state(one),
        )
        for one in indexes
    ]
    return TextTable(("index", "scope", "model", "vectors", "size", "state"), rows)


def describe_index_state(one: ScopeVectorIndex) -> str:
    """Describe the state of a vector index."""
    if one.scope is None:
        return "scope was erased"
    if not one.present:
        return "from an earlier model"
    return "in use" if one.valid else "being built, or interrupted"


def describe_built_index(scope_index: ScopeVectorIndex) -> str:
    """Describe the result of an index build in one sentence."""
    what = f"{format_count(scope_index.vectors, 'vector')} of {scope_index.model}, {_format_index_size(scope_index)}"
    return f"{scope_index.scope} {'now' if scope_index.built else 'already'} has an index: {what}"


def describe_dropped_indexes(indexes: Sequence[ScopeVectorIndex]) -> str:
    """Describe which indexes were dropped in one sentence."""
    if not indexes:
        return "there was no index to drop"
    room = sum(one.bytes for one in indexes) / 1e6
    return f"dropped {', '.join(one.name for one in indexes)}: {room:,.1f} MB freed"


def suggest_index_command(indexes: Sequence[ScopeVectorIndex]) -> str:
    """Suggest the next `recollect admin index` command to the operator."""
    if not indexes:
        return "no scope has an index; `recollect admin index --scope SCOPE` builds one"
    useless = [one for one in indexes if not one.is_usable]
    if useless:
        return f"{len(useless)} not usable unless still being built; `recollect admin index --drop` drops the others"
    return f"{format_count(len(indexes), 'index', 'indexes')}, all in use"


def _format_index_size(one: ScopeVectorIndex) -> str:
    return f"{one.bytes / 1e6:,.1f} MB"


def rollup_fields(report: RollupReport) -> dict[str, Any]:
    """Return the result of a rollup as JSON fields."""
    counts = ("made", "revised", "archived", "unchanged")
    return {
        "scope": str(report.scope),
        **{name: {level.value: getattr(report, name)[level] for level in getattr(report, name)} for name in counts},
        "under_way": report.under_way,
        **asdict(report.spent),
        "cost": report.cost,
    }


def describe_rollup(report: RollupReport) -> str:
    """Describe the result of a rollup in one sentence."""
    parts = [
        f"{what} {_count_levels(counts)}"
        for what, counts in (("created", report.made), ("updated", report.revised), ("archived", report.archived))
        if counts
    ]
    summary = "; ".join(parts) or "all records are up to date"
    later = f" ({format_count(report.under_way, 'period')} under way)" if report.under_way else ""
    return f"{report.scope}: {summary}{later}{_describe_model_usage(report)}"


def _describe_model_usage(report: RollupReport) -> str:
    """Describe the calls to a chat model, or return an empty string if there were none."""
    usage = report.spent
    if not usage.calls:
        return ""
    cost = "" if report.cost is None else f", cost {report.cost:g}"
    tokens = f"{usage.prompt_tokens} and {usage.completion_tokens} tokens"
    return f" ({format_count(usage.calls, 'call')}, {tokens}{cost})"


def _count_levels(counts: Mapping[Level, int]) -> str:
    return ", ".join(format_count(counts[level], level.value) for level in Level if counts.get(level))
