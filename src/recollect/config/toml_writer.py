"""A configuration as TOML from which the same is read again, and as fields; nothing secret is in either."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.config.loader import (
    ArgumentOrigin,
    Configuration,
    DefaultOrigin,
    EnvironmentOrigin,
    FileOrigin,
    FlagOrigin,
    Origin,
)
from recollect.config.settings import OPTIONS, Option

_CREDENTIALS = re.compile(r"(?<=//)[^/]*@|\?.*", re.DOTALL)
"""What an address may have before an @ and after a question mark."""

_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def render_lines(found: Configuration, *, origins: bool) -> Iterator[str]:
    """Every setting on a line of its own, those not set or not shown as comments; with its origin, if wished."""
    section: str | None = None
    for path, option in OPTIONS.items():
        if option.section != section:
            section = option.section
            yield from ("", f"[{section}]")
        comes_from = f"  # {found.origins[path]}" if origins else ""
        yield f"{_render_option(option, found.value(path))}{comes_from}"


def to_json(found: Configuration, *, origins: bool) -> list[dict[str, Any]]:
    """Every setting as JSON has it; of a secret only whether it is set."""
    return [
        {
            "name": path,
            **_json_value(option, found.value(path)),
            **(_origin_json(found.origins[path]) if origins else {}),
        }
        for path, option in OPTIONS.items()
    ]


def _render_option(option: Option, value: Any) -> str:
    if value is None or option.secret:
        return f"# {option.name} is {'not set' if value is None else 'set'}"
    if _hide_credentials(value) != value:
        return f"# {option.name} = {_render_value(_hide_credentials(value))}, without what it has of a password"
    return f"{option.name} = {_render_value(value)}"


def _json_value(option: Option, value: Any) -> dict[str, Any]:
    if option.secret:
        return {"set": value is not None}
    return {"value": dict(value) if isinstance(value, Mapping) else _hide_credentials(value)}


def _hide_credentials(value: Any) -> Any:
    """An address without what may be secret in it; anything else as it is."""
    return _CREDENTIALS.sub("…", value) if isinstance(value, str) and "//" in value else value


def _origin_json(origin: Origin) -> dict[str, Any]:
    match origin:
        case DefaultOrigin():
            return {"origin": "default"}
        case FileOrigin(path, line):
            return {"origin": "file", "file": path, "line": line}
        case EnvironmentOrigin(variable):
            return {"origin": "environment", "variable": variable}
        case FlagOrigin(name):
            return {"origin": "flag", "flag": name}
        case ArgumentOrigin():
            return {"origin": "given"}


def _render_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{"".join(map(_escape_character, value))}"'
        case Mapping():
            inside = ", ".join(f"{_render_value(key)} = {_render_value(one)}" for key, one in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case _:
            return repr(value)


def _escape_character(one: str) -> str:
    return _ESCAPES.get(one, one) if one.isprintable() else f"\\U{ord(one):08x}"
