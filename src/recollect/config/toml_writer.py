"""Write a configuration as TOML or JSON; neither contains secrets.

Reading the TOML gives the same settings again.
"""

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
"""The parts of a URL that may hold credentials: before the @ and after the question mark."""

_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def render_lines(found: Configuration, *, origins: bool) -> Iterator[str]:
    """Yield every setting as a line; unset or hidden ones are comments; optionally with origins."""
    section: str | None = None
    for path, option in OPTIONS.items():
        if option.section != section:
            section = option.section
            yield from ("", f"[{section}]")
        comes_from = f"  # {found.origins[path]}" if origins else ""
        yield f"{_render_option(option, found.value(path))}{comes_from}"


def to_json(found: Configuration, *, origins: bool) -> list[dict[str, Any]]:
    """Return every setting for JSON; for a secret only whether it is set."""
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
    """Return a URL without parts that may be secret; other values unchanged."""
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
