"""Purge: all that came from a source is forgotten, after somebody has seen what that is."""

from collections.abc import Iterable

from recollect.engine.dependencies import Dependencies
from recollect.engine.erase import find_from_source, list_from_source, source_not_found
from recollect.errors import Conflict, FieldError, show
from recollect.model import validation
from recollect.model.curation import Purge
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction


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
