"""Commands for observed events: `observe`, `browse`, `expand` and `admin extract`.

Events are what happened in a scope. They can be browsed as a timeline, and memories can be extracted from them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import click

from recollect.cli import extract, formatting, options, output
from recollect.cli.extract import read_conversations
from recollect.cli.files import open_rereadable
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import progress_bar
from recollect.engine.engine import Engine
from recollect.engine.events import MAX_AROUND_EVENTS
from recollect.engine.extract_events import EventExtraction
from recollect.engine.import_files import ImportSource
from recollect.errors import RecollectError
from recollect.importers.formats import FORMATS
from recollect.model.conversation import ConversationTurn
from recollect.model.draft import Receipt
from recollect.model.enums import Level, Provenance
from recollect.model.format import format_count, format_moment, make_printable, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import GripExpansion, TimelinePage
from recollect.render import json_records, json_values
from recollect.render.tables import Paint, TextStyle, TextTable, paint_plain


@click.command(short_help="Keep what happened as events.")
@click.argument("file", type=click.File("rb"))
@options.scope
@options.choice(
    Provenance,
    "--provenance",
    metavar="CLASS",
    default=Provenance.IMPORT.value,
    show_default=True,
    help="Through whom the events came: a file's word on who spoke is trusted no further than that.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out events that cannot be read, and tell of them.")
@options.as_json
@pass_target
def observe(
    place: StoreTarget, file: IO[bytes], scope: Scope, provenance: Provenance, skip_bad: bool, as_json: bool
) -> None:
    """Keep what happened in FILE, or on standard input if FILE is -, as events of the scope.

    FILE has JSON lines: an event each, with text or content and any of role, speaker, timestamp and session, or a whole
    conversation with its messages. The same event again changes nothing. `recollect admin rollup` sums days, weeks,
    months and years up, and `recollect browse` walks through them.

    \b
    recollect observe chat.jsonl --scope acme/ana
    """
    with open_rereadable(file) as lines:
        source = ImportSource(lines=lines, name=None, format=FORMATS["chat"], scope=scope, skip_bad=skip_bad)
        sessions, notes = read_conversations(source, stored=True, done="kept")
    receipts: list[Receipt] = []
    with place.open_or_create() as engine, progress_bar("keeping") as show:
        for done, turns in enumerate(sessions, start=1):
            receipts += engine.observe(map(_make_event, turns), scope=scope, provenance=provenance)
            show(done, len(sessions))
    redacted = Counter(kind for one in receipts for kind in one.redacted)
    if as_json:
        told = [json_values.receipt_fields(one) for one in receipts]
        output.print_json({"events": told, "redacted": dict(redacted), **extract.notes_fields(notes)})
    else:
        output.print_lines(
            [
                _tally_verdicts(receipts),
                *extract.format_redactions(redacted, "event"),
                *extract.format_notes(notes),
            ]
        )


def _make_event(turn: ConversationTurn) -> ConversationTurn:
    """Return the turn as an event; without a date, its id comes from its position in the file.

    The stable id makes a second import of the same file a no-op.
    """
    return replace(turn, id=None if turn.at is not None or turn.id is None else MemoryId(f"event-{turn.id}"))


def _tally_verdicts(receipts: list[Receipt]) -> str:
    """Describe how many events there were, by verdict."""
    verdicts = Counter(make_printable(formatting.describe_verdict(one.verdict)) for one in receipts)
    became = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common(5)) or "nothing"
    return f"{format_count(len(receipts), 'event')}: {became}"


@click.command(short_help="Walk through what happened.")
@click.argument("key", required=False)
@options.scope
@options.as_json
@pass_target
def browse(place: StoreTarget, key: str | None, scope: Scope, as_json: bool) -> None:
    """Show what happened: all years, or what is below KEY.

    KEY is a year, month, week or day, as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or a grip. In a
    pipe there is one line a place: level, key and title, between tabs. Looking counts as no use.

    \b
    recollect browse --scope acme/ana
    recollect browse 2026-03 --scope acme/ana
    """
    with place.open_existing() as engine:
        found = engine.browse(key, scope=scope)
        hints = [] if found.place is not None or found.parts else _explain_no_events(engine, scope)
    if as_json:
        output.print_json(json_records.timeline_fields(found))
        return
    for line in format_place_heading(found, output.paint):
        output.print_note(line)
    output.print_table(place_table(found))
    for hint in hints:
        output.print_note(hint)


def _explain_no_events(engine: Engine, scope: Scope) -> list[str]:
    """Explain an empty timeline: the scope is empty, or no events were observed in it."""
    return output.explain_empty_scope(engine, scope) or [
        f"nothing was observed in {scope}; `recollect observe` keeps what happens"
    ]


@click.command(short_help="Show the events that a grip rests on.")
@click.argument("id")
@options.scope
@click.option(
    "--around",
    type=click.IntRange(0, MAX_AROUND_EVENTS),
    metavar="N",
    default=0,
    show_default=True,
    help="Also so many events before and after them, of the same session.",
)
@options.as_json
@pass_target
def expand(place: StoreTarget, id: str, scope: Scope, around: int, as_json: bool) -> None:
    """Show the events that the grip or segment ID is made of, in order, word for word.

    In a pipe there is one line an event: * if it is one of them, id, moment, speaker and text, between tabs.

    \b
    recollect expand grip-0c0ffee0 --scope acme/ana --around 2
    """
    with place.open_existing() as engine:
        found = engine.expand(id, scope=scope, around=around)
    if as_json:
        output.print_json(json_records.expansion_fields(found))
        return
    output.print_table(event_table(found))
    if found.gone:
        output.print_note(f"{format_count(len(found.gone), 'event')} of it put away or erased since")


def format_place_heading(found: TimelinePage, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield the title of a timeline node, and the text of its record if it has one."""
    place = found.place
    if place is None:
        return
    yield paint(TextStyle.STRONG, make_printable(place.title))
    if place.record is None:
        later = "under way, or not summed up yet: `recollect admin rollup` does"
        yield paint(TextStyle.FAINT, later if found.parts else "nothing is known to have happened")
    elif place.level in (Level.EVENT, Level.GRIP):
        yield paint(TextStyle.FAINT, format_moment(place.record.created_at))
        yield from map(make_printable, place.record.text.splitlines())
    else:
        yield from map(make_printable, place.record.text.splitlines())


def place_table(found: TimelinePage) -> TextTable:
    """Return the children of a timeline node as a table of level, key and title."""
    rows = [(one.level.value, one.key, one.title) for one in (*found.parts, *found.grips)]
    return TextTable(("level", "key", "title"), rows)


def event_table(found: GripExpansion) -> TextTable:
    """Return the events of a grip as a table; events of the grip itself are marked with *."""
    rows = [*_event_rows(found.before, ""), *_event_rows(found.events, "*"), *_event_rows(found.after, "")]
    return TextTable(("", "id", "moment", "speaker", "text"), rows)


def _event_rows(events: Sequence[Memory], mark: str) -> list[tuple[str, ...]]:
    return [
        (mark, one.id, format_moment(one.created_at), one.speaker or "", shorten(one.text, 2_000)) for one in events
    ]


@click.command("extract", short_help="Remember what observed events leave behind.")
@options.scope_filter
@options.as_json
@pass_target
def extract_events(place: StoreTarget, scope: Scope | None, as_json: bool) -> None:
    """Remember what is worth it in the events that were observed since the last time; each memory names its event.

    Who extracts, [extraction] says. The same again changes nothing. It may be stopped at any moment: the same command
    goes on from there, and what was read is not read again.

    \b
    recollect admin extract
    recollect admin extract --scope acme/ana
    """
    done, failed = list[EventExtraction](), list[RecollectError]()
    with place.open_existing() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with progress_bar(f"extracting {one}") as show:
                    done.append(engine.extract_events(scope=one, progress=show))
            except RecollectError as error:  # one failed scope does not stop the others
                output.print_note(f"{one}: {error}")
                failed.append(error)
    found = [one for one in done if one.extracted or one.waiting]
    if as_json:
        output.print_json({"scopes": [_harvest_fields(one) for one in found]})
    else:
        output.print_lines(line for one in found for line in _format_harvest(one))
    if failed:
        raise failed[0]
    if not found:
        output.print_note("nothing was observed since the last time; `recollect observe` keeps what happens")


def _harvest_fields(harvest: EventExtraction) -> dict[str, Any]:
    """Return the result of an extraction from events as JSON fields.

    A session is counted once for each stretch of it.
    """
    read = {"scope": str(harvest.scope), "events": harvest.events, "waiting": harvest.waiting}
    return {**read, **json_records.extraction_fields(_harvest_extractions(harvest))}


def _format_harvest(harvest: EventExtraction) -> Iterator[str]:
    """Yield the result of an extraction from events as lines for people."""
    found = _harvest_extractions(harvest)
    yield from extract.format_each_extraction(found, output.paint)
    later = f" ({format_count(harvest.waiting, 'stretch', 'stretches')} not come yet)" if harvest.waiting else ""
    yield f"{harvest.scope}: {format_count(harvest.events, 'event')} read, {extract.tally_extractions(found)}{later}"


def _harvest_extractions(harvest: EventExtraction) -> json_records.Extractions:
    return [(one.receipts, one.extraction) for one in harvest.extracted]
