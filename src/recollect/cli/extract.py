"""The command `recollect extract`: turns the conversations in a file into memories.

`recollect import --extract` and `recollect admin extract` share the functions below the command: reading conversations,
previews, and results as JSON and text.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Any

import click

from recollect import factory
from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.files import open_rereadable
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import ReportProgress, progress_bar
from recollect.cli.tables import Paint, TextStyle, paint_plain
from recollect.engine.engine import Engine
from recollect.engine.extract import ExtractionResult
from recollect.engine.import_files import ImportSource, read_drafts
from recollect.errors import FieldError, InvalidInput
from recollect.importers import FORMATS
from recollect.importers.base import MAX_LISTED_ERRORS, ImportNotes, ImportOptions
from recollect.importers.chat import EXPECTED_LINE, ChatReader
from recollect.model.conversation import MAX_EXTRACTS, ConversationTurn, Extraction, LlmUsage, Role
from recollect.model.draft import Draft, Receipt
from recollect.model.enums import Provenance
from recollect.model.format import format_count, make_printable, shorten
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.validation import IN_MEMORY_TARGET

Extractions = Sequence[tuple[Sequence[Receipt], Extraction]]
"""For each conversation, the receipts of its memories and the extraction itself."""

EXTRACTED_VERB = "extracted"
"""The verb for error messages: nothing was *extracted* from a file that cannot be read."""


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
    store: StoreTarget,
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
    opening = (
        factory.open(IN_MEMORY_TARGET, embedder="hashing") if dry_run else store.open_or_create()
    )  # no memory outlives this store
    with opening as engine, progress_bar("extracting") as show:
        results = list(_extract_sessions(engine, sessions, scope, show, most=most, provenance=provenance))
    extractions = [(one.receipts, one.extraction) for one in results]
    redacted = sum((Counter(one.redacted) for one in results), Counter[str]())
    if as_json:
        fields = preview_fields(extractions) if dry_run else schemas.events.ExtractedMemories.of(extractions).to_json()
        output.print_json({**fields, "redacted": dict(redacted), **notes_fields(notes)})
    else:
        output.print_lines(format_preview(extractions) if dry_run else format_extractions(extractions, output.paint))
        output.print_lines([*format_redactions(redacted, "turn"), *format_notes(notes)])


def extract_imported_turns(store: StoreTarget, source: ImportSource) -> Extractions:
    """Extract memories from conversations whose turns were just imported."""
    sessions, _ = read_conversations(source, stored=True, done=EXTRACTED_VERB)
    with store.open_existing() as engine, progress_bar("extracting") as show:
        return [(one.receipts, one.extraction) for one in _extract_sessions(engine, sessions, source.scope, show)]


def preview_extraction(source: ImportSource) -> Extractions:
    """Extract memories from conversations in a temporary store, as a dry run."""
    sessions, _ = read_conversations(source, stored=False, done=EXTRACTED_VERB)
    with factory.open(IN_MEMORY_TARGET, embedder="hashing") as engine, progress_bar("extracting") as show:
        return [(one.receipts, one.extraction) for one in _extract_sessions(engine, sessions, source.scope, show)]


def _extract_sessions(
    engine: Engine, sessions: Sequence[Sequence[ConversationTurn]], scope: Scope, show: ReportProgress, **how: Any
) -> Iterator[ExtractionResult]:
    for done, turns in enumerate(sessions, start=1):
        yield engine.extract(turns, scope=scope, **how)
        show(done, len(sessions))


def format_preview(extractions: Extractions) -> Iterator[str]:
    """Yield the memories that would be proposed, each with the quote that supports it."""
    extracts = [one for _, extraction in extractions for one in extraction.extracts]
    for one in extracts:
        yield f"{output.paint(TextStyle.STRONG, one.kind.value)}  {make_printable(shorten(one.text))}"
        yield output.paint(TextStyle.FAINT, f"  quote: {make_printable(shorten(one.quote))}")
    for rejected in (one for _, extraction in extractions for one in extraction.rejected):
        text = make_printable(shorten(rejected.text))
        yield output.paint(TextStyle.FAINT, f"rejected: {text} ({rejected.reason.value})")
    memories = format_count(len(extracts), "memory", "memories")
    yield f"{format_count(len(extractions), 'session')}: {memories} would be proposed; nothing was written"
    usage, cost = _sum_usage(extractions)
    if usage.calls:
        costs = "" if cost is None else f", cost {cost:g}"
        yield f"the model was called anyway: {format_count(usage.calls, 'call')}{costs}"


def preview_fields(extractions: Extractions) -> dict[str, Any]:
    """Return a preview of an extraction as JSON fields; its memories have no ids."""
    fields = schemas.events.ExtractedMemories.of([((), replace(each, extracts=())) for _, each in extractions])
    extracts = [
        {
            "text": one.text,
            "kind": one.kind.value,
            "quote": one.quote,
            "turn": one.turn,
            "importance": one.importance,
            "confidence": one.confidence,
        }
        for _, each in extractions
        for one in each.extracts
    ]
    return {**fields.to_json(), "extracts": extracts, "dry_run": True}


def read_conversations(
    source: ImportSource, *, stored: bool, done: str
) -> tuple[list[list[ConversationTurn]], ImportNotes]:
    """Read the conversations of a file, grouped by session, and the notes about the import.

    Sessions are in the order in which they begin. Turns keep their ids if they are `stored`. `done` is the verb for
    error messages.
    """
    readers: list[ChatReader] = []

    def reader(setting: ImportOptions) -> ChatReader:
        readers.append(ChatReader(setting))
        return readers[-1]

    import_reading = replace(source, format=replace(source.format, reader=reader)).read(datetime.now(UTC))
    sessions: dict[str | None, list[ConversationTurn]] = defaultdict(list)
    try:
        drafts = read_drafts(import_reading, source)
    except InvalidInput as error:
        if isinstance(error.__cause__, FieldError):
            remedy = f"nothing was {done}; --skip-bad leaves out such lines"
            raise InvalidInput(f"{error.__cause__}; {EXPECTED_LINE}; {remedy}") from error
        raise
    roles = {id: role for one in readers for id, role in one.roles.items()}
    for draft in drafts:
        sessions[draft.session].append(_read_turn(draft, roles, stored=stored))
    return list(sessions.values()), import_reading.notes


def _read_turn(draft: Draft, roles: Mapping[MemoryId, Role], *, stored: bool) -> ConversationTurn:
    return ConversationTurn(
        text=draft.text,
        role=Role.USER if draft.id is None else roles.get(draft.id, Role.USER),
        speaker=draft.speaker,
        at=draft.at,
        session=draft.session,
        id=draft.id if stored else None,
    )


def format_redactions(counts: Mapping[str, int], one: str, several: str | None = None) -> Iterator[str]:
    """Yield how many items had private or secret text removed, by kind."""
    for kind, count in counts.items():
        yield f"removed from {format_count(count, one, several)} before storing: {kind}"


def format_notes(notes: ImportNotes) -> Iterator[str]:
    """Yield what an import skipped, assumed and left out."""
    for reason, count in notes.skipped.items():
        yield f"skipped  {count}: {reason}"
    for reason, count in notes.assumed.items():
        yield f"assumed  {count}: {reason}"
    if notes.bad_count:
        yield f"left out {notes.bad_count}: cannot be read"
    for problem in notes.errors:
        yield f"  {make_printable(str(problem))}"
    yield from format_remainder(notes.bad_count)


def notes_fields(notes: ImportNotes) -> dict[str, Any]:
    """Return what an import skipped, assumed and left out as JSON fields."""
    return {
        "skipped": dict(notes.skipped),
        "assumed": dict(notes.assumed),
        "bad": notes.bad_count,
        "problems": [str(problem) for problem in notes.errors],
    }


def format_remainder(count: int) -> Iterator[str]:
    if count > MAX_LISTED_ERRORS:
        yield f"  and {count - MAX_LISTED_ERRORS} more"


def format_extractions(extractions: Extractions, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield each memory with its verdict and supporting quote, then a summary line."""
    yield from format_each_extraction(extractions, paint)
    yield f"{format_count(len(extractions), 'session')}: {tally_extractions(extractions)}"


def format_each_extraction(extractions: Extractions, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield each memory with its verdict, and each rejected text with the reason."""
    for receipts, extraction in extractions:
        for receipt, extract in zip(receipts, extraction.extracts, strict=True):
            yield f"{paint(TextStyle.STRONG, extract.kind.value)}  {make_printable(shorten(extract.text))}"
            yield paint(TextStyle.FAINT, f"  {make_printable(formatting.describe_verdict(receipt.verdict))}")
            if (way := formatting.suggest_remedy(receipt)) is not None:
                yield paint(TextStyle.FAINT, f"  {way[0]}: recollect {shlex.join(way[1])}")
        for one in extraction.rejected:
            yield paint(TextStyle.FAINT, f"rejected: {make_printable(shorten(one.text))} ({one.reason.value})")


def tally_extractions(extractions: Extractions) -> str:
    """Describe how many memories got each verdict, and the calls to the model."""
    verdicts = Counter(type(one.verdict).__name__.lower() for receipts, _ in extractions for one in receipts)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "nothing to remember"
    usage, cost = _sum_usage(extractions)
    if not usage.calls:
        return summary
    tokens = f"{usage.prompt_tokens} and {usage.completion_tokens} tokens"
    costs = "" if cost is None else f", cost {cost:g}"
    return f"{summary} ({format_count(usage.calls, 'call')}, {tokens}{costs})"


def _sum_usage(extractions: Extractions) -> tuple[LlmUsage, float | None]:
    each = [extraction for _, extraction in extractions]
    return sum((one.usage for one in each), LlmUsage()), Extraction.total_cost(each)
