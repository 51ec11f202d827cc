"""Change: a memory gets a new text, or another standing; what it was stays in its history."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.admission.salience import salience
from recollect.engine.world import World, not_later
from recollect.errors import Conflict, FieldError, NotFound, show
from recollect.model import limits
from recollect.model.memory import Kind, Memory, MemoryId, Status, content_hash, named
from recollect.model.scope import Scope
from recollect.model.verdict import Changed, Receipt, Unchanged, Updated
from recollect.ports import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What a memory is to say from now on; what is `None` stays as it was."""

    text: str
    title: str | None = None
    kind: Kind | str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    confidence: float | None = None
    at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: dict[str, Any] | None = None
    vector: tuple[float, ...] | None = None


def revise(world: World, scope: Scope, id: str, revision: Revision) -> Receipt:
    """Give the memory a new text; it keeps its id, and what it said before stays in its history."""
    from recollect.evidence.similarity import direction

    now = world.now()
    at = not_later("at", revision.at, now)
    limits.a_content("text", revision.text)
    if revision.vector is not None and len(revision.vector) != world.encoder.dimensions:
        raise FieldError(f"{len(revision.vector)} dimensions; {world.encoder} has others", field="vector")
    former = _visible(world, scope, id)
    if revision.vector is None:
        vector = world.embed([_revised(former, revision, at).searched_text], "memory")[0]
    else:
        vector = direction(revision.vector)

    def change(writing: Writing) -> Receipt:
        writing.adopt(world.encoder)
        former = _own(writing, scope, id)
        revised = _revised(former, revision, at)
        if revised.changed(updated_at=former.updated_at, observed_at=former.observed_at) == former:
            return Receipt(former.id, Unchanged(), former)
        _refuse_twin(writing, revised)
        kept = writing.put(revised.changed(revisions=former.revisions + 1), vector)
        return Receipt(kept.id, Updated(kept.revisions), kept)

    return world.store.write(change)


def set_status(world: World, scope: Scope, id: str, status: Status) -> Receipt:
    """Forget the memory, or bring it back; its text and history stay."""

    def change(writing: Writing) -> Receipt:
        former = _own(writing, scope, id)
        if former.status is status:
            return Receipt(former.id, Unchanged(), former)
        changed = former.changed(status=status)
        _refuse_twin(writing, changed)
        kept = writing.put(changed, None)
        return Receipt(kept.id, Changed(status.value), kept)

    return world.store.write(change)


def set_pinned(world: World, scope: Scope, id: str, *, pinned: bool) -> Receipt:
    """Pin the memory, so that every context has room for it, or unpin it."""

    def change(writing: Writing) -> Receipt:
        former = _own(writing, scope, id)
        if former.pinned is pinned:
            return Receipt(former.id, Unchanged(), former)
        weight = salience(former.text, former.kind, pinned=pinned)
        kept = writing.put(former.changed(pinned=pinned, salience=weight), None)
        return Receipt(kept.id, Changed("pinned" if pinned else "unpinned"), kept)

    return world.store.write(change)


def not_there(scope: Scope, id: str) -> NotFound:
    """What is said of an id that is not there; the same whether it is another's or nobody's."""
    return NotFound(f"there is no memory {show(id)} in {scope}")


def _visible(world: World, scope: Scope, id: str) -> Memory:
    found = world.store.get(scope, [MemoryId(id)])
    if not found:
        raise not_there(scope, id)
    return found[0]


def _own(writing: Writing, scope: Scope, id: str) -> Memory:
    found = writing.get(scope, MemoryId(id))
    if found is None:
        raise not_there(scope, id)
    return found


def _refuse_twin(writing: Writing, memory: Memory) -> None:
    """Two active memories of a scope never say the same."""
    twin = writing.twin(memory.scope, memory.hash) if memory.status is Status.ACTIVE else None
    if twin is not None and twin.id != memory.id:
        raise Conflict(f"the memory {twin.id!r} says the same already; forget one of the two first")


def _revised(former: Memory, revision: Revision, at: datetime) -> Memory:
    importances = [one for one in (former.importance, revision.importance) if one is not None]
    kind = former.kind if revision.kind is None else named("kind", revision.kind, Kind)
    said: dict[str, Any] = {
        name: value
        for name in ("title", "tags", "confidence", "valid_from", "valid_until", "metadata")
        if (value := getattr(revision, name)) is not None
    }
    text = former.text if content_hash(revision.text) == former.hash else revision.text
    return former.changed(
        text=text,
        kind=kind,
        importance=max(importances, default=None),
        salience=salience(text, kind, pinned=former.pinned),
        observed_at=at,
        updated_at=at,
        **said,
    )
