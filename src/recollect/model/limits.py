"""What a value may be: the checks every noun shares, each naming the field, the value and the remedy."""

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from recollect.errors import CandidateError

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
        raise CandidateError(f"{value!r} is empty or padded; give an id without blanks", field=field)
    if len(value) > LONGEST_ID:
        raise CandidateError(
            f"an id of {len(value)} characters; at most {LONGEST_ID} are allowed", field=field
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise CandidateError(f"{value!r} has control characters or lone surrogates", field=field)


def unique_ids(ids: Sequence[str]) -> None:
    """Refuse an id that is there twice."""
    if len(set(ids)) != len(ids):
        twice, _ = Counter(ids).most_common(1)[0]
        raise CandidateError(f"{twice!r} is there twice; an id names one memory", field="id")


def a_share(field: str, value: float | None) -> None:
    """Refuse a number outside 0..1; NaN is outside."""
    if value is not None and not 0.0 <= value <= 1.0:
        raise CandidateError(f"{value!r} is not within 0..1", field=field)


def a_cosine(field: str, value: float | None) -> None:
    """Refuse a number outside -1..1, but for rounding; NaN is outside."""
    if value is not None and not abs(value) <= 1.0 + COSINE_ROUNDING:
        raise CandidateError(f"{value!r} is not a cosine, which lies within -1..1", field=field)


def a_count(field: str, value: int | None) -> None:
    """Refuse a count below zero or too large to be told from its neighbours."""
    if value is not None and not 0 <= value <= LARGEST_COUNT:
        raise CandidateError(f"{value!r} is not a count within 0..2**53", field=field)


def a_moment(field: str, value: datetime | None) -> None:
    """Refuse a date without a time zone, or before 1900, or from 2200 on."""
    if value is None:
        return
    if value.tzinfo is None or value.utcoffset() is None:
        raise CandidateError(
            f"{value.isoformat()} has no time zone; write an offset such as +00:00", field=field
        )
    if not EARLIEST <= value < LATEST:
        raise CandidateError(f"{value.isoformat()} is not within 1900..2199", field=field)


def a_vector(field: str, value: tuple[float, ...] | None) -> None:
    """Refuse a vector without dimensions or with a part that is not finite."""
    if value is not None and not (value and all(map(math.isfinite, value))):
        raise CandidateError("a vector needs at least one number, all of them finite", field=field)
