"""Checks shared by all values; each error names the field, the value and the remedy.

Also here: `copy_with`, which copies a frozen value without checking it again, and `to_nfc`, which composes a text (NFC)
in linear time.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from recollect.errors import FieldError, show

CallableT = TypeVar("CallableT", bound=Callable[..., object])

EARLIEST_DATETIME = datetime(1900, 1, 1, tzinfo=UTC)
LATEST_DATETIME = datetime(2200, 1, 1, tzinfo=UTC)
MAX_ID_CHARS = 256
MAX_TEXT_BYTES = 1_048_576
"""How many bytes (UTF-8) a memory's text may have."""

MAX_TITLE_CHARS = 512
MAX_EXPORT_LINE_CHARS = 256 * 1024**2
"""How many characters a line of an export may have.

That is enough for a memory with a hundred thousand revisions, or a million uses.
"""

MAX_COUNT = 2**53
"""The highest count; above it, a float no longer tells neighboring counts apart."""

MAX_DAYS_OFF = 1e7
"""More days than lie between any two allowed dates, even counted twice."""

MAX_COMMIT = 2**48
"""The highest commit number an import may claim; higher numbers are for new commits."""

MAX_CLOCK_LEAD = timedelta(days=1)
"""How far a store's last commit may be ahead of the clock; beyond that, its clock was wrong."""

MAX_LIMIT = 2**63 - 1
"""The highest limit: above any real size, and short enough for the record of a context."""

INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of invisible characters: ids that differ only in them look the same."""

_INVISIBLE_CHARACTER = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2800\U00016fe4\U0001d159]"  # these three are blanks that Unicode counts as visible
)
"""Invisible characters of other categories: joiners, fillers, variation selectors, tags.

Unicode calls them Default_Ignorable_Code_Point; Python has no table of them.
"""

_UNSTORABLE_CHARACTER = re.compile("[\0\ud800-\udfff]")

_DATETIME_REMEDY = "give an aware datetime, such as datetime(2026, 1, 31, 9, tzinfo=UTC)"

COSINE_ROUNDING = 1e-6
"""How far a cosine may lie outside -1..1 and still count as a rounding error."""

NORM_ROUNDING = 1e-3
"""How far the squared length of a vector may be from 1 and still count as a rounding error."""

MAX_NEIGHBORS = 32
"""How many memories related to a draft a store returns for the decision on it."""

BUSY_TIMEOUT_SECONDS = 30.0
"""The default wait for other writers, in seconds."""

CACHE_BYTES = 2 * 1024**3
"""The default size of the read cache, in bytes."""

IN_MEMORY_TARGET = ":memory:"
"""The path of a store that keeps nothing on disk."""

_BLANK_REMEDIES = {
    "task": "describe the task",
    "plan": "describe the step, or leave it out",
    "type": "name what was done in one word",
    "lessons": "describe the lesson, or leave it out",
    "failure_modes": "describe the failure, or leave it out",
}
"""The remedies for blank fields that are not the text of a memory."""


def require_id(field: str, value: str) -> str:
    """Return the id; raise FieldError if it is empty, too long, or has invisible characters."""
    require_text(field, value)
    if not value or value != value.strip():
        raise FieldError(f"{show(value)} is empty or padded; give an id without blanks", field=field)
    if len(value) > MAX_ID_CHARS:
        raise FieldError(f"has {len(value)} characters; at most {MAX_ID_CHARS} are allowed", field=field)
    odd = find_invisible_character(value)
    if odd is not None:
        what = "control, invisible or broken characters"
        raise FieldError(f"{show(value)} has {what} ({format_code_point(odd)}); remove them", field=field)
    return value


def find_invisible_character(text: str) -> str | None:
    """Return the first invisible character, if there is one."""
    if text.isascii() and text.isprintable():  # fast path for most texts
        return None
    return next(
        (one for one in text if unicodedata.category(one) in INVISIBLE_CATEGORIES or _INVISIBLE_CHARACTER.match(one)),
        None,
    )


def format_code_point(character: str) -> str:
    """Return the character's number as Unicode charts write it."""
    return f"U+{ord(character):04X}"


def require_unique_ids(ids: Sequence[str]) -> None:
    """Raise FieldError if an id occurs twice."""
    if len(set(ids)) != len(ids):
        repeated, _ = Counter(ids).most_common(1)[0]
        raise FieldError(f"{show(repeated)} occurs twice; give each memory its own id", field="id")


def require_text(field: str, value: str) -> str:
    """Return the text, or raise FieldError.

    For an object with an id, the error says to pass the id.
    """
    if not isinstance(value, str):
        raise FieldError(_describe_non_text(value), field=field)
    return value


def _describe_non_text(value: object) -> str:
    if not hasattr(value, "id"):
        return f"{show(value)} is not text"
    what = type(value).__name__
    return f"is {'an' if what[0] in 'AEIOU' else 'a'} {what}; give its id (….id)"


def require_clean_text(field: str, value: str) -> str:
    """Return the text; raise FieldError for NUL or a lone surrogate, which no store can keep."""
    if not isinstance(value, str):
        raise FieldError(f"{show(value)} is not text", field=field)
    if "\0" in value:
        raise FieldError("has a NUL character; remove it", field=field)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FieldError(f"has a lone surrogate at {error.start}; send valid Unicode", field=field) from error
    return value


def is_storable(value: str) -> bool:
    """Return whether a store could hold the text; if not, no search can find it."""
    return _UNSTORABLE_CHARACTER.search(value) is None


def require_content(field: str, value: str) -> str:
    """Return the text of a memory; raise FieldError if it is blank, unstorable or too long."""
    require_clean_text(field, value)
    if not value or value.isspace():
        raise FieldError(f"is blank; {_BLANK_REMEDIES.get(field, 'write some text')}", field=field)
    if len(value) > MAX_TEXT_BYTES // 4 and len(value.encode()) > MAX_TEXT_BYTES:
        raise FieldError(
            f"has {len(value)} characters; at most {MAX_TEXT_BYTES} bytes are allowed, so split it", field=field
        )
    return value


def require_total_length(field: str, values: Sequence[str]) -> Sequence[str]:
    """Return the texts; raise FieldError if together they are longer than one text may be."""
    length = sum(len(one.encode()) for one in values)
    if length > MAX_TEXT_BYTES:
        raise FieldError(
            f"has {length} bytes in total; at most {MAX_TEXT_BYTES} are allowed, so quote less", field=field
        )
    return values


def require_line(field: str, value: str) -> str:
    """Return a short text such as a title, or raise FieldError."""
    require_content(field, value)
    if len(value) > MAX_TITLE_CHARS:
        raise FieldError(f"has {len(value)} characters; at most {MAX_TITLE_CHARS} are allowed", field=field)
    return value


def require_several(field: str, value: Iterable[Any]) -> tuple[Any, ...]:
    """Return the items as a tuple; raise FieldError for one text, a mapping or a non-iterable."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise FieldError(f"{show(value)} is not a list; give a list, even for a single value", field=field)
    return tuple(value)


def require_list(field: str, value: Any) -> list[Any]:
    """Return the list unchanged; raise FieldError for other values."""
    if not isinstance(value, list):
        raise FieldError(f"{show(value)} is not a list", field=field)
    return value


def require_path(field: str, value: Any) -> str:
    """Return the path as a string, or raise FieldError."""
    fspath = getattr(type(value), "__fspath__", None)
    path = value if fspath is None else fspath(value)
    if not isinstance(path, str):
        raise FieldError(f"{show(value)} is not a path; give a string or a pathlib.Path", field=field)
    return path


def require_callable(field: str, value: CallableT) -> CallableT:
    """Return the callable, or raise FieldError."""
    if not callable(value):
        raise FieldError(f"{show(value)} is not callable; give a function", field=field)
    return value


def require_flag(field: str, value: bool) -> bool:
    """Return the bool, or raise FieldError."""
    if not isinstance(value, bool):
        raise FieldError(f"{show(value)} is neither true nor false", field=field)
    return value


def require_number(field: str, value: float) -> float:
    """Return the number as a finite float; raise FieldError for a bool or a text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(f"{show(value)} is not a number", field=field)
    try:
        number = float(value) + 0.0  # turns -0.0 into 0.0
    except OverflowError as error:
        raise FieldError(f"{show(value)} is too large for a number", field=field) from error
    if not math.isfinite(number):
        raise FieldError(f"{show(value)} is not a finite number", field=field)
    return number


def require_fraction(field: str, value: float) -> float:
    """Return the number, or raise FieldError outside 0..1."""
    number = require_number(field, value)
    if not 0.0 <= number <= 1.0:
        raise FieldError(f"{show(value)} is not within 0..1", field=field)
    return number


def require_outcome(field: str, value: float) -> float:
    """Return the outcome of a task, or raise FieldError outside 0..1."""
    try:
        return require_fraction(field, value)
    except FieldError as error:
        problem = f"{show(value)} is not an outcome; give a number from 0 (failure) to 1 (success)"
        raise FieldError(problem, field=field) from error


def require_cosine(field: str, value: float) -> float:
    """Return the cosine, or raise FieldError outside -1..1, with a tolerance for rounding."""
    number = require_number(field, value)
    if not abs(number) <= 1.0 + COSINE_ROUNDING:
        raise FieldError(f"{show(value)} is not a cosine, which lies within -1..1", field=field)
    return number


def require_days_off(field: str, value: float) -> float:
    """Return the number of days, or raise FieldError if it is negative or above the maximum."""
    number = require_number(field, value)
    if not 0.0 <= number <= MAX_DAYS_OFF:
        raise FieldError(f"{show(value)} is not within 0..{MAX_DAYS_OFF:g} days", field=field)
    return number


def require_count(field: str, value: int) -> int:
    """Return the count, or raise FieldError if it is negative or above `MAX_COUNT`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is not a whole number", field=field)
    if not 0 <= value <= MAX_COUNT:
        raise FieldError(f"{show(value)} is not a count within 0..2**53", field=field)
    return value


def require_validity_period(valid_from: datetime | None, valid_until: datetime | None) -> None:
    """Raise FieldError if the validity period is empty."""
    if valid_from is not None and valid_until is not None and valid_until <= valid_from:
        start = valid_from.isoformat()
        raise FieldError(f"{valid_until.isoformat()} is not after valid_from ({start})", field="valid_until")


def require_limit(field: str, value: int) -> int:
    """Return the limit; raise FieldError unless it is a whole number from 1 to `MAX_LIMIT`."""
    if type(value) is not int or value < 1:
        raise FieldError(f"{show(value)} is not a limit; give a whole number of at least 1", field=field)
    if value > MAX_LIMIT:
        raise FieldError(f"{show(value)} is too large for a limit; give a whole number below 2**63", field=field)
    return value


def require_moment(field: str, value: datetime) -> datetime:
    """Return the time in UTC; raise FieldError without a time zone, before 1900 or from 2200 on."""
    if not isinstance(value, datetime):
        raise FieldError(f"{show(value)} is not a datetime; {_DATETIME_REMEDY}", field=field)
    if value.utcoffset() is None:
        raise FieldError(f"{value.isoformat()} has no time zone; {_DATETIME_REMEDY}", field=field)
    if not EARLIEST_DATETIME <= value < LATEST_DATETIME:
        raise FieldError(f"{value.isoformat()} is not within 1900..2199", field=field)
    return value.astimezone(UTC)


def expand_day(written: str) -> str:
    """Return a bare date such as 2026-10-01 as its start in UTC; any other text unchanged."""
    try:
        is_day = date.fromisoformat(written).isoformat() == written
    except ValueError:
        return written
    return f"{written}T00:00Z" if is_day else written


def require_vector(field: str, value: Iterable[float]) -> tuple[float, ...]:
    """Return the vector as a tuple of finite floats; raise FieldError if it is empty or invalid."""
    tolist = getattr(value, "tolist", None)
    given: Any = value if tolist is None else tolist()  # a NumPy array
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise FieldError(f"{show(given)} is not a list of numbers", field=field)
    parts = tuple(given)
    if set(map(type, parts)) == {float} and math.isfinite(sum(parts)):  # not finite if any part is not
        return parts
    vector = tuple(require_number(field, part) for part in parts)
    if not vector:
        raise FieldError("a vector needs at least one number", field=field)
    return vector


def require_same_dimensions(vectors: Iterable[tuple[str, tuple[float, ...] | None]]) -> None:
    """Raise FieldError if the vectors, given with their ids, differ in length."""
    dimensions = 0
    for id, vector in vectors:
        if vector is not None:
            dimensions = dimensions or len(vector)
            if len(vector) != dimensions:
                raise FieldError(
                    f"{show(id)} has {len(vector)} dimensions, but others have {dimensions}", field="vector"
                )


FrozenT = TypeVar("FrozenT")


def copy_with(value: FrozenT, **changes: Any) -> FrozenT:
    """Return a copy of a frozen value with some fields changed; the caller vouches for those."""
    kind = type(value)
    found: FrozenT = object.__new__(kind)
    for name in kind.__slots__:  # type: ignore[attr-defined]
        object.__setattr__(found, name, changes[name] if name in changes else getattr(value, name))
    return found


MAX_COMBINING_MARKS = 30
"""The longest run of combining marks before a joiner is put, as in stream-safe text.

Unicode defines stream-safe text in annex 15; no script needs more marks. Composing sorts the marks of a run in
quadratic time: a few hundred kilobytes of them would take minutes.
"""

JOINER = "\u034f"

_LONG_MARK_RUN = re.compile(f"[\u0300-\U0010ffff]{{{MAX_COMBINING_MARKS + 1},}}")


def to_nfc(text: str) -> str:
    """Return the text in composed form; texts that differ in more than joiners stay different."""
    return text if text.isascii() else unicodedata.normalize("NFC", to_stream_safe(text))


def to_stream_safe(text: str) -> str:
    """Return the text with a joiner in every run of marks longer than any script has."""
    return _LONG_MARK_RUN.sub(lambda run: _insert_joiners(run[0]), text)


def _insert_joiners(run: str) -> str:
    if not any(map(unicodedata.combining, run)):
        return run
    parts: list[str] = []
    marks = 0
    for character in run:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MAX_COMBINING_MARKS:
            parts.append(JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)
