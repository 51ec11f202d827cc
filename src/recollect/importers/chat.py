"""The chat format: one turn per line, or one conversation per line."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from recollect.errors import FieldError, show
from recollect.importers.base import (
    ImportFormat,
    ImportOptions,
    RecordPart,
    digest,
    find_first_field,
    read_datetime,
    read_label,
    require_object,
)
from recollect.model import validation
from recollect.model.conversation import Role
from recollect.model.draft import Draft
from recollect.model.enums import Kind, Provenance
from recollect.model.memory import MemoryId

FORMAT_NAME = "chat"
TEXT_FIELDS = ("text", "content")
NON_TEXT_FIELDS = ("tool_calls", "function_call", "refusal", "audio")
"""Fields that a turn may have in place of a text."""

SPEAKER_FIELDS = ("speaker", "name", "author")
DATE_FIELDS = ("timestamp", "created_at", "at", "create_time", "date")
SESSION_FIELDS = ("session", "conversation_id", "thread_id", "session_id")

ROLE_BY_NAME: Mapping[str, Role] = MappingProxyType(
    {
        **dict.fromkeys(("user", "human"), Role.USER),
        **dict.fromkeys(("assistant", "ai", "bot", "model", "agent"), Role.ASSISTANT),
        **dict.fromkeys(("tool", "function"), Role.TOOL),
        **dict.fromkeys(("system", "developer"), Role.SYSTEM),
    }
)
"""The role of each name that programs use; any other name is kept as a tag."""

UNSUPPORTED_EXPORTS: Mapping[str, str] = MappingProxyType({"mapping": "ChatGPT", "chat_messages": "Claude"})
"""The programs whose exports have the turns under these names, in unsupported shapes."""

EXPECTED_LINE = (
    'a line is a turn, such as {"role": "user", "content": "I prefer tea.", "timestamp": "2026-03-02T12:00:00Z"}'
)


class ChatReader:
    """Makes an event of each turn; its speaker is recorded as claimed and adds no trust.

    `roles` has the known role of each turn, by the id of its event.
    """

    def __init__(self, setting: ImportOptions) -> None:
        self.roles: dict[MemoryId, Role] = {}
        self._setting = setting
        self._undated: Counter[str | None] = Counter()
        self._latest: dict[str | None, tuple[datetime, int]] = {}

    def split(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield the turn or conversation of a line, or each item of a list."""
        if isinstance(value, list):
            yield from ((f"[{place}]", one) for place, one in enumerate(value))
        else:
            yield "", value

    def parts(self, record: Any) -> Iterator[RecordPart]:
        """Yield the turn, or all turns of the conversation."""
        found = require_object(record)
        if "messages" not in found:
            _refuse_unsupported(found)
            yield RecordPart(found)
            return
        messages = validation.require_list("messages", found["messages"])
        conversation = {**found, "session": self._session_name(found, messages)}
        for place, message in enumerate(messages):
            yield RecordPart(message, f"messages[{place}]", conversation)

    def draft(self, part: RecordPart) -> Draft | None:
        """Return the turn as an event; `None` for a system turn or one without text."""
        turn, conversation = require_object(part.value), part.record or {}
        skipped, assumed = self._setting.notes.skipped, self._setting.notes.assumed
        role_name = self._role_name(turn)
        role = ROLE_BY_NAME.get(role_name) if role_name else None
        if role is Role.SYSTEM:
            skipped["turns of the system"] += 1
            return None
        field, content = find_first_field(turn, TEXT_FIELDS)
        if not turn.keys() & {*TEXT_FIELDS, *NON_TEXT_FIELDS}:
            raise FieldError("is missing; give the words of the turn as text or content", field="content")
        text = self._read_text(field, content)
        if not text.strip():
            skipped["turns without words"] += 1
            return None

        validation.require_content(field, text)
        session = self._read_label(turn, SESSION_FIELDS) or self._read_label(conversation, SESSION_FIELDS)
        speaker = self._read_label(turn, SPEAKER_FIELDS) or role_name
        date_field, date = find_first_field(turn, DATE_FIELDS)
        if date is None:
            date_field, date = find_first_field(conversation, DATE_FIELDS)
        at = read_datetime(date_field, date, self._setting.imported_at, assumed)
        id = self._make_id(text, at, session, role_name, speaker)
        if role is not None:
            self.roles[id] = role
        return Draft(
            text=text,
            scope=self._setting.scope,
            id=id,
            kind=Kind.EVENT,
            session=session,
            speaker=speaker,
            at=self._make_unique(at, session),
            tags=() if role is not None or role_name is None else (role_name,),
            provenance=Provenance.TOOL_EXTERNAL if role is Role.TOOL else Provenance.IMPORT,
            source=self._setting.source,
            metadata=None if role_name is None else {"role": role_name if role is None else role.value},
        )

    def _session_name(self, conversation: Mapping[str, Any], messages: list[Any]) -> Any:
        """Return the name of a conversation, or else a hash of all its turns, so that they stay together."""
        _, name = find_first_field(conversation, (*SESSION_FIELDS, "id"))
        if name is not None:
            return name
        return f"conversation-{digest(self._setting.redact(json.dumps(messages, ensure_ascii=False)))[:16]}"

    def _role_name(self, turn: Mapping[str, Any]) -> str | None:
        """Return the role that the file gives the turn, which may be inside its author."""
        author = turn.get("author")
        role = author.get("role") if isinstance(author, dict) else turn.get("role")
        name = read_label("role", role)
        return None if name is None else name.casefold()

    def _read_label(self, record: Mapping[str, Any], names: Iterable[str]) -> str | None:
        field, value = find_first_field(record, names)
        if isinstance(value, dict):  # an author or session with its own fields
            field, value = find_first_field(value, ("name", "id"))
        return read_label(field, value)

    def _make_id(self, text: str, at: datetime | None, session: str | None, *details: str | None) -> MemoryId:
        """Return the id of a turn, made of its text and its date, or its position if it has no date."""
        if at is not None:
            return self._setting.make_id(FORMAT_NAME, text, at, session, *details)
        self._setting.notes.assumed["turns without a date are observed now"] += 1
        place = self._undated[session]
        self._undated[session] += 1
        order = f"{digest(session)[:12]}-{place:06d}-"
        return self._setting.make_id(FORMAT_NAME, text, place, session, *details, order=order)

    def _make_unique(self, at: datetime | None, session: str | None) -> datetime | None:
        """Return the moment, a microsecond later for each earlier turn at the same moment.

        A session is ordered by moment, then id, and ids of the same moment have no meaningful order.
        """
        if at is None:
            return None
        latest, before = self._latest.get(session, (at, -1))
        before = before + 1 if latest == at else 0
        self._latest[session] = at, before
        return min(at + timedelta(microseconds=before), self._setting.imported_at)

    def _read_text(self, field: str, content: Any) -> str:
        """Return the text: a string, or the joined texts of a list of parts."""
        if isinstance(content, dict):
            content = content.get("parts", content.get("text"))
        if content is None or isinstance(content, str):
            return content or ""
        if not isinstance(content, list):
            raise FieldError(f"{show(content)} is not a text", field=field)
        texts: list[str] = []
        for one in content:
            text = one if isinstance(one, str) else require_object(one).get("text")
            if text is None:
                self._setting.notes.skipped["parts that are no text"] += 1
            elif isinstance(text, str):
                texts.append(text)
            else:
                raise FieldError(f"{show(text)} is not a text", field=field)
        return "\n".join(texts)


def _refuse_unsupported(record: Mapping[str, Any]) -> None:
    """Raise for a conversation in another program's export, and name the supported shape."""
    exports = (program for name, program in UNSUPPORTED_EXPORTS.items() if isinstance(record.get(name), dict | list))
    program = next(exports, None)
    if program is not None and not record.keys() & {*TEXT_FIELDS, *NON_TEXT_FIELDS}:
        remedy = "write each turn as one JSON object a line, with role and content"
        raise FieldError(f"this looks like an export of {program}, which is not supported; {remedy}")


def _is_chat(record: Any) -> bool:
    one = record[0] if isinstance(record, list) and record else record
    if not isinstance(one, dict):
        return False
    return isinstance(one.get("messages"), list) or bool(
        {"text", "content"} & one.keys() and {"role", *SPEAKER_FIELDS} & one.keys()
    )


CHAT_FORMAT = ImportFormat(
    name=FORMAT_NAME,
    about="turns of conversations: JSON, a turn or a conversation with its messages a line",
    reader=ChatReader,
    recognizes=_is_chat,
    expected=EXPECTED_LINE,
)
