"""Generates the MCP tools from the operations: `python -m recollect.server.mcp.codegen` writes tools.json."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.api.operation import Effect, Operation, Toolset
from recollect.api.operation_table import OPERATIONS
from recollect.server.mcp.catalog import FILE
from recollect.server.mcp.compact_results import EXPLAIN, LEFT_OUT, SHORT, Kept

A_DAY, A_MOMENT = "2026-01-31", "2026-01-31T09:00:00Z"
"""What a model may write for a moment."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The JSON Schema that all schemas of tools are written in."""


def catalogue() -> dict[str, Any]:
    """All that is told of every tool, in the order of the operations."""
    return {"toolsets": [one.value for one in Toolset], "tools": [_tool(one) for one in OPERATIONS.values()]}


def written() -> str:
    """The catalogue as its file has it, a line for each tool."""
    told = catalogue()
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in told["tools"])
    return f'{{"toolsets": {json.dumps(told["toolsets"])}, "tools": [\n{lines}\n]}}\n'


def _tool(operation: Operation[Any]) -> dict[str, Any]:
    given, told = operation.request.model_json_schema(), operation.answer.model_json_schema()
    moments = list(_moments(given, given.get("$defs", {})))
    no_texts = [name for name, one in given["properties"].items() if not _takes_text(one, given.get("$defs", {}))]
    if (kept := SHORT.get(operation.name)) is not None:
        offered = operation.effect is Effect.NONE  # what became of something is short enough; all can be had anyway
        told = _also_in_short(told, kept, "In short; all of it with explain." if offered else "In short.")
        no_texts.append(EXPLAIN)
        if offered:
            given["properties"][EXPLAIN] = _ALL_OF_IT
    return {
        "name": operation.name,
        "title": operation.title,
        "about": operation.about,
        "toolset": operation.toolset.value,
        "right": operation.right.value,
        "whose": operation.request.whose,
        "read_only": operation.effect is Effect.NONE,
        "destructive": operation.effect is Effect.REMOVES,
        "repeatable": operation.repeatable,
        "input": _schema(_for_models(_meant_for(_without_null(given), operation.request.whose), operation.toolset)),
        "output": _schema(told),
        "no_texts": no_texts,
        "moments": moments,
    }


def _meant_for(told: Mapping[str, Any], whose: str | None) -> dict[str, Any]:
    """The schema as a model is to read it: moments with the day that will do, and no example of a scope, which would be
    taken for the one that is meant.
    """
    found: dict[str, Any] = _with_days(told)
    if whose is not None:
        found["properties"][whose].pop("examples")
    return found


def _with_days(told: Any) -> Any:
    match told:
        case {"format": "date-time", **rest}:
            return {**rest, "examples": [A_DAY, A_MOMENT]}
        case dict():
            return {key: _with_days(value) for key, value in told.items()}
        case list():
            return [_with_days(one) for one in told]
        case _:
            return told


def _moments(told: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[str]:
    """Where moments are taken: the names of fields, and of those of each in a list behind the name of the list."""
    for name, field in told["properties"].items():
        for one in field.get("anyOf", (field,)):
            if one.get("format") == "date-time":
                yield name
            if (reference := one.get("items", {}).get("$ref")) is not None:
                yield from (f"{name}.{below}" for below in _moments(shared[reference.rpartition("/")[2]], shared))


def _takes_text(told: Mapping[str, Any], shared: Mapping[str, Any]) -> bool:
    """Whether what is so described may be a text."""
    if (reference := told.get("$ref")) is not None:
        return _takes_text(shared[reference.rpartition("/")[2]], shared)
    if (choices := told.get("anyOf")) is not None:
        return any(_takes_text(one, shared) for one in choices)
    return bool(told.get("type", "string") == "string")


_ALL_OF_IT: Mapping[str, Any] = {
    "type": "boolean",
    "default": False,
    "description": "All that is known of each memory, what gave its score, and what was left out and why. It is long.",
}

_COUNTED: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": {"type": "integer"},
    "description": "How many memories are not in it, by reason. With explain, excluded and omitted say it instead.",
}


def _also_in_short(told: Mapping[str, Any], kept: Kept, remark: str) -> dict[str, Any]:
    """The schema of an answer as it is told in short and whole, in one: required is what both have."""
    shared = dict(told["$defs"])
    fields = {**told["properties"], **({LEFT_OUT: _COUNTED} if "excluded" in told["properties"] else {})}
    for name, below in kept.items():
        if below is not None:
            place = _one_of_them(fields[name])
            shared[place] = _with_few(shared[place], below)
    always = [name for name in told["required"] if name in kept and not _may_be_null(fields[name])]
    about = f"{told['description']} {remark}"
    return {**told, "description": about, "properties": fields, "required": always, "$defs": shared}


def _with_few(told: Mapping[str, Any], kept: Kept) -> dict[str, Any]:
    """The schema of one of several, of which what says nothing is left out."""
    always = [name for name in told["required"] if name in kept and _says_something(told["properties"][name])]
    return {**told, "required": always}


def _one_of_them(field: Mapping[str, Any]) -> str:
    """The name of what a list is of."""
    return str(field["items"]["$ref"]).rpartition("/")[2]


def _may_be_null(field: Mapping[str, Any]) -> bool:
    return {"type": "null"} in field.get("anyOf", ())


def _says_something(field: Mapping[str, Any]) -> bool:
    """Whether a field is neither null nor empty nor false, by its schema, and so never left out."""
    return field.get("type") not in ("array", "boolean", "object") and not _may_be_null(field)


FOR_PROGRAMS = frozenset({"vector", "overrides"})
"""What programs give and no model makes up: left out of what is told of tools, and taken all the same."""

SELDOM = FOR_PROGRAMS | {
    *("turns", "depth", "levels", "known_at", "profile", "exact", "min_score", "by"),
    *("session", "source", "derived_from", "evidence", "metadata"),
}
"""What is left out of tools for everyday use as well, so that what is told of these stays short."""

EVERYDAY = frozenset({Toolset.CORE, Toolset.EPISODES})


def _schema(told: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that needs nothing outside of it, without the titles that only repeat names."""
    return {"$schema": DIALECT, **_untitled(told)}


def _untitled(told: Any) -> Any:
    match told:
        case dict():
            named = {"properties", "$defs"}
            return {
                key: {name: _untitled(one) for name, one in value.items()} if key in named else _untitled(value)
                for key, value in told.items()
                if key != "title"
            }
        case list():
            return [_untitled(one) for one in told]
        case _:
            return told


def _for_models(told: Mapping[str, Any], toolset: Toolset) -> dict[str, Any]:
    """The schema without what models do not give; what is asked is then asked in one way."""
    hidden = SELDOM if toolset in EVERYDAY else FOR_PROGRAMS
    few: dict[str, Any] = _without(hidden, told)
    if "turns" in hidden & told["properties"].keys() and "query" in told["properties"]:
        few["required"] = [*few["required"], "query"]
    used = json.dumps(few["properties"])
    shared = {name: one for name, one in few.pop("$defs", {}).items() if f'"#/$defs/{name}"' in used}
    return {**({"$defs": shared} if shared else {}), **few}


def _without(hidden: frozenset[str], told: Any) -> Any:
    """The schema without these properties, at any depth."""
    match told:
        case dict():
            return {
                key: {name: _without(hidden, one) for name, one in value.items() if name not in hidden}
                if key == "properties"
                else _without(hidden, value)
                for key, value in told.items()
            }
        case list():
            return [_without(hidden, one) for one in told]
        case _:
            return told


def _without_null(told: Any) -> Any:
    """What may be null may as well be left out, and is told more simply so."""
    match told:
        case {"anyOf": [kept, {"type": "null"}], **rest}:
            return {**_without_null(kept), **{key: value for key, value in rest.items() if key != "default"}}
        case dict():
            return {key: _without_null(value) for key, value in told.items()}
        case list():
            return [_without_null(one) for one in told]
        case _:
            return told


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
