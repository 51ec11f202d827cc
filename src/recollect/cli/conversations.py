"""Conversations in a file: the turns of each session, as commands read them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from recollect.engine.import_files import ImportSource, read_drafts
from recollect.errors import FieldError, InvalidInput
from recollect.importers.chat import EXPECTED_LINE, ChatReader
from recollect.importers.reader import ImportNotes, ImportOptions
from recollect.model.conversation import ConversationTurn, Role
from recollect.model.draft import Draft
from recollect.model.memory import MemoryId


def read_conversations(
    source: ImportSource, *, stored: bool, done: str
) -> tuple[list[list[ConversationTurn]], ImportNotes]:
    """The turns of a file, session by session in the order in which they begin, with their ids if they are stored; and
    what there was to say of it. `done` is what was to be done with them.
    """
    readers: list[ChatReader] = []

    def reader(setting: ImportOptions) -> ChatReader:
        readers.append(ChatReader(setting))
        return readers[-1]

    reading = replace(source, format=replace(source.format, reader=reader)).read(datetime.now(UTC))
    sessions: dict[str | None, list[ConversationTurn]] = defaultdict(list)
    try:
        given = read_drafts(reading, source)
    except InvalidInput as error:
        if isinstance(error.__cause__, FieldError):
            left = f"nothing was {done}, and --skip-bad leaves such lines out"
            raise InvalidInput(f"{error.__cause__}; {EXPECTED_LINE}; {left}") from error
        raise
    roles = {id: role for one in readers for id, role in one.roles.items()}
    for draft in given:
        sessions[draft.session].append(_read_turn(draft, roles, stored=stored))
    return list(sessions.values()), reading.notes


def _read_turn(draft: Draft, roles: Mapping[MemoryId, Role], *, stored: bool) -> ConversationTurn:
    return ConversationTurn(
        text=draft.text,
        role=Role.USER if draft.id is None else roles.get(draft.id, Role.USER),
        speaker=draft.speaker,
        at=draft.at,
        session=draft.session,
        id=draft.id if stored else None,
    )
