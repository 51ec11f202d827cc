"""recollect export and import: all that a store knows goes out as lines of text, and comes in again."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TextIO

import click

from recollect.cli import empty, options, output
from recollect.cli.bars import bar
from recollect.cli.files import whole
from recollect.cli.place import Place, place
from recollect.engine import archive, transfer
from recollect.engine.engine import Engine
from recollect.errors import InvalidInput
from recollect.model.archive import Inventory
from recollect.model.scope import Scope
from recollect.render import text, wire


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
        hints = [] if scope is None else empty.told_scope(engine, scope, below=True)
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


@click.command("import", short_help="Take in what `recollect export` wrote.")
@click.argument("file", type=click.File("rb"))
@options.as_json
@place
def import_(place: Place, file: IO[bytes], as_json: bool) -> None:
    """Take in the export in FILE, or on standard input if FILE is -; all of it or nothing.

    A new store is then what the exported one was, with the same model if it is installed. Any other gets what it does
    not have yet; an id that says something else here is a conflict. The store is made if it is not there.

    \b
    recollect --db copy.db import agent.jsonl
    """
    if file.isatty():
        click.echo("reading an export; Ctrl-D ends it", err=True)
    with _lines(file) as lines:
        # before a store is made, so that what is refused makes none
        encoder = None if place.exists else transfer.check(lines, datetime.now(UTC)).encoder
        with place.made(encoder) as engine, bar("importing") as show:
            imported = engine.import_(lines, progress=show)
    if as_json:
        output.data(wire.imported(imported))
    else:
        output.lines(text.imported(imported))


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
    inventory = archive.read_header(first)
    total = inventory.memories + inventory.contexts
    to.write(first)
    with bar("exporting", wanted=not to.isatty()) as show:
        for done, line in enumerate(lines, start=1):
            to.write(line)
            show(min(done, total), total)  # behind them is one line more, with their sum
    return inventory


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a file, from the first one on each time they are asked for."""

    file: IO[bytes]

    def __iter__(self) -> Iterator[str]:
        self.file.seek(0)
        for number, line in enumerate(_read(self.file), start=1):
            yield _decoded(line, number)


@contextmanager
def _lines(file: IO[bytes]) -> Iterator[Lines]:
    """The lines, to be read as often as needed; what can be read only once is kept in a temporary file meanwhile."""
    if file.seekable():
        yield Lines(file)
        return
    with tempfile.TemporaryFile() as kept:
        kept.writelines(_read(file))
        yield Lines(kept)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from transfer.read_lines(file.readline)  # the file itself would be closed when a reading is given up
    except OSError as error:
        raise InvalidInput(f"the export cannot be read: {error.strerror or error}") from error


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"line {number}: this is not UTF-8 ({error.reason}); it is no export, or was changed"
        ) from error
