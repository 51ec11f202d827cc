"""Described: the operations as tools are told of; `python -m recollect.mcp.described` writes it into the catalogue."""

import json
from collections.abc import Mapping
from typing import Any

from recollect.mcp.catalogue import FILE
from recollect.service.operation import Effect, Operation, Toolset
from recollect.service.operations import OPERATIONS

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
        "input": _schema(_for_models(_without_null(operation.request.model_json_schema()))),
        "output": _schema(operation.answer.model_json_schema()),
    }


NOT_FOR_MODELS = frozenset({"vector", "overrides"})
"""What programs give and no model makes up: left out of what is told of tools, and taken all the same."""


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


def _for_models(told: Any) -> Any:
    """The schema without the properties that no model makes up."""
    match told:
        case dict():
            return {
                key: {name: _for_models(one) for name, one in value.items() if name not in NOT_FOR_MODELS}
                if key == "properties"
                else _for_models(value)
                for key, value in told.items()
            }
        case list():
            return [_for_models(one) for one in told]
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
