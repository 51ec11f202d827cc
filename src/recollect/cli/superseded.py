"""What took the place of memories, looked up to be told beside them."""

from collections.abc import Iterable

from recollect.engine.engine import Engine
from recollect.model.memory import Memory, MemoryId


def find_replacements(engine: Engine, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """What took the place of any of these, as far as it is still there."""
    given = list(memories)
    here = {one.id: one for one in given}
    wanted = {one.superseded_by: one for one in given if one.superseded_by is not None}
    found = {id: here.get(id) or engine.replacement(one, scope=one.scope) for id, one in wanted.items()}
    return {id: one for id, one in found.items() if one is not None}
