"""Profiles by name or file, as they are and as the settings have them."""

from functools import lru_cache
from pathlib import Path

from recollect.config.file import read_text_file
from recollect.config.schema import Settings, UsageDecay
from recollect.errors import InvalidInput, NotFound, ProfileError
from recollect.model import validation
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument, override_profile, parse_profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.tuning_report_check import refuse_unproven_profile

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
