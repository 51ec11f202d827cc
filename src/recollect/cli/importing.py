"""recollect import --format: what came of a file of somebody else's, told."""

from collections.abc import Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

from recollect.engine.importing import Taken
from recollect.importers.formats import FORMATS
from recollect.importers.reading import MOST_TOLD
from recollect.model.memory import MemoryId
from recollect.model.verdict import Receipt
from recollect.model.wording import counted, printable, shortened
from recollect.render import text, wire


def format_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for the name of a format."""
    return [CompletionItem(one.name, help=one.about) for one in FORMATS.values() if one.name.startswith(incomplete)]


def told(taken: Taken) -> Iterator[str]:
    """What came of a file, for people."""
    became = ", ".join(f"{count} {verdict}" for verdict, count in taken.verdicts.items()) or "nothing was written"
    ended = f"nothing was written; it would be {became}" if taken.dry and taken.verdicts else became
    yield f"read {counted(taken.read, 'memory', 'memories')} of the format {taken.format}: {ended}"
    for id, receipt in taken.telling[:MOST_TOLD]:
        yield f"  {printable(_said(id, receipt))}: {printable(text.verdict(receipt.verdict))}"
    yield from _more(len(taken.telling))
    for reason, count in taken.notes.skipped.items():
        yield f"skipped  {count}: {reason}"
    for reason, count in taken.notes.assumed.items():
        yield f"assumed  {count}: {reason}"
    if taken.notes.bad:
        yield f"left out {taken.notes.bad}: cannot be read"
    for problem in taken.notes.told:
        yield f"  {printable(str(problem))}"
    yield from _more(taken.notes.bad)


def data(taken: Taken) -> dict[str, Any]:
    """What came of a file, as JSON has it."""
    return {
        "format": taken.format,
        "dry_run": taken.dry,
        "read": taken.read,
        "verdicts": dict(taken.verdicts),
        "receipts": [{**wire.receipt(one), "given": id} for id, one in taken.telling],
        "skipped": dict(taken.notes.skipped),
        "assumed": dict(taken.notes.assumed),
        "bad": taken.notes.bad,
        "problems": [str(problem) for problem in taken.notes.told],
    }


def _said(id: MemoryId | None, receipt: Receipt) -> str:
    """What a draft says, as far as it was kept: what was refused may be secret."""
    return shortened(receipt.memory.text) if receipt.kept else str(id)


def _more(count: int) -> Iterator[str]:
    if count > MOST_TOLD:
        yield f"  and {count - MOST_TOLD} more"
