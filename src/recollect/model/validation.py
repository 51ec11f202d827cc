"""What a value may be: the checks every noun shares, each naming the field, the value and the remedy."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from recollect.errors import FieldError, show

Call = TypeVar("Call", bound=Callable[..., object])

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
LONGEST_ID = 256
LONGEST_TEXT = 1_048_576
"""How many bytes (UTF-8) a memory's text may have."""

LONGEST_TITLE = 512
LONGEST_LINE = 256 * 1024**2
"""How many characters a line of an export may have: a memory with a hundred thousand revisions, or a million uses."""

LARGEST_COUNT = 2**53
"""Above this, neighbouring counts are the same number to every engine that computes in floats."""

FARTHEST_DAYS = 1e7
"""More days than lie between any two dates, even if each counts twice."""

LARGEST_COMMIT = 2**48
"""How many commits a store may say it has taken in elsewhere: the rest of the counts are for those to come."""

MOST_AHEAD = timedelta(days=1)
"""How far ahead of the clock the last commit of a store may be and still be followed; beyond, that one was wrong."""

LARGEST_LIMIT = 2**63 - 1
"""More than anybody has of anything, and few enough digits to be written down in the trace of a context."""

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters without a shape: two ids that differ in them look the same."""

_SHAPELESS = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2800\U00016fe4\U0001d159]"  # these three are blanks that Unicode counts as shapes
)
"""Characters of other categories that show nothing: joiners, fillers, selectors of variants, tags (which Unicode calls
Default_Ignorable_Code_Point, and Python has no table of)."""

_NOT_KEPT = re.compile("[\0\ud800-\udfff]")

_AWARE = "give an aware datetime, such as datetime(2026, 1, 31, 9, tzinfo=UTC)"

COSINE_ROUNDING = 1e-6
"""How far a cosine may lie outside -1..1 before it is an error and not rounding."""

LENGTH_ROUNDING = 1e-3
"""How far the square of a direction's length may be from 1 before it is an error and not rounding."""

MOST_KNOWN = 32
"""How many memories that have to do with a draft are looked at before it is judged."""

BUSY_TIMEOUT = 30.0
"""For how many seconds others are waited for who write, unless it is said."""

CACHE_BYTES = 2 * 1024**3
"""How many bytes of what was read are kept for the next time, unless it is said."""

IN_MEMORY = ":memory:"
"""What is given in the place of a path for a store that leaves nothing on the disk."""

_WHAT_TO_SAY = {
    "task": "say what the task is",
    "plan": "say what is planned, or leave that step out",
    "type": "say in a word what was done",
    "lessons": "say what it taught, or leave it out",
    "failure_modes": "say what went wrong, or leave it out",
}
"""What is to be said in fields that are no text of a memory."""


def an_id(field: str, value: str) -> str:
    """The id; refused if it is empty, endless, or has characters that no eye can see."""
    a_text(field, value)
    if not value or value != value.strip():
        raise FieldError(f"{show(value)} is empty or padded; give an id without blanks", field=field)
    if len(value) > LONGEST_ID:
        raise FieldError(f"an id of {len(value)} characters; at most {LONGEST_ID} are allowed", field=field)
    odd = unseen(value)
    if odd is not None:
        what = "control, invisible or broken characters"
        raise FieldError(f"{show(value)} has {what} ({code_point(odd)}); leave them out", field=field)
    return value


def unseen(text: str) -> str | None:
    """The first character that no eye can see; none in most texts."""
    if text.isascii() and text.isprintable():  # which most are, and sooner told
        return None
    return next((one for one in text if unicodedata.category(one) in UNSEEN or _SHAPELESS.match(one)), None)


def code_point(character: str) -> str:
    """The character by its number, as Unicode's charts have it."""
    return f"U+{ord(character):04X}"


def unique_ids(ids: Sequence[str]) -> None:
    """Refuse an id that is there twice."""
    if len(set(ids)) != len(ids):
        twice, _ = Counter(ids).most_common(1)[0]
        raise FieldError(f"{show(twice)} is there twice; an id names one memory", field="id")


def a_text(field: str, value: str) -> str:
    """The text; refused if it is none. Whoever gives a thing that has an id is told to give that."""
    if not isinstance(value, str):
        raise FieldError(_no_text(value), field=field)
    return value


def _no_text(value: object) -> str:
    if not hasattr(value, "id"):
        return f"{show(value)} is no text"
    what = type(value).__name__
    return f"is {'an' if what[0] in 'AEIOU' else 'a'} {what}; give its id (….id)"


def a_clean_text(field: str, value: str) -> str:
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


def can_be_kept(value: str) -> bool:
    """Whether a store could have the text; what it could not, nobody needs to look for."""
    return _NOT_KEPT.search(value) is None


def a_content(field: str, value: str) -> str:
    """The text of a memory; refused if it says nothing, cannot be kept, or is endless."""
    a_clean_text(field, value)
    if not value or value.isspace():
        raise FieldError(f"is blank; {_WHAT_TO_SAY.get(field, 'a memory says something')}", field=field)
    if len(value) > LONGEST_TEXT // 4 and len(value.encode()) > LONGEST_TEXT:
        raise FieldError(f"{len(value)} characters; at most {LONGEST_TEXT} bytes fit, so split it", field=field)
    return value


def a_sum(field: str, values: Sequence[str]) -> Sequence[str]:
    """The texts; refused if they are longer together than one may be."""
    length = sum(len(one.encode()) for one in values)
    if length > LONGEST_TEXT:
        told = f"{length} bytes together; at most {LONGEST_TEXT} fit, so quote what matters"
        raise FieldError(told, field=field)
    return values


def a_line(field: str, value: str) -> str:
    """A short text such as a title."""
    a_content(field, value)
    if len(value) > LONGEST_TITLE:
        raise FieldError(f"{len(value)} characters; at most {LONGEST_TITLE} are allowed", field=field)
    return value


def several(field: str, value: Iterable[Any]) -> tuple[Any, ...]:
    """What is given, one after the other; refused if it is one text, a mapping, or nothing that has parts."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise FieldError(f"{show(value)} is no list; give several in a list, also if it is one", field=field)
    return tuple(value)


def a_path(field: str, value: Any) -> str:
    """The path as a text; refused if it is none."""
    fspath = getattr(type(value), "__fspath__", None)
    path = value if fspath is None else fspath(value)
    if not isinstance(path, str):
        raise FieldError(f"{show(value)} is no path; give a text or a pathlib.Path", field=field)
    return path


def a_callable(field: str, value: Call) -> Call:
    """What can be called; anything else is refused."""
    if not callable(value):
        raise FieldError(f"{show(value)} cannot be called; give a function", field=field)
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


def an_outcome(field: str, value: float) -> float:
    """How a task went; refused outside 0..1."""
    try:
        return a_share(field, value)
    except FieldError as error:
        told = f"{show(value)} is no outcome; give a number from 0 (it failed) to 1"
        raise FieldError(told, field=field) from error


def a_cosine(field: str, value: float) -> float:
    """The number; refused outside -1..1, but for rounding."""
    number = a_number(field, value)
    if not abs(number) <= 1.0 + COSINE_ROUNDING:
        raise FieldError(f"{show(value)} is not a cosine, which lies within -1..1", field=field)
    return number


def a_distance(field: str, value: float) -> float:
    """The number of days; refused below zero, or beyond all that there are."""
    number = a_number(field, value)
    if not 0.0 <= number <= FARTHEST_DAYS:
        raise FieldError(f"{show(value)} is not within 0..{FARTHEST_DAYS:g} days", field=field)
    return number


def a_count(field: str, value: int) -> int:
    """The count; refused below zero or too large to be told from its neighbours."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{show(value)} is no whole number", field=field)
    if not 0 <= value <= LARGEST_COUNT:
        raise FieldError(f"{show(value)} is not a count within 0..2**53", field=field)
    return value


def a_time_to_hold(valid_from: datetime | None, valid_until: datetime | None) -> None:
    """Refuses what would not hold for a moment."""
    if valid_from is not None and valid_until is not None and valid_until <= valid_from:
        begins = f"{valid_from.isoformat()}, from when it holds"
        raise FieldError(f"{valid_until.isoformat()} is not after {begins}", field="valid_until")


def a_limit(field: str, value: int) -> int:
    """How many are kept at most; refused if that is no whole number, none would be, or there is no end to them."""
    if type(value) is not int or value < 1:
        raise FieldError(f"{show(value)} keeps nothing; give a whole number of at least 1", field=field)
    if value > LARGEST_LIMIT:
        raise FieldError(f"{show(value)} is no limit; give a whole number below 2**63", field=field)
    return value


def a_moment(field: str, value: datetime) -> datetime:
    """The moment in UTC; refused without a time zone, before 1900 and from 2200 on."""
    if not isinstance(value, datetime):
        raise FieldError(f"{show(value)} is no moment; {_AWARE}", field=field)
    if value.utcoffset() is None:
        raise FieldError(f"{value.isoformat()} has no time zone; {_AWARE}", field=field)
    if not EARLIEST <= value < LATEST:
        raise FieldError(f"{value.isoformat()} is not within 1900..2199", field=field)
    return value.astimezone(UTC)


def day_begun(written: str) -> str:
    """The moment that a day and nothing else stands for, as 2026-10-01 for its beginning in UTC; or what is written."""
    try:
        is_day = date.fromisoformat(written).isoformat() == written
    except ValueError:
        return written
    return f"{written}T00:00Z" if is_day else written


def a_vector(field: str, value: Iterable[float]) -> tuple[float, ...]:
    """The vector as a tuple of floats; refused without dimensions or with a part that is no finite number."""
    tolist = getattr(value, "tolist", None)
    given: Any = value if tolist is None else tolist()  # an array of NumPy
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise FieldError(f"{show(given)} is no list of numbers", field=field)
    parts = tuple(given)
    if set(map(type, parts)) == {float} and math.isfinite(sum(parts)):  # which is none if any part is none
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
