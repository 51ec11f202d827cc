"""The configuration file: which one it is, what it says, and on which line."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.config.options import OPTIONS, PREFIX, flatten_settings
from recollect.config.origin import FileOrigin
from recollect.errors import FieldError, InvalidInput, NotFound

CONFIG_VARIABLE = f"{PREFIX}CONFIG"
"""The variable that names the file; set to nothing, there is none."""

MAX_FILE_BYTES = 1_048_576
"""How many bytes a configuration has at most; whatever has more is another file."""

MAX_VALUE_LINES = 100
"""Over how many lines a value is followed to learn on which line the next one is."""


def find_named_file() -> Path | None:
    """The file that the environment names."""
    named = os.environ.get(CONFIG_VARIABLE)
    return Path(named) if named else None


def find_user_file() -> Path | None:
    """The file of whoever runs this, if it is there; none if the environment names another, or says there is none."""
    folder = None if CONFIG_VARIABLE in os.environ else find_user_folder()
    if folder is None:
        return None
    found = folder / "config.toml"
    try:
        return found if found.exists() else None
    except OSError as error:
        remedy = f"name another one with {CONFIG_VARIABLE}, or none by setting it to nothing"
        raise InvalidInput(f"the configuration file {str(found)!r} cannot be read: {error}; {remedy}") from error


def find_user_folder() -> Path | None:
    """Where whoever runs this keeps what is configured; none if nobody knows whose home it would be."""
    told = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        return (told if told.is_absolute() else Path.home() / ".config") / "recollect"
    except RuntimeError:
        return None


def read_settings_file(path: Path) -> dict[str, tuple[Any, FileOrigin]]:
    """Every setting that a file says, by its path, with the line it is on."""
    text = _read_config_text(path)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the configuration file {str(path)!r} is not TOML: {error}") from error
    lines = _find_lines(text)
    try:
        _refuse_secrets(document)
        values = flatten_settings(document)
    except FieldError as error:
        place = _file_origin(path, error.field, lines)
        raise FieldError(f"{error.problem}; it comes from {place}", field=error.field) from error
    return {name: (value, _file_origin(path, name, lines)) for name, value in values.items()}


def read_text_file(path: Path, largest: int | None = None) -> str:
    """What is in a file; a pipe would be waited for, and a device may have no end."""
    if path.exists() and not path.is_file():
        raise OSError("it is no ordinary file")
    if largest is not None and path.stat().st_size > largest:
        raise OSError(f"it has more than {largest} bytes")
    return path.read_text(encoding="utf-8")


def _read_config_text(path: Path) -> str:
    try:
        return read_text_file(path, MAX_FILE_BYTES)
    except FileNotFoundError as error:
        raise NotFound(f"there is no configuration file {str(path)!r}; check its name") from error
    except (OSError, ValueError) as error:  # the latter of what is no UTF-8, and of a name that is none
        raise InvalidInput(f"the configuration file {str(path)!r} cannot be read: {error}") from error


def _refuse_secrets(document: Mapping[str, Any]) -> None:
    for option in OPTIONS.values():
        table: Any = document
        for name in option.section.split(".") if option.section else ():
            table = table.get(name) if isinstance(table, Mapping) else None
        if option.secret and isinstance(table, Mapping) and option.name in table:
            remedy = f"take it out, and set {option.variable} in the environment"
            raise FieldError(f"is a secret, which does not belong in a file; {remedy}", field=option.path)


def _file_origin(path: Path, name: str | None, lines: Mapping[str, int]) -> FileOrigin:
    return FileOrigin(str(path), lines.get(name or ""))


def _find_lines(text: str) -> dict[str, int]:
    """On which line each name with its dots is first written."""
    found: dict[str, int] = {}
    within: tuple[str, ...] = ()
    for number, is_header, document in _split_statements(text.split("\n")):
        names = list(_value_paths(document))
        if is_header:
            within, names = names[0], [()]
        for name in names:
            whole = (*within, *name)
            for end in range(1, len(whole) + 1):
                found.setdefault(".".join(whole[:end]), number)
    return found


def _split_statements(lines: list[str]) -> Iterator[tuple[int, bool, Mapping[str, Any]]]:
    """The statements of a text that is TOML: the line each begins on, whether it is a header, and what it says.

    What is between two line breaks is a statement as soon as it is TOML by itself, for no part of one is.
    """
    start = 0
    while start < len(lines):
        for end in range(start + 1, min(start + MAX_VALUE_LINES, len(lines)) + 1):
            try:
                document = tomllib.loads("\n".join(lines[start:end]))
            except ValueError:
                continue
            yield start + 1, lines[start].lstrip().startswith("["), document
            break
        else:
            return  # too long to be any value of ours
        start = end


def _value_paths(document: object, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every value."""
    inside = document[0] if isinstance(document, list) and document and isinstance(document[0], dict) else document
    if isinstance(inside, dict) and (inside or not above):
        for name, value in inside.items():
            yield from _value_paths(value, (*above, name))
    else:
        yield above
