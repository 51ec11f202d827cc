"""Write `recollect/server/mcp/tools.json`, the list of MCP tools, from the operations.

Run it as `.venv/bin/python scripts/mcp_tools.py` after an operation has changed; a test compares the file with it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.api.operation import Effect, Operation, Toolset
from recollect.api.operations import OPERATIONS
from recollect.server.mcp.catalog import COMPACT_FIELDS, EXPLAIN_ARGUMENT, LEFT_OUT_FIELD, TOOLS_FILE, FieldSelection

EXAMPLE_DAY, EXAMPLE_TIMESTAMP = "2026-01-31", "2026-01-31T09:00:00Z"
"""Examples of timestamps that a model may write."""

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The JSON Schema dialect of all tool schemas."""


def build_catalog() -> dict[str, Any]:
    """Return all tools as data, in the order of the operations."""
    return {"toolsets": [one.value for one in Toolset], "tools": [_describe_tool(one) for one in OPERATIONS.values()]}


def render_catalog() -> str:
    """Return the catalog as the text of tools.json, one line for each tool."""
    told = build_catalog()
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in told["tools"])
    return f'{{"toolsets": {json.dumps(told["toolsets"])}, "tools": [\n{lines}\n]}}\n'


def _describe_tool(operation: Operation[Any]) -> dict[str, Any]:
    given, told = operation.request.model_json_schema(), operation.answer.model_json_schema()
    moments = list(_find_timestamps(given, given.get("$defs", {})))
    no_texts = [name for name, one in given["properties"].items() if not _takes_text(one, given.get("$defs", {}))]
    if (kept := COMPACT_FIELDS.get(operation.name)) is not None:
        offered = operation.effect is Effect.NONE  # other answers are short; these tools accept explain, too
        told = _allow_compact(told, kept, "In short; all of it with explain." if offered else "In short.")
        no_texts.append(EXPLAIN_ARGUMENT)
        if offered:
            given["properties"][EXPLAIN_ARGUMENT] = _EXPLAIN_SCHEMA
    return {
        "name": operation.name,
        "title": operation.title,
        "about": operation.about,
        "toolset": operation.toolset.value,
        "right": operation.right.value,
        "whose": operation.request.scope_field,
        "read_only": operation.effect is Effect.NONE,
        "destructive": operation.effect is Effect.REMOVES,
        "repeatable": operation.repeatable,
        "input": _standalone_schema(
            _hide_fields(_adapt_for_models(_drop_null(given), operation.request.scope_field), operation.toolset)
        ),
        "output": _standalone_schema(told),
        "no_texts": no_texts,
        "moments": moments,
    }


def _adapt_for_models(told: Mapping[str, Any], whose: str | None) -> dict[str, Any]:
    """Return the schema for models: with days as timestamps, without the example of a scope.

    A model would take the example for the scope that is meant.
    """
    found: dict[str, Any] = _add_day_examples(told)
    if whose is not None:
        found["properties"][whose].pop("examples")
    return found


def _add_day_examples(told: Any) -> Any:
    match told:
        case {"format": "date-time", **rest}:
            return {**rest, "examples": [EXAMPLE_DAY, EXAMPLE_TIMESTAMP]}
        case dict():
            return {key: _add_day_examples(value) for key, value in told.items()}
        case list():
            return [_add_day_examples(one) for one in told]
        case _:
            return told


def _find_timestamps(told: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of fields with timestamps; for items of a list, `list.field`."""
    for name, field in told["properties"].items():
        for one in field.get("anyOf", (field,)):
            if one.get("format") == "date-time":
                yield name
            if (reference := one.get("items", {}).get("$ref")) is not None:
                yield from (
                    f"{name}.{below}" for below in _find_timestamps(shared[reference.rpartition("/")[2]], shared)
                )


def _takes_text(told: Mapping[str, Any], shared: Mapping[str, Any]) -> bool:
    """Return whether the schema accepts a string."""
    if (reference := told.get("$ref")) is not None:
        return _takes_text(shared[reference.rpartition("/")[2]], shared)
    if (choices := told.get("anyOf")) is not None:
        return any(_takes_text(one, shared) for one in choices)
    return bool(told.get("type", "string") == "string")


_EXPLAIN_SCHEMA: Mapping[str, Any] = {
    "type": "boolean",
    "default": False,
    "description": "All that is known of each memory, what gave its score, and what was left out and why. It is long.",
}

_LEFT_OUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": {"type": "integer"},
    "description": "How many memories are not in it, by reason. With explain, excluded and omitted say it instead.",
}


def _allow_compact(told: Mapping[str, Any], kept: FieldSelection, remark: str) -> dict[str, Any]:
    """Return a schema for the short and the full answer; required is what both have."""
    shared = dict(told["$defs"])
    fields = {**told["properties"], **({LEFT_OUT_FIELD: _LEFT_OUT_SCHEMA} if "excluded" in told["properties"] else {})}
    for name, below in kept.items():
        if below is not None:
            place = _item_name(fields[name])
            shared[place] = _require_informative(shared[place], below)
    always = [name for name in told["required"] if name in kept and not _is_nullable(fields[name])]
    about = f"{told['description']} {remark}"
    return {**told, "description": about, "properties": fields, "required": always, "$defs": shared}


def _require_informative(told: Mapping[str, Any], kept: FieldSelection) -> dict[str, Any]:
    """Return the schema of a list's item, with only those fields required that are always kept."""
    always = [name for name in told["required"] if name in kept and _is_informative(told["properties"][name])]
    return {**told, "required": always}


def _item_name(field: Mapping[str, Any]) -> str:
    """Return the schema name of a list's items."""
    return str(field["items"]["$ref"]).rpartition("/")[2]


def _is_nullable(field: Mapping[str, Any]) -> bool:
    return {"type": "null"} in field.get("anyOf", ())


def _is_informative(field: Mapping[str, Any]) -> bool:
    """Return whether the schema excludes null, empty and false, so the field is always kept."""
    return field.get("type") not in ("array", "boolean", "object") and not _is_nullable(field)


PROGRAM_FIELDS = frozenset({"vector", "overrides"})
"""Fields that only programs send: hidden from tool schemas, but accepted."""

RARE_FIELDS = PROGRAM_FIELDS | {
    *("turns", "depth", "levels", "known_at", "profile", "exact", "min_score", "by"),
    *("session", "source", "derived_from", "evidence", "metadata"),
}
"""Fields that are also hidden from everyday tools, to keep their schemas short."""

EVERYDAY_TOOLSETS = frozenset({Toolset.CORE, Toolset.EPISODES})


def _standalone_schema(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a self-contained schema, without titles that only repeat names."""
    return {"$schema": JSON_SCHEMA_DIALECT, **_drop_titles(told)}


def _drop_titles(told: Any) -> Any:
    match told:
        case dict():
            named = {"properties", "$defs"}
            return {
                key: {name: _drop_titles(one) for name, one in value.items()} if key in named else _drop_titles(value)
                for key, value in told.items()
                if key != "title"
            }
        case list():
            return [_drop_titles(one) for one in told]
        case _:
            return told


def _hide_fields(told: Mapping[str, Any], toolset: Toolset) -> dict[str, Any]:
    """Return the schema without hidden fields.

    Where `turns` is hidden, `query` becomes required.
    """
    hidden = RARE_FIELDS if toolset in EVERYDAY_TOOLSETS else PROGRAM_FIELDS
    few: dict[str, Any] = _drop_properties(hidden, told)
    if "turns" in hidden & told["properties"].keys() and "query" in told["properties"]:
        few["required"] = [*few["required"], "query"]
    used = json.dumps(few["properties"])
    shared = {name: one for name, one in few.pop("$defs", {}).items() if f'"#/$defs/{name}"' in used}
    return {**({"$defs": shared} if shared else {}), **few}


def _drop_properties(hidden: frozenset[str], told: Any) -> Any:
    """Return the schema without these properties, at any depth."""
    match told:
        case dict():
            return {
                key: {name: _drop_properties(hidden, one) for name, one in value.items() if name not in hidden}
                if key == "properties"
                else _drop_properties(hidden, value)
                for key, value in told.items()
            }
        case list():
            return [_drop_properties(hidden, one) for one in told]
        case _:
            return told


def _drop_null(told: Any) -> Any:
    """Return a simpler schema without null: a nullable field may be left out instead."""
    match told:
        case {"anyOf": [kept, {"type": "null"}], **rest}:
            return {**_drop_null(kept), **{key: value for key, value in rest.items() if key != "default"}}
        case dict():
            return {key: _drop_null(value) for key, value in told.items()}
        case list():
            return [_drop_null(one) for one in told]
        case _:
            return told


if __name__ == "__main__":
    TOOLS_FILE.write_text(render_catalog(), encoding="utf-8")
