"""recollect extract: a conversation leaves memories behind."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import IO, Any

import click

from recollect.cli import importing, options, output
from recollect.cli.bars import Tell, bar
from recollect.cli.lines import read_again
from recollect.cli.place import Place, place
from recollect.engine.engine import Engine
from recollect.engine.extract import MOST
from recollect.importers.formats import FORMATS
from recollect.model.conversation import Role, Said
from recollect.model.draft import Draft
from recollect.model.extraction import Extraction
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.model.verdict import Receipt
from recollect.render import extraction


@click.command(short_help="Remember what a conversation leaves behind.")
@click.argument("file", type=click.File("rb"))
@options.scope
@click.option(
    "--most",
    type=click.IntRange(1, MOST),
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
@options.as_json
@place
def extract(
    place: Place,
    file: IO[bytes],
    scope: Scope,
    most: int | None,
    provenance: Provenance,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Remember what is worth it in the conversation in FILE, or on standard input if FILE is -.

    FILE has JSON lines: a turn each, with text or content and any of role, speaker, timestamp and session, or a whole
    conversation with its messages. It is read session by session; doing it again changes nothing.

    \b
    recollect extract chat.jsonl --scope acme/ana
    """
    with read_again(file) as lines:
        source = importing.Source(lines=lines, name=None, format=FORMATS["chat"], scope=scope, skip_bad=skip_bad)
        reading = source.read(datetime.now(UTC))
        sessions = conversations(importing.drafts(reading, source), stored=False)
    with place.made() as engine, bar("extracting") as show:
        found = list(_left_behind(engine, sessions, scope, show, most=most, provenance=provenance))
    if as_json:
        output.data({**extraction.data(found), "bad": reading.notes.bad})
    else:
        output.lines(extraction.told(found, output.paint))


def conversations(drafts: Iterable[Draft], *, stored: bool) -> list[list[Said]]:
    """The turns that the drafts are, session by session in the order in which they begin; with their ids if they are
    stored."""
    sessions: dict[str | None, list[Said]] = defaultdict(list)
    for draft in drafts:
        sessions[draft.session].append(_turn(draft, stored=stored))
    return list(sessions.values())


def extract_stored(place: Place, source: importing.Source) -> list[tuple[Sequence[Receipt], Extraction]]:
    """What conversations leave behind whose turns were imported."""
    sessions = conversations(importing.drafts(source.read(datetime.now(UTC)), source), stored=True)
    with place.there() as engine, bar("extracting") as show:
        return list(_left_behind(engine, sessions, source.scope, show))


def _left_behind(
    engine: Engine, sessions: Sequence[Sequence[Said]], scope: Scope, show: Tell, **how: Any
) -> Iterator[tuple[Sequence[Receipt], Extraction]]:
    for done, turns in enumerate(sessions, start=1):
        found = engine.extract(turns, scope=scope, **how)
        show(done, len(sessions))
        yield found.receipts, found.extraction


def _turn(draft: Draft, *, stored: bool) -> Said:
    role = (draft.metadata or {}).get("role")
    return Said(
        text=draft.text,
        role=Role(role) if role in {one.value for one in Role} else Role.USER,
        speaker=draft.speaker,
        at=draft.at,
        session=draft.session,
        id=draft.id if stored else None,
    )
