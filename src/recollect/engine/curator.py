"""Curator: corrections by an operator; each writes new versions and can be undone."""

from collections.abc import Callable, Iterable
from datetime import datetime

from recollect.admission import supersession
from recollect.admission.decision import MANUAL_QUARANTINE_PREFIX
from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_own, release, write_change
from recollect.engine.erase import find_from_source, list_from_source, source_not_found
from recollect.engine.merge import Wording, merge_memories
from recollect.engine.plans import undo_commit
from recollect.errors import Conflict, FieldError, show
from recollect.model import validation
from recollect.model.draft import Changed, Receipt, Unchanged
from recollect.model.enums import Kind, Status, Trust, parse_choice
from recollect.model.memory import Memory
from recollect.model.plan import Purge, UndoReport
from recollect.model.scope import Scope, as_scope
from recollect.protocols import WriteTransaction

VOUCHED_REMARK = "vouched for"
"""The remark on a memory that an operator vouched for."""

_RECALLABLE_STATUSES = (Status.ACTIVE, Status.SUPERSEDED)
"""The statuses of memories that can be recalled, if only as of another moment."""


class Curator:
    """Operator actions on the memories of a scope; each can be undone.

    To undo an action, pass the commit of the memory in its receipt as `run` to `undo`; this works if the receipt says
    that something was written.
    """

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

    def __repr__(self) -> str:
        return "<recollect.Curator>"

    def weigh(self, id: str, importance: float | None, *, scope: str | Scope) -> Receipt:
        """Set the importance of a memory, higher or lower than before; `None` makes it unknown."""
        weight = None if importance is None else validation.require_fraction("importance", importance)
        change = "of unknown importance" if weight is None else f"of importance {weight:g}"
        return _change_memory(
            self._get_deps(), as_scope(scope), id, lambda one: one.with_changes(importance=weight), change
        )

    def merge(
        self,
        ids: Iterable[str],
        text: str | None = None,
        *,
        scope: str | Scope,
        title: str | None = None,
        kind: Kind | str | None = None,
    ) -> Receipt:
        """Merge 2 to 64 active memories into one; the sources become consolidated.

        It has their highest importance and their lowest confidence and trust. Without `text`, `title` or `kind`, it
        takes those of the most important one. It is pinned if any was, shared if all were, and names them in
        `derived_from`.
        """
        wording = Wording(text=text, title=title, kind=None if kind is None else parse_choice("kind", kind, Kind))
        return merge_memories(self._get_deps(), as_scope(scope), ids, wording)

    def supersede(self, old: str, by: str, *, scope: str | Scope, at: datetime | None = None) -> Receipt:
        """Mark the active memory `old` as replaced by the active memory `by`.

        The old one is valid until the new one begins, or until `at`.
        """
        since = None if at is None else validation.require_moment("at", at)
        return _supersede(self._get_deps(), as_scope(scope), old, by, since)

    def quarantine(self, id: str, reason: str, *, scope: str | Scope) -> Receipt:
        """Quarantine a memory, so that it is not recalled until it is released.

        The reason is stored with it.
        """
        deps = self._get_deps()
        screened = redact_text(validation.require_line("reason", reason), deps.policy.secrets)
        remark = validation.require_line("reason", f"{MANUAL_QUARANTINE_PREFIX}{screened}")
        return _change_memory(deps, as_scope(scope), id, lambda one: _quarantine(one, remark), Status.QUARANTINED.value)

    def release(self, id: str, *, scope: str | Scope) -> Receipt:
        """Release a quarantined memory to the status that it had before.

        If that is active, it ends memories of its subject or topic that began earlier; one that began later ends it.
        """
        return release(self._get_deps(), as_scope(scope), id)

    def vouch(self, id: str, *, scope: str | Scope) -> Receipt:
        """Mark a memory as vouched for: it gets the highest trust, whatever its provenance."""
        return _change_memory(self._get_deps(), as_scope(scope), id, _vouch, VOUCHED_REMARK)

    def purge(self, source: str, *, scope: str | Scope, expected: Purge | None = None) -> Purge:
        """Preview or forget everything that came from a source, directly or derived.

        Call it once without `expected` to see what would be forgotten, then pass that result as `expected` to forget
        all of it at once. Raises `Conflict` and changes nothing if the preview is out of date.
        """
        return purge_source(self._get_deps(), as_scope(scope), source, expected)

    def undo(self, run: int, *, scope: str | Scope) -> UndoReport:
        """Undo a run: every memory of the scope that it wrote gets its previous version back.

        These are new versions, so an undo can be undone too. A memory that the run created is forgotten. Raises
        `Conflict` if one of the memories has changed since, or if another memory has taken its place.
        """
        return undo_commit(self._get_deps(), as_scope(scope), run)


def _change_memory(
    deps: Dependencies, scope: Scope, id: str, next_state: Callable[[Memory], Memory], change: str
) -> Receipt:
    """Write the next state of a memory; write nothing if the state is unchanged."""

    def write(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        state = next_state(former)
        if state == former:
            return Receipt(former.id, Unchanged(), former)
        stored = writing.put(state, None)
        return Receipt(stored.id, Changed(change), stored)

    return write_change(deps, scope, id, write)


def _quarantine(memory: Memory, reason: str) -> Memory:
    if memory.status not in (*_RECALLABLE_STATUSES, Status.QUARANTINED):
        raise Conflict(f"memory {show(memory.id)} is {memory.status.value} and is not recalled; nothing to quarantine")
    return memory.with_changes(status=Status.QUARANTINED, remark=reason)


def _vouch(memory: Memory) -> Memory:
    """Mark a memory as vouched for; a remark that it already has stays."""
    if memory.trust is Trust.VOUCHED:
        return memory
    return memory.with_changes(trust=Trust.VOUCHED, remark=VOUCHED_REMARK if memory.remark is None else memory.remark)


def _supersede(deps: Dependencies, scope: Scope, old: str, by: str, ended_at: datetime | None) -> Receipt:
    now = deps.now()
    if validation.require_text("old", old) == validation.require_text("by", by):
        raise FieldError(f"{show(by)} cannot supersede itself; name another memory", field="by")

    def change(writing: WriteTransaction) -> Receipt:
        former, successor = get_own(writing, scope, old), get_own(writing, scope, by)
        if former.superseded_by == successor.id and ended_at is None:
            return Receipt(former.id, Unchanged(), former)
        for one in (former, successor):
            if one.status is not Status.ACTIVE:
                raise Conflict(
                    f"memory {show(one.id)} is {one.status.value}; only active memories supersede each other"
                )
        stored = writing.put(supersession.end_memory(former, successor, now, ended_at), None)
        return Receipt(stored.id, Changed(stored.status.value), stored)

    return write_change(deps, scope, old, change)


def purge_source(deps: Dependencies, scope: Scope, source: str, expected: Purge | None) -> Purge:
    """Return everything from the source or derived from it; forget it if it equals `expected`."""
    validation.require_id("source", source)
    if expected is None:
        return _preview_purge(deps, scope, source)
    _refuse_other_preview(expected, scope, source)

    def change(writing: WriteTransaction) -> Purge:
        memories = [writing.get(scope, id) for id in find_from_source(writing, scope, source)]
        current = _make_purge(scope, source, [one for one in memories if one is not None])
        if current.versions != expected.versions:
            raise _purge_conflict(current, expected)
        if not current.memories:
            raise source_not_found(scope, source)
        return _forget_purged(writing, current)

    return deps.store.write(change)


def _preview_purge(deps: Dependencies, scope: Scope, source: str) -> Purge:
    """Return what a purge would forget; this writes nothing, so it works on a read-only store."""
    ids = list_from_source(deps, scope, source)
    memories = deps.store.get(scope, ids) if ids else []
    preview = _make_purge(scope, source, [one for one in memories if one.scope == scope])
    if not preview.memories:
        raise source_not_found(scope, source)
    return preview


def _make_purge(scope: Scope, source: str, memories: Iterable[Memory]) -> Purge:
    remembered = [one for one in memories if one.status is not Status.FORGOTTEN]
    return Purge(scope=scope, source=source, memories=tuple(sorted(remembered, key=lambda one: one.id)))


def _forget_purged(writing: WriteTransaction, purge: Purge) -> Purge:
    remark = f"purged: source {purge.source}"
    states = [one.with_changes(status=Status.FORGOTTEN, remark=remark) for one in purge.memories]
    memories = tuple(writing.put(state, None) for state in states)
    return Purge(scope=purge.scope, source=purge.source, memories=memories, run=writing.commit)


def _refuse_other_preview(expected: Purge, scope: Scope, source: str) -> None:
    """Raise FieldError if `expected` is not a preview of this source and scope."""
    if not isinstance(expected, Purge):
        raise FieldError(f"{show(expected)} is not a preview; pass what `purge` returned without it", field="expected")
    if (expected.scope, expected.source) != (scope, source):
        problem = f"is a preview of source {show(expected.source)} in {expected.scope}"
        raise FieldError(f"{problem}, not of {show(source)} in {scope}", field="expected")


def _purge_conflict(current: Purge, expected: Purge) -> Conflict:
    """Return the error for a purge whose preview is out of date."""
    new, gone = current.versions.keys() - expected.versions.keys(), expected.versions.keys() - current.versions.keys()
    in_both = current.versions.keys() & expected.versions.keys()
    changed = [id for id in in_both if current.versions[id] != expected.versions[id]]
    counts = f"{len(new)} new, {len(gone)} gone, {len(changed)} changed"
    return Conflict(f"the preview of source {show(current.source)} is out of date: {counts}; make a new preview")
