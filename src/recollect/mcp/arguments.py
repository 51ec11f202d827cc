"""Arguments: what a model gave a tool, as it was meant."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json


def meant(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, forgiving what models do: null is as if nothing were said, and JSON may come as a text.

    A text is read as JSON only where the tool takes no text; what is no JSON stays as it is, and is refused as that.
    """
    properties, shared = schema.get("properties", {}), schema.get("$defs", {})
    return {
        name: _read(value) if isinstance(value, str) and not _takes_text(properties.get(name), shared) else value
        for name, value in given.items()
        if value is not None
    }


def _takes_text(schema: Mapping[str, Any] | None, shared: Mapping[str, Any]) -> bool:
    """Whether a text may be what is meant; where nothing is known, it may."""
    if not schema:
        return True
    if (reference := schema.get("$ref")) is not None:
        return _takes_text(shared.get(reference.rpartition("/")[2]), shared)
    choices = schema.get("anyOf")
    if choices is not None:
        return any(_takes_text(one, shared) for one in choices)
    return bool(schema.get("type", "string") == "string")


def _read(text: str) -> Any:
    try:
        found = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # the latter for half a character
        return text
    return text if found is None else found
