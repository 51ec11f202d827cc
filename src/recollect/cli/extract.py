"""recollect extract: a conversation leaves memories behind."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import click

from recollect import factory
from recollect.cli import import_output, options, output
from recollect.cli.conversations import read_conversations
from recollect.cli.lines import open_rereadable
from recollect.cli.progress import ReportProgress, progress_bar
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.engine import Engine
from recollect.engine.extract import ExtractionResult
from recollect.engine.import_files import ImportSource
from recollect.importers.formats import FORMATS
from recollect.model.conversation import ConversationTurn
from recollect.model.extraction import MAX_EXTRACTS
from recollect.model.format import format_count, make_printable, shorten
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.render import extraction
from recollect.render.styles import TextStyle

EXTRACTED_VERB = "extracted"
"""What is not done with a file that cannot be read."""


@click.command(short_help="Remember what a conversation leaves behind.")
@click.argument("file", type=click.File("rb"))
@options.scope
@click.option(
    "--most",
    type=click.IntRange(1, MAX_EXTRACTS),
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
@pass_target
def extract(
    place: StoreTarget,
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
    with open_rereadable(file) as lines:
        source = ImportSource(lines=lines, name=None, format=FORMATS["chat"], scope=scope, skip_bad=skip_bad)
        sessions, notes = read_conversations(source, stored=False, done=EXTRACTED_VERB)
    opened = (
        factory.open(IN_MEMORY_TARGET, embedder="hashing") if dry_run else place.open_or_create()
    )  # which no memory outlives
    with opened as engine, progress_bar("extracting") as show:
        left = list(_extract_sessions(engine, sessions, scope, show, most=most, provenance=provenance))
    found = [(one.receipts, one.extraction) for one in left]
    redacted = sum((Counter(one.redacted) for one in left), Counter[str]())
    if as_json:
        said = preview_fields(found) if dry_run else extraction.extraction_fields(found)
        output.print_json({**said, "redacted": dict(redacted), **import_output.notes_fields(notes)})
    else:
        output.print_lines(format_preview(found) if dry_run else extraction.format_extractions(found, output.paint))
        output.print_lines([*import_output.format_redactions(redacted, "turn"), *import_output.format_notes(notes)])


def extract_imported_turns(place: StoreTarget, source: ImportSource) -> extraction.Extractions:
    """What conversations leave behind whose turns were imported."""
    sessions, _ = read_conversations(source, stored=True, done=EXTRACTED_VERB)
    with place.open_existing() as engine, progress_bar("extracting") as show:
        return [(one.receipts, one.extraction) for one in _extract_sessions(engine, sessions, source.scope, show)]


def preview_extraction(source: ImportSource) -> extraction.Extractions:
    """What conversations would leave behind whose turns are only tried."""
    sessions, _ = read_conversations(source, stored=False, done=EXTRACTED_VERB)
    with factory.open(IN_MEMORY_TARGET, embedder="hashing") as engine, progress_bar("extracting") as show:
        return [(one.receipts, one.extraction) for one in _extract_sessions(engine, sessions, source.scope, show)]


def _extract_sessions(
    engine: Engine, sessions: Sequence[Sequence[ConversationTurn]], scope: Scope, show: ReportProgress, **how: Any
) -> Iterator[ExtractionResult]:
    for done, turns in enumerate(sessions, start=1):
        yield engine.extract(turns, scope=scope, **how)
        show(done, len(sessions))


def format_preview(found: extraction.Extractions) -> Iterator[str]:
    """What would be remembered, with the words it rests on."""
    ahead = preview_fields(found)
    for one in ahead["extracts"]:
        yield f"{output.paint(TextStyle.STRONG, one['kind'])}  {make_printable(shorten(one['text']))}"
        yield output.paint(TextStyle.FAINT, f"  rests on: {make_printable(shorten(one['quote']))}")
    for one in ahead["rejected"]:
        yield output.paint(TextStyle.FAINT, f"not taken: {make_printable(shorten(one['text']))} ({one['reason']})")
    memories = format_count(len(ahead["extracts"]), "memory", "memories")
    yield f"{format_count(len(found), 'session')}: {memories} would be proposed; nothing was written"
    if ahead["calls"]:
        cost = "" if ahead["cost"] is None else f", cost {ahead['cost']:g}"
        yield f"the model was asked all the same: {format_count(ahead['calls'], 'call')}{cost}"


def preview_fields(found: extraction.Extractions) -> dict[str, Any]:
    """The same as JSON has it: none of the memories is there, so none has an id."""
    told = extraction.extraction_fields([((), replace(each, extracts=())) for _, each in found])
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
