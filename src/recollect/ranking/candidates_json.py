"""Read candidates from JSON lines."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from recollect.errors import FieldError, ScopeError, show, suggest
from recollect.model import validation
from recollect.model.candidate import COUNT_FIELDS, DATE_FIELDS, FRACTION_FIELDS, LABEL_FIELDS, LINK_FIELD, Candidate
from recollect.model.enums import Kind, parse_choice
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope


def read_candidates(lines: Iterable[bytes]) -> list[Candidate]:
    """Read one candidate per line; blank lines are skipped, errors name line, field and value."""
    candidates: list[Candidate] = []
    seen: dict[MemoryId, int] = {}
    dimensions = 0
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            if not text:
                continue
            candidate = read_candidate(parse_json_object(text))
        except UnicodeDecodeError as error:
            raise FieldError(f"this is not UTF-8: {error.reason}", line=number) from error
        except FieldError as error:
            raise error.at_line(number) from error
        if candidate.id in seen:
            raise FieldError(
                f"{candidate.id!r} is already on line {seen[candidate.id]}; give each memory its own id",
                field="id",
                line=number,
            )
        if candidate.vector is not None and dimensions not in (0, len(candidate.vector)):
            raise FieldError(
                f"has {len(candidate.vector)} dimensions, but earlier lines have {dimensions}",
                field="vector",
                line=number,
            )
        dimensions = dimensions or len(candidate.vector or ())
        seen[candidate.id] = number
        candidates.append(candidate)
    return candidates


def read_candidate(record: Mapping[str, Any]) -> Candidate:
    """Read one candidate from a mapping of the same shape; `None` means unknown."""
    if not isinstance(record, Mapping):
        raise FieldError(f"{show(record)} is neither a candidate nor a mapping with its fields")
    for key in record:
        if key not in FIELD_READERS:
            raise FieldError(f"unknown field; {suggest(str(key), FIELD_READERS)}", field=show(key).strip("'"))
    if record.get("id") is None:
        raise FieldError("is missing; every candidate has an id", field="id")
    values = {key: FIELD_READERS[key](key, value) for key, value in record.items() if value is not None}
    shown: dict[str, Any] = {key: values.pop(key) for key in ("text", "title", "pinned") if key in values}
    return Candidate(**values, memory=_build_memory(values, shown) if shown else None)


def parse_datetime(field: str, value: object) -> datetime:
    """Parse an ISO 8601 text into an aware datetime; a Python caller may pass a datetime."""
    text = value
    if isinstance(text, str):
        try:
            value = datetime.fromisoformat(text)
        except ValueError as error:
            raise FieldError(
                f"{show(text)} is not a date; write ISO 8601, such as 2026-01-31T09:00:00+00:00", field=field
            ) from error
        if value.utcoffset() is None:
            raise FieldError(
                f"{show(text)} has no time zone; add an offset, such as {value.isoformat()}+00:00",
                field=field,
            )
    if not isinstance(value, datetime):
        raise FieldError(f"{show(value)} is not a date; write an ISO 8601 string", field=field)
    return validation.require_moment(field, value)


def parse_json_object(text: str) -> dict[str, Any]:
    """Parse one JSON object; anything else, or a duplicate key, is refused."""
    try:
        record = json.loads(text, object_pairs_hook=_refuse_duplicate_keys)
    except FieldError:
        raise
    except (ValueError, RecursionError) as error:
        raise FieldError(f"this is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise FieldError(f"{show(record)} is not a JSON object; write one object per line")
    return record


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise FieldError("occurs twice in one object; write each key once", field=key)
        record[key] = value
    return record


def _build_memory(values: Mapping[str, Any], shown: Mapping[str, Any]) -> Memory:
    """Build the memory to show for a candidate that has a text."""
    if "text" not in shown:
        raise FieldError("is missing; a candidate with a title or a pin needs a text", field="text")
    if "created_at" not in values:
        raise FieldError("is missing; a candidate with a text needs a date", field="created_at")
    kind = values.get("kind", Kind.OBSERVATION)
    labels = {name: values[name] for name in ("scope", *LABEL_FIELDS) if name in values}
    return Memory(
        id=values["id"], created_at=values["created_at"], kind=kind, **{"scope": CALLER_SCOPE, **labels, **shown}
    )


def _read_kind(field: str, value: str) -> Kind:
    return parse_choice(field, validation.require_text(field, value), Kind)


def _read_scope(field: str, value: str) -> Scope:
    try:
        return as_scope(value)
    except ScopeError as error:
        raise FieldError(str(error), field=field) from error


CALLER_SCOPE = Scope(("caller",))
"""The scope of a candidate that has a text but no scope."""

FIELD_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "id": validation.require_id,
    "kind": _read_kind,
    "similarity": validation.require_cosine,
    "days_off": validation.require_days_off,
    **dict.fromkeys((*LABEL_FIELDS, LINK_FIELD), validation.require_id),
    **dict.fromkeys(FRACTION_FIELDS, validation.require_fraction),
    **dict.fromkeys(COUNT_FIELDS, validation.require_count),
    **dict.fromkeys(DATE_FIELDS, parse_datetime),
    "vector": validation.require_vector,
    "text": validation.require_text,
    "title": validation.require_text,
    "pinned": validation.require_flag,
    "scope": _read_scope,
}
"""The reader of each field of a candidate in JSON."""
