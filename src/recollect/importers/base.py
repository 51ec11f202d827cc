"""The shared parts of importers: records of a file, their fields, and a stream of drafts.

The parts come in this order: JSON values with their line numbers, field readers (labels, dates, tags, metadata), the
stream of drafts with its notes, and relations of a graph as sentences.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Protocol, TypeVar

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.enums import Kind, Provenance
from recollect.model.format import describe_future
from recollect.model.memory import MAX_LIST_ITEMS, MemoryId, require_metadata, said_hash
from recollect.model.scope import Scope

MAX_RECORD_CHARS = 64 * 1024**2
"""Limit of a line in characters, or of a document of many lines, which is parsed as a whole."""

_BYTE_ORDER_MARK = "\ufeff"
"""The byte order mark that some programs write at the start of a UTF-8 file."""


def read_records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield each record with its line number: one per line, or one multi-line document.

    The file is one document if its first line leaves a bracket or value open.
    """
    numbered = enumerate(map(strip_line_end, lines), start=1)
    first = next(((number, text) for number, text in numbered if text.lstrip(_BYTE_ORDER_MARK).strip()), None)
    if first is None:
        return
    number, text = first[0], first[1].lstrip(_BYTE_ORDER_MARK)
    if is_document_start(text):
        yield number, _join_lines(number, text, (more for _, more in numbered))
        return
    for place, one in chain([(number, text)], numbered):
        if one.strip():
            yield place, one


def strip_line_end(line: str) -> str:
    """Return the line without its line end; raise if it is not a text."""
    if not isinstance(line, str):
        raise FieldError(f"{show(line)} is not a text; open the file in text mode")
    return line.rstrip("\r\n")


def is_document_start(line: str) -> bool:
    """Return whether a bracket or value is open at the end of the line, so that a document goes on."""
    return line.rstrip().endswith(("{", "[", ",", ":"))


def parse_record(text: str, number: int) -> Any:
    """Parse the value of a record; NaN and infinities become null."""
    if len(text) > MAX_RECORD_CHARS:
        raise FieldError(
            f"the record has {len(text)} characters; at most {MAX_RECORD_CHARS} are allowed, so split it", line=number
        )
    try:
        return json.loads(text, parse_constant=_read_constant)
    except json.JSONDecodeError as error:
        raise FieldError(f"invalid JSON ({error.msg})", line=number + error.lineno - 1) from error
    except RecursionError as error:
        raise FieldError("the JSON is nested too deeply; flatten it", line=number) from error
    except ValueError as error:  # a number with more digits than Python parses
        raise FieldError("a number has too many digits; shorten it", line=number) from error


def _join_lines(number: int, first: str, rest: Iterable[str]) -> str:
    """Join all lines; raise as soon as they are too long."""
    lines, length = [first], len(first)
    for line in rest:
        length += len(line) + 1
        if length > MAX_RECORD_CHARS:
            raise FieldError(f"the document has more than {MAX_RECORD_CHARS} characters; split it", line=number)
        lines.append(line)
    return "\n".join(lines)


def _read_constant(_: str) -> None:
    """Return `None` for NaN and the infinities."""


UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MIN_MILLISECONDS = 1e11
"""Numbers from this one on are milliseconds: as seconds they would be after the year 5000.

As milliseconds, the limit is in 1973.
"""

MAX_NUMERIC_ID = 10**20
"""Integers below this limit are accepted as ids."""

_UNIX_TIME = re.compile(r"\d{9,10}(?:\.\d{1,9})?|\d{12,13}", re.ASCII)
"""Matches a Unix time written as text."""


def find_first_field(record: Mapping[str, Any], names: Iterable[str]) -> tuple[str, Any]:
    """Return the first of these fields with a value, and the value; else the first name and `None`."""
    fields = list(names)
    return next(((name, record[name]) for name in fields if record.get(name) not in (None, "")), (fields[0], None))


def require_object(value: Any) -> Mapping[str, Any]:
    """Return the value as a JSON object; raise for other values."""
    if not isinstance(value, dict):
        raise FieldError(f"{show(value)} is not a JSON object")
    return value


def read_label(field: str, value: Any) -> str | None:
    """Return a name or id without invisible characters; `None` if nothing is left."""
    if value is None:
        return None
    text = validation.require_text(field, _number_to_text(value))
    if len(text) > 4 * validation.MAX_ID_CHARS:
        raise FieldError(f"has {len(text)} characters; at most {validation.MAX_ID_CHARS} are allowed", field=field)
    label = " ".join(text.split())
    if validation.find_invisible_character(label) is not None:
        label = " ".join("".join(one for one in label if validation.find_invisible_character(one) is None).split())
    return validation.require_id(field, label) if label else None


def _number_to_text(value: Any) -> Any:
    """Return an integer id as text; any other value unchanged."""
    return str(value) if type(value) is int and abs(value) < MAX_NUMERIC_ID else value


def read_tags(value: Any, assumed: Counter[str]) -> tuple[str, ...]:
    """Return the labels of a list, up to the limit of a memory; count the ones left out."""
    if value is None:
        return ()
    tags: dict[str, None] = {}
    for one in value if isinstance(value, list) else [value]:
        try:
            label = read_label("tags", one)
        except FieldError:
            label = None
        if label is None or (label not in tags and len(tags) == MAX_LIST_ITEMS):
            assumed["tags that cannot be kept were left out"] += 1
        else:
            tags[label] = None
    return tuple(tags)


def read_metadata(value: Mapping[str, Any], assumed: Counter[str]) -> Mapping[str, Any] | None:
    """Return the metadata if it can be stored; else leave it out and count it."""
    try:
        return require_metadata("metadata", value) or None
    except FieldError:
        assumed["metadata that is too long, too deep or broken was left out"] += 1
        return None


def read_datetime(field: str, value: Any, now: datetime, assumed: Counter[str]) -> datetime | None:
    """Read a date: ISO 8601, or Unix seconds or milliseconds.

    A date without a time zone is taken as UTC and counted. A date after `now` raises an error.
    """
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
    """Read when the memory stops being true, which may be in the future."""
    return read_datetime(field, value, validation.LATEST_DATETIME, assumed)


def _parse_datetime(field: str, value: Any) -> datetime:
    if isinstance(value, str):
        if len(value) <= validation.MAX_ID_CHARS and _UNIX_TIME.fullmatch(value.strip()):
            return _from_unix_time(field, float(value))
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError as error:
            remedy = "give ISO 8601, such as 2026-01-31T09:00:00Z, or Unix seconds or milliseconds"
            raise FieldError(f"{show(value)} is not a date; {remedy}", field=field) from error
    return _from_unix_time(field, validation.require_number(field, value))


def _from_unix_time(field: str, number: float) -> datetime:
    seconds = number / 1000 if abs(number) >= MIN_MILLISECONDS else number
    try:
        return UNIX_EPOCH + timedelta(seconds=seconds)
    except OverflowError as error:
        raise FieldError(f"{show(number)} is not within 1900..2199", field=field) from error


T = TypeVar("T")
StepInput = TypeVar("StepInput")

Redact = Callable[[str], str]
"""Returns a text without the secrets in it."""

MAX_LISTED_ERRORS = 20
"""How many errors are listed; further ones are only counted."""

REPEATED_REASON = "said before in the file"


@dataclass(slots=True)
class ImportNotes:
    """What was skipped and assumed, by reason, and the first errors with their lines."""

    skipped: Counter[str] = field(default_factory=Counter[str])
    assumed: Counter[str] = field(default_factory=Counter[str])
    bad_count: int = 0
    errors: list[FieldError] = field(default_factory=list[FieldError])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The context of an import: scope, source, time, notes, and how to redact secrets."""

    scope: Scope
    source: str | None
    imported_at: datetime
    notes: ImportNotes
    redact: Redact

    def make_id(self, name: str, text: str, *details: object, order: str = "") -> MemoryId:
        """Return the id of a memory; importing the same text into this scope again gives the same id.

        Ids sort by `order`. The text is redacted before it is hashed, because a secret could be guessed from its hash.
        """
        return MemoryId(f"{name}-{order}{digest(self.redact(text), str(self.scope), *details)}")


@dataclass(frozen=True, slots=True)
class RecordLocation:
    """A position in a file: the line, and the path in the JSON value that begins there."""

    line: int
    path: str = ""

    def __str__(self) -> str:
        return f"line {self.line}{self.path and f', {self.path}'}"


@dataclass(frozen=True, slots=True)
class RecordPart:
    """A part of a record that may become one memory, its path, and the record."""

    value: Any
    path: str = ""
    record: Any = None


def digest(*values: object) -> str:
    """Return a short hash of the values."""
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()[:32]


class FormatReader(Protocol):
    """Reads one format; each of the three steps raises `FieldError` for invalid input."""

    def split(self, value: Any) -> Iterable[tuple[str, Any]]:
        """Return the records of a value, each with its path."""
        ...

    def parts(self, record: Any) -> Iterable[RecordPart]:
        """Return the parts of a record that may become memories."""
        ...

    def draft(self, part: RecordPart) -> Draft | None:
        """Return the draft of a part, with a stable id; `None` to skip it."""
        ...


class DraftStream(Iterator[Draft]):
    """The drafts of a file, read lazily.

    `notes` has the notes so far, `spots` the position of each draft by id. An invalid part raises an error with its
    line, or is left out and noted with `skip_bad`.
    """

    def __init__(self, lines: Iterable[str], reader: FormatReader, setting: ImportOptions, *, skip_bad: bool) -> None:
        self.notes = setting.notes
        self.spots: dict[MemoryId, RecordLocation] = {}
        self._redacted = setting.redact
        self._reader = reader
        self._skip_bad = skip_bad
        self._drafts = self._read(lines)

    def __next__(self) -> Draft:
        return next(self._drafts)

    def _read(self, lines: Iterable[str]) -> Iterator[Draft]:
        ids: set[str] = set()
        texts: set[bytes] = set()
        for spot, draft in self._read_parts(lines):
            if draft.id in ids:
                self.notes.skipped[REPEATED_REASON] += 1
                continue
            ids.add(str(draft.id))
            if draft.id is not None:
                self.spots[draft.id] = spot
            hash = bytes.fromhex(said_hash(draft.text, draft.speaker, draft.kind or Kind.OBSERVATION))
            # The tags and metadata of a repeated text would override the first one's.
            plain = replace(draft, tags=(), metadata=None) if hash in texts else draft
            # A dated draft is recognized by its date when it is imported again.
            yield self._with_key(plain) if plain.at is None else plain
            texts.add(hash)

    def _read_parts(self, lines: Iterable[str]) -> Iterator[tuple[RecordLocation, Draft]]:
        """Yield the draft of each part of each record, with its position.

        An invalid part does not stop the others.
        """
        for number, text in read_records(lines):
            for place, record in self._try_step(self._parse_records, (number, text), number) or ():
                for part in self._try_step(self._list_parts, record, number, place) or ():
                    spot = RecordLocation(number, join_path(place, part.path))
                    draft = self._try_step(self._reader.draft, part, number, spot.path)
                    if draft is not None:
                        yield spot, draft

    def _parse_records(self, numbered: tuple[int, str]) -> list[tuple[str, Any]]:
        number, text = numbered
        return list(self._reader.split(parse_record(text, number)))

    def _list_parts(self, record: Any) -> list[RecordPart]:
        return list(self._reader.parts(record))

    def _with_key(self, draft: Draft) -> Draft:
        """Return the draft with a unique key, so that importing it again has no effect.

        The key covers the id, which is a hash of the text.
        """
        others = [getattr(draft, one.name) for one in fields(draft) if one.name not in ("text", "metadata")]
        return replace(draft, key=f"import-{digest(self._redacted(json.dumps(draft.metadata)), *others)}")

    def _try_step(self, step: Callable[[StepInput], T], value: StepInput, number: int, place: str = "") -> T | None:
        """Run a step; raise its error with line and path, or note it and return `None`."""
        try:
            return step(value)
        except FieldError as error:
            located = FieldError(error.problem, field=join_path(place, error.field) or None, line=error.line or number)
            if not self._skip_bad:
                raise located from error
        self.notes.bad_count += 1
        if len(self.notes.errors) < MAX_LISTED_ERRORS:
            self.notes.errors.append(located)
        return None


def join_path(*places: str | None) -> str:
    """Join the path to a field, such as results[3].memory."""
    return ".".join(filter(None, places))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFormat:
    """A format of another program: its name, its reader, and how to recognize it.

    `expected` describes a record, for the error about other input.
    """

    name: str
    about: str
    reader: Callable[[ImportOptions], FormatReader]
    recognizes: Callable[[Any], bool]
    expected: str | None = None

    def read(
        self,
        lines: Iterable[str],
        scope: Scope,
        *,
        source: str | None,
        now: datetime,
        redacted: Redact = str,
        skip_bad: bool = False,
    ) -> DraftStream:
        """Read the drafts of these lines for the scope; no date may be after `now`.

        `source` is the name of the file. Ids are hashes of the text that `redacted` returns. With `skip_bad`, invalid
        parts are left out and noted.
        """
        notes = ImportNotes()
        label = _source_label(source) or self.name
        setting = ImportOptions(scope=scope, source=label, imported_at=now, notes=notes, redact=redacted)
        return DraftStream(lines, self.reader(setting), setting, skip_bad=skip_bad)


def _source_label(name: str | None) -> str | None:
    """Return the file name if it is valid as the source of a memory."""
    try:
        return read_label("source", name)
    except FieldError:
        return None


def require_name(field: str, value: Any) -> str:
    """Return a name; raise if it is blank."""
    name = read_label(field, value)
    if name is None:
        raise FieldError("is missing or blank; give a name", field=field)
    return name


def to_words(name: str) -> str:
    """Return a name as words; graphs write names such as John_Smith and works_at."""
    return " ".join(name.replace("_", " ").split()) or name


def draft_relation(setting: ImportOptions, name: str, start: str, relation: str, end: str) -> Draft:
    """Draft the relation between two entities as a fact; `name` is the name of the format."""
    text = " ".join(map(to_words, (start, relation, end)))
    return Draft(
        text=text,
        scope=setting.scope,
        id=setting.make_id(name, text, "relation", start, relation, end),
        kind=Kind.FACT,
        provenance=Provenance.IMPORT,
        source=setting.source,
        metadata={"relation": {"from": start, "type": relation, "to": end}},
    )
