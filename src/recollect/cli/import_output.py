"""What came of a file of somebody else's, told: of `recollect import --format`, and of what `extract` reads."""

from collections.abc import Iterator, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from recollect.engine.import_files import FileImportReport
from recollect.importers.formats import FORMATS
from recollect.importers.reader import MAX_LISTED_ERRORS, ImportNotes
from recollect.model.format import format_count, make_printable, shorten
from recollect.model.memory import MemoryId
from recollect.model.verdict import Receipt
from recollect.render import json_values, text


def complete_formats(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for the name of a format."""
    return [CompletionItem(one.name, help=one.about) for one in FORMATS.values() if one.name.startswith(incomplete)]


def format_foreign_import(taken: FileImportReport) -> Iterator[str]:
    """What came of a file, for people."""
    became = ", ".join(f"{count} {verdict}" for verdict, count in taken.verdicts.items()) or "nothing was written"
    ended = f"nothing was written; it would be {became}" if taken.dry_run and taken.verdicts else became
    yield f"read {format_count(taken.read_count, 'memory', 'memories')} of the format {taken.format}: {ended}"
    for id, receipt in taken.notable_receipts[:MAX_LISTED_ERRORS]:
        draft, verdict = _describe_draft(taken, id, receipt), text.describe_verdict(receipt.verdict)
        yield f"  {make_printable(draft)}: {make_printable(verdict)}"
    yield from format_remainder(len(taken.notable_receipts))
    yield from format_redactions(taken.redacted, "memory", "memories")
    yield from format_notes(taken.notes)


def format_redactions(counts: Mapping[str, int], one: str, several: str | None = None) -> Iterator[str]:
    """What was taken out because it is private or secret, and of how many."""
    for kind, count in counts.items():
        yield f"taken out of {format_count(count, one, several)} before anything was kept: {kind}"


def format_notes(notes: ImportNotes) -> Iterator[str]:
    """What was skipped, assumed and left out."""
    for reason, count in notes.skipped.items():
        yield f"skipped  {count}: {reason}"
    for reason, count in notes.assumed.items():
        yield f"assumed  {count}: {reason}"
    if notes.bad_count:
        yield f"left out {notes.bad_count}: cannot be read"
    for problem in notes.errors:
        yield f"  {make_printable(str(problem))}"
    yield from format_remainder(notes.bad_count)


def foreign_import_fields(taken: FileImportReport) -> dict[str, Any]:
    """What came of a file, as JSON has it."""
    return {
        "format": taken.format,
        "dry_run": taken.dry_run,
        "read": taken.read_count,
        "verdicts": dict(taken.verdicts),
        "receipts": [
            {**json_values.receipt_fields(one), "given": id, **_location_fields(taken, id)}
            for id, one in taken.notable_receipts
        ],
        "redacted": dict(taken.redacted),
        **notes_fields(taken.notes),
    }


def notes_fields(notes: ImportNotes) -> dict[str, Any]:
    """What was skipped, assumed and left out, as JSON has it."""
    return {
        "skipped": dict(notes.skipped),
        "assumed": dict(notes.assumed),
        "bad": notes.bad_count,
        "problems": [str(problem) for problem in notes.errors],
    }


def _describe_draft(taken: FileImportReport, id: MemoryId | None, receipt: Receipt) -> str:
    """What a draft says, as far as it was kept; of what was not, which may be secret, where in the file it stands."""
    if receipt.kept:
        return shorten(receipt.memory.text)
    return str(id if id is None else taken.locations.get(id, id))


def _location_fields(taken: FileImportReport, id: MemoryId | None) -> dict[str, Any]:
    spot = None if id is None else taken.locations.get(id)
    return {"line": None, "within": None} if spot is None else {"line": spot.line, "within": spot.path or None}


def format_remainder(count: int) -> Iterator[str]:
    if count > MAX_LISTED_ERRORS:
        yield f"  and {count - MAX_LISTED_ERRORS} more"
