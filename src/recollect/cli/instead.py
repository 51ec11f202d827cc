"""What took the place of memories, looked up to be told beside them."""

from collections.abc import Iterable

from recollect.engine.engine import Engine
from recollect.errors import NotFound
from recollect.model.memory import Memory, MemoryId


def instead_of(engine: Engine, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """What took the place of any of these, as far as it is still there."""
    given = list(memories)
    here = {one.id: one for one in given}
    wanted = {one.superseded_by: one for one in given if one.superseded_by is not None}
    found = {id: here.get(id) or replacement(engine, one) for id, one in wanted.items()}
    return {id: one for id, one in found.items() if one is not None}


def replacement(engine: Engine, memory: Memory | None) -> Memory | None:
    """What took the place of the memory, if anything did and it is still there."""
    if memory is None or memory.superseded_by is None:
        return None
    try:
        return engine.get(memory.superseded_by, scope=memory.scope)
    except NotFound:  # which was erased since
        return None
