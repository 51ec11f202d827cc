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
    catalog = build_catalog()
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in catalog["tools"])
    return f'{{"toolsets": {json.dumps(catalog["toolsets"])}, "tools": [\n{lines}\n]}}\n'


def _describe_tool(operation: Operation[Any, Any]) -> dict[str, Any]:
    arguments, answer = operation.request.model_json_schema(), operation.answer.model_json_schema()
    timestamps = list(_find_timestamps(arguments, arguments.get("$defs", {})))
    other_types = [
        name for name, one in arguments["properties"].items() if not _takes_text(one, arguments.get("$defs", {}))
    ]
    if (selection := COMPACT_FIELDS.get(operation.name)) is not None:
        takes_explain = operation.effect is Effect.NONE  # other answers are short; these tools accept explain, too
        answer = _allow_compact(
            answer, selection, "In short; all of it with explain." if takes_explain else "In short."
        )
        other_types.append(EXPLAIN_ARGUMENT)
        if takes_explain:
            arguments["properties"][EXPLAIN_ARGUMENT] = _EXPLAIN_SCHEMA
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
            _hide_fields(_adapt_for_models(_drop_null(arguments), operation.request.scope_field), operation.toolset)
        ),
        "output": _standalone_schema(answer),
        "no_texts": other_types,
        "moments": timestamps,
    }


def _adapt_for_models(schema: Mapping[str, Any], scope_field: str | None) -> dict[str, Any]:
    """Return the schema for models: with days as timestamps, without the example of a scope.

    A model would use the example as the scope.
    """
    adapted: dict[str, Any] = _add_day_examples(schema)
    if scope_field is not None:
        adapted["properties"][scope_field].pop("examples")
    return adapted


def _add_day_examples(schema: Any) -> Any:
    match schema:
        case {"format": "date-time", **rest}:
            return {**rest, "examples": [EXAMPLE_DAY, EXAMPLE_TIMESTAMP]}
        case dict():
            return {key: _add_day_examples(value) for key, value in schema.items()}
        case list():
            return [_add_day_examples(one) for one in schema]
        case _:
            return schema


def _find_timestamps(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of fields with timestamps; for items of a list, `list.field`."""
    for name, field in schema["properties"].items():
        for one in field.get("anyOf", (field,)):
            if one.get("format") == "date-time":
                yield name
            if (reference := one.get("items", {}).get("$ref")) is not None:
                yield from (
                    f"{name}.{inner}" for inner in _find_timestamps(shared[reference.rpartition("/")[2]], shared)
                )


def _takes_text(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> bool:
    """Return whether the schema accepts a string."""
    if (reference := schema.get("$ref")) is not None:
        return _takes_text(shared[reference.rpartition("/")[2]], shared)
    if (choices := schema.get("anyOf")) is not None:
        return any(_takes_text(one, shared) for one in choices)
    return bool(schema.get("type", "string") == "string")


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


def _allow_compact(schema: Mapping[str, Any], selection: FieldSelection, remark: str) -> dict[str, Any]:
    """Return a schema for the short and the full answer; required is what both have."""
    shared = dict(schema["$defs"])
    fields = {
        **schema["properties"],
        **({LEFT_OUT_FIELD: _LEFT_OUT_SCHEMA} if "excluded" in schema["properties"] else {}),
    }
    for name, inner in selection.items():
        if inner is not None:
            item = _item_name(fields[name])
            shared[item] = _require_informative(shared[item], inner)
    required = [name for name in schema["required"] if name in selection and not _is_nullable(fields[name])]
    description = f"{schema['description']} {remark}"
    return {**schema, "description": description, "properties": fields, "required": required, "$defs": shared}


def _require_informative(schema: Mapping[str, Any], selection: FieldSelection) -> dict[str, Any]:
    """Return the schema of a list's item, with only those fields required that are always kept."""
    required = [
        name for name in schema["required"] if name in selection and _is_informative(schema["properties"][name])
    ]
    return {**schema, "required": required}


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


def _standalone_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a self-contained schema, without titles that only repeat names."""
    return {"$schema": JSON_SCHEMA_DIALECT, **_drop_titles(schema)}


def _drop_titles(schema: Any) -> Any:
    match schema:
        case dict():
            name_maps = {"properties", "$defs"}
            return {
                key: {name: _drop_titles(one) for name, one in value.items()}
                if key in name_maps
                else _drop_titles(value)
                for key, value in schema.items()
                if key != "title"
            }
        case list():
            return [_drop_titles(one) for one in schema]
        case _:
            return schema


def _hide_fields(schema: Mapping[str, Any], toolset: Toolset) -> dict[str, Any]:
    """Return the schema without hidden fields.

    Where `turns` is hidden, `query` becomes required.
    """
    hidden = RARE_FIELDS if toolset in EVERYDAY_TOOLSETS else PROGRAM_FIELDS
    visible: dict[str, Any] = _drop_properties(hidden, schema)
    if "turns" in hidden & schema["properties"].keys() and "query" in schema["properties"]:
        visible["required"] = [*visible["required"], "query"]
    references = json.dumps(visible["properties"])
    shared = {name: one for name, one in visible.pop("$defs", {}).items() if f'"#/$defs/{name}"' in references}
    return {**({"$defs": shared} if shared else {}), **visible}


def _drop_properties(hidden: frozenset[str], schema: Any) -> Any:
    """Return the schema without these properties, at any depth."""
    match schema:
        case dict():
            return {
                key: {name: _drop_properties(hidden, one) for name, one in value.items() if name not in hidden}
                if key == "properties"
                else _drop_properties(hidden, value)
                for key, value in schema.items()
            }
        case list():
            return [_drop_properties(hidden, one) for one in schema]
        case _:
            return schema


def _drop_null(schema: Any) -> Any:
    """Return a simpler schema without null: a nullable field may be left out instead."""
    match schema:
        case {"anyOf": [kept, {"type": "null"}], **rest}:
            return {**_drop_null(kept), **{key: value for key, value in rest.items() if key != "default"}}
        case dict():
            return {key: _drop_null(value) for key, value in schema.items()}
        case list():
            return [_drop_null(one) for one in schema]
        case _:
            return schema


if __name__ == "__main__":
    TOOLS_FILE.write_text(render_catalog(), encoding="utf-8")
