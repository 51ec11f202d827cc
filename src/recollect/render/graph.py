"""Names and what they link, told: as JSON, and in rows."""

from collections.abc import Iterable
from typing import Any

from recollect.model.entity_graph import Entity, Neighbours
from recollect.model.format import counted
from recollect.render import json_values
from recollect.render.table import Table
from recollect.render.text import date, headline


def names(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """The JSON of names."""
    return [{"name": one.name, "memories": one.memories} for one in entities]


def fields(found: Neighbours) -> dict[str, Any]:
    """The JSON of what is linked to a name or to a memory."""
    is_name = isinstance(found.of, str)
    return {
        "name": found.of if is_name else None,
        "id": None if isinstance(found.of, str) else found.of.id,
        "entities": names(found.entities),
        "memories": [{"through": one.through, "memory": json_values.memory(one.memory)} for one in found.memories],
    }


def listed(entities: Iterable[Entity]) -> Table:
    """Names, each with how many memories mention it."""
    return Table(("memories", "name"), [(str(one.memories), one.name) for one in entities])


def linked(found: Neighbours) -> Table:
    """The names that are linked, and then the memories, each with the name that links it and its text."""
    of = "with it" if isinstance(found.of, str) else ""
    rows = [
        *(
            ("name", "", one.name, f"{counted(one.memories, 'memory', 'memories')} {of}".rstrip())
            for one in found.entities
        ),
        *((one.memory.id, date(one.memory), one.through, headline(one.memory)) for one in found.memories),
    ]
    return Table(("id", "date", "through", "text"), rows)
