"""What a value may be: the checks every noun shares, each naming the field, the value and the remedy."""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from recollect.errors import FieldError, show

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
LONGEST_ID = 256
LONGEST_TEXT = 1_048_576
"""How many bytes (UTF-8) a memory's text may have."""

LONGEST_TITLE = 512
LARGEST_COUNT = 2**53
"""Above this, neighbouring counts are the same number to every engine that computes in floats."""

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters without a shape: two ids that differ in them look the same."""

COSINE_ROUNDING = 1e-6
"""How far a cosine may lie outside -1..1 before it is an error and not rounding."""


def an_id(field: str, value: str) -> str:
    """The id; refused if it is empty, endless, or has characters that no eye can see."""
    a_text(field, value)
    if not value or value != value.strip():
        raise FieldError(f"{show(value)} is empty or padded; give an id without blanks", field=field)
    if len(value) > LONGEST_ID:
        raise FieldError(f"an id of {len(value)} characters; at most {LONGEST_ID} are allowed", field=field)
    plain = value.isascii() and value.isprintable()  # which most ids are, and sooner told
    if not plain and any(unicodedata.category(character) in UNSEEN for character in value):
        raise FieldError(f"{show(value)} has control, invisible or broken characters", field=field)
    return value


def unique_ids(ids: Sequence[str]) -> None:
    """Refuse an id that is there twice."""
    if len(set(ids)) != len(ids):
        twice, _ = Counter(ids).most_common(1)[0]
        raise FieldError(f"{show(twice)} is there twice; an id names one memory", field="id")


def a_text(field: str, value: str) -> str:
    """The text; refused if it is none."""
    if not isinstance(value, str):
        raise FieldError(f"{show(value)} is no text", field=field)
    return value


def a_clean_text(field: str, value: str) -> str:
    """The text; refused with NUL or half a character (a lone surrogate) in it, which no store could keep."""
    a_text(field, value)
    if "\0" in value:
        raise FieldError("has a NUL character; remove it", field=field)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FieldError(f"has half a character at {error.start}; send whole Unicode", field=field) from error
    return value


def a_content(field: str, value: str) -> str:
    """The text of a memory; refused if it says nothing, cannot be kept, or is endless."""
    a_clean_text(field, value)
    if not value or value.isspace():
        raise FieldError("is blank; a memory says something", field=field)
    if len(value) > LONGEST_TEXT // 4 and len(value.encode()) > LONGEST_TEXT:
        raise FieldError(f"{len(value)} characters; at most {LONGEST_TEXT} bytes fit, so split it", field=field)
    return value


def a_line(field: str, value: str) -> str:
    """A short text such as a title."""
    a_content(field, value)
    if len(value) > LONGEST_TITLE:
        raise FieldError(f"{len(value)} characters; at most {LONGEST_TITLE} are allowed", field=field)
    return value


def a_flag(field: str, value: bool) -> bool:
    """True or false; anything else is refused."""
    if not isinstance(value, bool):
        raise FieldError(f"{show(value)} is neither true nor false", field=field)
    return value


def a_number(field: str, value: float) -> float:
    """The number as a finite float; a truth value is none, nor is a text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(f"{show(value)} is no number", field=field)
    try:
        number = float(value) + 0.0  # which makes -0.0 the zero it equals
    except OverflowError as error:
        raise FieldError(f"{show(value)} is too large for a number", field=field) from error
    if not math.isfinite(number):
        raise FieldError(f"{show(value)} is not a finite number", field=field)
    return number


def a_share(field: str, value: float) -> float:
    """The number; refused outside 0..1."""
    number = a_number(field, value)
    if not 0.0 <= number <= 1.0:
        raise FieldError(f"{show(value)} is not within 0..1", field=field)
    return number


def a_cosine(field: str, value: float) -> float:
    """The number; refused outside -1..1, but for rounding."""
    number = a_number(field, value)
    if not abs(number) <= 1.0 + COSINE_ROUNDING:
        raise FieldError(f"{show(value)} is not a cosine, which lies within -1..1", field=field)
    return number


def a_count(field: str, value: int) -> int:
    """The count; refused below zero or too large to be told from its neighbours."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is no whole number", field=field)
    if not 0 <= value <= LARGEST_COUNT:
        raise FieldError(f"{show(value)} is not a count within 0..2**53", field=field)
    return value


def a_moment(field: str, value: datetime) -> datetime:
    """The moment in UTC; refused without a time zone, before 1900 and from 2200 on."""
    if not isinstance(value, datetime):
        raise FieldError(f"{show(value)} is no moment; give an aware datetime", field=field)
    if value.utcoffset() is None:
        raise FieldError(f"{value.isoformat()} has no time zone; write an offset such as +00:00", field=field)
    if not EARLIEST <= value < LATEST:
        raise FieldError(f"{value.isoformat()} is not within 1900..2199", field=field)
    return value.astimezone(UTC)


def a_vector(field: str, value: Iterable[float]) -> tuple[float, ...]:
    """The vector as a tuple of floats; refused without dimensions or with a part that is no finite number."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise FieldError(f"{show(value)} is no list of numbers", field=field)
    parts = tuple(value)
    if set(map(type, parts)) == {float} and all(map(math.isfinite, parts)):
        return parts
    vector = tuple(a_number(field, part) for part in parts)
    if not vector:
        raise FieldError("a vector needs at least one number", field=field)
    return vector


def same_dimensions(vectors: Iterable[tuple[str, tuple[float, ...] | None]]) -> None:
    """Refuse vectors of different lengths, each given with the id it belongs to."""
    dimensions = 0
    for id, vector in vectors:
        if vector is not None:
            dimensions = dimensions or len(vector)
            if len(vector) != dimensions:
                raise FieldError(f"{show(id)} has {len(vector)} dimensions, others {dimensions}", field="vector")
