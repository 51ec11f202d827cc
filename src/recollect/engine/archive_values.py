"""Archive values: what the lines of an export are made of, written and read; what cannot be is refused by its field."""

import base64
from collections.abc import Collection
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any

from recollect.errors import FieldError, show
from recollect.model import validation


def field_names(kind: Any) -> list[str]:
    """The names of the fields of a value."""
    return [one.name for one in fields(kind)]


def require_fields(value: Any, names: Collection[str]) -> dict[str, Any]:
    """The mapping as it is; refused if it has not just these fields."""
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is no mapping of {', '.join(sorted(names))}")
    odd = next((name for name in value if name not in names), None)
    if odd is not None:
        raise FieldError(
            "is unknown: a newer recollect wrote the export, or the file was changed; upgrade recollect", field=odd
        )
    missing = next((name for name in sorted(names) if name not in value), None)
    if missing is not None:
        raise FieldError("is missing; the file was changed", field=missing)
    return value


def require_list(field: str, value: Any) -> list[Any]:
    """The list as it is."""
    if not isinstance(value, list):
        raise FieldError(f"{show(value)} is no list", field=field)
    return value


def decode_vector(field: str, text: str, dimensions: int, *, most: int = 1) -> bytes:
    """The bytes of a direction that is written in base64, or of at most so many, one behind the other."""
    import numpy as np

    try:
        found = base64.b64decode(validation.require_text(field, text), validate=True)
    except ValueError as error:
        raise FieldError(f"{show(text)} is not base64", field=field) from error
    count, rest = divmod(len(found), 4 * dimensions)
    if rest or not 1 <= count <= most:
        raise FieldError(f"{len(found)} bytes; {dimensions} dimensions have {4 * dimensions}", field=field)
    parts = np.frombuffer(found, dtype="<f4").astype(np.float64).reshape(count, dimensions)
    if not (abs((parts * parts).sum(axis=1) - 1.0) <= validation.NORM_ROUNDING).all():
        raise FieldError("is not of length 1", field=field)
    return found


def to_json(value: Any) -> Any:
    """The value as JSON has it."""
    match value:
        case datetime():
            return format_time(value)
        case Enum():
            return value.value
        case tuple():
            return list(value)
        case _:
            return value


def format_time(moment: datetime) -> str:
    """The moment as a text."""
    return moment.isoformat()


def format_optional_time(moment: datetime | None) -> str | None:
    """The moment as a text, if there is one."""
    return None if moment is None else format_time(moment)


def parse_time(field: str, text: str) -> datetime:
    """The moment of a text."""
    return validation.require_moment(field, datetime.fromisoformat(text))


def parse_optional_time(field: str, text: str | None) -> datetime | None:
    """The moment of a text, if there is one."""
    return None if text is None else parse_time(field, text)


def require_commit(value: Any, *, least: int = 1) -> int:
    """The number of a commit."""
    if not least <= validation.require_count("commit", value) <= validation.MAX_COMMIT:
        raise FieldError(f"{show(value)} is no number of a commit", field="commit")
    return int(value)
