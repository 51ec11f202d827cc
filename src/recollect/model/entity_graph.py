"""Graph: names that memories mention, and what is linked by them."""

from dataclasses import dataclass

from recollect.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, in the one spelling that all who mention it share, and how many memories do."""

    name: str
    memories: int


@dataclass(frozen=True, slots=True)
class LinkedMemory:
    """A memory, and the name by which it is linked."""

    memory: Memory
    through: str


@dataclass(frozen=True, slots=True)
class EntityNeighbors:
    """What is linked to a name or to a memory: names, and memories.

    To a name: those that are mentioned together with it, by how many memories; and the memories that mention it.
    To a memory: the names that it mentions; and other memories that mention one of them, by the rarest.
    """

    of: str | Memory
    entities: tuple[Entity, ...]
    memories: tuple[LinkedMemory, ...]
