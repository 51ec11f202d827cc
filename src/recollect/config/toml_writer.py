"""A configuration as TOML from which the same is read again, and as fields; nothing secret is in either."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.config.options import OPTIONS, Option
from recollect.config.origin import Default, Flag, Given, InEnvironment, InFile, Origin
from recollect.config.sources import Configuration

_CREDENTIALS = re.compile(r"(?<=//)[^/]*@|\?.*", re.DOTALL)
"""What an address may have before an @ and after a question mark."""

_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def lines(found: Configuration, *, origins: bool) -> Iterator[str]:
    """Every setting on a line of its own, those not set or not shown as comments; with its origin, if wished."""
    section: str | None = None
    for path, option in OPTIONS.items():
        if option.section != section:
            section = option.section
            yield from ("", f"[{section}]")
        comes_from = f"  # {found.origins[path]}" if origins else ""
        yield f"{_statement(option, found.value(path))}{comes_from}"


def fields(found: Configuration, *, origins: bool) -> list[dict[str, Any]]:
    """Every setting as JSON has it; of a secret only whether it is set."""
    return [
        {"name": path, **_shown(option, found.value(path)), **(_origin(found.origins[path]) if origins else {})}
        for path, option in OPTIONS.items()
    ]


def _statement(option: Option, value: Any) -> str:
    if value is None or option.secret:
        return f"# {option.name} is {'not set' if value is None else 'set'}"
    if _public(value) != value:
        return f"# {option.name} = {_value(_public(value))}, without what it has of a password"
    return f"{option.name} = {_value(value)}"


def _shown(option: Option, value: Any) -> dict[str, Any]:
    if option.secret:
        return {"set": value is not None}
    return {"value": dict(value) if isinstance(value, Mapping) else _public(value)}


def _public(value: Any) -> Any:
    """An address without what may be secret in it; anything else as it is."""
    return _CREDENTIALS.sub("…", value) if isinstance(value, str) and "//" in value else value


def _origin(origin: Origin) -> dict[str, Any]:
    match origin:
        case Default():
            return {"origin": "default"}
        case InFile(path, line):
            return {"origin": "file", "file": path, "line": line}
        case InEnvironment(variable):
            return {"origin": "environment", "variable": variable}
        case Flag(name):
            return {"origin": "flag", "flag": name}
        case Given():
            return {"origin": "given"}


def _value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{"".join(map(_character, value))}"'
        case Mapping():
            inside = ", ".join(f"{_value(key)} = {_value(one)}" for key, one in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case _:
            return repr(value)


def _character(one: str) -> str:
    return _ESCAPES.get(one, one) if one.isprintable() else f"\\U{ord(one):08x}"
