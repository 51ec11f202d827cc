"""What a user configures, read from where the user keeps it: settings, and profiles by name or file."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from recollect.errors import FieldError, InvalidInput, NotFound, ProfileError, remedy, show, spelled
from recollect.model import limits
from recollect.ranking.measured import refuse_unmeasured
from recollect.ranking.parse import Document, override, parse
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import built_in

PREFIX = "RECOLLECT_"
"""What the names of all our environment variables begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a store is opened with: which embedder, how long to wait for other writers, how much to keep in memory.

    What is not given here has its default. `settings` reads what is not given to it from the environment, as RECOLLECT_
    and its name in capitals.
    """

    embedder: str | None = None
    embedder_key: str | None = field(default=None, repr=False)
    busy_timeout: float = limits.BUSY_TIMEOUT
    cache_bytes: int = limits.CACHE_BYTES

    def __post_init__(self) -> None:
        for name in ("embedder", "embedder_key"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise FieldError(f"{type(value).__name__} is no text", field=name)
        limits.a_number("busy_timeout", self.busy_timeout)
        if not 0.0 < self.busy_timeout <= 86_400.0:
            raise FieldError(f"{show(self.busy_timeout)} is no number of seconds up to a day", field="busy_timeout")
        limits.a_count("cache_bytes", self.cache_bytes)


def settings(given: Settings | Mapping[str, Any] | None = None) -> Settings:
    """The settings: those given, else those of the environment, else the defaults."""
    if isinstance(given, Settings):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is neither recollect.Settings nor a mapping with some", field="settings")
    known = [one.name for one in fields(Settings)]
    stated = dict(given or {})
    odd = next((name for name in map(spelled, stated) if name not in known), None)
    if odd is not None:
        raise FieldError(f"there is no such setting; {remedy(odd, known)}", field=odd)
    return Settings(**{**_from_environment(known), **stated})


def _from_environment(known: list[str]) -> dict[str, Any]:
    said = {name: os.environ[variable] for name in known if (variable := PREFIX + name.upper()) in os.environ}
    read = {"busy_timeout": float, "cache_bytes": int}
    values: dict[str, Any] = {}
    for name, text in said.items():
        try:
            values[name] = read.get(name, str)(text)
        except ValueError as error:
            variable = PREFIX + name.upper()
            raise FieldError(f"{show(text)} is no number; it comes from {variable}", field=name) from error
        if isinstance(values[name], float) and not math.isfinite(values[name]):
            raise FieldError(f"{show(text)} is no number; it comes from {PREFIX + name.upper()}", field=name)
    return values


def profile(source: str | Path, overrides: Document | None = None) -> Profile:
    """The built-in profile of that name, or the one in that TOML file, with `overrides` applied."""
    named = limits.a_path("profile", source)
    found = profile_file(Path(named)) if named.endswith(".toml") else built_in(named)
    return found if overrides is None else override(found, overrides)


def profile_file(path: Path) -> Profile:
    """The profile in a TOML file, named like the file."""
    if path.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(path)!r} does not end in .toml; rename it")
    try:
        text = _text(path)
    except FileNotFoundError as error:
        raise NotFound(f"there is no profile file {str(path)!r}") from error
    except (OSError, ValueError) as error:  # the latter of what is no UTF-8, and of a name that is none
        raise ProfileError(f"the profile file {str(path)!r} cannot be read: {error}") from error
    return parse(text, name=path.stem)


def _text(path: Path) -> str:
    """What is in a file; a pipe would be waited for, and a device may have no end."""
    if path.exists() and not path.is_file():
        raise OSError("it is no ordinary file")
    return path.read_text(encoding="utf-8")


def checked_profile_file(path: Path) -> Profile:
    """The profile in a TOML file; refused if its numbers are not those that the report beside it tells of."""
    found = profile_file(path)
    refuse_unmeasured(found, None if found.report is None else _report(path, found.report))
    return found


def _report(path: Path, name: str) -> str:
    try:
        return _text(path.with_name(name))
    except FileNotFoundError as error:
        remedy = "put it there, or take its line `report` out and give it a name of its own"
        raise ProfileError(f"profile {path.stem!r}: its report {name!r} is not beside it; {remedy}") from error
    except (OSError, ValueError) as error:
        raise ProfileError(f"profile {path.stem!r}: its report {name!r} cannot be read: {error}") from error
