"""Undo: what a run wrote stands again as it did before."""

from typing import TYPE_CHECKING

from recollect.engine.world import World
from recollect.errors import Conflict, NotFound, show
from recollect.model import limits
from recollect.model.curation import Undone
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.values import amended
from recollect.ports import Writing

if TYPE_CHECKING:
    from recollect.model.probe import Vector

UNDONE = "undone"
"""What is remarked of a memory that was not there before the run."""


def undo(world: World, scope: Scope, run: int) -> Undone:
    """Every memory of the scope that the run wrote gets its former version back, as a new one; all of them, or none."""
    limits.a_count("run", run)

    def change(writing: Writing) -> Undone:
        states = [_former(writing, scope, id, run) for id in writing.written_by(scope, run)]
        if not states:
            nothing = f"run {run} changed no memory of {scope}"
            raise NotFound(f"{nothing}, or none that was not erased since; what is erased never comes back")
        # those that are put away go first: they may say what one of the others is to say again
        states.sort(key=lambda one: (one[0].status is Status.ACTIVE, one[0].id))
        memories = [writing.put(state, vector) for state, vector in states]
        in_order = tuple(sorted(memories, key=lambda one: one.id))
        return Undone(scope=scope, undone=run, memories=in_order, run=writing.commit)

    return world.store.write(change)


def _former(writing: Writing, scope: Scope, id: MemoryId, run: int) -> "tuple[Memory, Vector | None]":
    """The memory as it is to stand, and its direction where it is another than now."""
    present, after = writing.get(scope, id), writing.before(scope, id, run + 1)
    if present is None or after is None or not _is_still(present, after[0]):
        remedy = "undo first what was done to it later, or change it by hand"
        raise Conflict(f"the memory {show(id)} has changed since run {run}; {remedy}")
    found = writing.before(scope, id, run)
    if found is None:
        return present.changed(status=Status.FORGOTTEN, remark=UNDONE), None
    memory, vector = found
    return memory, None if memory.reads_like(present) and _same(vector, writing.direction(id)) else vector


def _is_still(present: Memory, after: Memory) -> bool:
    """Whether the memory is what it was after the run, or is so again because all that came later was undone."""
    return amended(present, recorded_at=after.recorded_at, commit=after.commit) == after


def _same(one: "Vector | None", other: "Vector | None") -> bool:
    if one is None or other is None:
        return one is other
    return one.tobytes() == other.tobytes()
