"""A profile → TOML as a person would write it, from which the same profile is read again."""

import json
from collections.abc import Iterator, Mapping, Sequence

from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import profile_to_document


def profile_to_toml(profile: Profile, comments: Sequence[str] = ()) -> str:
    """The profile with every option spelled out, under these comments."""
    return "".join(f"{line}\n" for line in [*(f"# {comment}" for comment in comments), *_toml_lines(profile)])


def _toml_lines(profile: Profile) -> Iterator[str]:
    document = profile_to_document(profile)
    tables = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    yield from (f"{key} = {_toml_value(value)}" for key, value in document.items() if key not in tables)
    for name, table in tables.items():
        if table:
            yield ""
            yield f"[{name}]"
            yield from (f"{key} = {_toml_value(value)}" for key, value in table.items())


def _toml_value(value: object) -> str:
    match value:
        case Mapping():
            inside = ", ".join(f"{key} = {_toml_value(one)}" for key, one in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return repr(value)
