"""Arguments: what a model gave a tool, as it was meant."""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import from_json

from recollect.model.validation import expand_day
from recollect.server.mcp.catalog import ToolEntry


def normalize_arguments(entry: ToolEntry, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, forgiving what models do: null is as if nothing were said, JSON may come as a text, and a day
    stands for its beginning.

    A text is read as JSON only where the tool takes no text; what is no JSON stays as it is, and is refused as that.
    """
    return {
        name: _expand_days(entry.moments, name, _parse_json(value) if name in entry.no_texts else value)
        for name, value in given.items()
        if value is not None
    }


def _expand_days(moments: Collection[str], place: str, value: Any) -> Any:
    """The value with a moment in place of each day where a moment is meant."""
    match value:
        case str() if place in moments:
            return expand_day(value)
        case list() if any(one.startswith(f"{place}.") for one in moments):
            return [_expand_days(moments, place, one) for one in value]
        case dict() if any(one.startswith(f"{place}.") for one in moments):
            return {name: _expand_days(moments, f"{place}.{name}", one) for name, one in value.items()}
        case _:
            return value


def _parse_json(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        found = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # the latter for half a character
        return text
    return text if found is None else found
