"""Names and what they link, told: as JSON, and in rows."""

from collections.abc import Iterable
from typing import Any

from recollect.model.entity_graph import Entity, EntityNeighbors
from recollect.model.format import format_count
from recollect.render import json_values
from recollect.render.table import TextTable
from recollect.render.text import format_day, format_headline


def entity_fields(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """The JSON of names."""
    return [{"name": one.name, "memories": one.memories} for one in entities]


def neighbor_fields(found: EntityNeighbors) -> dict[str, Any]:
    """The JSON of what is linked to a name or to a memory."""
    is_name = isinstance(found.of, str)
    return {
        "name": found.of if is_name else None,
        "id": None if isinstance(found.of, str) else found.of.id,
        "entities": entity_fields(found.entities),
        "memories": [
            {"through": one.through, "memory": json_values.memory_fields(one.memory)} for one in found.memories
        ],
    }


def entity_table(entities: Iterable[Entity]) -> TextTable:
    """Names, each with how many memories mention it."""
    return TextTable(("memories", "name"), [(str(one.memories), one.name) for one in entities])


def neighbor_table(found: EntityNeighbors) -> TextTable:
    """The names that are linked, and then the memories, each with the name that links it and its text."""
    of = "with it" if isinstance(found.of, str) else ""
    rows = [
        *(
            ("name", "", one.name, f"{format_count(one.memories, 'memory', 'memories')} {of}".rstrip())
            for one in found.entities
        ),
        *((one.memory.id, format_day(one.memory), one.through, format_headline(one.memory)) for one in found.memories),
    ]
    return TextTable(("id", "date", "through", "text"), rows)
