"""Fields: what a value in somebody else's file is to us: a label, a moment, tags, metadata."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.format import describe_future
from recollect.model.memory import MAX_LIST_ITEMS, require_metadata

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MIN_MILLISECONDS = 1e11
"""From here on a number is of milliseconds: as seconds it would be after the year 5000, as milliseconds it is 1973."""

MAX_NUMERIC_ID = 10**20
"""Numbers below are taken for an id that somebody did not write as a text."""

_UNIX_TIME = re.compile(r"\d{9,10}(?:\.\d{1,9})?|\d{12,13}", re.ASCII)
"""A moment of Unix that is written as a text."""


def find_first_field(record: Mapping[str, Any], names: Iterable[str]) -> tuple[str, Any]:
    """The first of these fields that says something, with its name; else the first name, and nothing."""
    fields = list(names)
    return next(((name, record[name]) for name in fields if record.get(name) not in (None, "")), (fields[0], None))


def require_object(value: Any) -> Mapping[str, Any]:
    """The value as an object with fields; refused if it is none."""
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is no JSON object")
    return value


def require_list(field: str, value: Any) -> list[Any]:
    """The value as a list; refused if it is none."""
    if not isinstance(value, list):
        raise FieldError(f"{show(value)} is no list", field=field)
    return value


def read_label(field: str, value: Any) -> str | None:
    """A name or an id as we can keep it: without characters that no eye can see; nothing if nothing is left."""
    if value is None:
        return None
    text = validation.require_text(field, _number_to_text(value))
    if len(text) > 4 * validation.MAX_ID_CHARS:
        raise FieldError(f"{len(text)} characters; at most {validation.MAX_ID_CHARS} are allowed", field=field)
    label = " ".join(text.split())
    if validation.find_invisible_character(label) is not None:
        label = " ".join("".join(one for one in label if validation.find_invisible_character(one) is None).split())
    return validation.require_id(field, label) if label else None


def _number_to_text(value: Any) -> Any:
    """A number that somebody has for an id as a text; anything else as it is."""
    return str(value) if type(value) is int and abs(value) < MAX_NUMERIC_ID else value


def read_tags(value: Any, assumed: Counter[str]) -> tuple[str, ...]:
    """The labels of a list, as many as a memory may have; what is none is left out, and counted."""
    if value is None:
        return ()
    found: dict[str, None] = {}
    for one in value if isinstance(value, list) else [value]:
        try:
            label = read_label("tags", one)
        except FieldError:
            label = None
        if label is None or (label not in found and len(found) == MAX_LIST_ITEMS):
            assumed["tags that cannot be kept were left out"] += 1
        else:
            found[label] = None
    return tuple(found)


def read_metadata(value: Mapping[str, Any], assumed: Counter[str]) -> Mapping[str, Any] | None:
    """The metadata, if it can be kept; the text is worth having without, so else it is left out, and counted."""
    try:
        return require_metadata("metadata", value) or None
    except FieldError:
        assumed["metadata that is too long, too deep or broken was left out"] += 1
        return None


def read_datetime(field: str, value: Any, now: datetime, assumed: Counter[str]) -> datetime | None:
    """When it was: ISO, or seconds or milliseconds of Unix; UTC is assumed, and counted, where no zone is given."""
    if value is None or value == "":
        return None
    moment = _parse_datetime(field, value)
    if moment.utcoffset() is None:
        assumed["dates without a time zone are taken as UTC"] += 1
        moment = moment.replace(tzinfo=UTC)
    moment = validation.require_moment(field, moment)
    if moment > now:
        raise FieldError(describe_future(moment, now), field=field)
    return moment


def read_end(field: str, value: Any, assumed: Counter[str]) -> datetime | None:
    """Until when it holds, which may be to come."""
    return read_datetime(field, value, validation.LATEST_DATETIME, assumed)


def _parse_datetime(field: str, value: Any) -> datetime:
    if isinstance(value, str):
        if len(value) <= validation.MAX_ID_CHARS and _UNIX_TIME.fullmatch(value.strip()):
            return _from_unix_time(field, float(value))
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError as error:
            known = "ISO 8601, as 2026-01-31T09:00:00Z, and seconds or milliseconds of Unix are read"
            raise FieldError(f"{show(value)} is no date; {known}", field=field) from error
    return _from_unix_time(field, validation.require_number(field, value))


def _from_unix_time(field: str, number: float) -> datetime:
    seconds = number / 1000 if abs(number) >= MIN_MILLISECONDS else number
    try:
        return UNIX_EPOCH + timedelta(seconds=seconds)
    except OverflowError as error:
        raise FieldError(f"{show(number)} is not within 1900..2199", field=field) from error
