"""What a user configures, read from where the user keeps it: profiles, by name or file."""

from pathlib import Path

from recollect.errors import InvalidInput, NotFound, ProfileError
from recollect.ranking.parse import Document, override, parse
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import built_in


def profile(source: str | Path, overrides: Document | None = None) -> Profile:
    """The built-in profile of that name, or the one in that TOML file, with `overrides` applied."""
    found = profile_file(Path(source)) if str(source).endswith(".toml") else built_in(str(source))
    return override(found, overrides) if overrides else found


def profile_file(path: Path) -> Profile:
    """The profile in a TOML file, named like the file."""
    if path.suffix != ".toml":
        raise InvalidInput(f"the profile file {str(path)!r} does not end in .toml; rename it")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"there is no profile file {str(path)!r}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"the profile file {str(path)!r} cannot be read: {error}") from error
    return parse(text, name=path.stem)
