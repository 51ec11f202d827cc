"""Keep: texts under keys of their own, just as they are given, for whoever must give back what it was given."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.admission.screening import ScreenedT, screen_value
from recollect.engine.dependencies import Dependencies
from recollect.engine.remember import KEEP_SECRETS_HINT, remember_all
from recollect.errors import Conflict, FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope, as_scope
from recollect.model.trust import TRUST_BY_PROVENANCE, Provenance
from recollect.model.verdict import Quarantined, Receipt, Refused
from recollect.protocols import WriteTransaction


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A topic key of a scope, under which one text is kept."""

    scope: Scope
    topic_key: str

    def __str__(self) -> str:
        return f"{show(self.topic_key)} of {self.scope}"


def keep_exact(
    world: Dependencies,
    drafts: Sequence[Draft],
    *,
    drop: Sequence[TopicKey],
    by: Provenance | None,
    seen: Mapping[TopicKey, Memory | None],
    apart: bool,
) -> list[Receipt]:
    """Keep every draft word for word under its topic key, and forget what is under the keys to drop, or do nothing.

    `by` is through whom these are dropped, who is to be trusted as much as what holds there; nobody is, if it is not
    said.
    """
    now = world.now()
    keys = [_key_of(draft) for draft in drafts]

    def first(writing: WriteTransaction) -> None:
        for key, memory in seen.items():
            _refuse_changed(key, memory, _get_current(writing, key, now))
        for key in drop:
            _refuse_less_trusted(key, _get_current(writing, key, now), by if world.policy.quarantine.enabled else None)
            _forget_under_key(writing, key)
        for key in keys:
            if _get_current(writing, key, now) is None:
                _forget_under_key(writing, key)  # what is over is not what comes now

    def look(receipts: Sequence[Receipt]) -> None:
        for key, receipt in zip(keys, receipts, strict=True):
            if isinstance(receipt.verdict, Quarantined) and not apart:
                raise InvalidInput(f"{key} is not kept, for {receipt.reason}; have the user or an operator say it")

    return remember_all(world, drafts, first, exactly=look)


def get_kept(world: Dependencies, scope: Scope, topic_key: str) -> Memory | None:
    """The scope's active memory of that topic key, if it holds now."""
    if not validation.is_storable(validation.require_text("topic_key", topic_key)):
        return None
    found = world.store.topic(scope, topic_key)
    return None if found is None or found.ended_by(world.now()) else found


def screen_or_raise(world: Dependencies, value: ScreenedT) -> ScreenedT:
    """The value with placeholders for what could not be kept in any text of it."""
    found = screen_value(value, world.policy.secrets)
    if isinstance(found, Refused):
        raise InvalidInput(f"{found.reason}; {KEEP_SECRETS_HINT}")
    return found.value


def read_keys(given: Iterable[tuple[str | Scope, str]]) -> list[TopicKey]:
    """The keys that are named by a scope and a topic key each."""
    return [_read_key("drop", *_require_parts("drop", one, 2)) for one in validation.require_several("drop", given)]


def read_seen_versions(given: Iterable[tuple[str | Scope, str, Memory | None]]) -> dict[TopicKey, Memory | None]:
    """What was seen under keys, each named by a scope and a topic key, or that nothing was."""
    found: dict[TopicKey, Memory | None] = {}
    for one in validation.require_several("seen", given):
        scope, topic_key, memory = _require_parts("seen", one, 3)
        if memory is not None and not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is no memory; give what `get_kept` gave", field="seen")
        found[_read_key("seen", scope, topic_key)] = memory
    return found


def _require_parts(field: str, given: object, count: int) -> Sequence[Any]:
    if not isinstance(given, tuple | list) or len(given) != count:
        raise FieldError(f"{show(given)} does not name {count} things, a scope and a topic key first", field=field)
    return given


def _read_key(field: str, scope: str | Scope, topic_key: str) -> TopicKey:
    return TopicKey(as_scope(scope), validation.require_id(field, topic_key))


def _key_of(draft: Draft) -> TopicKey:
    if draft.topic_key is None:
        raise FieldError("is missing; what is kept has a key", field="topic_key")
    if draft.subject is not None:
        raise FieldError(f"{show(draft.subject)}, but what is kept has a key instead; leave it out", field="subject")
    if draft.key is not None:
        raise FieldError(f"{show(draft.key)}, but to keep the same again is harmless; leave it out", field="key")
    return TopicKey(draft.scope, draft.topic_key)


def _get_current(writing: WriteTransaction, key: TopicKey, now: datetime) -> Memory | None:
    found = writing.topic(key.scope, key.topic_key)
    return None if found is None or found.ended_by(now) else found


def _forget_under_key(writing: WriteTransaction, key: TopicKey) -> None:
    found = writing.topic(key.scope, key.topic_key)
    if found is not None:
        writing.put(found.changed(status=Status.FORGOTTEN), None)


def _refuse_less_trusted(key: TopicKey, held: Memory | None, by: Provenance | None) -> None:
    """Whoever is trusted less changes nothing of what is trusted more, and so puts nothing in its place either."""
    if held is not None and by is not None and TRUST_BY_PROVENANCE[by].less_than(held.trust):
        less = f"what comes through {by.value} is trusted less than it"
        raise InvalidInput(f"{key} is not dropped, for {less}; have the user or an operator do it")


def _refuse_changed(key: TopicKey, seen: Memory | None, found: Memory | None) -> None:
    if _version_of(seen) != _version_of(found):
        raise Conflict(f"{key} has changed since it was looked at; look again")


def _version_of(memory: Memory | None) -> tuple[str, int] | None:
    return None if memory is None else (memory.id, memory.revisions)
