"""Coercion: lenient reading of dates and numbers that callers of the compat APIs pass."""

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar

from recollect.errors import InvalidInput, show
from recollect.model import validation

ValueT = TypeVar("ValueT")


def read_optional(read: Callable[[str, Any], ValueT], field: str, value: Any) -> ValueT | None:
    """Return `read` of the value, or `None` for `None`."""
    return None if value is None else read(field, value)


def datetime_or_now(now: datetime | None) -> datetime:
    """Return the moment to score for, in UTC; by default the present."""
    return read_optional(to_datetime, "now", now) or datetime.now(UTC)


def to_datetime(field: str, value: Any) -> datetime:
    """Return a date in UTC from an ISO text or a date object.

    Without a time zone it is taken as UTC.
    """
    try:
        moment = _to_utc(value)
        validation.require_moment(field, moment)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{field} is {show(value)}; give an ISO date, such as 2026-01-31T12:00:00Z, within 1900..2199"
        ) from error
    return moment


def to_number(field: str, value: Any) -> float:
    """Return the finite number of any numeric type; raise for a bool or a text."""
    number = math.nan
    if not isinstance(value, bool | str | bytes | bytearray):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{field} is {show(value)}; give a finite number")
    return number


def to_fraction(field: str, value: Any) -> float:
    """Return the number, or raise outside 0..1."""
    number = to_number(field, value)
    validation.require_fraction(field, number)
    return number


def to_cosine(field: str, value: Any) -> float:
    """Return the number, clamped to -1..1; ranking takes a negative cosine as 0."""
    return min(max(to_number(field, value), -1.0), 1.0)


def to_count(field: str, value: Any) -> int:
    """Return the whole number, or raise below 0."""
    number = to_number(field, value)
    if not number.is_integer():
        raise InvalidInput(f"{field} is {show(value)}; give a whole number")
    validation.require_count(field, int(number))
    return int(number)


def to_vector(field: str, value: Any) -> tuple[float, ...]:
    """Return the finite numbers as a vector; it may be empty."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        raise InvalidInput(f"{field} is {show(value)}; give a list of numbers")
    return tuple(to_number(field, part) for part in value)


def _to_utc(value: Any) -> datetime:
    match value:
        case datetime():
            moment = value
        case date():
            moment = datetime.combine(value, time())
        case _:
            moment = datetime.fromisoformat(value)
    aware = moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment
    return aware.astimezone(UTC)
