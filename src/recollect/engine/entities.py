"""Graph: the names that memories mention, and what is linked by them; looking counts as no use."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from recollect.engine.dependencies import World
from recollect.engine.edit import visible
from recollect.errors import NotFound, show
from recollect.model import validation
from recollect.model.entity_graph import Entity, Neighbour, Neighbours
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.text.entities import canonical

Mentions = Mapping[MemoryId, Sequence[str]]
"""The names that each memory mentions."""


def entities(world: World, scope: Scope, limit: int) -> list[Entity]:
    """The names that the scope's memories mention, the most mentioned first, then by name."""
    validation.a_limit("limit", limit)
    return _most_mentioned(Counter(name for names in _mentions(world, scope).values() for name in names), limit)


def neighbours(world: World, scope: Scope, name_or_id: str, limit: int) -> Neighbours:
    """What is linked to a memory of this id, or else to this name."""
    validation.a_limit("limit", limit)
    asked = validation.a_text("name_or_id", name_or_id)
    mentions = _mentions(world, scope)
    having = Counter(name for names in mentions.values() for name in names)
    if MemoryId(asked) in mentions:
        return _of_memory(world, scope, MemoryId(asked), mentions, having, limit)
    return _of_name(world, scope, _meant(scope, asked, having), mentions, limit)


def _mentions(world: World, scope: Scope) -> Mentions:
    """The names of every memory that may be recalled now."""
    from recollect.retrieval.evidence import Probe

    return world.store.mentions(Probe(scope=scope, at=world.now(), present=True))


def _meant(scope: Scope, asked: str, having: Mapping[str, int]) -> str:
    """The name as it is mentioned: itself, or the only one that has it as one of its words."""
    name = canonical(asked)
    wider = [name] if name in having else [one for one in having if name and name in one.split(" ")]
    if len(wider) == 1:
        return wider[0]
    if wider:
        known = ", ".join(sorted(wider)[:MOST_TOLD])
        raise NotFound(f"{show(asked)} is part of {len(wider)} names in {scope}; give one of them: {known}")
    raise NotFound(f"no memory in {scope} mentions {show(asked)} or has that id")


MOST_TOLD = 5
"""How many names a message lists."""


def _of_name(world: World, scope: Scope, name: str, mentions: Mentions, limit: int) -> Neighbours:
    there = [id for id, names in mentions.items() if name in names]
    beside = Counter(other for id in there for other in mentions[id] if other != name)
    newest = sorted(there, reverse=True)[:limit]  # ids that were made here sort by the time they were made
    return Neighbours(name, tuple(_most_mentioned(beside, limit)), _read(world, scope, [(id, name) for id in newest]))


def _of_memory(
    world: World, scope: Scope, id: MemoryId, mentions: Mentions, having: Mapping[str, int], limit: int
) -> Neighbours:
    own = sorted(mentions[id], key=lambda name: (having[name], name))
    linked: dict[MemoryId, str] = {}
    for name in own:
        for other in sorted((other for other, names in mentions.items() if name in names), reverse=True):
            if other != id:
                linked.setdefault(other, name)
    names = tuple(Entity(name, having[name]) for name in own[:limit])
    return Neighbours(visible(world, scope, id), names, _read(world, scope, list(linked.items())[:limit]))


def _most_mentioned(counts: Mapping[str, int], limit: int) -> list[Entity]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Entity(name, times) for name, times in ordered[:limit]]


def _read(world: World, scope: Scope, linked: Iterable[tuple[MemoryId, str]]) -> tuple[Neighbour, ...]:
    """The memories of these ids with the names that link them, without those that went meanwhile."""
    through = dict(linked)
    return tuple(Neighbour(memory, through[memory.id]) for memory in world.store.get(scope, list(through)))
