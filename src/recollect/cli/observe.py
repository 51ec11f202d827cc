"""recollect observe: what happened is kept as events."""

from collections import Counter
from dataclasses import replace
from typing import IO

import click

from recollect.cli import import_output, options, output
from recollect.cli.conversations import read_conversations
from recollect.cli.lines import open_rereadable
from recollect.cli.progress import progress_bar
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.import_files import ImportSource
from recollect.importers.formats import FORMATS
from recollect.model.conversation import ConversationTurn
from recollect.model.format import format_count, make_printable
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.verdict import Receipt
from recollect.render import json_values, text


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
        output.print_json({"events": told, "redacted": dict(redacted), **import_output.notes_fields(notes)})
    else:
        output.print_lines(
            [
                _tally_verdicts(receipts),
                *import_output.format_redactions(redacted, "event"),
                *import_output.format_notes(notes),
            ]
        )


def _make_event(turn: ConversationTurn) -> ConversationTurn:
    """The turn as an event: one without a date is known again by where it stands in the file."""
    return replace(turn, id=None if turn.at is not None or turn.id is None else MemoryId(f"event-{turn.id}"))


def _tally_verdicts(receipts: list[Receipt]) -> str:
    """How many events there were, and what became of them."""
    verdicts = Counter(make_printable(text.describe_verdict(one.verdict)) for one in receipts)
    became = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common(5)) or "nothing"
    return f"{format_count(len(receipts), 'event')}: {became}"
