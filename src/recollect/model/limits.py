"""What a value may be: the checks every noun shares, each naming the field, the value and the remedy."""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from recollect.errors import FieldError

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
LONGEST_ID = 256
LARGEST_COUNT = 2**53
"""Above this, neighbouring counts are the same number to every engine that computes in floats."""

COSINE_ROUNDING = 1e-6
"""How far a cosine may lie outside -1..1 before it is an error and not rounding."""


def an_id(field: str, value: str) -> None:
    """Refuse an id that is empty, endless, or has characters no terminal or database should see."""
    if not value or value != value.strip():
        raise FieldError(f"{value!r} is empty or padded; give an id without blanks", field=field)
    if len(value) > LONGEST_ID:
        raise FieldError(f"an id of {len(value)} characters; at most {LONGEST_ID} are allowed", field=field)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise FieldError(f"{value!r} has control characters or lone surrogates", field=field)


def unique_ids(ids: Sequence[str]) -> None:
    """Refuse an id that is there twice."""
    if len(set(ids)) != len(ids):
        twice, _ = Counter(ids).most_common(1)[0]
        raise FieldError(f"{twice!r} is there twice; an id names one memory", field="id")


def a_share(field: str, value: float) -> float:
    """The number; refused outside 0..1, where NaN is too."""
    if not (_is_number(value) and 0.0 <= value <= 1.0):
        raise FieldError(f"{value!r} is not within 0..1", field=field)
    return value


def a_cosine(field: str, value: float) -> float:
    """The number; refused outside -1..1, but for rounding, where NaN is too."""
    if not (_is_number(value) and abs(value) <= 1.0 + COSINE_ROUNDING):
        raise FieldError(f"{value!r} is not a cosine, which lies within -1..1", field=field)
    return value


def a_count(field: str, value: int) -> int:
    """The count; refused below zero or too large to be told from its neighbours."""
    if not (_is_whole(value) and 0 <= value <= LARGEST_COUNT):
        raise FieldError(f"{value!r} is not a count within 0..2**53", field=field)
    return value


def a_moment(field: str, value: datetime) -> datetime:
    """The moment in UTC; refused without a time zone, before 1900 and from 2200 on."""
    if not isinstance(value, datetime):
        raise FieldError(f"{value!r} is no moment; give an aware datetime", field=field)
    if value.utcoffset() is None:
        raise FieldError(f"{value.isoformat()} has no time zone; write an offset such as +00:00", field=field)
    if not EARLIEST <= value < LATEST:
        raise FieldError(f"{value.isoformat()} is not within 1900..2199", field=field)
    return value.astimezone(UTC)


def a_vector(field: str, value: Iterable[float]) -> tuple[float, ...]:
    """The vector as a tuple of floats; refused without dimensions or with a part that is no finite number."""
    try:
        vector = tuple(float(part) for part in value)
    except (TypeError, ValueError) as error:
        raise FieldError(f"a vector is made of numbers: {error}", field=field) from error
    if not vector or not all(map(math.isfinite, vector)):
        raise FieldError("a vector needs at least one number, all of them finite", field=field)
    return vector


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
