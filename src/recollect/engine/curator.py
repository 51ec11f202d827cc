"""Curate: what an operator sets right by hand; every act is a new version, and can be undone.

Purge: all that came from a source is forgotten, after somebody has seen what that is.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from recollect.admission.decision import MANUAL_QUARANTINE_PREFIX
from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_own, release, write_change
from recollect.engine.erase import find_from_source, list_from_source, source_not_found
from recollect.engine.merge import Wording, merge_memories
from recollect.engine.plans import undo_commit
from recollect.engine.supersession import end_memory
from recollect.errors import Conflict, FieldError, show
from recollect.model import validation
from recollect.model.draft import Changed, Receipt, Unchanged
from recollect.model.enums import Kind, Status, Trust, parse_choice
from recollect.model.memory import Memory
from recollect.model.plan import Purge, UndoReport
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction

VOUCHED_REMARK = "vouched for"
"""What is remarked of a memory that an operator stands for."""

_RECALLABLE_STATUSES = (Status.ACTIVE, Status.SUPERSEDED)
"""Where a memory stands that may be recalled, if only as of another moment."""


class Curator:
    """What an operator does to the memories of a scope: weigh, merge, end, isolate, vouch for, purge, and undo.

    The commit of the memory that a receipt shows is the `run` that `undo` takes, as long as the receipt says that
    something was written.
    """

    def __init__(self, opened: Callable[[], Dependencies]) -> None:
        self._opened = opened

    def __repr__(self) -> str:
        return "<recollect.Curator>"

    def weigh(self, id: str, importance: float | None, *, scope: str | Scope) -> Receipt:
        """Set how important the memory is, also to less than it was; `None` makes it unknown."""
        weight = None if importance is None else validation.require_fraction("importance", importance)
        to = "of unknown importance" if weight is None else f"of importance {weight:g}"
        return _change_memory(self._opened(), as_scope(scope), id, lambda one: one.changed(importance=weight), to)

    def merge(
        self,
        ids: Iterable[str],
        text: str | None = None,
        *,
        scope: str | Scope,
        title: str | None = None,
        kind: Kind | str | None = None,
    ) -> Receipt:
        """Make one memory of several active ones, with that text or else the text of the most important; it is trusted
        no more than the least of them.
        """
        wording = Wording(text=text, title=title, kind=None if kind is None else parse_choice("kind", kind, Kind))
        return merge_memories(self._opened(), as_scope(scope), ids, wording)

    def supersede(self, old: str, by: str, *, scope: str | Scope, at: datetime | None = None) -> Receipt:
        """Let the memory `old` hold no longer since `by` does, or since that moment."""
        since = None if at is None else validation.require_moment("at", at)
        return _supersede(self._opened(), as_scope(scope), old, by, since)

    def quarantine(self, id: str, reason: str, *, scope: str | Scope) -> Receipt:
        """Recall the memory no more until somebody releases it; the reason is kept with it."""
        world = self._opened()
        told = redact_text(validation.require_line("reason", reason), world.policy.secrets)
        remark = validation.require_line("reason", f"{MANUAL_QUARANTINE_PREFIX}{told}")
        return _change_memory(
            world, as_scope(scope), id, lambda one: _quarantine(one, remark), Status.QUARANTINED.value
        )

    def release(self, id: str, *, scope: str | Scope) -> Receipt:
        """Let a quarantined memory be recalled; what it is at odds with and began before it holds no longer."""
        return release(self._opened(), as_scope(scope), id)

    def vouch(self, id: str, *, scope: str | Scope) -> Receipt:
        """Stand for the memory: it is trusted as nothing else is, whatever it came through."""
        return _change_memory(self._opened(), as_scope(scope), id, _vouch, VOUCHED_REMARK)

    def purge(self, source: str, *, scope: str | Scope, expected: Purge | None = None) -> Purge:
        """What came from a source, directly or by what was made of it; given what this gave before as `expected`, all
        of that is forgotten at once, or nothing if it would be something else by now.
        """
        return purge_source(self._opened(), as_scope(scope), source, expected)

    def undo(self, run: int, *, scope: str | Scope) -> UndoReport:
        """Give every memory of the scope that a run wrote the version back that it had before; what was not there
        before is forgotten. Refused if one of them has changed since.
        """
        return undo_commit(self._opened(), as_scope(scope), run)


def _change_memory(
    world: Dependencies, scope: Scope, id: str, next_state: Callable[[Memory], Memory], to: str
) -> Receipt:
    """Give the memory its next state; nothing is written if that is the one it has."""

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        state = next_state(former)
        if state == former:
            return Receipt(former.id, Unchanged(), former)
        kept = writing.put(state, None)
        return Receipt(kept.id, Changed(to), kept)

    return write_change(world, scope, id, change)


def _quarantine(memory: Memory, reason: str) -> Memory:
    if memory.status not in (*_RECALLABLE_STATUSES, Status.QUARANTINED):
        raise Conflict(f"the memory {show(memory.id)} is {memory.status.value}, so that nobody recalls it anyway")
    return memory.changed(status=Status.QUARANTINED, remark=reason)


def _vouch(memory: Memory) -> Memory:
    """Where it stands for a reason, that reason stays what is remarked of it."""
    if memory.trust is Trust.VOUCHED:
        return memory
    return memory.changed(trust=Trust.VOUCHED, remark=VOUCHED_REMARK if memory.remark is None else memory.remark)


def _supersede(world: Dependencies, scope: Scope, old: str, by: str, at: datetime | None) -> Receipt:
    now = world.now()
    if validation.require_text("old", old) == validation.require_text("by", by):
        raise FieldError(f"{show(by)} cannot take its own place; name another memory", field="by")

    def change(writing: WriteTransaction) -> Receipt:
        former, successor = get_own(writing, scope, old), get_own(writing, scope, by)
        if former.superseded_by == successor.id and at is None:
            return Receipt(former.id, Unchanged(), former)
        for one in (former, successor):
            if one.status is not Status.ACTIVE:
                raise Conflict(f"the memory {show(one.id)} is {one.status.value}; only active ones follow each other")
        kept = writing.put(end_memory(former, successor, now, at), None)
        return Receipt(kept.id, Changed(kept.status.value), kept)

    return write_change(world, scope, old, change)


def purge_source(world: Dependencies, scope: Scope, source: str, expected: Purge | None) -> Purge:
    """What came from the source, directly or by lineage; forgotten, if it is what is expected."""
    validation.require_id("source", source)
    if expected is None:
        return _preview_purge(world, scope, source)
    _refuse_other_preview(expected, scope, source)

    def change(writing: WriteTransaction) -> Purge:
        came = [writing.get(scope, id) for id in find_from_source(writing, scope, source)]
        found = _make_purge(scope, source, [one for one in came if one is not None])
        if found.versions != expected.versions:
            raise _purge_conflict(found, expected)
        if not found.memories:
            raise source_not_found(scope, source)
        return _forget_purged(writing, found)

    return world.store.write(change)


def _preview_purge(world: Dependencies, scope: Scope, source: str) -> Purge:
    """What would be forgotten, without writing anything: a store that is only read can be asked too."""
    came = list_from_source(world, scope, source)
    known = world.store.get(scope, came) if came else []
    found = _make_purge(scope, source, [one for one in known if one.scope == scope])
    if not found.memories:
        raise source_not_found(scope, source)
    return found


def _make_purge(scope: Scope, source: str, came: Iterable[Memory]) -> Purge:
    known = [one for one in came if one.status is not Status.FORGOTTEN]
    return Purge(scope=scope, source=source, memories=tuple(sorted(known, key=lambda one: one.id)))


def _forget_purged(writing: WriteTransaction, found: Purge) -> Purge:
    remark = f"purged: source {found.source}"
    states = [one.changed(status=Status.FORGOTTEN, remark=remark) for one in found.memories]
    memories = tuple(writing.put(state, None) for state in states)
    return Purge(scope=found.scope, source=found.source, memories=memories, run=writing.commit)


def _refuse_other_preview(expected: Purge, scope: Scope, source: str) -> None:
    """Only what was seen of just this source can be expected of it."""
    if not isinstance(expected, Purge):
        raise FieldError(f"{show(expected)} is no preview; give what `purge_source` gave without it", field="expected")
    if (expected.scope, expected.source) != (scope, source):
        whose = f"is of the source {show(expected.source)} in {expected.scope}"
        raise FieldError(f"{whose}, not of {show(source)} in {scope}", field="expected")


def _purge_conflict(found: Purge, expected: Purge) -> Conflict:
    """What is said when something else would be forgotten than was seen."""
    new, gone = found.versions.keys() - expected.versions.keys(), expected.versions.keys() - found.versions.keys()
    both = found.versions.keys() & expected.versions.keys()
    other = [id for id in both if found.versions[id] != expected.versions[id]]
    told = f"{len(new)} came since, {len(gone)} went, {len(other)} changed"
    return Conflict(f"what came from the source {show(found.source)} is not what the preview had: {told}; look again")
