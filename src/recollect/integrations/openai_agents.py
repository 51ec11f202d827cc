"""The session of the OpenAI Agents SDK on an engine: every item is a memory of what was said, in order."""

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
"""Under which an item is in the metadata of its memory."""

TOPIC_KEY_PREFIX = "openai-agents:"
"""With which the topic key of an item begins."""

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

ITEM_STATUSES = (Status.ACTIVE, Status.QUARANTINED)
"""Where items stand: what reads like orders to a model was said all the same, and is recalled nowhere else."""


_STRUCTURE_FIELDS = ("type", "role", "id", "call_id", "status", "name")
"""The names of what an item is made of, whatever it says."""

_CALL_NUMBERS = count()
"""Tells calls of one process apart that were made at the same moment."""


@dataclass(frozen=True, slots=True, order=True)
class _ItemPosition:
    """Where an item stands: at which moment, in which call that was made then, and where in that call."""

    moment: int
    call: str
    number: int


@dataclass(frozen=True, slots=True)
class _SessionItem:
    """An item as it was added, the memory that it is, and where it stands."""

    position: _ItemPosition
    memory: Memory
    value: TResponseInputItem


class _ItemClock:
    """The moments at which a session adds, in microseconds: by the clock, and later than all that it has seen.

    So nothing is read to add to what is there, and an answer stands behind what it answers, whoever's clock is slow.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._latest = -1

    def advance_to(self, moment: int) -> None:
        """Let all that is added stand behind this."""
        with self._lock.rlock:
            self._latest = max(self._latest, moment)

    def next(self, now: datetime) -> int:
        """The moment of what is added now."""
        with self._lock.rlock:
            self._latest = max(self._latest + 1, (now - _EPOCH) // _MICROSECOND)
            return self._latest


class RecollectSession(SessionABC):
    """A session of the Agents SDK in the scope below a root that is called like it; several processes may share it.

    Items come back as they were given, in the order in which they were added; what several add who have not read each
    other's items is in the order of their clocks. What is private or secret in one is taken out before it is kept, so
    that a run goes on whatever a user types; what an engine refuses all the same is an error, and then nothing of that
    call is added.
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
        """The items in the order in which they were added: all of them, or the last so many."""
        most = resolve_session_limit(limit, self.session_settings)
        return await asyncio.to_thread(self._get, most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add all of the items, one after the other, or none of them."""
        if items:
            await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take away the last item, and give it; no two callers get the same one."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Take away all items."""
        await asyncio.to_thread(self._clear)

    def _get(self, most: int | None) -> list[TResponseInputItem]:
        found = self._load_items()
        wanted = found if most is None or most < 0 else found[max(len(found) - most, 0) :]
        return [one.value for one in wanted]

    def _add(self, items: Sequence[TResponseInputItem]) -> None:
        moment = self._moments.next(self._engine.now())
        call = f"{next(_CALL_NUMBERS):012}-{uuid4().hex}"
        places = [_ItemPosition(moment, call, number) for number in range(len(items))]
        drafts = [self._draft(item, place) for item, place in zip(items, places, strict=True)]
        self._engine.keep(drafts, apart=True)

    def _pop(self) -> TResponseInputItem | None:
        while found := self._load_items():
            try:
                receipt = self._engine.forget(found[-1].memory.id, scope=self._scope)
            except NotFound:  # somebody erased it since it was read
                continue
            if isinstance(receipt.verdict, Changed):
                return found[-1].value
        return None

    def _clear(self) -> None:
        found = [one.memory for one in self._load_items()]
        active = [(one.scope, one.topic_key) for one in found if one.status is Status.ACTIVE and one.topic_key]
        self._engine.keep([], drop=active)
        for one in found:
            if one.status is not Status.ACTIVE:
                with suppress(NotFound):  # somebody erased it since it was read
                    self._engine.forget(one.id, scope=self._scope)

    def _load_items(self) -> list[_SessionItem]:
        """The items in order."""
        there = self._engine.memories(scope=self._scope, statuses=ITEM_STATUSES)
        items = sorted(filter(None, map(self._read_item, there)), key=lambda one: (one.position, one.memory.id))
        if items:
            self._moments.advance_to(items[-1].position.moment)
        return items

    def _read_item(self, memory: Memory) -> _SessionItem | None:
        """The item that a memory is; none if it is no item, whatever somebody noted in it.

        An item has the key of its place, and came through whom its role says: no tool says what only a model may.
        """
        first = self._first_version(memory)
        match notes_of(METADATA_KEY, first):
            case {"moment": int() as moment, "call": str() as call, "number": int() as number}:
                place = _ItemPosition(moment, call, number)
            case _:
                return None
        if memory.topic_key != _topic_key(place):
            return None
        try:
            value = decode_value(METADATA_KEY, first)
        except Conflict:  # it never was an item
            return None
        if not isinstance(value, dict) or first.provenance is not PROVENANCE_BY_ROLE[_role_of(value)]:
            return None
        return _SessionItem(place, memory, cast("TResponseInputItem", value))

    def _first_version(self, memory: Memory) -> Memory:
        """The memory as it was at first: whoever revised it since has not changed the item."""
        if not memory.revisions:
            return memory
        with suppress(NotFound):  # somebody erased it since it was read
            return self._engine.history(memory.id, scope=self._scope)[0]
        return memory

    def _draft(self, item: TResponseInputItem, place: _ItemPosition) -> Draft:
        screened = _transform_item(item, self._engine.screened)
        found = _encode_item(screened, place)
        if self._engine.screened([found.text, found.metadata]) != [found.text, found.metadata]:
            found = _encode_item(
                _transform_item(screened, _hide_words), place
            )  # parts of it say together what none says alone
        return Draft(
            text=found.text,
            scope=self._scope,
            kind=Kind.EVENT,
            topic_key=_topic_key(place),
            session=self._scope.parts[-1],
            provenance=PROVENANCE_BY_ROLE[_role_of(item)],
            metadata=found.metadata,
        )


def _encode_item(item: Mapping[str, Any], place: _ItemPosition) -> EncodedValue:
    return encode_value(METADATA_KEY, dict(item), _item_text, moment=place.moment, call=place.call, number=place.number)


def _transform_item(item: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The item after a change to all in it; arguments that are JSON are changed as that, and are JSON afterwards."""
    whole: dict[str, Any] = change(dict(item))
    try:
        given = json.loads(item["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return whole
    if is_too_deep(given):  # nobody looks so far down: as a text it was looked at
        return whole
    changed = change(given)
    as_before = changed == given
    return {**whole, "arguments": item["arguments"] if as_before else json.dumps(changed, ensure_ascii=False)}


def _hide_words(value: Any, name: str = "", levels: int = MAX_NESTING) -> Any:
    """The value without any words, but those by which the SDK knows what it is."""
    match value if levels else REDACTED_MARK:
        case str():
            return value if name in _STRUCTURE_FIELDS else REDACTED_MARK
        case Mapping():
            return {key: _hide_words(inner, key, levels - 1) for key, inner in value.items()}
        case list():
            return [_hide_words(inner, name, levels - 1) for inner in value]
        case _:
            return value


def _topic_key(place: _ItemPosition) -> str:
    return to_topic_key(TOPIC_KEY_PREFIX, f"{place.call}-{place.number}")


def _role_of(item: Mapping[str, Any]) -> Role:
    """In which part an item was said; what has no role is of a tool if it is an output, and of the model if not."""
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
    """What an item says to a person: its words, or the call and its arguments, or what came of it."""
    words = [_content_text(item.get(name)) for name in ("content", "summary", "output")]
    called = [f"{item['name']}({item.get('arguments', '')})"] if isinstance(item.get("name"), str) else []
    return "\n".join(one for one in [*called, *words] if one)


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
