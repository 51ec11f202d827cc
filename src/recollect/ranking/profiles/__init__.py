"""The built-in profiles: one TOML file each, read and checked at import.

This is part of loading the code, like importing a module. It is the only file access of a pure layer.
"""

from collections.abc import Mapping
from importlib.resources import files

from recollect.errors import NotFound, show, suggest
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile

PROFILE_TEXTS: Mapping[str, str] = dict(
    sorted(
        (file.name.removesuffix(".toml"), file.read_text(encoding="utf-8"))
        for file in files(__name__).iterdir()
        if file.name.endswith(".toml")
    )
)
"""The TOML text of every built-in profile, by name."""

BUILTIN_PROFILES: Mapping[str, Profile] = {name: parse_profile(text, name=name) for name, text in PROFILE_TEXTS.items()}
"""Every built-in profile by name."""


def builtin_profile(name: str) -> Profile:
    """Return the built-in profile of that name."""
    if name not in BUILTIN_PROFILES:
        file = " (recollect.profile reads a file)" if name.endswith(".toml") else ""
        raise NotFound(f"unknown profile {show(name)}; {suggest(name, BUILTIN_PROFILES)}{file}")
    return BUILTIN_PROFILES[name]
