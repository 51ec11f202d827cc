"""Conversations in a file: the turns of each session, as commands read them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from recollect.engine.import_files import Source, drafts
from recollect.errors import FieldError, InvalidInput
from recollect.importers.chat import EXPECTED, ChatReader
from recollect.importers.reader import Notes, Setting
from recollect.model.conversation import Role, Said
from recollect.model.draft import Draft
from recollect.model.memory import MemoryId


def conversations(source: Source, *, stored: bool, done: str) -> tuple[list[list[Said]], Notes]:
    """The turns of a file, session by session in the order in which they begin, with their ids if they are stored; and
    what there was to say of it. `done` is what was to be done with them.
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
            left = f"nothing was {done}, and --skip-bad leaves such lines out"
            raise InvalidInput(f"{error.__cause__}; {EXPECTED}; {left}") from error
        raise
    roles = {id: role for one in readers for id, role in one.roles.items()}
    for draft in given:
        sessions[draft.session].append(_turn(draft, roles, stored=stored))
    return list(sessions.values()), reading.notes


def _turn(draft: Draft, roles: Mapping[MemoryId, Role], *, stored: bool) -> Said:
    return Said(
        text=draft.text,
        role=Role.USER if draft.id is None else roles.get(draft.id, Role.USER),
        speaker=draft.speaker,
        at=draft.at,
        session=draft.session,
        id=draft.id if stored else None,
    )
