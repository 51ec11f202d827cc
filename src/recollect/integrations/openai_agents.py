"""The session of the OpenAI Agents SDK on an engine: every item is a memory, in order."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, cast
from uuid import uuid4

from recollect.admission.screening import REDACTED_MARK
from recollect.engine.engine import Engine
from recollect.errors import Conflict, NotFound
from recollect.fork_safety import ForkSafeLock
from recollect.integrations.shared import (
    MAX_NESTING,
    EncodedValue,
    child_scope,
    decode_value,
    encode_value,
    is_too_deep,
    notes_of,
    requires_extra,
    to_topic_key,
)
from recollect.model.conversation import PROVENANCE_BY_ROLE, Role
from recollect.model.draft import Changed, Draft
from recollect.model.enums import Kind, Status
from recollect.model.memory import Memory
from recollect.model.scope import Scope, as_scope

with requires_extra("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import resolve_session_limit

METADATA_KEY = "openai_agents"
"""The metadata key for an item."""

TOPIC_KEY_PREFIX = "openai-agents:"
"""The prefix of an item's topic key."""

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

ITEM_STATUSES = (Status.ACTIVE, Status.QUARANTINED)
"""The statuses of items.

Quarantined items, which read like instructions to a model, are part of the session too, but they are never recalled.
"""


_STRUCTURE_FIELDS = ("type", "role", "id", "call_id", "status", "name")
"""The fields that describe the structure of an item, not its content."""

_CALL_NUMBERS = count()
"""Distinguishes calls of one process at the same moment."""


@dataclass(frozen=True, slots=True, order=True)
class _ItemPosition:
    """The position of an item: the moment, the call at that moment, the index in the call."""

    moment: int
    call: str
    number: int


@dataclass(frozen=True, slots=True)
class _SessionItem:
    """An item as it was added, its memory, and its position."""

    position: _ItemPosition
    memory: Memory
    value: TResponseInputItem


class _ItemClock:
    """A monotonic clock in microseconds, always later than every item that the session has read.

    Items can therefore be added without reading, and an answer sorts after its question, even if a clock is slow.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._latest = -1

    def advance_to(self, moment: int) -> None:
        """Make all later moments greater than this one."""
        with self._lock.rlock:
            self._latest = max(self._latest, moment)

    def next(self, now: datetime) -> int:
        """Return the moment for items added now."""
        with self._lock.rlock:
            self._latest = max(self._latest + 1, (now - _EPOCH) // _MICROSECOND)
            return self._latest


class RecollectSession(SessionABC):
    """A session of the Agents SDK in its own scope below a root; processes may share it.

    Items come back unchanged, in the order they were added. Items of writers that have not read each other's are
    ordered by their clocks. Private parts and secrets are removed before an item is stored, so that a run continues
    whatever a user types. If the engine still rejects an item, an error is raised and the call adds nothing.
    """

    def __init__(
        self, session_id: str, engine: Engine, scope: str | Scope, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._engine = engine
        self._scope = child_scope(as_scope(scope), session_id)
        self._moments = _ItemClock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in the order they were added: all, or the last `limit`."""
        most = resolve_session_limit(limit, self.session_settings)
        return await asyncio.to_thread(self._get, most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add the items in order, or none of them."""
        if items:
            await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the last item; no two callers get the same one."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items."""
        await asyncio.to_thread(self._clear)

    def _get(self, most: int | None) -> list[TResponseInputItem]:
        items = self._load_items()
        last = items if most is None or most < 0 else items[max(len(items) - most, 0) :]
        return [item.value for item in last]

    def _add(self, items: Sequence[TResponseInputItem]) -> None:
        moment = self._moments.next(self._engine.items.now())
        call = f"{next(_CALL_NUMBERS):012}-{uuid4().hex}"
        positions = [_ItemPosition(moment, call, number) for number in range(len(items))]
        drafts = [self._draft(item, position) for item, position in zip(items, positions, strict=True)]
        self._engine.items.put(drafts, apart=True)

    def _pop(self) -> TResponseInputItem | None:
        while items := self._load_items():
            try:
                receipt = self._engine.forget(items[-1].memory.id, scope=self._scope)
            except NotFound:  # erased since it was read
                continue
            if isinstance(receipt.verdict, Changed):
                return items[-1].value
        return None

    def _clear(self) -> None:
        memories = [one.memory for one in self._load_items()]
        active = [(one.scope, one.topic_key) for one in memories if one.status is Status.ACTIVE and one.topic_key]
        self._engine.items.put([], drop=active)
        for memory in memories:
            if memory.status is not Status.ACTIVE:
                with suppress(NotFound):  # erased since it was read
                    self._engine.forget(memory.id, scope=self._scope)

    def _load_items(self) -> list[_SessionItem]:
        """Return the items in order."""
        memories = self._engine.memories(scope=self._scope, statuses=ITEM_STATUSES)
        items = sorted(filter(None, map(self._read_item, memories)), key=lambda one: (one.position, one.memory.id))
        if items:
            self._moments.advance_to(items[-1].position.moment)
        return items

    def _read_item(self, memory: Memory) -> _SessionItem | None:
        """Read the item of a memory; `None` if it is not a valid item of this session.

        Its topic key must match its position, and its provenance its role: a tool cannot add an item of a model.
        """
        first = self._first_version(memory)
        match notes_of(METADATA_KEY, first):
            case {"moment": int() as moment, "call": str() as call, "number": int() as number}:
                position = _ItemPosition(moment, call, number)
            case _:
                return None
        if memory.topic_key != _topic_key(position):
            return None
        try:
            value = decode_value(METADATA_KEY, first)
        except Conflict:  # not an item
            return None
        if not isinstance(value, dict) or first.provenance is not PROVENANCE_BY_ROLE[_role_of(value)]:
            return None
        return _SessionItem(position, memory, cast("TResponseInputItem", value))

    def _first_version(self, memory: Memory) -> Memory:
        """Return the first version of the memory; later revisions do not change the item."""
        if not memory.revisions:
            return memory
        with suppress(NotFound):  # erased since it was read
            return self._engine.history(memory.id, scope=self._scope)[0]
        return memory

    def _draft(self, item: TResponseInputItem, position: _ItemPosition) -> Draft:
        screened = _transform_item(item, self._engine.items.screen)
        encoded = _encode_item(screened, position)
        if self._engine.items.screen([encoded.text, encoded.metadata]) != [encoded.text, encoded.metadata]:
            # The parts together form a secret.
            encoded = _encode_item(_transform_item(screened, _hide_words), position)
        return Draft(
            text=encoded.text,
            scope=self._scope,
            kind=Kind.EVENT,
            topic_key=_topic_key(position),
            session=self._scope.parts[-1],
            provenance=PROVENANCE_BY_ROLE[_role_of(item)],
            metadata=encoded.metadata,
        )


def _encode_item(item: Mapping[str, Any], position: _ItemPosition) -> EncodedValue:
    return encode_value(
        METADATA_KEY, dict(item), _item_text, moment=position.moment, call=position.call, number=position.number
    )


def _transform_item(item: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Apply a change to an item; JSON in `arguments` is decoded, changed, and encoded again."""
    transformed: dict[str, Any] = change(dict(item))
    try:
        arguments = json.loads(item["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return transformed
    if is_too_deep(arguments):  # it was screened as a text
        return transformed
    changed = change(arguments)
    unchanged = changed == arguments
    return {**transformed, "arguments": item["arguments"] if unchanged else json.dumps(changed, ensure_ascii=False)}


def _hide_words(value: Any, name: str = "", levels: int = MAX_NESTING) -> Any:
    """Replace all texts in a value, except the fields that the SDK needs."""
    match value if levels else REDACTED_MARK:
        case str():
            return value if name in _STRUCTURE_FIELDS else REDACTED_MARK
        case Mapping():
            return {key: _hide_words(inner, key, levels - 1) for key, inner in value.items()}
        case list():
            return [_hide_words(inner, name, levels - 1) for inner in value]
        case _:
            return value


def _topic_key(position: _ItemPosition) -> str:
    return to_topic_key(TOPIC_KEY_PREFIX, f"{position.call}-{position.number}")


def _role_of(item: Mapping[str, Any]) -> Role:
    """Return the role of an item; without a role, it is the tool for an output, else the model."""
    match item.get("role"):
        case "user":
            return Role.USER
        case "assistant":
            return Role.ASSISTANT
        case "system" | "developer":
            return Role.SYSTEM
        case _:
            return Role.TOOL if "output" in str(item.get("type")) else Role.ASSISTANT


def _item_text(item: Mapping[str, Any]) -> str:
    """Return the text of an item for people: its words, the call with arguments, or the output."""
    words = [_content_text(item.get(name)) for name in ("content", "summary", "output")]
    calls = [f"{item['name']}({item.get('arguments', '')})"] if isinstance(item.get("name"), str) else []
    return "\n".join(one for one in [*calls, *words] if one)


def _content_text(content: Any) -> str:
    match content:
        case str():
            return content
        case list():
            texts = [one.get("text") for one in content if isinstance(one, dict)]
            return "\n".join(one for one in texts if isinstance(one, str))
        case None:
            return ""
        case _:
            return json.dumps(content, ensure_ascii=False)
