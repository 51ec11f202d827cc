"""What a value may be: the checks every noun shares, each naming the field, the value and the remedy.

Copies of frozen values, made without checking again what was checked when the first was made.

The composed form of a text (NFC), in time that grows with the text and no faster.
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
"""How many characters a line of an export may have: a memory with a hundred thousand revisions, or a million uses."""

MAX_COUNT = 2**53
"""Above this, neighbouring counts are the same number to every engine that computes in floats."""

MAX_DAYS_OFF = 1e7
"""More days than lie between any two dates, even if each counts twice."""

MAX_COMMIT = 2**48
"""How many commits a store may say it has taken in elsewhere: the rest of the counts are for those to come."""

MAX_CLOCK_LEAD = timedelta(days=1)
"""How far ahead of the clock the last commit of a store may be and still be followed; beyond, that one was wrong."""

MAX_LIMIT = 2**63 - 1
"""More than anybody has of anything, and few enough digits to be written down in the trace of a context."""

INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters without a shape: two ids that differ in them look the same."""

_INVISIBLE_CHARACTER = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2800\U00016fe4\U0001d159]"  # these three are blanks that Unicode counts as shapes
)
"""Characters of other categories that show nothing: joiners, fillers, selectors of variants, tags (which Unicode calls
Default_Ignorable_Code_Point, and Python has no table of)."""

_UNSTORABLE_CHARACTER = re.compile("[\0\ud800-\udfff]")

_DATETIME_REMEDY = "give an aware datetime, such as datetime(2026, 1, 31, 9, tzinfo=UTC)"

COSINE_ROUNDING = 1e-6
"""How far a cosine may lie outside -1..1 before it is an error and not rounding."""

NORM_ROUNDING = 1e-3
"""How far the square of a direction's length may be from 1 before it is an error and not rounding."""

MAX_NEIGHBORS = 32
"""How many memories that have to do with a draft are looked at before it is judged."""

BUSY_TIMEOUT_SECONDS = 30.0
"""For how many seconds others are waited for who write, unless it is said."""

CACHE_BYTES = 2 * 1024**3
"""How many bytes of what was read are kept for the next time, unless it is said."""

IN_MEMORY_TARGET = ":memory:"
"""What is given in the place of a path for a store that leaves nothing on the disk."""

_BLANK_REMEDIES = {
    "task": "say what the task is",
    "plan": "say what is planned, or leave that step out",
    "type": "say in a word what was done",
    "lessons": "say what it taught, or leave it out",
    "failure_modes": "say what went wrong, or leave it out",
}
"""What is to be said in fields that are no text of a memory."""


def require_id(field: str, value: str) -> str:
    """The id; refused if it is empty, endless, or has characters that no eye can see."""
    require_text(field, value)
    if not value or value != value.strip():
        raise FieldError(f"{show(value)} is empty or padded; give an id without blanks", field=field)
    if len(value) > MAX_ID_CHARS:
        raise FieldError(f"an id of {len(value)} characters; at most {MAX_ID_CHARS} are allowed", field=field)
    odd = find_invisible_character(value)
    if odd is not None:
        what = "control, invisible or broken characters"
        raise FieldError(f"{show(value)} has {what} ({format_code_point(odd)}); leave them out", field=field)
    return value


def find_invisible_character(text: str) -> str | None:
    """The first character that no eye can see; none in most texts."""
    if text.isascii() and text.isprintable():  # which most are, and sooner told
        return None
    return next(
        (one for one in text if unicodedata.category(one) in INVISIBLE_CATEGORIES or _INVISIBLE_CHARACTER.match(one)),
        None,
    )


def format_code_point(character: str) -> str:
    """The character by its number, as Unicode's charts have it."""
    return f"U+{ord(character):04X}"


def require_unique_ids(ids: Sequence[str]) -> None:
    """Refuse an id that is there twice."""
    if len(set(ids)) != len(ids):
        twice, _ = Counter(ids).most_common(1)[0]
        raise FieldError(f"{show(twice)} is there twice; an id names one memory", field="id")


def require_text(field: str, value: str) -> str:
    """The text; refused if it is none. Whoever gives a thing that has an id is told to give that."""
    if not isinstance(value, str):
        raise FieldError(_describe_non_text(value), field=field)
    return value


def _describe_non_text(value: object) -> str:
    if not hasattr(value, "id"):
        return f"{show(value)} is no text"
    what = type(value).__name__
    return f"is {'an' if what[0] in 'AEIOU' else 'a'} {what}; give its id (….id)"


def require_clean_text(field: str, value: str) -> str:
    """The text; refused with NUL or half a character (a lone surrogate) in it, which no store could keep."""
    if not isinstance(value, str):
        raise FieldError(f"{show(value)} is no text", field=field)
    if "\0" in value:
        raise FieldError("has a NUL character; remove it", field=field)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FieldError(f"has half a character at {error.start}; send whole Unicode", field=field) from error
    return value


def is_storable(value: str) -> bool:
    """Whether a store could have the text; what it could not, nobody needs to look for."""
    return _UNSTORABLE_CHARACTER.search(value) is None


def require_content(field: str, value: str) -> str:
    """The text of a memory; refused if it says nothing, cannot be kept, or is endless."""
    require_clean_text(field, value)
    if not value or value.isspace():
        raise FieldError(f"is blank; {_BLANK_REMEDIES.get(field, 'a memory says something')}", field=field)
    if len(value) > MAX_TEXT_BYTES // 4 and len(value.encode()) > MAX_TEXT_BYTES:
        raise FieldError(f"{len(value)} characters; at most {MAX_TEXT_BYTES} bytes fit, so split it", field=field)
    return value


def require_total_length(field: str, values: Sequence[str]) -> Sequence[str]:
    """The texts; refused if they are longer together than one may be."""
    length = sum(len(one.encode()) for one in values)
    if length > MAX_TEXT_BYTES:
        told = f"{length} bytes together; at most {MAX_TEXT_BYTES} fit, so quote what matters"
        raise FieldError(told, field=field)
    return values


def require_line(field: str, value: str) -> str:
    """A short text such as a title."""
    require_content(field, value)
    if len(value) > MAX_TITLE_CHARS:
        raise FieldError(f"{len(value)} characters; at most {MAX_TITLE_CHARS} are allowed", field=field)
    return value


def require_several(field: str, value: Iterable[Any]) -> tuple[Any, ...]:
    """What is given, one after the other; refused if it is one text, a mapping, or nothing that has parts."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise FieldError(f"{show(value)} is no list; give several in a list, also if it is one", field=field)
    return tuple(value)


def require_path(field: str, value: Any) -> str:
    """The path as a text; refused if it is none."""
    fspath = getattr(type(value), "__fspath__", None)
    path = value if fspath is None else fspath(value)
    if not isinstance(path, str):
        raise FieldError(f"{show(value)} is no path; give a text or a pathlib.Path", field=field)
    return path


def require_callable(field: str, value: CallableT) -> CallableT:
    """What can be called; anything else is refused."""
    if not callable(value):
        raise FieldError(f"{show(value)} cannot be called; give a function", field=field)
    return value


def require_flag(field: str, value: bool) -> bool:
    """True or false; anything else is refused."""
    if not isinstance(value, bool):
        raise FieldError(f"{show(value)} is neither true nor false", field=field)
    return value


def require_number(field: str, value: float) -> float:
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


def require_fraction(field: str, value: float) -> float:
    """The number; refused outside 0..1."""
    number = require_number(field, value)
    if not 0.0 <= number <= 1.0:
        raise FieldError(f"{show(value)} is not within 0..1", field=field)
    return number


def require_outcome(field: str, value: float) -> float:
    """How a task went; refused outside 0..1."""
    try:
        return require_fraction(field, value)
    except FieldError as error:
        told = f"{show(value)} is no outcome; give a number from 0 (it failed) to 1"
        raise FieldError(told, field=field) from error


def require_cosine(field: str, value: float) -> float:
    """The number; refused outside -1..1, but for rounding."""
    number = require_number(field, value)
    if not abs(number) <= 1.0 + COSINE_ROUNDING:
        raise FieldError(f"{show(value)} is not a cosine, which lies within -1..1", field=field)
    return number


def require_days_off(field: str, value: float) -> float:
    """The number of days; refused below zero, or beyond all that there are."""
    number = require_number(field, value)
    if not 0.0 <= number <= MAX_DAYS_OFF:
        raise FieldError(f"{show(value)} is not within 0..{MAX_DAYS_OFF:g} days", field=field)
    return number


def require_count(field: str, value: int) -> int:
    """The count; refused below zero or too large to be told from its neighbours."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is no whole number", field=field)
    if not 0 <= value <= MAX_COUNT:
        raise FieldError(f"{show(value)} is not a count within 0..2**53", field=field)
    return value


def require_validity_period(valid_from: datetime | None, valid_until: datetime | None) -> None:
    """Refuses what would not hold for a moment."""
    if valid_from is not None and valid_until is not None and valid_until <= valid_from:
        begins = f"{valid_from.isoformat()}, from when it holds"
        raise FieldError(f"{valid_until.isoformat()} is not after {begins}", field="valid_until")


def require_limit(field: str, value: int) -> int:
    """How many are kept at most; refused if that is no whole number, none would be, or there is no end to them."""
    if type(value) is not int or value < 1:
        raise FieldError(f"{show(value)} keeps nothing; give a whole number of at least 1", field=field)
    if value > MAX_LIMIT:
        raise FieldError(f"{show(value)} is no limit; give a whole number below 2**63", field=field)
    return value


def require_moment(field: str, value: datetime) -> datetime:
    """The moment in UTC; refused without a time zone, before 1900 and from 2200 on."""
    if not isinstance(value, datetime):
        raise FieldError(f"{show(value)} is no moment; {_DATETIME_REMEDY}", field=field)
    if value.utcoffset() is None:
        raise FieldError(f"{value.isoformat()} has no time zone; {_DATETIME_REMEDY}", field=field)
    if not EARLIEST_DATETIME <= value < LATEST_DATETIME:
        raise FieldError(f"{value.isoformat()} is not within 1900..2199", field=field)
    return value.astimezone(UTC)


def expand_day(written: str) -> str:
    """The moment that a day and nothing else stands for, as 2026-10-01 for its beginning in UTC; or what is written."""
    try:
        is_day = date.fromisoformat(written).isoformat() == written
    except ValueError:
        return written
    return f"{written}T00:00Z" if is_day else written


def require_vector(field: str, value: Iterable[float]) -> tuple[float, ...]:
    """The vector as a tuple of floats; refused without dimensions or with a part that is no finite number."""
    tolist = getattr(value, "tolist", None)
    given: Any = value if tolist is None else tolist()  # an array of NumPy
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise FieldError(f"{show(given)} is no list of numbers", field=field)
    parts = tuple(given)
    if set(map(type, parts)) == {float} and math.isfinite(sum(parts)):  # which is none if any part is none
        return parts
    vector = tuple(require_number(field, part) for part in parts)
    if not vector:
        raise FieldError("a vector needs at least one number", field=field)
    return vector


def require_same_dimensions(vectors: Iterable[tuple[str, tuple[float, ...] | None]]) -> None:
    """Refuse vectors of different lengths, each given with the id it belongs to."""
    dimensions = 0
    for id, vector in vectors:
        if vector is not None:
            dimensions = dimensions or len(vector)
            if len(vector) != dimensions:
                raise FieldError(f"{show(id)} has {len(vector)} dimensions, others {dimensions}", field="vector")


FrozenT = TypeVar("FrozenT")


def copy_with(value: FrozenT, **changes: Any) -> FrozenT:
    """The same value with some of its fields changed; whoever asks vouches for those."""
    kind = type(value)
    found: FrozenT = object.__new__(kind)
    for name in kind.__slots__:  # type: ignore[attr-defined]
        object.__setattr__(found, name, changes[name] if name in changes else getattr(value, name))
    return found


MAX_COMBINING_MARKS = 30
"""After so many marks in a row a joiner is put, as Unicode's stream-safe text has it (annex 15); no script needs more.

Marks are sorted when a text is composed, and that takes quadratic time: a few hundred kilobytes of them, minutes.
"""

JOINER = "\u034f"

_LONG_MARK_RUN = re.compile(f"[\u0300-\U0010ffff]{{{MAX_COMBINING_MARKS + 1},}}")


def to_nfc(text: str) -> str:
    """The text in its composed form; no two texts that differ in more than joiners become the same."""
    return text if text.isascii() else unicodedata.normalize("NFC", to_stream_safe(text))


def to_stream_safe(text: str) -> str:
    """The text with a joiner in every run of marks that is longer than any script has."""
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
