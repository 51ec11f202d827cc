"""Option: one thing that can be set, and how it is read from a file, a mapping or a text."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from recollect.config.schema import Settings
from recollect.errors import FieldError, show, show_name, suggest
from recollect.lifecycle.policy import NEVER, RetentionDays
from recollect.model import validation

PREFIX = "RECOLLECT_"
"""What the names of all our environment variables begin with."""

BOOLEAN_WORDS: Mapping[str, bool] = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
"""How a text says whether or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One thing that can be set: in which section, of which type, and what it is if nobody says."""

    section: str | None
    name: str
    hint: Any
    default: Any
    secret: bool

    @property
    def path(self) -> str:
        """Its name in a file, behind that of its section."""
        return self.name if self.section is None else f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.path.upper().replace(".", "_")

    @property
    def type(self) -> Any:
        """What it is where it is set."""
        parts = [one for one in get_args(self.hint) if one is not NoneType]
        return parts[0] if NoneType in get_args(self.hint) else self.hint

    @property
    def is_table(self) -> bool:
        """Whether it has names of its own, which no text could give."""
        return get_origin(self.type) is Mapping

    def check(self, value: object) -> Any:
        """The value of a file or a mapping, if it is of the type that it should be."""
        if value is None and NoneType in get_args(self.hint):
            return None
        if self.secret and not isinstance(value, str):  # nothing of it is shown
            raise FieldError(f"{type(value).__name__} is no text", field=self.path)
        return self._checker(self.path, value)

    def read(self, text: str) -> Any:
        """The value that a text of the environment or the command line says."""
        if self.is_table:
            raise FieldError("is a table, which one text cannot say; write it into a file", field=self.path)
        try:
            value = TEXT_PARSERS.get(self.type, str)(text)
        except ValueError as error:
            raise FieldError(f"{show(text)} is no number", field=self.path) from error
        except KeyError as error:
            problem = f"{show(text)} is neither true nor false (nor 1 or 0, yes or no)"
            raise FieldError(problem, field=self.path) from error
        return self.check(value)

    @property
    def _checker(self) -> Callable[[str, Any], Any]:
        return VALUE_CHECKS[self.type if self.type in VALUE_CHECKS else get_origin(self.type)]


def _parse_bool(text: str) -> bool:
    return BOOLEAN_WORDS[text.strip().lower()]


def _require_int(path: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is no whole number", field=path)
    return value


def _require_numbers(path: str, value: object) -> Mapping[str, float]:
    if not isinstance(value, Mapping):
        raise FieldError(f"{show(value)} is no table of numbers by name", field=path)
    named = {validation.require_text(path, name): number for name, number in value.items()}
    return MappingProxyType(
        {name: validation.require_number(f"{path}.{name}", number) for name, number in named.items()}
    )


def _require_days(path: str, value: object) -> int | str:
    if value == NEVER:
        return NEVER
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is no whole number of days, nor {show(NEVER)}", field=path)
    return value


def _parse_days(text: str) -> int | str:
    return NEVER if text.strip() == NEVER else int(text)


TEXT_PARSERS: Mapping[Any, Callable[[str], Any]] = {
    bool: _parse_bool,
    float: float,
    int: int,
    RetentionDays: _parse_days,
}
"""How a text becomes a value; all else is the text."""

VALUE_CHECKS: Mapping[Any, Callable[[str, Any], Any]] = {
    bool: validation.require_flag,
    float: validation.require_number,
    int: _require_int,
    str: validation.require_text,
    Literal: validation.require_text,
    Mapping: _require_numbers,
    RetentionDays: _require_days,
}
"""What is of which type; whether the section takes it is the section's to say."""

DEFAULT_SETTINGS = Settings()


def _walk_sections(whole: Any, path: str | None = None) -> Iterator[tuple[str | None, Any]]:
    """A value and every table in it, by their paths; each before those that are in it."""
    yield path, whole
    for one in fields(whole):
        held = getattr(whole, one.name)
        if is_dataclass(held):
            yield from _walk_sections(held, one.name if path is None else f"{path}.{one.name}")


SECTION_DEFAULTS: Mapping[str | None, Any] = dict(_walk_sections(DEFAULT_SETTINGS))
"""Every section, those inside others among them, as it is if nobody says anything; at the top there is none."""


def _find_options() -> Iterator[Option]:
    for section, held in SECTION_DEFAULTS.items():
        hints = get_type_hints(type(held))
        for one in fields(held):
            value = getattr(held, one.name)
            if not is_dataclass(value):
                # what a repr does not show, nothing shows
                yield Option(section=section, name=one.name, hint=hints[one.name], default=value, secret=not one.repr)


OPTIONS: Mapping[str, Option] = {option.path: option for option in _find_options()}
"""Everything that can be set, by its path."""


def flatten_settings(document: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting that a mapping with tables in it says, by its path; whatever is none is refused."""
    return dict(_flatten_section(None, document))


def flatten_setting(path: str, value: Any) -> dict[str, Any]:
    """The same of one setting, or of one section, that is named by its path."""
    if path in SECTION_DEFAULTS:
        return dict(_flatten_section(path, _require_table(path, value)))
    return {path: _get_option(path, path, OPTIONS).check(value)}


def _flatten_section(section: str | None, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    known = [one.name for one in fields(SECTION_DEFAULTS[section])]
    for name, value in table.items():
        path = show_name(name) if section is None else f"{section}.{show_name(name)}"
        if name in known and path in SECTION_DEFAULTS:
            yield from _flatten_section(path, _require_table(path, value))
        else:
            what = "section" if isinstance(value, Mapping) and section is None else "setting"
            yield path, _get_option(path, name, known, what).check(value)


def build_settings(values: Mapping[str, Any]) -> Settings:
    """The settings with these values, by their paths; refused by the path of what cannot be."""
    made: Settings = _build_section(None, values)
    return made


def _build_section(section: str | None, values: Mapping[str, Any]) -> Any:
    inside = {one: _build_section(path, values) for path, one in _child_sections(section)}
    own = {OPTIONS[path].name: value for path, value in values.items() if OPTIONS[path].section == section}
    if section is None:
        return Settings(**own, **inside)
    try:
        return type(SECTION_DEFAULTS[section])(**own, **inside)
    except FieldError as error:
        raise FieldError(error.problem, field=f"{section}.{error.field}") from error
    except ValueError as error:
        raise FieldError(str(error), field=section) from error


def _child_sections(section: str | None) -> list[tuple[str, str]]:
    """The tables that are right inside a section, each by its path and by its name."""
    start = "" if section is None else f"{section}."
    below = [path for path in SECTION_DEFAULTS if path is not None and path.startswith(start)]
    return [(path, name) for path in below if "." not in (name := path.removeprefix(start))]


def _require_table(path: str, value: object) -> Mapping[str, Any]:
    whole = type(SECTION_DEFAULTS[path])
    if isinstance(value, whole):  # as `Settings` has it
        return {one.name: getattr(value, one.name) for one in fields(whole)}
    if not isinstance(value, Mapping):
        name = next(one.name for one in OPTIONS.values() if one.section == path)
        raise FieldError(f"{show(value)} is no table; say {name} = … under [{path}]", field=path)
    return value


def _get_option(path: str, name: object, known: Collection[str], what: str = "setting") -> Option:
    """The option of that path; what is written at an unknown one is not shown, for it may be a misspelt key."""
    if name not in known:
        raise FieldError(f"there is no such {what}; {suggest(show_name(name), known)}", field=path)
    return OPTIONS[path]
