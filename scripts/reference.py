"""Write what the reference pages say of each operation: rows for MCP and gRPC, and a section for HTTP where none is.

Sections of the HTTP page stay as they are, so that they can be worded by hand; tests name a field that one lacks.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.api.operation import Effect, Operation
from recollect.api.operations import OPERATIONS, OPERATIONS_BY_SUBJECT
from recollect.server.mcp.catalog import ToolEntry, load_tools

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

HTTP_HEADINGS: Mapping[str, str] = {
    "recall": "Recall and search",
    "memories": "Memories",
    "events": "What happened",
    "episodes": "Tasks",
    "upkeep": "Upkeep",
    "observations": "Seed 003: sessions and observations",
}
"""The heading of each subject on the HTTP page."""

TYPES: Mapping[str, str] = {"boolean": "true or false", "integer": "whole number", "number": "number"}


def render_http(page: str) -> str:
    """Return the HTTP page with a section for each operation that had none."""
    for subject, operations in OPERATIONS_BY_SUBJECT.items():
        for one in operations:
            if f"\n### {one.name}\n" not in page:
                page = _append_below(page, f"## {HTTP_HEADINGS[subject]}", f"### {one.name}\n\n{_render_section(one)}")
    return page


def render_mcp(page: str) -> str:
    """Return the MCP page with the rows of all tools."""
    for toolset in dict.fromkeys(one.toolset for one in load_tools().values()):
        rows = "\n".join(_render_tool(one) for one in load_tools().values() if one.toolset == toolset)
        page = _replace_rows(page, f"### The toolset {toolset}\n", rows)
    return page


def render_grpc(page: str) -> str:
    """Return the gRPC page with the rows of all calls."""
    return _replace_rows(page, "## The calls\n", "\n".join(map(_render_call, OPERATIONS.values())))


def _append_below(page: str, heading: str, section: str) -> str:
    before, _, rest = page.partition(f"{heading}\n")
    below, *others = re.split(r"(?m)^(?=## )", rest, maxsplit=1)
    return f"{before}{heading}\n{below.rstrip()}\n\n{section}\n" + "".join(f"\n{one}" for one in others)


def _replace_rows(page: str, heading: str, rows: str) -> str:
    """Replace the rows of the first table below a heading."""
    pattern = re.compile(rf"({re.escape(heading)}.*?\n\|[-|]+\|\n)(?:\|[^\n]*\n)*", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}{rows}\n", page, count=1)


def _render_section(one: Operation[Any, Any]) -> str:
    does = {Effect.NONE: "only looks", Effect.ADDS: "adds or changes", Effect.REMOVES: "may remove for good"}
    again = "the same again changes nothing more" if one.repeatable else "the same again is done again"
    schema = one.request.model_json_schema()
    required = schema.get("required", ())
    rows = "\n".join(_render_field(name, field, name in required) for name, field in schema["properties"].items())
    policy = f"Right: `{one.right.value}`. It {does[one.effect]}; {again}."
    return f"{one.about}\n\n{policy}\n\n| field | | |\n|---|---|---|\n{rows}"


def _render_field(name: str, field: Mapping[str, Any], required: bool) -> str:
    kinds = [one for one in field.get("anyOf", (field,)) if one.get("type") != "null"]
    kind = " or ".join("moment" if one.get("format") else TYPES.get(one.get("type"), "text") for one in kinds)
    about = "whose memory" if name == "scope" else field.get("description", "").rstrip(".")
    notes = [about[:1].lower() + about[1:], "required" if required else _render_default(field.get("default"))]
    return f"| `{name}` | {kind} | {'; '.join(filter(None, notes)) or '–'} |"


def _render_default(value: Any) -> str:
    return "" if value is None else f"default {str(value).lower()}"


def _render_tool(entry: ToolEntry) -> str:
    does = "only looks" if entry.read_only else "may remove" if entry.destructive else "adds"
    again = "" if entry.repeatable else "; not repeatable"
    required = entry.input.get("required", ())
    names = (f"**`{name}`**" if name in required else f"`{name}`" for name in entry.input.get("properties", {}))
    return f"| `{entry.name}` | {entry.right.value} | {does}{again} | {', '.join(names) or 'nothing'} |"


def _render_call(one: Operation[Any, Any]) -> str:
    does = {Effect.NONE: "looks", Effect.ADDS: "adds or changes", Effect.REMOVES: "may remove for good"}[one.effect]
    call = one.call_name
    messages = f"`{call}Request` | `{one.answer.__name__}`"
    return f"| `{call}` | {messages} | {one.right.value} | {does} | {one.title.lower()} |"


PAGES = {"http.md": render_http, "mcp.md": render_mcp, "grpc.md": render_grpc}


def main() -> None:
    """Write the pages."""
    for name, render in PAGES.items():
        page = REFERENCE / name
        page.write_text(render(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
