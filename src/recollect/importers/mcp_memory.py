"""The file of the reference MCP memory server: entities with observations, and relations between them."""

from collections.abc import Iterator
from typing import Any

from recollect.errors import FieldError
from recollect.importers.fields import a_list, a_record, some_tags
from recollect.importers.reader import Format, Part, Setting
from recollect.importers.relations import a_name, in_words, relation_draft
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.memory import Kind
from recollect.model.trust import Provenance

NAME = "mcp-memory"
UNDATED = "memories without a date are observed now"


class McpMemoryReader:
    """Makes a fact of each observation and relation, and an entity of what nothing is known about but its name."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def split(self, value: Any) -> Iterator[tuple[str, Any]]:
        """The entity or relation of a line; or all of a graph, as the server's `read_graph` gives it."""
        found = a_record(value)
        if "type" in found or not found.keys() & {"entities", "relations"}:
            yield "", found
            return
        for name, type in (("entities", "entity"), ("relations", "relation")):
            for place, one in enumerate(a_list(name, found.get(name, []))):
                yield f"{name}[{place}]", {**one, "type": type} if isinstance(one, dict) else one

    def parts(self, record: Any) -> Iterator[Part]:
        """The observations of an entity, or a relation."""
        found = a_record(record)
        if found.get("type") == "entity":
            yield from self._observations(found)
        elif found.get("type") == "relation":
            yield Part(None, whole=found)
        elif "type" in found:
            self._setting.notes.skipped["lines of another type"] += 1  # as the server does
        else:
            raise FieldError("is missing; a line is of type entity or relation", field="type")

    def draft(self, part: Part) -> Draft | None:
        """The fact, or the entity."""
        whole = part.whole
        if whole["type"] == "relation":
            start, relation, end = (a_name(field, whole.get(field)) for field in ("from", "relationType", "to"))
            return self._undated(relation_draft(self._setting, NAME, start, relation, end))
        name = a_name("name", whole.get("name"))
        if part.value is None:
            return self._undated(self._about(name, whole.get("entityType"), None))
        if isinstance(part.value, str) and not part.value.strip():
            self._setting.notes.skipped["empty observations"] += 1
            return None
        observation = validation.a_content("", part.value)
        return self._undated(self._about(name, whole.get("entityType"), observation))

    def _observations(self, entity: Any) -> Iterator[Part]:
        observations = entity.get("observations")
        several = [] if observations is None else a_list("observations", observations)
        for place, one in enumerate(several):
            yield Part("" if one is None else one, f"observations[{place}]", entity)
        if not several:
            yield Part(None, whole=entity)

    def _about(self, name: str, type: Any, observation: str | None) -> Draft:
        """What is known of that name, told so that it is found by it."""
        tags = some_tags(type or None, self._setting.notes.assumed)
        text = _named(name, tags) if observation is None else _told(name, observation)
        return Draft(
            text=text,
            scope=self._setting.scope,
            id=self._setting.identity(NAME, text, "entity", name),
            kind=Kind.ENTITY if observation is None else Kind.FACT,
            tags=tags,
            provenance=Provenance.IMPORT,
            source=self._setting.source,
            metadata={"entity": name},
        )

    def _undated(self, draft: Draft) -> Draft:
        self._setting.notes.assumed[UNDATED] += 1
        return draft


def _named(name: str, types: tuple[str, ...]) -> str:
    """The name, and what sort of thing it is of."""
    return f"{in_words(name)} ({', '.join(types)})" if types else in_words(name)


def _told(name: str, observation: str) -> str:
    """The observation with the name it is about, unless it has that already."""
    told = observation.casefold()
    named = any(one.casefold() in told for one in (name, in_words(name)))
    return observation if named else f"{in_words(name)}: {observation}"


def _recognises(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    graph = isinstance(record.get("entities"), list) and isinstance(record.get("relations"), list)
    fields = {"entity": "name", "relation": "from"}.get(str(record.get("type")))
    return graph or (fields is not None and fields in record)


MCP_MEMORY = Format(
    name=NAME,
    about="the file of the reference MCP memory server: entities with observations, and relations",
    reader=McpMemoryReader,
    recognises=_recognises,
)
