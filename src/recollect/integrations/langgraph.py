"""LangGraph's store on an engine: an item is a memory, a namespace a scope."""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from recollect.engine.engine import Engine
from recollect.errors import Conflict, FieldError, InvalidInput, NotFound, show, suggest
from recollect.integrations.shared import (
    TtlSweeper,
    child_scope,
    decode_value,
    encode_value,
    labels_of,
    name_of,
    notes_of,
    requires_extra,
    to_topic_key,
)
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.enums import Provenance, parse_choice
from recollect.model.memory import Memory
from recollect.model.scope import Scope, as_scope
from recollect.ranking.profile import Profile

with requires_extra("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )

METADATA_KEY = "langgraph"
"""The metadata key for the value of an item."""

TOPIC_KEY_PREFIX = "langgraph:"
"""The prefix of an item's topic key."""

WHOLE_VALUE = "$"
"""The field path for the whole value."""

DEFAULT_SWEEP_MINUTES = 5
"""The default interval of TTL sweeps in minutes, as in LangGraph's own stores."""

OVERFETCH_FACTOR = 4
"""The factor for a larger search when too few results pass a filter."""


@dataclass(frozen=True, slots=True)
class _StoredItem:
    """An item, its memory, and its score in a search."""

    memory: Memory
    item: Item
    score: float | None = None

    @property
    def search_item(self) -> SearchItem:
        one = self.item
        return SearchItem(one.namespace, one.key, one.value, one.created_at, one.updated_at, self.score)


class RecollectStore(BaseStore):
    """LangGraph's store below a root scope: a namespace is a scope, an item is a memory.

    Items keep their history. `fields` are the paths of a value that are searched, by default all of it. `ttl` is
    LangGraph's own configuration; items expire by the engine's clock, but the sweep interval is real time. If the
    engine rejects an item, as it does for a secret, an error is raised and nothing of the batch is written.
    """

    supports_ttl = True

    def __init__(
        self,
        engine: Engine,
        scope: str | Scope,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        profile: Profile | str | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
    ) -> None:
        self._engine = engine
        self._root = as_scope(scope)
        self._fields = (WHOLE_VALUE,) if fields is None else validation.require_several("fields", fields)
        self.ttl_config = _check_ttl_config(ttl)
        self._profile = profile
        self._provenance = parse_choice("provenance", provenance, Provenance)
        self._sweeper = TtlSweeper(self.sweep_ttl, lambda: engine.closed)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations and return their results in order.

        All reads see the state before the batch; then all writes are done, or none. Of several writes to one key the
        last one counts.
        """
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._list_namespaces(op))
                case PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise InvalidInput(f"{show(op)} is not a store operation")
        self._write(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the batch in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Forget expired items and return their number; expired items are never visible."""
        now, swept = self._engine.items.now(), 0
        for memory in self._engine.memories(scope=self._root, below=True):
            if memory.topic_key is None or notes_of(METADATA_KEY, memory) is None or not memory.ended_by(now):
                continue
            key = memory.scope, memory.topic_key
            try:
                self._engine.items.put([], drop=[key], seen=[(*key, None)])
            except Conflict:  # written again meanwhile
                continue
            swept += 1
        return swept

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep in a background thread until it is stopped or the engine is closed.

        The default interval is that of the configuration, or else five minutes. The future is done when the thread has
        ended; canceling it stops the thread. If it is running already, the same future is returned.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = next(one for one in (sweep_interval_minutes, configured, DEFAULT_SWEEP_MINUTES) if one is not None)
        return self._sweeper.start(_to_duration(minutes, _SWEEP_INTERVAL_FIELD))

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; return whether it ended within the timeout (without one, wait for it)."""
        return self._sweeper.stop(timeout)

    def _get(self, op: GetOp) -> Item | None:
        memory = self._engine.items.get(
            to_topic_key(TOPIC_KEY_PREFIX, op.key), scope=child_scope(self._root, *op.namespace)
        )
        stored = None if memory is None else self._read_item(memory)
        if stored is None:
            return None
        if op.refresh_ttl:
            self._refresh_ttl([stored])
        return stored.item

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise InvalidInput(f"limit is {op.limit} and offset is {op.offset}; neither may be below 0")
        until = min(op.offset + op.limit, validation.MAX_LIMIT)
        if until == 0:
            return []
        scope = child_scope(self._root, *op.namespace_prefix)
        ranked = self._search_items(op.query, scope, op.filter, until) if op.query and not op.query.isspace() else []
        if len(ranked) < until:
            ranked_ids = {one.memory.id for one in ranked}
            others = (one for one in self._list_items(scope) if one.memory.id not in ranked_ids)
            ranked += [one for one in others if _passes_filter(one.item.value, op.filter)]
        page = ranked[op.offset : until]
        if op.refresh_ttl:
            self._refresh_ttl(page)
        self._count_served(one.memory for one in page if one.score is not None)
        return [one.search_item for one in page]

    def _count_served(self, memories: Iterable[Memory]) -> None:
        """Count search results as served to an agent; listed items do not count."""
        by_scope: dict[Scope, list[str]] = {}
        for memory in memories:
            by_scope.setdefault(memory.scope, []).append(memory.id)
        for scope, ids in by_scope.items():
            self._engine.contexts.count_served(ids, scope=scope)

    def _search_items(
        self, query: str, scope: Scope, conditions: Mapping[str, Any] | None, most: int
    ) -> list[_StoredItem]:
        """Return the best items that pass the filter, with scores."""
        limit = most
        while True:
            ranking = self._engine.search(query, scope=scope, profile=self._profile, limit=limit, below=True)
            items = [
                _StoredItem(one.memory, stored.item, float(one.score))
                for one in ranking
                if (stored := self._read_item_or_skip(one.memory)) is not None
                and (notes_of(METADATA_KEY, one.memory) or {}).get("index") is not False
                and _passes_filter(stored.item.value, conditions)
            ]
            if len(items) >= most or len(ranking) < limit:
                return items
            limit = min(limit * OVERFETCH_FACTOR, validation.MAX_LIMIT)

    def _list_items(self, scope: Scope) -> list[_StoredItem]:
        """Return every item of the scope and below, oldest first."""
        now = self._engine.items.now()
        memories = (one for one in self._engine.memories(scope=scope, below=True) if not one.ended_by(now))
        items = [stored for one in memories if (stored := self._read_item_or_skip(one)) is not None]
        return sorted(items, key=lambda one: (one.memory.created_at, one.memory.id))

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {one.item.namespace for one in self._list_items(self._root)}
        conditions = op.match_conditions or ()
        matching = {one[: op.max_depth] for one in namespaces if all(_matches(one, each) for each in conditions)}
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _write(self, puts: Sequence[PutOp]) -> None:
        if not puts:
            return
        now = self._engine.items.now()
        drop = [
            (child_scope(self._root, *op.namespace), to_topic_key(TOPIC_KEY_PREFIX, op.key))
            for op in puts
            if op.value is None
        ]
        drafts = [self._draft(op, now) for op in puts if op.value is not None]
        self._engine.items.put(drafts, drop=drop, provenance=self._provenance)

    def _draft(self, op: PutOp, now: datetime) -> Draft:
        if not isinstance(op.value, Mapping):
            raise FieldError(f"{show(op.value)} is not a mapping; give {show(op.key)} a mapping", field="value")
        value = dict(op.value)
        fields = (
            self._fields if op.index is None or op.index is False else validation.require_several("index", op.index)
        )
        notes = {**({"index": False} if op.index is False else {}), **({} if op.ttl is None else {"ttl": op.ttl})}
        encoded = encode_value(METADATA_KEY, value, lambda item: _searchable_text(item, fields), **notes)
        return Draft(
            text=encoded.text,
            scope=child_scope(self._root, *op.namespace),
            topic_key=to_topic_key(TOPIC_KEY_PREFIX, op.key),
            metadata=encoded.metadata,
            valid_until=None if op.ttl is None else now + _to_duration(op.ttl),
            provenance=self._provenance,
        )

    def _read_item(self, memory: Memory) -> _StoredItem | None:
        """Read the item of a memory; `None` if the memory is not an item."""
        key = name_of(TOPIC_KEY_PREFIX, memory.topic_key)
        if key is None or notes_of(METADATA_KEY, memory) is None:
            return None
        value = decode_value(METADATA_KEY, memory)
        if not isinstance(value, dict):
            return None
        item = Item(
            value=value,
            key=key,
            namespace=labels_of(memory.scope, self._root),
            created_at=memory.created_at,
            updated_at=memory.updated_at or memory.created_at,
        )
        return _StoredItem(memory, item)

    def _read_item_or_skip(self, memory: Memory) -> _StoredItem | None:
        """Read the item of a memory; `None` also if its value can no longer be decoded."""
        try:
            return self._read_item(memory)
        except Conflict:
            return None

    def _refresh_ttl(self, items: Iterable[_StoredItem]) -> None:
        """Restart the time to live of items that were read."""
        now = self._engine.items.now()
        for one in items:
            ttl = (notes_of(METADATA_KEY, one.memory) or {}).get("ttl")
            if isinstance(ttl, bool) or not isinstance(ttl, int | float):  # none, or not written by this store
                continue
            try:
                self._engine.items.hold(one.memory, until=now + _to_duration(ttl))
            except NotFound:  # erased since it was read
                continue


def _check_ttl_config(config: TTLConfig | None) -> TTLConfig | None:
    if config is None:
        return None
    known = ("refresh_on_read", "omit_expired", "default_ttl", "sweep_interval_minutes")
    unknown = next((name for name in config if name not in known), None)
    if unknown is not None:
        raise FieldError(f"is not a TTL setting; {suggest(unknown, known)}", field=unknown)
    if config.get("omit_expired") is False:
        raise FieldError("is false, but expired items are never returned; leave it out", field="omit_expired")
    for minutes, field in (
        (config.get("default_ttl"), "default_ttl"),
        (config.get("sweep_interval_minutes"), _SWEEP_INTERVAL_FIELD),
    ):
        if minutes is not None:
            _to_duration(minutes, field)
    return config


def _to_duration(minutes: float, field: str = "ttl") -> timedelta:
    """Return the minutes as a timedelta; raise unless they are above 0 and below a century."""
    number = validation.require_number(field, minutes)
    if not number < _MAX_TTL_MINUTES or timedelta(minutes=number) <= timedelta():
        raise FieldError(f"is {show(minutes)} minutes; give more than 0, and less than a hundred years", field=field)
    return timedelta(minutes=number)


_SWEEP_INTERVAL_FIELD = "sweep_interval_minutes"
_MAX_TTL_MINUTES = timedelta(days=36_500) / timedelta(minutes=1)


def _searchable_text(value: Mapping[str, Any], fields: Sequence[str]) -> str:
    """Return the searchable text of a value, as a person would read it."""
    return "\n".join(text for field in fields for text in _field_texts(value, field))


def _field_texts(value: Mapping[str, Any], field: str) -> list[str]:
    if field != WHOLE_VALUE:
        return get_text_at_path(value, field)
    leaves = list(_iterate_leaves("", value))
    return [leaves[0][1]] if len(leaves) == 1 else [f"{path}: {text}" for path, text in leaves]


def _iterate_leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every readable value, with the names that lead to it."""
    match value:
        case Mapping():
            for name, inner in value.items():
                yield from _iterate_leaves(f"{path}.{name}" if path else str(name), inner)
        case list() | tuple():
            for inner in value:
                yield from _iterate_leaves(path, inner)
        case None:
            pass
        case _:
            yield path, str(value)


def _matches(namespace: Sequence[str], condition: MatchCondition) -> bool:
    """Whether the namespace begins or ends as the condition says; a * matches any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"unknown match type {show(condition.match_type)}; give prefix or suffix")
    first = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[first : first + len(path)]
    return all(pattern in ("*", label) for label, pattern in zip(part, path, strict=True))


def _passes_filter(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    return all(_satisfies(value.get(name), condition) for name, condition in (conditions or {}).items())


def _satisfies(value: Any, condition: Any) -> bool:
    """Return whether a value is equal to the condition, or all its parts match, or all operators accept it."""
    match condition:
        case dict() if any(str(name).startswith("$") for name in condition):
            return all(_apply_operator(value, operator, other) for operator, other in condition.items())
        case dict():
            return isinstance(value, dict) and all(_satisfies(value.get(name), one) for name, one in condition.items())
        case list() | tuple():
            if not isinstance(value, list) or len(value) != len(condition):
                return False
            return all(_satisfies(one, other) for one, other in zip(value, condition, strict=True))
        case _:
            return bool(value == condition)


def _apply_operator(value: Any, operator: str, other: Any) -> bool:
    if operator not in OPERATORS:
        raise InvalidInput(f"unknown filter operator {show(operator)}; {suggest(str(operator), OPERATORS)}")
    return OPERATORS[operator](value, other)


def _compare_as_numbers(compare: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    """Compare as numbers; false if either value is not a number."""
    return lambda value, other: compare(_to_number(value), _to_number(other))


def _to_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": _compare_as_numbers(lambda value, other: value > other),
    "$gte": _compare_as_numbers(lambda value, other: value >= other),
    "$lt": _compare_as_numbers(lambda value, other: value < other),
    "$lte": _compare_as_numbers(lambda value, other: value <= other),
}
"""The filter operators of LangGraph."""
