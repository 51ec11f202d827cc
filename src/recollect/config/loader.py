"""Origin: where the value of a setting comes from.

The configuration file: which one it is, what it says, and on which line.

Sources: from where settings are read, and which one wins.

Profiles by name or file, as they are and as the settings have them.
"""

import os
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
    """Nobody said anything."""

    def __str__(self) -> str:
        return "default"


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """A file, by the path that it was named with, and the line where that is known."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return make_printable(self.path) + ("" if self.line is None else f", line {self.line}")


@dataclass(frozen=True, slots=True)
class EnvironmentOrigin:
    """A variable of the environment."""

    variable: str

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class FlagOrigin:
    """An option of the command line."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """Whoever called."""

    def __str__(self) -> str:
        return "given"


Origin = DefaultOrigin | FileOrigin | EnvironmentOrigin | FlagOrigin | ArgumentOrigin

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


SETTING_FLAG = "--setting"
"""The option of the command line that sets anything."""

OTHER_VARIABLES = (CONFIG_VARIABLE, f"{PREFIX}DB")
"""The variables of ours that are no settings."""

_Layer = Mapping[str, tuple[Any, Origin]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is read beside the environment: a file, if not that of the environment, and what is said for this run.

    `reads_user_file` has the file of whoever runs this read, where no other is named.
    """

    explicit_file: Path | None = None
    reads_user_file: bool = False
    flags: tuple[str, ...] = ()

    @property
    def file(self) -> Path | None:
        """The file that is read."""
        return self.explicit_file or find_named_file() or (find_user_file() if self.reads_user_file else None)


_CURRENT_SOURCES: ContextVar[Sources] = ContextVar("recollect_sources", default=Sources())  # noqa: B039  # it is frozen


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, and where each of them comes from, by its path."""

    settings: Settings
    origins: Mapping[str, Origin]

    def value(self, path: str) -> Any:
        """What the setting of that path is."""
        return attrgetter(path)(self.settings)


@contextmanager
def use_sources(sources: Sources) -> Iterator[None]:
    """Have settings read from these sources meanwhile, as the command line does for whatever it runs."""
    before = _CURRENT_SOURCES.set(sources)
    try:
        yield
    finally:
        _CURRENT_SOURCES.reset(before)


def load_settings(given: Settings | Mapping[str, Any] | None = None) -> Settings:
    """The settings: those given, else those of the environment, else those of the file, else the defaults."""
    return given if isinstance(given, Settings) else load_configuration(given).settings


def load_configuration(given: Mapping[str, Any] | None = None) -> Configuration:
    """The settings and their origins: those given, else flags, the environment, the file, the defaults."""
    if given is not None and not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is neither recollect.Settings nor a mapping with some", field="settings")
    used = _CURRENT_SOURCES.get()
    path = used.file
    layers = [
        {} if path is None else read_settings_file(path),
        _read_environment(),
        _read_flags(used.flags),
        _read_arguments(given or {}),
    ]
    return _resolve(layers)


def load_file_configuration(path: Path) -> Configuration:
    """What a file comes to by itself, whatever else is said elsewhere."""
    return _resolve([read_settings_file(path)])


def find_unknown_variables() -> list[str]:
    """Variables of the environment that look like settings of ours and are none, each with what was meant."""
    ours = [*(option.variable for option in OPTIONS.values()), *OTHER_VARIABLES]
    known = [name.removeprefix(PREFIX) for name in ours]
    odd = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in ours)
    near = {name: get_close_matches(name.removeprefix(PREFIX), known, n=1, cutoff=0.7) for name in odd}
    meant = {name: f"; did you mean {PREFIX}{found[0]}?" if found else "" for name, found in near.items()}
    return [f"{name} sets nothing{meant[name]}" for name in odd]


def _resolve(layers: Iterable[_Layer]) -> Configuration:
    """One layer over the other; what cannot be is refused also where a later layer has another value for it."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = dict.fromkeys(OPTIONS, DefaultOrigin())
    made = build_settings(values)
    for layer in layers:
        values |= {path: value for path, (value, _) in layer.items()}
        origins |= {path: origin for path, (_, origin) in layer.items()}
        try:
            made = build_settings(values)
        except FieldError as error:
            raise _with_origin(error, _find_origin(error.field or "", layer)) from error
    return Configuration(made, origins)


def _find_origin(field: str, layer: _Layer) -> Origin:
    """Where in the layer the field is, or else the first of its section."""
    inside = (origin for path, (_, origin) in layer.items() if path.startswith(f"{field}."))
    return layer[field][1] if field in layer else next(inside, DefaultOrigin())


def _with_origin(error: FieldError, origin: Origin) -> FieldError:
    """The error, with where the value comes from unless whoever called gave it."""
    if isinstance(origin, DefaultOrigin | ArgumentOrigin):
        return error
    return FieldError(f"{error.problem}; it comes from {origin}", field=error.field)


def _read_environment() -> _Layer:
    said = {path: os.environ.get(option.variable) for path, option in OPTIONS.items()}
    return {
        path: _read_option(path, text, EnvironmentOrigin(OPTIONS[path].variable)) for path, text in said.items() if text
    }


def _read_flags(flags: Iterable[str]) -> _Layer:
    found: dict[str, tuple[Any, Origin]] = {}
    for flag in flags:
        path, separator, text = flag.partition("=")
        if not separator:
            raise FieldError(f"{show(flag)} has no NAME=VALUE, such as novelty.threshold=0.9", field=SETTING_FLAG)
        if path not in OPTIONS:
            raise FieldError(f"there is no such setting; {suggest(path, OPTIONS)}", field=path)
        if OPTIONS[path].secret:
            what = f"everyone sees what is typed there; set {OPTIONS[path].variable} in the environment"
            raise FieldError(f"is a secret, and no value for {SETTING_FLAG}: {what}", field=path)
        found[path] = _read_option(path, text, FlagOrigin(SETTING_FLAG))
    return found


def _read_arguments(given: Mapping[Any, Any]) -> _Layer:
    """What a mapping says: with a mapping in it for a section, or by paths; what it says twice has to be the same."""
    paths = {name: value for name, value in given.items() if isinstance(name, str) and "." in name}
    found = flatten_settings({name: value for name, value in given.items() if name not in paths})
    for name, value in paths.items():
        for path, one in flatten_setting(name, value).items():
            if path in found and found[path] != one:
                raise FieldError("is given twice, and not the same; give it once", field=path)
            found[path] = one
    return {path: (value, ArgumentOrigin()) for path, value in found.items()}


def _read_option(path: str, text: str, origin: Origin) -> tuple[Any, Origin]:
    try:
        return OPTIONS[path].read(text), origin
    except FieldError as error:
        raise _with_origin(error, origin) from error


DECAYING_PROFILES = ("salience", "salience-hybrid")
"""The built-in profiles whose `rarity` is the usage decay of seed 004."""


def profile(source: str | Path, overrides: ProfileDocument | None = None) -> Profile:
    """The built-in profile of that name, or the one in that TOML file, with `overrides` applied."""
    named = validation.require_path("profile", source)
    found = load_profile_file(Path(named)) if named.endswith(".toml") else builtin_profile(named)
    return found if overrides is None else override_profile(found, overrides)


def load_configured_profile(
    settings: Settings, source: str | Path, overrides: ProfileDocument | None = None
) -> Profile:
    """The same with the usage decay of the settings, where it is a built-in one that has it, under `overrides`."""
    named = validation.require_path("profile", source)
    found = _load_decaying(named, settings.usage_decay) if named in DECAYING_PROFILES else profile(source)
    return found if overrides is None else override_profile(found, overrides)


@lru_cache(maxsize=64)
def _load_decaying(name: str, decay: UsageDecay) -> Profile:
    """A built-in profile with this usage decay; every search asks for it."""
    return override_profile(
        builtin_profile(name), {"factors": {"rarity": {"rate": decay.decay_factor} if decay.enabled else None}}
    )


def load_profile_file(path: Path) -> Profile:
    """The profile in a TOML file, named like the file."""
    if path.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(path)!r} does not end in .toml; rename it")
    try:
        text = read_text_file(path)
    except FileNotFoundError as error:
        raise NotFound(f"there is no profile file {str(path)!r}") from error
    except (OSError, ValueError) as error:  # the latter of what is no UTF-8, and of a name that is none
        raise ProfileError(f"the profile file {str(path)!r} cannot be read: {error}") from error
    return parse_profile(text, name=path.stem)


def load_checked_profile_file(path: Path) -> Profile:
    """The profile in a TOML file; refused if its numbers are not those that the report beside it tells of."""
    found = load_profile_file(path)
    refuse_unproven_profile(found, None if found.report is None else _read_report(path, found.report))
    return found


def _read_report(path: Path, name: str) -> str:
    try:
        return read_text_file(path.with_name(name))
    except FileNotFoundError as error:
        remedy = "put it there, or take its line `report` out and give it a name of its own"
        raise ProfileError(f"profile {path.stem!r}: its report {name!r} is not beside it; {remedy}") from error
    except (OSError, ValueError) as error:
        raise ProfileError(f"profile {path.stem!r}: its report {name!r} cannot be read: {error}") from error
