"""recollect extract: a conversation leaves memories behind."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import click

from recollect import factory
from recollect.cli import import_output, options, output
from recollect.cli.conversations import conversations
from recollect.cli.lines import read_again
from recollect.cli.progress import Tell, bar
from recollect.cli.target import Place, place
from recollect.engine.engine import Engine
from recollect.engine.extract import Extracted
from recollect.engine.import_files import Source
from recollect.importers.formats import FORMATS
from recollect.model.conversation import Said
from recollect.model.extraction import MOST_EXTRACTED
from recollect.model.format import counted, printable, shortened
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.validation import IN_MEMORY
from recollect.render import extraction
from recollect.render.styles import Look

DONE = "extracted"
"""What is not done with a file that cannot be read."""


@click.command(short_help="Remember what a conversation leaves behind.")
@click.argument("file", type=click.File("rb"))
@options.scope
@click.option(
    "--most",
    type=click.IntRange(1, MOST_EXTRACTED),
    metavar="N",
    help="At most so many memories of each session; else what is configured.",
)
@options.choice(
    Provenance,
    "--provenance",
    metavar="CLASS",
    default=Provenance.IMPORT.value,
    show_default=True,
    help="Through whom the conversation came: a file's word on who spoke is trusted no further than that.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out turns that cannot be read, and tell of them.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be proposed and the words it rests on, without a look at the store; write nothing.",
)
@options.as_json
@place
def extract(
    place: Place,
    file: IO[bytes],
    scope: Scope,
    most: int | None,
    provenance: Provenance,
    skip_bad: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remember what is worth it in the conversation in FILE, or on standard input if FILE is -.

    FILE has JSON lines: a turn each, with text or content and any of role, speaker, timestamp and session, or a whole
    conversation with its messages. It is read session by session; doing it again changes nothing.

    \b
    recollect extract chat.jsonl --scope acme/ana
    recollect extract chat.jsonl --scope acme/ana --dry-run
    """
    with read_again(file) as lines:
        source = Source(lines=lines, name=None, format=FORMATS["chat"], scope=scope, skip_bad=skip_bad)
        sessions, notes = conversations(source, stored=False, done=DONE)
    opened = factory.open(IN_MEMORY, embedder="hashing") if dry_run else place.made()  # which no memory outlives
    with opened as engine, bar("extracting") as show:
        left = list(_left_behind(engine, sessions, scope, show, most=most, provenance=provenance))
    found = [(one.receipts, one.extraction) for one in left]
    redacted = sum((Counter(one.redacted) for one in left), Counter[str]())
    if as_json:
        said = foreseen(found) if dry_run else extraction.data(found)
        output.data({**said, "redacted": dict(redacted), **import_output.noted(notes)})
    else:
        output.lines(told_ahead(found) if dry_run else extraction.told(found, output.paint))
        output.lines([*import_output.told_redacted(redacted, "turn"), *import_output.told_notes(notes)])


def extract_stored(place: Place, source: Source) -> extraction.Found:
    """What conversations leave behind whose turns were imported."""
    sessions, _ = conversations(source, stored=True, done=DONE)
    with place.there() as engine, bar("extracting") as show:
        return [(one.receipts, one.extraction) for one in _left_behind(engine, sessions, source.scope, show)]


def foresee(source: Source) -> extraction.Found:
    """What conversations would leave behind whose turns are only tried."""
    sessions, _ = conversations(source, stored=False, done=DONE)
    with factory.open(IN_MEMORY, embedder="hashing") as engine, bar("extracting") as show:
        return [(one.receipts, one.extraction) for one in _left_behind(engine, sessions, source.scope, show)]


def _left_behind(
    engine: Engine, sessions: Sequence[Sequence[Said]], scope: Scope, show: Tell, **how: Any
) -> Iterator[Extracted]:
    for done, turns in enumerate(sessions, start=1):
        yield engine.extract(turns, scope=scope, **how)
        show(done, len(sessions))


def told_ahead(found: extraction.Found) -> Iterator[str]:
    """What would be remembered, with the words it rests on."""
    ahead = foreseen(found)
    for one in ahead["extracts"]:
        yield f"{output.paint(Look.STRONG, one['kind'])}  {printable(shortened(one['text']))}"
        yield output.paint(Look.FAINT, f"  rests on: {printable(shortened(one['quote']))}")
    for one in ahead["rejected"]:
        yield output.paint(Look.FAINT, f"not taken: {printable(shortened(one['text']))} ({one['reason']})")
    memories = counted(len(ahead["extracts"]), "memory", "memories")
    yield f"{counted(len(found), 'session')}: {memories} would be proposed; nothing was written"
    if ahead["calls"]:
        cost = "" if ahead["cost"] is None else f", cost {ahead['cost']:g}"
        yield f"the model was asked all the same: {counted(ahead['calls'], 'call')}{cost}"


def foreseen(found: extraction.Found) -> dict[str, Any]:
    """The same as JSON has it: none of the memories is there, so none has an id."""
    told = extraction.data([((), replace(each, extracts=())) for _, each in found])
    extracts = [
        {
            "text": one.text,
            "kind": one.kind.value,
            "quote": one.quote,
            "turn": one.turn,
            "importance": one.importance,
            "confidence": one.confidence,
        }
        for _, each in found
        for one in each.extracts
    ]
    return {**told, "extracts": extracts, "dry_run": True}
