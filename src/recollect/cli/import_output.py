"""What came of a file of somebody else's, told: of `recollect import --format`, and of what `extract` reads."""

from collections.abc import Iterator, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from recollect.engine.import_files import Taken
from recollect.importers.formats import FORMATS
from recollect.importers.reader import MOST_TOLD, Notes
from recollect.model.format import counted, printable, shortened
from recollect.model.memory import MemoryId
from recollect.model.verdict import Receipt
from recollect.render import json_values, text


def format_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for the name of a format."""
    return [CompletionItem(one.name, help=one.about) for one in FORMATS.values() if one.name.startswith(incomplete)]


def told(taken: Taken) -> Iterator[str]:
    """What came of a file, for people."""
    became = ", ".join(f"{count} {verdict}" for verdict, count in taken.verdicts.items()) or "nothing was written"
    ended = f"nothing was written; it would be {became}" if taken.dry and taken.verdicts else became
    yield f"read {counted(taken.read, 'memory', 'memories')} of the format {taken.format}: {ended}"
    for id, receipt in taken.telling[:MOST_TOLD]:
        yield f"  {printable(_said(taken, id, receipt))}: {printable(text.verdict(receipt.verdict))}"
    yield from _more(len(taken.telling))
    yield from told_redacted(taken.redacted, "memory", "memories")
    yield from told_notes(taken.notes)


def told_redacted(counts: Mapping[str, int], one: str, several: str | None = None) -> Iterator[str]:
    """What was taken out because it is private or secret, and of how many."""
    for kind, count in counts.items():
        yield f"taken out of {counted(count, one, several)} before anything was kept: {kind}"


def told_notes(notes: Notes) -> Iterator[str]:
    """What was skipped, assumed and left out."""
    for reason, count in notes.skipped.items():
        yield f"skipped  {count}: {reason}"
    for reason, count in notes.assumed.items():
        yield f"assumed  {count}: {reason}"
    if notes.bad:
        yield f"left out {notes.bad}: cannot be read"
    for problem in notes.told:
        yield f"  {printable(str(problem))}"
    yield from _more(notes.bad)


def data(taken: Taken) -> dict[str, Any]:
    """What came of a file, as JSON has it."""
    return {
        "format": taken.format,
        "dry_run": taken.dry,
        "read": taken.read,
        "verdicts": dict(taken.verdicts),
        "receipts": [{**json_values.receipt(one), "given": id, **_spot(taken, id)} for id, one in taken.telling],
        "redacted": dict(taken.redacted),
        **noted(taken.notes),
    }


def noted(notes: Notes) -> dict[str, Any]:
    """What was skipped, assumed and left out, as JSON has it."""
    return {
        "skipped": dict(notes.skipped),
        "assumed": dict(notes.assumed),
        "bad": notes.bad,
        "problems": [str(problem) for problem in notes.told],
    }


def _said(taken: Taken, id: MemoryId | None, receipt: Receipt) -> str:
    """What a draft says, as far as it was kept; of what was not, which may be secret, where in the file it stands."""
    if receipt.kept:
        return shortened(receipt.memory.text)
    return str(id if id is None else taken.spots.get(id, id))


def _spot(taken: Taken, id: MemoryId | None) -> dict[str, Any]:
    spot = None if id is None else taken.spots.get(id)
    return {"line": None, "within": None} if spot is None else {"line": spot.line, "within": spot.within or None}


def _more(count: int) -> Iterator[str]:
    if count > MOST_TOLD:
        yield f"  and {count - MOST_TOLD} more"
