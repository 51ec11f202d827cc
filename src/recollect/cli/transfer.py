"""recollect export and import: all that a store knows goes out as lines of text, and comes in again."""

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TextIO

import click

from recollect import factory
from recollect.cli import empty_hints, import_output, options, output
from recollect.cli.extract import extract_stored, foresee, foreseen, told_ahead
from recollect.cli.files import whole
from recollect.cli.lines import Lines, read_again
from recollect.cli.progress import bar
from recollect.cli.target import Place, place
from recollect.engine import archive_format, transfer
from recollect.engine.engine import Engine
from recollect.engine.import_files import Source, Taken, a_format, drafts, refuse_foreign
from recollect.errors import InvalidInput
from recollect.importers.chat import CHAT
from recollect.importers.formats import FORMATS
from recollect.model.archive import Inventory
from recollect.model.scope import Scope
from recollect.model.validation import IN_MEMORY
from recollect.render import extraction, json_values, text


@click.command(short_help="Write all that a store knows as lines of text.")
@click.argument("file", type=click.Path(path_type=Path), default=options.STDIN)
@options.part
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON what went into FILE.")
@place
def export(place: Place, file: Path, scope: Scope | None, force: bool, as_json: bool) -> None:
    """Write all that the store knows to FILE, or to standard output: JSON, one memory or context a line.

    That is every version, vector, use and vote, as it is at one moment; others may go on writing. FILE is there only
    when it is whole. `recollect import` takes it in again.

    \b
    recollect export agent.jsonl
    recollect export --scope acme/ana | gzip > ana.jsonl.gz
    """
    with place.there() as engine:
        hints = [] if scope is None else empty_hints.told_scope(engine, scope, below=True)
        if str(file) == options.STDIN:
            _export(engine, scope, sys.stdout)
            sys.stdout.flush()
        else:
            inventory = _export_to(file, engine, scope, store=place.target, force=force)
            if as_json:
                output.data({"path": str(file), "memories": inventory.memories, "contexts": inventory.contexts})
            output.talk(text.exported(inventory))
    for hint in hints:
        output.talk(hint)


@click.command("import", short_help="Take in what `recollect export` wrote, or what others export.")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--format",
    "format_name",
    metavar="FORMAT",
    shell_complete=import_output.format_names,
    help=f"What FILE is, if it is no export of recollect: {', '.join(FORMATS)}.",
)
@click.option("--scope", metavar="SCOPE", help="Whose memories they become, as acme/ana; with --format.")
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be read, and tell of it; with --format.")
@click.option("--extract", is_flag=True, help="Remember too what the conversations leave behind; with --format chat.")
@click.option(
    "--dry-run", is_flag=True, help="Read FILE and tell what would become of it, and write nothing; with --format."
)
@options.as_json
@place
def import_(
    place: Place,
    file: IO[bytes],
    format_name: str | None,
    scope: str | None,
    skip_bad: bool,
    extract: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take in the export in FILE, or on standard input if FILE is -. The store is made if it is not there.

    An export of recollect is taken in as a whole or not at all. A new store is then what the exported one was, with the
    same model if it is installed. Any other gets what it does not have yet; an id that says something else here is a
    conflict.

    With --format, FILE is what another program exported. Each thing in it is judged as if it were told now, with the
    trust of an import, so that some may be kept apart or refused; what was imported before is left as it is.

    \b
    recollect --db copy.db import agent.jsonl
    recollect import memory.jsonl --format mcp-memory --scope acme/ana
    """
    if format_name is None:
        _refuse_without_format(
            {"--scope": scope is not None, "--skip-bad": skip_bad, "--extract": extract, "--dry-run": dry_run}
        )
    elif scope is None:
        raise InvalidInput("--format goes with --scope; say whose memories they become, as --scope acme/ana")
    if file.isatty():
        click.echo("reading an export; Ctrl-D ends it", err=True)
    with read_again(file) as lines:
        if format_name is None or scope is None:
            _import_ours(place, lines, as_json=as_json)
            return
        format = a_format("--format", format_name)
        if extract and format is not CHAT:
            raise InvalidInput("--extract goes with --format chat; other formats have no conversations")
        source = Source(lines=lines, name=_name(file), format=format, scope=Scope.parse(scope), skip_bad=skip_bad)
        taken = _import_others(place, source, dry_run=dry_run)
        left: extraction.Found = []
        if extract:
            left = foresee(source) if dry_run else extract_stored(place, source)
    if as_json:
        extracted = foreseen(left) if dry_run else extraction.data(left)
        output.data({**import_output.data(taken), **({"extracted": extracted} if extract else {})})
    else:
        output.lines(import_output.told(taken))
        if extract:
            output.lines(told_ahead(left) if dry_run else extraction.told(left, output.paint))


def _import_others(place: Place, source: Source, *, dry_run: bool) -> Taken:
    """Remember what another program exported, or see what would become of it."""
    if not (dry_run or place.exists):
        drafts(source.read(datetime.now(UTC)), source)  # so that what is refused makes no store
    with _tried(place) if dry_run else place.made() as engine, bar("importing") as show:
        return engine.import_from(
            source.lines,
            format=source.format.name,
            scope=source.scope,
            name=source.name,
            skip_bad=source.skip_bad,
            dry_run=dry_run,
            progress=show,
        )


def _tried(place: Place) -> AbstractContextManager[Engine]:
    """The engine of the store, or of a throw-away if there is none: what is only tried makes no store."""
    return place.there() if place.exists else factory.open(IN_MEMORY)


def _import_ours(place: Place, lines: Lines, *, as_json: bool) -> None:
    """Take in an export of ours; one of others is refused with the format it looks like."""
    refuse_foreign(lines)
    # before a store is made, so that what is refused makes none
    encoder = None if place.exists else transfer.check(lines, datetime.now(UTC)).encoder
    with place.made(encoder) as engine, bar("importing") as show:
        imported = engine.import_(lines, progress=show)
    if as_json:
        output.data(json_values.imported(imported))
    else:
        output.lines(text.imported(imported))


def _refuse_without_format(given: Mapping[str, bool]) -> None:
    stray = next((name for name, is_given in given.items() if is_given), None)
    if stray is not None:
        raise InvalidInput(f"{stray} goes with --format; an export of recollect says itself whose its memories are")


def _name(file: IO[bytes]) -> str | None:
    """What the file is called, without its folder; standard input has no name."""
    name = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) and name != "<stdin>" else None


def _export_to(file: Path, engine: Engine, scope: Scope | None, *, store: str, force: bool) -> Inventory:
    """Write the lines to a file that is there only when it is whole."""
    with whole(file, store=store, force=force) as path, path.open("w", encoding="ascii", newline="\n") as to:
        inventory = _export(engine, scope, to)
        to.flush()
        os.fsync(to.fileno())
    return inventory


def _export(engine: Engine, scope: Scope | None, to: TextIO) -> Inventory:
    """Write the lines; a bar says how far it is, unless the lines themselves are on the terminal."""
    lines = engine.export(scope=scope)
    first = next(lines)
    inventory = archive_format.read_header(first)
    total = inventory.memories + inventory.contexts
    to.write(first)
    with bar("exporting", wanted=not to.isatty()) as show:
        for done, line in enumerate(lines, start=1):
            to.write(line)
            show(min(done, total), total)  # behind them is one line more, with their sum
    return inventory
