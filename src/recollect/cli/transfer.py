"""Commands that move whole stores: export, import, backup and verify.

An export is text, one memory or context a line. A backup is a copy of the SQLite store. `import --format` also reads
files of other programs.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TextIO

import click

from recollect import factory
from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.extract import (
    Extractions,
    extract_imported_turns,
    format_extractions,
    format_notes,
    format_preview,
    format_redactions,
    format_remainder,
    notes_fields,
    preview_extraction,
    preview_fields,
)
from recollect.cli.files import RereadableLines, open_rereadable, write_atomically
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import progress_bar
from recollect.cli.tables import Paint, TextStyle, paint_plain
from recollect.engine import archive_format, transfer
from recollect.engine.engine import Engine
from recollect.engine.import_files import (
    FileImportReport,
    ImportSource,
    find_format,
    read_drafts,
    refuse_foreign_format,
)
from recollect.errors import InvalidInput
from recollect.importers import FORMATS
from recollect.importers.base import MAX_LISTED_ERRORS
from recollect.importers.chat import CHAT_FORMAT
from recollect.model import validation
from recollect.model.archive import ArchiveInfo, ImportReport, VerifyReport
from recollect.model.draft import Receipt
from recollect.model.format import format_count, make_printable, shorten
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.validation import IN_MEMORY_TARGET


@click.command(short_help="Write all that a store knows as lines of text.")
@click.argument("file", type=click.Path(path_type=Path), default=options.STDIN)
@options.scope_filter
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON what went into FILE.")
@pass_target
def export(store: StoreTarget, file: Path, scope: Scope | None, force: bool, as_json: bool) -> None:
    """Write all that the store knows to FILE, or to standard output: JSON, one memory or context a line.

    That is every version, vector, use and vote, as it is at one moment; others may go on writing. FILE is there only
    when it is whole. `recollect import` takes it in again.

    \b
    recollect export agent.jsonl
    recollect export --scope acme/ana | gzip > ana.jsonl.gz
    """
    with store.open_existing() as engine:
        hints = [] if scope is None else output.explain_empty_scope(engine, scope, below=True)
        if str(file) == options.STDIN:
            _write_export(engine, scope, sys.stdout)
            sys.stdout.flush()
        else:
            inventory = _export_to_file(file, engine, scope, store=store.target, force=force)
            if as_json:
                output.print_json({"path": str(file), "memories": inventory.memories, "contexts": inventory.contexts})
            output.print_note(describe_export(inventory))
    for hint in hints:
        output.print_note(hint)


@click.command("import", short_help="Take in what `recollect export` wrote, or what others export.")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--format",
    "format_name",
    metavar="FORMAT",
    shell_complete=options.complete_formats,
    help=f"What FILE is, if it is no export of recollect: {', '.join(FORMATS)}.",
)
@click.option("--scope", metavar="SCOPE", help="Whose memories they become, as acme/ana; with --format.")
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be read, and tell of it; with --format.")
@click.option("--extract", is_flag=True, help="Remember too what the conversations leave behind; with --format chat.")
@click.option(
    "--dry-run", is_flag=True, help="Read FILE and tell what would become of it, and write nothing; with --format."
)
@options.as_json
@pass_target
def import_(
    store: StoreTarget,
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
        _refuse_format_options(
            {"--scope": scope is not None, "--skip-bad": skip_bad, "--extract": extract, "--dry-run": dry_run}
        )
    elif scope is None:
        raise InvalidInput("--format needs --scope; name the scope of the imported memories, such as --scope acme/ana")
    if file.isatty():
        click.echo("reading an export; Ctrl-D ends it", err=True)
    with open_rereadable(file) as lines:
        if format_name is None or scope is None:
            _import_archive(store, lines, as_json=as_json)
            return
        format = find_format("--format", format_name)
        if extract and format is not CHAT_FORMAT:
            raise InvalidInput("--extract needs --format chat; other formats have no conversations")
        source = ImportSource(
            lines=lines, name=_file_name(file), format=format, scope=Scope.parse(scope), skip_bad=skip_bad
        )
        report = _import_foreign(store, source, dry_run=dry_run)
        extractions: Extractions = []
        if extract:
            extractions = preview_extraction(source) if dry_run else extract_imported_turns(store, source)
    if as_json:
        extracted = (
            preview_fields(extractions) if dry_run else schemas.events.ExtractedMemories.of(extractions).to_json()
        )
        output.print_json({**foreign_import_fields(report), **({"extracted": extracted} if extract else {})})
    else:
        output.print_lines(format_foreign_import(report))
        if extract:
            output.print_lines(
                format_preview(extractions) if dry_run else format_extractions(extractions, output.paint)
            )


def _import_foreign(store: StoreTarget, source: ImportSource, *, dry_run: bool) -> FileImportReport:
    """Import the export of another program, or preview the result."""
    if not (dry_run or store.exists):
        read_drafts(source.read(datetime.now(UTC)), source)  # refuse wrong input before a store is created
    with _open_trial(store) if dry_run else store.open_or_create() as engine, progress_bar("importing") as show:
        return engine.admin.import_from(
            source.lines,
            format=source.format.name,
            scope=source.scope,
            name=source.name,
            skip_bad=source.skip_bad,
            dry_run=dry_run,
            progress=show,
        )


def _open_trial(store: StoreTarget) -> AbstractContextManager[Engine]:
    """Open the store, or a temporary one if there is none: a dry run creates no store."""
    return store.open_existing() if store.exists else factory.open(IN_MEMORY_TARGET)


def _import_archive(store: StoreTarget, lines: RereadableLines, *, as_json: bool) -> None:
    """Import an export of recollect; a foreign file is refused with its likely format."""
    refuse_foreign_format(lines)
    # check first, so that a refused export creates no store
    encoder = None if store.exists else transfer.check_export(lines, datetime.now(UTC)).encoder
    with store.open_or_create(encoder) as engine, progress_bar("importing") as show:
        report = engine.import_(lines, progress=show)
    if as_json:
        output.print_answer(schemas.admin.Imported.of(report))
    else:
        output.print_lines(describe_import(report))


def _refuse_format_options(given: Mapping[str, bool]) -> None:
    stray = next((name for name, is_given in given.items() if is_given), None)
    if stray is not None:
        raise InvalidInput(f"{stray} needs --format; an export of recollect already has the scopes of its memories")


def _file_name(file: IO[bytes]) -> str | None:
    """Return the name of the file without its folder; None for standard input."""
    name = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) and name != "<stdin>" else None


def _export_to_file(file: Path, engine: Engine, scope: Scope | None, *, store: str, force: bool) -> ArchiveInfo:
    """Write an export to a file that gets its name only when it is complete."""
    with (
        write_atomically(file, store=store, force=force) as path,
        path.open("w", encoding="ascii", newline="\n") as out,
    ):
        inventory = _write_export(engine, scope, out)
        out.flush()
        os.fsync(out.fileno())
    return inventory


def _write_export(engine: Engine, scope: Scope | None, out: TextIO) -> ArchiveInfo:
    """Write an export, with a progress bar unless the export itself goes to the terminal."""
    lines = engine.export(scope=scope)
    first = next(lines)
    inventory = archive_format.read_header(first)
    total = inventory.memories + inventory.contexts
    out.write(first)
    with progress_bar("exporting", wanted=not out.isatty()) as show:
        for done, line in enumerate(lines, start=1):
            out.write(line)
            show(min(done, total), total)  # the last line is the checksum and not an item
    return inventory


def format_foreign_import(report: FileImportReport) -> Iterator[str]:
    """Yield the result of an import from another program as lines for people."""
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in report.verdicts.items()) or "nothing was written"
    outcome = f"nothing was written; the result would be {verdicts}" if report.dry and report.verdicts else verdicts
    yield f"read {format_count(report.read, 'memory', 'memories')} in the format {report.format}: {outcome}"
    for id, receipt in report.telling[:MAX_LISTED_ERRORS]:
        draft, verdict = _describe_draft(report, id, receipt), formatting.describe_verdict(receipt.verdict)
        yield f"  {make_printable(draft)}: {make_printable(verdict)}"
    yield from format_remainder(len(report.telling))
    yield from format_redactions(report.redacted, "memory", "memories")
    yield from format_notes(report.notes)


def foreign_import_fields(report: FileImportReport) -> dict[str, Any]:
    """Return the result of an import from another program as JSON fields."""
    return {
        "format": report.format,
        "dry_run": report.dry,
        "read": report.read,
        "verdicts": dict(report.verdicts),
        "receipts": [
            {**schemas.memories.Receipt.of(one).to_json(), "given": id, **_location_fields(report, id)}
            for id, one in report.telling
        ],
        "redacted": dict(report.redacted),
        **notes_fields(report.notes),
    }


def _describe_draft(report: FileImportReport, id: MemoryId | None, receipt: Receipt) -> str:
    """Describe a draft by its text if it was stored, else by its place in the file.

    The text of a draft that was not stored may be secret.
    """
    if receipt.kept:
        return shorten(receipt.memory.text)
    return str(id if id is None else report.spots.get(id, id))


def _location_fields(report: FileImportReport, id: MemoryId | None) -> dict[str, Any]:
    spot = None if id is None else report.spots.get(id)
    return {"line": None, "within": None} if spot is None else {"line": spot.line, "within": spot.path or None}


MAX_HEADER_BYTES = 65_536
"""Bytes read from the start of a file to see whether it is an export."""


@click.command(short_help="Copy a store while it is in use.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@options.as_json
@pass_target
def backup(store: StoreTarget, file: Path, force: bool, as_json: bool) -> None:
    """Copy the store as it is at one moment to FILE, while others go on reading and writing.

    FILE is there only when it is whole, and is a store like any other. `recollect verify` checks it.

    \b
    recollect backup agent-backup.db && recollect verify agent-backup.db
    """
    factory.refuse_url(store.target)
    if not validation.is_storable(str(file)):
        raise InvalidInput(f"{str(file)!r} is not UTF-8, so the copy could not be opened; name another file")
    with (
        store.open_existing() as engine,
        write_atomically(file, store=store.target, force=force) as path,
        progress_bar("copying") as show,
    ):
        engine.admin.backup(path, progress=show)
    if as_json:
        output.print_json({"path": str(file), "bytes": file.stat().st_size})
    output.print_note(f"copied; `recollect verify {make_printable(str(file))}` checks it")


@click.command(short_help="Restore a backup to one side, and check all of it.")
@click.argument("file", type=click.Path(), required=False)
@options.as_json
@click.pass_context
@pass_target
def verify(store: StoreTarget, ctx: click.Context, file: str | None, as_json: bool) -> None:
    """Restore the backup FILE, or the store that --db names, in a temporary place, check every row of it, and recall.

    Neither FILE nor the store is changed. The exit code is 1 if there is any problem, and each is told.
    """
    path = store.target if file is None else file
    file_path = Path(path)
    with progress_bar("checking") as show:
        report = factory.verify(path, progress=show)
    if not report.ok and _is_export(file_path):
        raise InvalidInput(
            f"{str(file_path)!r} is an export, not a store; `recollect --db NEW import FILE` checks it "
            "and makes it a store"
        )
    if as_json:
        output.print_answer(schemas.admin.Verification.of(report))
    else:
        output.print_lines(format_report(report, output.paint))
    if not report.ok:
        ctx.exit(1)


def _is_export(file: Path) -> bool:
    """Return whether the file starts like an export of recollect."""
    try:
        with file.open("rb") as lines:
            archive_format.read_header(lines.readline(MAX_HEADER_BYTES).decode())
    except (OSError, ValueError):
        return False
    return True


def describe_export(inventory: ArchiveInfo) -> str:
    """Describe what an export contains."""
    return f"exported {_count_items(inventory.memories, inventory.contexts)}"


def describe_import(report: ImportReport) -> Iterator[str]:
    """Yield what an import added and skipped."""
    added = _count_items(report.memories, report.contexts)
    were = "was" if report.skipped == 1 else "were"
    yield f"added {added}; skipped {report.skipped} that {were} there already"
    if report.re_embedded is not None:
        yield f"re-embedded: the vectors of the export were from {report.re_embedded}"


def format_report(report: VerifyReport, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield what a checked file contains, and all problems with it."""
    yield f"{paint(TextStyle.STRONG, make_printable(report.path))}  {_count_items(report.memories, report.contexts)}"
    for problem in report.problems:
        yield f"{paint(TextStyle.STRONG, 'problem')}  {make_printable(problem)}"
    if report.ok:
        sealed = "unchanged since the backup was made" if report.sealed else "the store has no checksum"
        recalled = "a test recall found the expected memories" if report.recalled else "there was nothing to recall"
        yield f"{paint(TextStyle.SCORE, 'ok')}  restored, every row checked; {sealed}; {recalled}"


def _count_items(memories: int, contexts: int) -> str:
    return f"{format_count(memories, 'memory', 'memories')} and {format_count(contexts, 'context')}"
