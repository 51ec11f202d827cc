"""Encode and read the fields of an export; an error names the invalid field.

The second half encodes and reads the records of contexts.
"""

import base64
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime
from enum import Enum
from typing import Any

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import redact_text
from recollect.engine.recall import read_formula
from recollect.errors import FieldError, ProfileError, show
from recollect.model import validation
from recollect.model.context import ContextRecipe, ContextRecord, OmittedEntry, PackedEntry
from recollect.model.encoder import Encoder
from recollect.model.enums import PLAIN_LEVEL_NAME, Kind, parse_choice, parse_level
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.packing.prompt import MARKER_PATTERN
from recollect.retrieval.query import MAX_PHRASINGS


def field_names(kind: Any) -> list[str]:
    """Return the field names of a dataclass."""
    return [one.name for one in fields(kind)]


def require_fields(value: Any, names: Collection[str]) -> dict[str, Any]:
    """Return the mapping unchanged, or raise FieldError unless it has exactly these fields."""
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is not a mapping of {', '.join(sorted(names))}")
    unknown = next((name for name in value if name not in names), None)
    if unknown is not None:
        raise FieldError(
            "is unknown: the export was written by a newer recollect, or changed; upgrade recollect", field=unknown
        )
    missing = next((name for name in sorted(names) if name not in value), None)
    if missing is not None:
        raise FieldError("is missing; the file was changed", field=missing)
    return value


def decode_vector(field: str, text: str, dimensions: int, *, most: int = 1) -> bytes:
    """Decode up to `most` concatenated unit vectors from base64 to bytes."""
    import numpy as np

    try:
        data = base64.b64decode(validation.require_text(field, text), validate=True)
    except ValueError as error:
        raise FieldError(f"{show(text)} is not base64", field=field) from error
    count, rest = divmod(len(data), 4 * dimensions)
    if rest or not 1 <= count <= most:
        raise FieldError(f"has {len(data)} bytes; {dimensions} dimensions need {4 * dimensions}", field=field)
    parts = np.frombuffer(data, dtype="<f4").astype(np.float64).reshape(count, dimensions)
    if not (abs((parts * parts).sum(axis=1) - 1.0) <= validation.NORM_ROUNDING).all():
        raise FieldError("does not have length 1", field=field)
    return data


def to_json(value: Any) -> Any:
    """Convert a field value to a JSON value."""
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
    """Format a datetime as ISO 8601."""
    return moment.isoformat()


def format_optional_time(moment: datetime | None) -> str | None:
    """Format a datetime as ISO 8601; None stays None."""
    return None if moment is None else format_time(moment)


def parse_time(field: str, text: str) -> datetime:
    """Parse an ISO 8601 datetime."""
    return validation.require_moment(field, datetime.fromisoformat(text))


def parse_optional_time(field: str, text: str | None) -> datetime | None:
    """Parse an ISO 8601 datetime; None stays None."""
    return None if text is None else parse_time(field, text)


def require_commit(value: Any, *, least: int = 1) -> int:
    """Return the commit number unchanged, or raise FieldError."""
    if not least <= validation.require_count("commit", value) <= validation.MAX_COMMIT:
        raise FieldError(f"{show(value)} is not a commit number", field="commit")
    return int(value)


_CONTEXT_DEFAULTS: Mapping[str, Any] = {"past": False, "levels": [], "making": None, "elsewhere": False}
"""Values of fields that older exports lack."""

_OMITTED_DEFAULTS = ("making", "elsewhere")
_SHA256_HEX = re.compile(r"[0-9a-f]{64}")


def encode_context(record: ContextRecord) -> dict[str, Any]:
    """Encode a context record as the value of an export line."""
    values = asdict(record) | {"scope": str(record.scope)}
    defaults = {name for name in _OMITTED_DEFAULTS if values[name] == _CONTEXT_DEFAULTS[name]}
    return {"context": {name: to_json(value) for name, value in values.items() if name not in defaults}}


def read_context(value: Any) -> ContextRecord:
    """Read a context record from the value of an export line."""
    item = {
        **_CONTEXT_DEFAULTS,
        **require_fields(value, {*value} & {*_CONTEXT_DEFAULTS} | {*field_names(ContextRecord)} - {*_CONTEXT_DEFAULTS}),
    }
    record = ContextRecord(
        id=validation.require_id("context", item["id"]),
        scope=Scope.parse(item["scope"]),
        made_at=parse_time("made_at", item["made_at"]),
        at=parse_time("at", item["at"]),
        commit=require_commit(item["commit"], least=0),
        known_at=parse_optional_time("known_at", item["known_at"]),
        question=tuple(
            validation.require_content("question", turn)
            for turn in validation.require_list("question", item["question"])
        ),
        kinds=tuple(
            parse_choice("kinds", kind, Kind).value for kind in validation.require_list("kinds", item["kinds"])
        ),
        packed=tuple(_read_packed_item(one) for one in validation.require_list("packed", item["packed"])),
        omitted=tuple(_read_omitted_item(one) for one in validation.require_list("omitted", item["omitted"])),
        excluded=_read_counts("excluded", item["excluded"]),
        past=validation.require_flag("past", item["past"]),
        levels=tuple(
            str(parse_level("levels", level) or PLAIN_LEVEL_NAME)
            for level in validation.require_list("levels", item["levels"])
        ),
        elsewhere=validation.require_flag("elsewhere", item["elsewhere"]),
        profile=validation.require_clean_text("profile", item["profile"]),
        version=validation.require_clean_text("version", item["version"]),
        formula=_read_formula(item["formula"]),
        tokens=_read_tokens("tokens", item["tokens"]),
        budget=validation.require_limit("budget", item["budget"]),
        depth=validation.require_limit("depth", item["depth"]),
        marker=_read_marker(item["marker"]),
    )
    return record if item["making"] is None else replace(record, making=_read_recipe(item["making"], record))


def screen_context(record: ContextRecord, policy: SecretsPolicy, reworded: Collection[MemoryId]) -> ContextRecord:
    """Return the context without secrets in its query.

    The checksum of its text is dropped if a packed memory was redacted. Queries are redacted, never refused.
    """
    question = tuple(redact_text(turn, policy) for turn in record.question)
    if record.making is not None and question != record.question:
        record = replace(record, making=replace(record.making, directions=None))
    if record.making is not None and any(one.id in reworded for one in record.packed):
        record = replace(record, making=replace(record.making, text=None))
    return record if question == record.question else replace(record, question=question)


def _read_recipe(value: Any, record: ContextRecord) -> ContextRecipe:
    recipe = require_fields(value, field_names(ContextRecipe))
    counts = {name: validation.require_count(name, recipe[name]) for name in ("directed", "packed", "omitted")}
    if counts["packed"] < len(record.packed) or counts["omitted"] < len(record.omitted):
        raise FieldError("is smaller than the number of entries", field="packed")
    reserves = _require_mapping("reserves", recipe["reserves"])
    budget = Budget(
        record.budget,
        reserves={
            parse_choice("reserves", kind, Kind): _read_tokens("reserves", room) for kind, room in reserves.items()
        },
        items=recipe["items"],
        pinned_share=validation.require_fraction("pinned_share", recipe["pinned_share"]),
    )
    encoder = None if recipe["encoder"] is None else Encoder(**require_fields(recipe["encoder"], field_names(Encoder)))
    return ContextRecipe(
        present=validation.require_flag("present", recipe["present"]),
        reserves={kind.value: room for kind, room in budget.reserves.items()},
        items=budget.items,
        pinned_share=budget.pinned_share,
        counter=validation.require_clean_text("counter", recipe["counter"]),
        analyser=validation.require_id("analyser", recipe["analyser"]),
        naming=validation.require_id("naming", recipe["naming"]),
        encoder=encoder,
        directions=_read_vectors(recipe["directions"], encoder),
        text=_read_checksum(recipe["text"]),
        **counts,
    )


def _read_formula(value: Any) -> str:
    """Read the profile document of a context, even if this version cannot rank by it."""
    text = validation.require_clean_text("formula", value)
    try:
        read_formula(text)
    except ProfileError as error:
        raise FieldError(f"cannot be read: {error}; the file was changed", field="formula") from error
    return text


def _read_marker(value: Any) -> str:
    marker = validation.require_clean_text("marker", value)
    if not MARKER_PATTERN.fullmatch(marker):
        raise FieldError(f"{show(marker)} is not 16 to 64 digits of 0-9 and a-f", field="marker")
    return marker


def _read_tokens(field: str, value: Any) -> int:
    """Read a number of tokens: zero, or as many as a budget may have."""
    return 0 if type(value) is int and value == 0 else validation.require_limit(field, value)


def _read_vectors(value: Any, encoder: Encoder | None) -> str | None:
    if value is None:
        return None
    if encoder is None:
        raise FieldError("has vectors, but the encoder is missing", field="directions")
    decode_vector("directions", value, encoder.dimensions, most=MAX_PHRASINGS)
    return str(value)


def _read_checksum(value: Any) -> str | None:
    if value is not None and not (isinstance(value, str) and _SHA256_HEX.fullmatch(value)):
        raise FieldError(f"{show(value)} is not a SHA-256 checksum", field="text")
    return value


def _read_packed_item(value: Any) -> PackedEntry:
    entry = require_fields(value, field_names(PackedEntry))
    return PackedEntry(
        MemoryId(validation.require_id("id", entry["id"])), validation.require_number("score", entry["score"])
    )


def _read_omitted_item(value: Any) -> OmittedEntry:
    entry = require_fields(value, field_names(OmittedEntry))
    id, score = MemoryId(validation.require_id("id", entry["id"])), validation.require_number("score", entry["score"])
    return OmittedEntry(
        id, score, validation.require_line("reason", entry["reason"]), validation.require_count("cost", entry["cost"])
    )


def _read_counts(field: str, value: Any) -> Mapping[str, int]:
    counts = _require_mapping(field, value)
    return {
        validation.require_line(field, name): validation.require_count(field, count) for name, count in counts.items()
    }


def _require_mapping(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is not a mapping", field=field)
    return value
