"""Convert memories, contexts, keys and votes to and from table rows, and check what a write may store.

Then the macros `{name}` and `{name:table}` for text that many SQL statements share, expanded once. At the end: the
conflict errors that every store reports alike, and the time at which a commit counts as recorded.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, get_args

from recollect.errors import Conflict, EmbedderMismatch, FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.archive import Lineage
from recollect.model.context import SIGN_USES, ContextRecipe, ContextRecord, OmittedEntry, PackedEntry, Usage, Use, Vote
from recollect.model.draft import IdempotencyRecord, Verdict
from recollect.model.encoder import Encoder
from recollect.model.enums import TRUST_BY_PROVENANCE, Index, Kind, Level, Provenance, Status, Trust
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.table import EPOCH, MICROSECOND
from recollect.model.validation import MAX_CLOCK_LEAD
from recollect.retrieval.vectors import Vector
from recollect.stores.sql.transaction import Row

PLAIN_COLUMNS = ("shared", "pinned", "topic_key", "subject", "importance", "confidence", "salience", "revisions")
TIME_COLUMNS = ("created_at", "observed_at", "updated_at", "valid_from", "valid_until")
JSON_FIELDS = (
    "tags",
    "session",
    "speaker",
    "source",
    "evidence",
    "derived_from",
    "metadata",
    "superseded_by",
    "remark",
)
"""Fields without an index, kept together as JSON; a default value is left out."""

RECORD_FIELDS: Mapping[str, type[Index | Level]] = {"left": Index, "stands_for": Level}
"""Fields that only records of a timeline level have, kept in the same JSON."""

STATE_COLUMNS = (
    "hash",
    "likeness",
    "kind",
    "level",
    "status",
    *PLAIN_COLUMNS,
    *TIME_COLUMNS,
    "more",
    "recorded_at",
    "changed",
)
"""The columns that `memories` and `versions` share, beside the number of the content."""

_EMPTY_JSON_FIELDS = dict.fromkeys(JSON_FIELDS)

VERDICT_CLASSES: Mapping[str, type[Verdict]] = {one.__name__: one for one in get_args(Verdict)}


class VectorBytes(bytes):
    """A unit vector in the format of the tables: 32-bit floats, little-endian."""


def group_by_memory(numbered_rows: Iterable[Row]) -> Mapping[int, list[Row]]:
    """Group rows by their first value, the number of a memory."""
    groups: dict[int, list[Row]] = defaultdict(list)
    for number, *row in numbered_rows:
        groups[number].append(tuple(row))
    return groups


def to_micros(moment: datetime) -> int:
    """Return a datetime as microseconds since 1970, the format of the tables."""
    return (moment - EPOCH) // MICROSECOND


def from_micros(value: int) -> datetime:
    """Return the datetime of a table value."""
    return EPOCH + value * MICROSECOND


def to_optional_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def from_optional_micros(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def state_values(memory: Memory, hash: str, likeness: str, *, recorded_at: int, commit: int) -> Row:
    """Return the values of STATE_COLUMNS; `hash` and `likeness` are the memory's."""
    more: dict[str, Any] = {name: value for name in JSON_FIELDS if (value := getattr(memory, name))}
    more["provenance"] = memory.provenance.value
    if memory.trust is not TRUST_BY_PROVENANCE[memory.provenance]:
        more["trust"] = memory.trust.value
    if not memory.indexed:
        more["unindexed"] = True
    more |= {name: value for name in RECORD_FIELDS if (value := getattr(memory, name))}
    return (
        hash,
        likeness,
        memory.kind.value,
        None if memory.level is None else memory.level.value,
        memory.status.value,
        *(getattr(memory, name) for name in PLAIN_COLUMNS),
        *(to_optional_micros(getattr(memory, name)) for name in TIME_COLUMNS),
        json.dumps(more, ensure_ascii=False, sort_keys=True),
        recorded_at,
        commit,
    )


def parse_memory(row: Row) -> Memory:
    """Return the memory of a row: id, scope path, title, text, then STATE_COLUMNS."""
    id, path, title, text, *rest = row
    values: dict[str, Any] = dict(zip(STATE_COLUMNS, rest, strict=True))
    more: dict[str, Any] = json.loads(values.pop("more"))
    for name in (*TIME_COLUMNS, "recorded_at"):
        values[name] = from_optional_micros(values[name])
    del values["likeness"], values["hash"]
    provenance, level = Provenance(more.pop("provenance")), values.pop("level")
    for name in ("tags", "evidence", "derived_from"):
        more[name] = tuple(more.get(name, ()))
    return Memory.from_stored(
        id=MemoryId(id),
        scope=Scope.parse(path),
        title=title,
        text=text,
        kind=Kind(values.pop("kind")),
        level=None if level is None else Level(level),
        status=Status(values.pop("status")),
        shared=bool(values.pop("shared")),
        pinned=bool(values.pop("pinned")),
        commit=values.pop("changed"),
        provenance=provenance,
        trust=Trust(more.pop("trust", TRUST_BY_PROVENANCE[provenance])),
        indexed=not more.pop("unindexed", False),
        **{name: tuple(map(choices, more.pop(name, ()))) for name, choices in RECORD_FIELDS.items()},
        **(_EMPTY_JSON_FIELDS | {"metadata": {}} | values | more),
    )


def parse_lineage(lineage_rows: Iterable[Row]) -> list[Lineage]:
    """Return the lineages of rows: id, source, and the ids it was derived from as JSON."""
    return [Lineage(MemoryId(id), source, tuple(json.loads(derived))) for id, source, derived in lineage_rows]


def parse_usage(row: Row) -> Usage:
    """Return the usage of a row.

    Columns: served, helped, misled, echoed, quoted, followed, last_served_at, last_echoed_at.
    """
    served, helped, misled, echoed, quoted, followed, last_served_at, last_echoed_at = row
    return Usage(
        served=served,
        helped=helped,
        misled=misled,
        echoed=echoed,
        quoted=quoted,
        followed=followed,
        last_served_at=from_optional_micros(last_served_at),
        last_echoed_at=from_optional_micros(last_echoed_at),
    )


def context_to_json(record: ContextRecord) -> str:
    """Return a context record as JSON."""
    values: dict[str, Any] = asdict(record) | {"scope": str(record.scope)}
    for name in ("made_at", "at", "known_at"):
        values[name] = to_optional_micros(values[name])
    values["packed"] = [[one.id, one.score] for one in record.packed]
    values["omitted"] = [[one.id, one.score, one.reason, one.cost] for one in record.omitted]
    return json.dumps(values, ensure_ascii=False)


def quote_id(id: MemoryId) -> str:
    """Return an id as it appears in the JSON of a context."""
    return json.dumps(id, ensure_ascii=False)


def parse_context(text: str) -> ContextRecord:
    """Return the context record of a JSON text."""
    values = json.loads(text)
    for name in ("made_at", "at", "known_at"):
        values[name] = from_optional_micros(values[name])
    for name in ("question", "kinds", "levels"):
        values[name] = tuple(values.get(name, ()))
    values["scope"] = Scope.parse(values["scope"])
    values["packed"] = tuple(PackedEntry(*one) for one in values["packed"])
    values["omitted"] = tuple(OmittedEntry(*one) for one in values["omitted"])
    making = values.get("making")
    if making is not None:
        encoder = making.pop("encoder")
        values["making"] = ContextRecipe(encoder=None if encoder is None else Encoder(**encoder), **making)
    return ContextRecord(**values)


def verdict_to_json(verdict: Verdict) -> str:
    """Return a verdict as JSON."""
    return json.dumps([type(verdict).__name__, asdict(verdict)])


def parse_kept_key(scope: Scope, key: str, row: Row) -> IdempotencyRecord:
    """Return the idempotency record of a row: body, id of the memory, verdict, and time."""
    body, id, verdict, at = row
    name, values = json.loads(verdict)
    return IdempotencyRecord(
        scope=scope,
        key=key,
        body=body,
        memory=MemoryId(id),
        verdict=VERDICT_CLASSES[name](**values),
        at=from_micros(at),
    )


def parse_vote(memory: int | str, context: str, by: str, use: str, at: int) -> Vote:
    """Return the vote of a row; `memory` is the memory's number or id."""
    return Vote(context=context, memory=MemoryId(str(memory)), by=by, use=Use(use), at=from_micros(at))


Macro = Callable[[str], str]
"""Returns the SQL that a macro stands for, given the table name or an empty text."""

_MACRO = re.compile(r"\{(\w+)(?::(\w*))?\}")


def state_columns(table: str) -> str:
    """Return the list of STATE_COLUMNS for SQL, prefixed with the table if given."""
    return ", ".join(f"{table}.{name}" if table else name for name in STATE_COLUMNS)


def constant_macro(text: str) -> Macro:
    """Return a macro that stands for the same text everywhere."""
    return lambda _: text


def expand_macros(statements: Mapping[str, str], macros: Mapping[str, Macro]) -> dict[str, str]:
    """Return the statements with these macros and `{state:…}` expanded."""
    all_macros = {"state": state_columns, **macros}
    return {
        name: _MACRO.sub(lambda match: all_macros[match[1]](match[2] or ""), text) for name, text in statements.items()
    }


COUNTED_USES = frozenset({Use.SERVED, Use.ECHOED}) | SIGN_USES
"""Uses that are counted when they happen: signs once per context, the others every time."""

VOTE_USES = frozenset({Use.HELPED, Use.MISLED})
"""Uses that a vote may carry."""


def refuse_other_encoder(recorded: Encoder | None, given: Encoder | None) -> None:
    """Raise EmbedderMismatch if the store has vectors of another model.

    Vectors of two models are never compared.
    """
    if recorded is not None and given is not None and recorded != given:
        raise EmbedderMismatch(
            f"the vectors of this store come from {recorded}, not from {given}; open it without naming an embedder, "
            "or run `recollect admin re-embed --embedder NAME`"
        )


def refuse_mismatched_vector(vector: Vector | None, encoder: Encoder | None) -> None:
    """Raise an error unless the vector has the shape of the store's model."""
    if vector is None:
        return
    if encoder is None:
        raise InvalidInput("the model of the vector is unknown; call `adopt` with the model before `put`")
    if vector.shape != (encoder.dimensions,):
        raise FieldError(
            f"has shape {vector.shape}; vectors of {encoder} have shape ({encoder.dimensions},)", field="vector"
        )


def refuse_invalid_checkpoint(name: str, value: str) -> None:
    """Raise an error unless the checkpoint has a valid name and a text any store can keep."""
    validation.require_id("name", name)
    validation.require_clean_text("value", value)


def refuse_unsupported_use(use: Use, allowed: Collection[Use]) -> None:
    """Raise FieldError if the use is not allowed here.

    Counted uses and votes are recorded by different methods; neither accepts the other.
    """
    if use not in allowed:
        names = " or ".join(sorted(one.value for one in allowed))
        raise FieldError(f"{show(use.value)} is not allowed here; use {names}", field="use")


def refuse_sign_without_context(use: Use, context: str | None) -> None:
    """Raise FieldError if a sign has no context; signs are counted once per context."""
    if use in SIGN_USES and context is None:
        raise FieldError(f"is missing; {show(use.value)} is counted once per context", field="context")


def id_taken_error(id: MemoryId) -> Conflict:
    """Return the error for an id that belongs to a memory of another scope."""
    return Conflict(f"the id {show(id)} is already taken; leave it out to get a new one")


def history_differs_error(id: MemoryId) -> Conflict:
    """Return the error for an archived memory whose id exists here with a different history."""
    return Conflict(f"the memory {show(id)} already exists with a different history; erase it first, or leave it out")


def context_taken_error(id: str) -> Conflict:
    """Return the error for an archived context whose id exists here with different content."""
    return Conflict(f"the context {show(id)} already exists with different content; leave it out")


def duplicate_text_error(twin: MemoryId) -> Conflict:
    """Return the error for a second active memory of a scope with the same text."""
    return Conflict(f"the memory {show(twin)} already has the same text; forget one of the two first")


def topic_taken_error(other: MemoryId, topic_key: str) -> Conflict:
    """Return the error for a second active memory of a topic."""
    return Conflict(f"the topic {show(topic_key)} already has the memory {show(other)}; forget one of the two first")


def next_commit_time(now: datetime, last_commit: datetime | None) -> datetime:
    """Return the time to record for a commit: never before the last commit.

    A last commit that is too far ahead (by more than `MAX_CLOCK_LEAD`) is ignored: its clock was wrong, and following
    it would hide every later write until that date.
    """
    return now if last_commit is None or last_commit - now > MAX_CLOCK_LEAD else max(now, last_commit)
