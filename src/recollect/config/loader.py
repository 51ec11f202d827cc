"""Load settings from a file, the environment and flags, and profiles by name or file.

First the origins of values; then the configuration file with its line numbers; then the sources and their precedence;
then profiles, with the settings applied; then the settings written as TOML or JSON, without secrets. Reading that TOML
gives the same settings again.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from recollect.config.settings import (
    OPTIONS,
    PREFIX,
    Option,
    Settings,
    UsageDecay,
    build_settings,
    flatten_setting,
    flatten_settings,
)
from recollect.errors import FieldError, InvalidInput, NotFound, ProfileError, show, suggest
from recollect.model import validation
from recollect.model.format import make_printable
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument, override_profile, parse_profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.tuning_report_check import refuse_unproven_profile


@dataclass(frozen=True, slots=True)
class DefaultOrigin:
    """The value is the default."""

    def __str__(self) -> str:
        return "default"


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """The value is from a file, at a line if known."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return make_printable(self.path) + ("" if self.line is None else f", line {self.line}")


@dataclass(frozen=True, slots=True)
class EnvironmentOrigin:
    """The value is from an environment variable."""

    variable: str

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class FlagOrigin:
    """The value is from an option of the command line."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """The value was passed by the caller."""

    def __str__(self) -> str:
        return "given"


Origin = DefaultOrigin | FileOrigin | EnvironmentOrigin | FlagOrigin | ArgumentOrigin

CONFIG_VARIABLE = f"{PREFIX}CONFIG"
"""The variable that names the configuration file; if it is empty, there is none."""

MAX_FILE_BYTES = 1_048_576
"""The largest configuration file, in bytes; a larger file is something else."""

MAX_VALUE_LINES = 100
"""How many lines a value may span when line numbers are computed."""


def find_named_file() -> Path | None:
    """Return the file that the environment names."""
    path = os.environ.get(CONFIG_VARIABLE)
    return Path(path) if path else None


def find_user_file() -> Path | None:
    """Return the user's configuration file, if it exists.

    `None` if the environment names a file or sets the variable to nothing.
    """
    folder = None if CONFIG_VARIABLE in os.environ else find_user_folder()
    if folder is None:
        return None
    path = folder / "config.toml"
    try:
        return path if path.exists() else None
    except OSError as error:
        remedy = f"set {CONFIG_VARIABLE} to another file, or to nothing for none"
        raise InvalidInput(f"cannot read the configuration file {str(path)!r}: {error}; {remedy}") from error


def find_user_folder() -> Path | None:
    """Return the user's configuration folder; `None` if the home directory is unknown."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        return (folder if folder.is_absolute() else Path.home() / ".config") / "recollect"
    except RuntimeError:
        return None


def read_settings_file(path: Path) -> dict[str, tuple[Any, FileOrigin]]:
    """Read every setting of a file, by path, with its value and line."""
    text = _read_config_text(path)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the configuration file {str(path)!r} is not valid TOML: {error}") from error
    lines = _find_lines(text)
    try:
        _refuse_secrets(document)
        values = flatten_settings(document)
    except FieldError as error:
        place = _file_origin(path, error.field, lines)
        raise FieldError(f"{error.problem}; it comes from {place}", field=error.field) from error
    return {name: (value, _file_origin(path, name, lines)) for name, value in values.items()}


def read_text_file(path: Path, largest: int | None = None) -> str:
    """Return the text of a regular file.

    Other files are refused: reading a pipe would block, and a device may never end.
    """
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")
    if largest is not None and path.stat().st_size > largest:
        raise OSError(f"it has more than {largest} bytes")
    return path.read_text(encoding="utf-8")


def _read_config_text(path: Path) -> str:
    try:
        return read_text_file(path, MAX_FILE_BYTES)
    except FileNotFoundError as error:
        raise NotFound(f"configuration file {str(path)!r} does not exist; check its path") from error
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or an impossible name
        raise InvalidInput(f"cannot read the configuration file {str(path)!r}: {error}") from error


def _refuse_secrets(document: Mapping[str, Any]) -> None:
    for option in OPTIONS.values():
        table: Any = document
        for name in option.section.split(".") if option.section else ():
            table = table.get(name) if isinstance(table, Mapping) else None
        if option.secret and isinstance(table, Mapping) and option.name in table:
            remedy = f"remove it, and set {option.variable} in the environment"
            raise FieldError(f"is a secret, which must not be in a file; {remedy}", field=option.path)


def _file_origin(path: Path, name: str | None, lines: Mapping[str, int]) -> FileOrigin:
    return FileOrigin(str(path), lines.get(name or ""))


def _find_lines(text: str) -> dict[str, int]:
    """Return the line on which each dotted name first occurs."""
    lines: dict[str, int] = {}
    section: tuple[str, ...] = ()
    for number, is_header, document in _split_statements(text.split("\n")):
        names = list(_value_paths(document))
        if is_header:
            section, names = names[0], [()]
        for name in names:
            path = (*section, *name)
            for end in range(1, len(path) + 1):
                lines.setdefault(".".join(path[:end]), number)
    return lines


def _split_statements(lines: list[str]) -> Iterator[tuple[int, bool, Mapping[str, Any]]]:
    """Yield the statements of a TOML text: first line, whether it is a header, and its content.

    Lines form a statement as soon as they parse as TOML, because no part of a statement does.
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
            return  # too long for a setting
        start = end


def _value_paths(document: object, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every value."""
    inside = document[0] if isinstance(document, list) and document and isinstance(document[0], dict) else document
    if isinstance(inside, dict) and (inside or not above):
        for name, value in inside.items():
            yield from _value_paths(value, (*above, name))
    else:
        yield above


SETTING_FLAG = "--setting"
"""The command-line option that sets any setting."""

OTHER_VARIABLES = (CONFIG_VARIABLE, f"{PREFIX}DB")
"""The environment variables of this project that are not settings."""

_Layer = Mapping[str, tuple[Any, Origin]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources in addition to the environment: an explicit file, and the flags of this run.

    With `reads_user_file`, the user's configuration file is read if no other file is named.
    """

    explicit_file: Path | None = None
    reads_user_file: bool = False
    flags: tuple[str, ...] = ()

    @property
    def file(self) -> Path | None:
        """The file to read, if there is one."""
        return self.explicit_file or find_named_file() or (find_user_file() if self.reads_user_file else None)


_CURRENT_SOURCES: ContextVar[Sources] = ContextVar("recollect_sources", default=Sources())  # noqa: B039  # it is frozen


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, and the origin of each by path."""

    settings: Settings
    origins: Mapping[str, Origin]

    def value(self, path: str) -> Any:
        """Return the value of the setting with that path."""
        return attrgetter(path)(self.settings)


@contextmanager
def use_sources(sources: Sources) -> Iterator[None]:
    """Read settings from these sources within the context, as the command line does."""
    before = _CURRENT_SOURCES.set(sources)
    try:
        yield
    finally:
        _CURRENT_SOURCES.reset(before)


def load_settings(given: Settings | Mapping[str, Any] | None = None) -> Settings:
    """Return the given settings, or load them from the environment, the file and the defaults."""
    return given if isinstance(given, Settings) else load_configuration(given).settings


def load_configuration(given: Mapping[str, Any] | None = None) -> Configuration:
    """Return the settings with origins.

    The precedence is: arguments, flags, the environment, the file, the defaults.
    """
    if given is not None and not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is not a recollect.Settings or a mapping of settings", field="settings")
    sources = _CURRENT_SOURCES.get()
    path = sources.file
    layers = [
        {} if path is None else read_settings_file(path),
        _read_environment(),
        _read_flags(sources.flags),
        _read_arguments(given or {}),
    ]
    return _resolve(layers)


def load_file_configuration(path: Path) -> Configuration:
    """Load the settings of a file alone, ignoring the environment and flags."""
    return _resolve([read_settings_file(path)])


def find_unknown_variables() -> list[str]:
    """Return environment variables that look like settings but are not, with a suggestion."""
    variables = [*(option.variable for option in OPTIONS.values()), *OTHER_VARIABLES]
    known = [name.removeprefix(PREFIX) for name in variables]
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in variables)
    similar = {name: get_close_matches(name.removeprefix(PREFIX), known, n=1, cutoff=0.7) for name in unknown}
    hints = {name: f"; did you mean {PREFIX}{matches[0]}?" if matches else "" for name, matches in similar.items()}
    return [f"{name} is not a setting{hints[name]}" for name in unknown]


def _resolve(layers: Iterable[_Layer]) -> Configuration:
    """Apply the layers in order; an invalid value is refused even if a later layer replaces it."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = dict.fromkeys(OPTIONS, DefaultOrigin())
    settings = build_settings(values)
    for layer in layers:
        values |= {path: value for path, (value, _) in layer.items()}
        origins |= {path: origin for path, (_, origin) in layer.items()}
        try:
            settings = build_settings(values)
        except FieldError as error:
            raise _with_origin(error, _find_origin(error.field or "", layer)) from error
    return Configuration(settings, origins)


def _find_origin(field: str, layer: _Layer) -> Origin:
    """Return the origin of the field in the layer, or else the first of its section."""
    inside = (origin for path, (_, origin) in layer.items() if path.startswith(f"{field}."))
    return layer[field][1] if field in layer else next(inside, DefaultOrigin())


def _with_origin(error: FieldError, origin: Origin) -> FieldError:
    """Add the origin to the error, unless the caller passed the value."""
    if isinstance(origin, DefaultOrigin | ArgumentOrigin):
        return error
    return FieldError(f"{error.problem}; it comes from {origin}", field=error.field)


def _read_environment() -> _Layer:
    texts = {path: os.environ.get(option.variable) for path, option in OPTIONS.items()}
    return {
        path: _read_option(path, text, EnvironmentOrigin(OPTIONS[path].variable))
        for path, text in texts.items()
        if text
    }


def _read_flags(flags: Iterable[str]) -> _Layer:
    values: dict[str, tuple[Any, Origin]] = {}
    for flag in flags:
        path, separator, text = flag.partition("=")
        if not separator:
            raise FieldError(f"{show(flag)} is not NAME=VALUE; write it as novelty.threshold=0.9", field=SETTING_FLAG)
        if path not in OPTIONS:
            raise FieldError(f"unknown setting; {suggest(path, OPTIONS)}", field=path)
        if OPTIONS[path].secret:
            remedy = f"set {OPTIONS[path].variable} in the environment"
            raise FieldError(f"is a secret, which {SETTING_FLAG} would show to other users; {remedy}", field=path)
        values[path] = _read_option(path, text, FlagOrigin(SETTING_FLAG))
    return values


def _read_arguments(given: Mapping[Any, Any]) -> _Layer:
    """Read settings from a mapping, with sections as mappings or dotted paths.

    Raise FieldError if a setting is given twice with different values.
    """
    paths = {name: value for name, value in given.items() if isinstance(name, str) and "." in name}
    values = flatten_settings({name: value for name, value in given.items() if name not in paths})
    for name, value in paths.items():
        for path, one in flatten_setting(name, value).items():
            if path in values and values[path] != one:
                raise FieldError("is given twice with different values; give it once", field=path)
            values[path] = one
    return {path: (value, ArgumentOrigin()) for path, value in values.items()}


def _read_option(path: str, text: str, origin: Origin) -> tuple[Any, Origin]:
    try:
        return OPTIONS[path].read(text), origin
    except FieldError as error:
        raise _with_origin(error, origin) from error


DECAYING_PROFILES = ("salience", "salience-hybrid")
"""The built-in profiles whose `rarity` is the usage decay of seed 004."""


def profile(source: str | Path, overrides: ProfileDocument | None = None) -> Profile:
    """Load a built-in profile by name, or one from a TOML file, and apply `overrides`."""
    path = validation.require_path("profile", source)
    loaded = load_profile_file(Path(path)) if path.endswith(".toml") else builtin_profile(path)
    return loaded if overrides is None else override_profile(loaded, overrides)


def load_configured_profile(
    settings: Settings, source: str | Path, overrides: ProfileDocument | None = None
) -> Profile:
    """Load a profile with the settings' usage decay and `overrides` applied.

    The usage decay applies only to the built-in profiles that have one.
    """
    path = validation.require_path("profile", source)
    loaded = _load_decaying(path, settings.usage_decay) if path in DECAYING_PROFILES else profile(source)
    return loaded if overrides is None else override_profile(loaded, overrides)


@lru_cache(maxsize=64)
def _load_decaying(name: str, decay: UsageDecay) -> Profile:
    """Load a built-in profile with this usage decay; cached, because every search needs it."""
    return override_profile(
        builtin_profile(name), {"factors": {"rarity": {"rate": decay.decay_factor} if decay.enabled else None}}
    )


def load_profile_file(path: Path) -> Profile:
    """Load the profile of a TOML file; its name is that of the file."""
    if path.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(path)!r} does not end in .toml; rename it")
    try:
        text = read_text_file(path)
    except FileNotFoundError as error:
        raise NotFound(f"profile file {str(path)!r} does not exist; check its path") from error
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or an impossible name
        raise ProfileError(f"cannot read the profile file {str(path)!r}: {error}") from error
    return parse_profile(text, name=path.stem)


def load_checked_profile_file(path: Path) -> Profile:
    """Load the profile of a TOML file, or raise if its numbers differ from the report beside it."""
    loaded = load_profile_file(path)
    refuse_unproven_profile(loaded, None if loaded.report is None else _read_report(path, loaded.report))
    return loaded


def _read_report(path: Path, name: str) -> str:
    try:
        return read_text_file(path.with_name(name))
    except FileNotFoundError as error:
        remedy = "put it there, or remove the line `report` and rename the profile"
        raise ProfileError(f"profile {path.stem!r}: its report {name!r} is not in the same folder; {remedy}") from error
    except (OSError, ValueError) as error:
        raise ProfileError(f"profile {path.stem!r}: cannot read its report {name!r}: {error}") from error


_CREDENTIALS = re.compile(r"(?<=//)[^/]*@|\?.*", re.DOTALL)
"""The parts of a URL that may hold credentials: before the @ and after the question mark."""

_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def render_settings_toml(configuration: Configuration, *, origins: bool) -> Iterator[str]:
    """Yield every setting as a line; unset or hidden ones are comments; optionally with origins."""
    section: str | None = None
    for path, option in OPTIONS.items():
        if option.section != section:
            section = option.section
            yield from ("", f"[{section}]")
        comes_from = f"  # {configuration.origins[path]}" if origins else ""
        yield f"{_render_option(option, configuration.value(path))}{comes_from}"


def render_settings_json(configuration: Configuration, *, origins: bool) -> list[dict[str, Any]]:
    """Return every setting for JSON; for a secret only whether it is set."""
    return [
        {
            "name": path,
            **_json_value(option, configuration.value(path)),
            **(_origin_json(configuration.origins[path]) if origins else {}),
        }
        for path, option in OPTIONS.items()
    ]


def _render_option(option: Option, value: Any) -> str:
    if value is None or option.secret:
        return f"# {option.name} is {'not set' if value is None else 'set'}"
    if _hide_credentials(value) != value:
        return f"# {option.name} = {_render_value(_hide_credentials(value))}, without its password"
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
