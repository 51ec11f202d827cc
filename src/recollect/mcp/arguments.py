"""Arguments: what a model gave a tool, as it was meant."""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import from_json


def meant(no_texts: Collection[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, forgiving what models do: null is as if nothing were said, and JSON may come as a text.

    A text is read as JSON only where the tool takes no text; what is no JSON stays as it is, and is refused as that.
    """
    return {
        name: _read(value) if isinstance(value, str) and name in no_texts else value
        for name, value in given.items()
        if value is not None
    }


def _read(text: str) -> Any:
    try:
        found = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # the latter for half a character
        return text
    return text if found is None else found
