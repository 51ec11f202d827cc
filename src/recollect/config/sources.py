"""Sources: from where settings are read, and which one wins."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any

from recollect.config import file
from recollect.config.options import OPTIONS, PREFIX, build_settings, flatten_setting, flatten_settings
from recollect.config.origin import ArgumentOrigin, DefaultOrigin, EnvironmentOrigin, FlagOrigin, Origin
from recollect.config.schema import Settings
from recollect.errors import FieldError, show, suggest

SETTING_FLAG = "--setting"
"""The option of the command line that sets anything."""

OTHER_VARIABLES = (file.CONFIG_VARIABLE, f"{PREFIX}DB")
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
        return self.explicit_file or file.find_named_file() or (file.find_user_file() if self.reads_user_file else None)


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
        {} if path is None else file.read_settings_file(path),
        _read_environment(),
        _read_flags(used.flags),
        _read_arguments(given or {}),
    ]
    return _resolve(layers)


def load_file_configuration(path: Path) -> Configuration:
    """What a file comes to by itself, whatever else is said elsewhere."""
    return _resolve([file.read_settings_file(path)])


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
