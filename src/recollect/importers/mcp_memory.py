"""The file of the reference MCP memory server: entities with observations, and relations."""

from collections.abc import Iterator
from typing import Any

from recollect.errors import FieldError
from recollect.importers.base import (
    ImportFormat,
    ImportOptions,
    RecordPart,
    draft_relation,
    read_tags,
    require_name,
    require_object,
    to_words,
)
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.enums import Kind, Provenance

FORMAT_NAME = "mcp-memory"
UNDATED_REASON = "memories without a date are observed now"


class McpMemoryReader:
    """Makes facts of observations and relations, and entities of names without observations."""

    def __init__(self, setting: ImportOptions) -> None:
        self._setting = setting

    def split(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield the entity or relation of a line, or all of a graph from `read_graph`."""
        found = require_object(value)
        if "type" in found or not found.keys() & {"entities", "relations"}:
            yield "", found
            return
        for name, type in (("entities", "entity"), ("relations", "relation")):
            for place, one in enumerate(validation.require_list(name, found.get(name, []))):
                yield f"{name}[{place}]", {**one, "type": type} if isinstance(one, dict) else one

    def parts(self, record: Any) -> Iterator[RecordPart]:
        """Yield the observations of an entity, or a relation."""
        found = require_object(record)
        if found.get("type") == "entity":
            yield from self._observation_parts(found)
        elif found.get("type") == "relation":
            yield RecordPart(None, record=found)
        elif "type" in found:
            self._setting.notes.skipped["lines of another type"] += 1  # as the server does
        else:
            raise FieldError("is missing; give entity or relation", field="type")

    def draft(self, part: RecordPart) -> Draft | None:
        """Return the fact or the entity."""
        record = part.record
        if record["type"] == "relation":
            start, relation, end = (require_name(field, record.get(field)) for field in ("from", "relationType", "to"))
            return self._count_undated(draft_relation(self._setting, FORMAT_NAME, start, relation, end))
        name = require_name("name", record.get("name"))
        if part.value is None:
            return self._count_undated(self._draft_about(name, record.get("entityType"), None))
        if isinstance(part.value, str) and not part.value.strip():
            self._setting.notes.skipped["empty observations"] += 1
            return None
        observation = validation.require_content("", part.value)
        return self._count_undated(self._draft_about(name, record.get("entityType"), observation))

    def _observation_parts(self, entity: Any) -> Iterator[RecordPart]:
        observations = entity.get("observations")
        items = [] if observations is None else validation.require_list("observations", observations)
        for place, item in enumerate(items):
            yield RecordPart("" if item is None else item, f"observations[{place}]", entity)
        if not items:
            yield RecordPart(None, record=entity)

    def _draft_about(self, name: str, type: Any, observation: str | None) -> Draft:
        """Draft an observation with its entity's name in the text, so that a search for the name finds it."""
        tags = read_tags(type or None, self._setting.notes.assumed)
        text = _describe_entity(name, tags) if observation is None else _with_entity_name(name, observation)
        return Draft(
            text=text,
            scope=self._setting.scope,
            id=self._setting.make_id(FORMAT_NAME, text, "entity", name),
            kind=Kind.ENTITY if observation is None else Kind.FACT,
            tags=tags,
            provenance=Provenance.IMPORT,
            source=self._setting.source,
            metadata={"entity": name},
        )

    def _count_undated(self, draft: Draft) -> Draft:
        self._setting.notes.assumed[UNDATED_REASON] += 1
        return draft


def _describe_entity(name: str, types: tuple[str, ...]) -> str:
    """Return the name with its types."""
    return f"{to_words(name)} ({', '.join(types)})" if types else to_words(name)


def _with_entity_name(name: str, observation: str) -> str:
    """Return the observation with its entity's name, unless it already contains the name."""
    text = observation.casefold()
    has_name = any(one.casefold() in text for one in (name, to_words(name)))
    return observation if has_name else f"{to_words(name)}: {observation}"


def _is_mcp_memory(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    is_graph = isinstance(record.get("entities"), list) and isinstance(record.get("relations"), list)
    required_field = {"entity": "name", "relation": "from"}.get(str(record.get("type")))
    return is_graph or (required_field is not None and required_field in record)


MCP_MEMORY_FORMAT = ImportFormat(
    name=FORMAT_NAME,
    about="the file of the reference MCP memory server: entities with observations, and relations",
    reader=McpMemoryReader,
    recognizes=_is_mcp_memory,
)
