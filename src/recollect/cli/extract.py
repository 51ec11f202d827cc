"""recollect extract: a conversation leaves memories behind."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Any

import click

from recollect import wiring
from recollect.cli import options, output
from recollect.cli.bars import Tell, bar
from recollect.cli.lines import read_again
from recollect.cli.place import Place, place
from recollect.engine.engine import Engine
from recollect.engine.importing import Source, drafts
from recollect.errors import FieldError, InvalidInput
from recollect.importers.chat import ChatReader
from recollect.importers.formats import FORMATS
from recollect.importers.reading import Notes, Setting
from recollect.model.conversation import Role, Said
from recollect.model.draft import Draft
from recollect.model.extraction import MOST_EXTRACTED, Extraction
from recollect.model.limits import IN_MEMORY
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.verdict import Receipt
from recollect.model.wording import counted, printable, shortened
from recollect.render import extraction
from recollect.render.looks import Look


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
@click.option("--dry-run", is_flag=True, help="Show what would be remembered and the words it rests on; write nothing.")
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
        sessions, notes = _conversations(source, stored=False)
    opened = wiring.open(IN_MEMORY, embedder="hashing") if dry_run else place.made()  # which no memory outlives
    with opened as engine, bar("extracting") as show:
        found = list(_left_behind(engine, sessions, scope, show, most=most, provenance=provenance))
    if as_json:
        output.data({**(_foreseen(found) if dry_run else extraction.data(found)), "bad": notes.bad})
    else:
        output.lines(_told_ahead(found) if dry_run else extraction.told(found, output.paint))


def extract_stored(place: Place, source: Source) -> list[tuple[Sequence[Receipt], Extraction]]:
    """What conversations leave behind whose turns were imported."""
    sessions, _ = _conversations(source, stored=True)
    with place.there() as engine, bar("extracting") as show:
        return list(_left_behind(engine, sessions, source.scope, show))


def _conversations(source: Source, *, stored: bool) -> tuple[list[list[Said]], Notes]:
    """The turns of a file, session by session in the order in which they begin, with their ids if they are stored; and
    what there was to say of it.
    """
    readers: list[ChatReader] = []

    def reader(setting: Setting) -> ChatReader:
        readers.append(ChatReader(setting))
        return readers[-1]

    reading = replace(source, format=replace(source.format, reader=reader)).read(datetime.now(UTC))
    sessions: dict[str | None, list[Said]] = defaultdict(list)
    try:
        given = drafts(reading, source)
    except InvalidInput as error:
        if isinstance(error.__cause__, FieldError):
            raise InvalidInput(f"{error.__cause__}; {_EXPECTED}") from error
        raise
    roles = {id: role for one in readers for id, role in one.roles.items()}
    for draft in given:
        sessions[draft.session].append(_turn(draft, roles, stored=stored))
    return list(sessions.values()), reading.notes


def _left_behind(
    engine: Engine, sessions: Sequence[Sequence[Said]], scope: Scope, show: Tell, **how: Any
) -> Iterator[tuple[Sequence[Receipt], Extraction]]:
    for done, turns in enumerate(sessions, start=1):
        found = engine.extract(turns, scope=scope, **how)
        show(done, len(sessions))
        yield found.receipts, found.extraction


def _turn(draft: Draft, roles: Mapping[MemoryId, Role], *, stored: bool) -> Said:
    return Said(
        text=draft.text,
        role=Role.USER if draft.id is None else roles.get(draft.id, Role.USER),
        speaker=draft.speaker,
        at=draft.at,
        session=draft.session,
        id=draft.id if stored else None,
    )


def _told_ahead(found: extraction.Found) -> Iterator[str]:
    """What would be remembered, with the words it rests on."""
    foreseen = _foreseen(found)
    for one in foreseen["extracts"]:
        yield f"{output.paint(Look.STRONG, one['kind'])}  {printable(shortened(one['text']))}"
        yield output.paint(Look.FAINT, f"  rests on: {printable(shortened(one['quote']))}")
    for one in foreseen["rejected"]:
        yield output.paint(Look.FAINT, f"not taken: {printable(shortened(one['text']))} ({one['reason']})")
    memories = counted(len(foreseen["extracts"]), "memory", "memories")
    yield f"{counted(len(found), 'session')}: {memories} would be proposed; nothing was written"
    if foreseen["calls"]:
        cost = "" if foreseen["cost"] is None else f", cost {foreseen['cost']:g}"
        yield f"the model was asked all the same: {counted(foreseen['calls'], 'call')}{cost}"


def _foreseen(found: extraction.Found) -> dict[str, Any]:
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


_EXPECTED = (
    'a line is a turn, such as {"role": "user", "content": "I prefer tea.", "timestamp": "2026-03-02T12:00:00Z"}; '
    "nothing was extracted, and --skip-bad leaves such lines out"
)
