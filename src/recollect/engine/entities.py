"""Graph: the names that memories mention, and what is linked by them; looking counts as no use."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_visible
from recollect.errors import NotFound, show
from recollect.model import validation
from recollect.model.entity_graph import Entity, EntityNeighbors, LinkedMemory
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.text.entities import canonicalize_name

Mentions = Mapping[MemoryId, Sequence[str]]
"""The names that each memory mentions."""


def list_entities(world: Dependencies, scope: Scope, limit: int) -> list[Entity]:
    """The names that the scope's memories mention, the most mentioned first, then by name."""
    validation.require_limit("limit", limit)
    return _rank_by_mentions(Counter(name for names in _load_mentions(world, scope).values() for name in names), limit)


def find_neighbors(world: Dependencies, scope: Scope, name_or_id: str, limit: int) -> EntityNeighbors:
    """What is linked to a memory of this id, or else to this name."""
    validation.require_limit("limit", limit)
    asked = validation.require_text("name_or_id", name_or_id)
    mentions = _load_mentions(world, scope)
    having = Counter(name for names in mentions.values() for name in names)
    if MemoryId(asked) in mentions:
        return _neighbors_of_memory(world, scope, MemoryId(asked), mentions, having, limit)
    return _neighbors_of_name(world, scope, _resolve_name(scope, asked, having), mentions, limit)


def _load_mentions(world: Dependencies, scope: Scope) -> Mentions:
    """The names of every memory that may be recalled now."""
    from recollect.retrieval.evidence import EvidenceRequest

    return world.store.mentions(EvidenceRequest(scope=scope, at=world.now(), present=True))


def _resolve_name(scope: Scope, asked: str, having: Mapping[str, int]) -> str:
    """The name as it is mentioned: itself, or the only one that has it as one of its words."""
    name = canonicalize_name(asked)
    wider = [name] if name in having else [one for one in having if name and name in one.split(" ")]
    if len(wider) == 1:
        return wider[0]
    if wider:
        known = ", ".join(sorted(wider)[:MAX_SUGGESTED_NAMES])
        raise NotFound(f"{show(asked)} is part of {len(wider)} names in {scope}; give one of them: {known}")
    raise NotFound(f"no memory in {scope} mentions {show(asked)} or has that id")


MAX_SUGGESTED_NAMES = 5
"""How many names a message lists."""


def _neighbors_of_name(world: Dependencies, scope: Scope, name: str, mentions: Mentions, limit: int) -> EntityNeighbors:
    there = [id for id, names in mentions.items() if name in names]
    beside = Counter(other for id in there for other in mentions[id] if other != name)
    newest = sorted(there, reverse=True)[:limit]  # ids that were made here sort by the time they were made
    return EntityNeighbors(
        name, tuple(_rank_by_mentions(beside, limit)), _load_linked(world, scope, [(id, name) for id in newest])
    )


def _neighbors_of_memory(
    world: Dependencies, scope: Scope, id: MemoryId, mentions: Mentions, having: Mapping[str, int], limit: int
) -> EntityNeighbors:
    own = sorted(mentions[id], key=lambda name: (having[name], name))
    linked: dict[MemoryId, str] = {}
    for name in own:
        for other in sorted((other for other, names in mentions.items() if name in names), reverse=True):
            if other != id:
                linked.setdefault(other, name)
    names = tuple(Entity(name, having[name]) for name in own[:limit])
    return EntityNeighbors(
        get_visible(world, scope, id), names, _load_linked(world, scope, list(linked.items())[:limit])
    )


def _rank_by_mentions(counts: Mapping[str, int], limit: int) -> list[Entity]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Entity(name, times) for name, times in ordered[:limit]]


def _load_linked(world: Dependencies, scope: Scope, linked: Iterable[tuple[MemoryId, str]]) -> tuple[LinkedMemory, ...]:
    """The memories of these ids with the names that link them, without those that went meanwhile."""
    through = dict(linked)
    return tuple(LinkedMemory(memory, through[memory.id]) for memory in world.store.get(scope, list(through)))
