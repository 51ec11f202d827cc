"""Keep: texts under keys of their own, just as they are given, for whoever must give back what it was given."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.admission.screening import T, screen_value
from recollect.engine.dependencies import World
from recollect.engine.remember import KEEPS_SECRETS, remember_all
from recollect.errors import Conflict, FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope, a_scope
from recollect.model.trust import TRUST, Provenance
from recollect.model.verdict import Quarantined, Receipt, Refused
from recollect.protocols import Writing


@dataclass(frozen=True, slots=True)
class Key:
    """A topic key of a scope, under which one text is kept."""

    scope: Scope
    topic_key: str

    def __str__(self) -> str:
        return f"{show(self.topic_key)} of {self.scope}"


def keep(
    world: World,
    drafts: Sequence[Draft],
    *,
    drop: Sequence[Key],
    by: Provenance | None,
    seen: Mapping[Key, Memory | None],
    apart: bool,
) -> list[Receipt]:
    """Keep every draft word for word under its topic key, and forget what is under the keys to drop, or do nothing.

    `by` is through whom these are dropped, who is to be trusted as much as what holds there; nobody is, if it is not
    said.
    """
    now = world.now()
    keys = [_key(draft) for draft in drafts]

    def first(writing: Writing) -> None:
        for key, memory in seen.items():
            _refuse_changed(key, memory, _held(writing, key, now))
        for key in drop:
            _refuse_less_trusted(key, _held(writing, key, now), by if world.policy.quarantine.enabled else None)
            _forget(writing, key)
        for key in keys:
            if _held(writing, key, now) is None:
                _forget(writing, key)  # what is over is not what comes now

    def look(receipts: Sequence[Receipt]) -> None:
        for key, receipt in zip(keys, receipts, strict=True):
            if isinstance(receipt.verdict, Quarantined) and not apart:
                raise InvalidInput(f"{key} is not kept, for {receipt.reason}; have the user or an operator say it")

    return remember_all(world, drafts, first, exactly=look)


def kept(world: World, scope: Scope, topic_key: str) -> Memory | None:
    """The scope's active memory of that topic key, if it holds now."""
    if not validation.can_be_kept(validation.a_text("topic_key", topic_key)):
        return None
    found = world.store.topic(scope, topic_key)
    return None if found is None or found.ended_by(world.now()) else found


def screened(world: World, value: T) -> T:
    """The value with placeholders for what could not be kept in any text of it."""
    found = screen_value(value, world.policy.secrets)
    if isinstance(found, Refused):
        raise InvalidInput(f"{found.reason}; {KEEPS_SECRETS}")
    return found.value


def read_keys(given: Iterable[tuple[str | Scope, str]]) -> list[Key]:
    """The keys that are named by a scope and a topic key each."""
    return [_read_key("drop", *_parts("drop", one, 2)) for one in validation.several("drop", given)]


def read_seen(given: Iterable[tuple[str | Scope, str, Memory | None]]) -> dict[Key, Memory | None]:
    """What was seen under keys, each named by a scope and a topic key, or that nothing was."""
    found: dict[Key, Memory | None] = {}
    for one in validation.several("seen", given):
        scope, topic_key, memory = _parts("seen", one, 3)
        if memory is not None and not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is no memory; give what `kept` gave", field="seen")
        found[_read_key("seen", scope, topic_key)] = memory
    return found


def _parts(field: str, given: object, count: int) -> Sequence[Any]:
    if not isinstance(given, tuple | list) or len(given) != count:
        raise FieldError(f"{show(given)} does not name {count} things, a scope and a topic key first", field=field)
    return given


def _read_key(field: str, scope: str | Scope, topic_key: str) -> Key:
    return Key(a_scope(scope), validation.an_id(field, topic_key))


def _key(draft: Draft) -> Key:
    if draft.topic_key is None:
        raise FieldError("is missing; what is kept has a key", field="topic_key")
    if draft.subject is not None:
        raise FieldError(f"{show(draft.subject)}, but what is kept has a key instead; leave it out", field="subject")
    if draft.key is not None:
        raise FieldError(f"{show(draft.key)}, but to keep the same again is harmless; leave it out", field="key")
    return Key(draft.scope, draft.topic_key)


def _held(writing: Writing, key: Key, now: datetime) -> Memory | None:
    found = writing.topic(key.scope, key.topic_key)
    return None if found is None or found.ended_by(now) else found


def _forget(writing: Writing, key: Key) -> None:
    found = writing.topic(key.scope, key.topic_key)
    if found is not None:
        writing.put(found.changed(status=Status.FORGOTTEN), None)


def _refuse_less_trusted(key: Key, held: Memory | None, by: Provenance | None) -> None:
    """Whoever is trusted less changes nothing of what is trusted more, and so puts nothing in its place either."""
    if held is not None and by is not None and TRUST[by].less_than(held.trust):
        less = f"what comes through {by.value} is trusted less than it"
        raise InvalidInput(f"{key} is not dropped, for {less}; have the user or an operator do it")


def _refuse_changed(key: Key, seen: Memory | None, found: Memory | None) -> None:
    if _version(seen) != _version(found):
        raise Conflict(f"{key} has changed since it was looked at; look again")


def _version(memory: Memory | None) -> tuple[str, int] | None:
    return None if memory is None else (memory.id, memory.revisions)
