"""Records: the JSON values of a file, each with the line it begins on.

Fields: what a value in somebody else's file is to us: a label, a moment, tags, metadata.

Reading: the drafts of a file, made one by one, and what there is to say of the file.

Relations: how two things that a graph knows stand to each other, as a sentence.
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
"""How many characters a line, or a document of many lines, may have: it is one value, and read as a whole."""

_BYTE_ORDER_MARK = "\ufeff"
"""What some programs put before the first line, to say that the file is UTF-8."""


def read_records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each record as it is written, with its line: one a line, or all lines as one where the first is not whole."""
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
    """The line without what ends it; refused if it is no text."""
    if not isinstance(line, str):
        raise FieldError(f"{show(line)} is no text; open the file as text")
    return line.rstrip("\r\n")


def is_document_start(line: str) -> bool:
    """Whether a document of many lines begins so: with a line that leaves something open."""
    return line.rstrip().endswith(("{", "[", ",", ":"))


def parse_record(text: str, number: int) -> Any:
    """The value of a record; what JSON has no word for, as NaN, is null."""
    if len(text) > MAX_RECORD_CHARS:
        raise FieldError(
            f"{len(text)} characters; at most {MAX_RECORD_CHARS} are read at once, so split it", line=number
        )
    try:
        return json.loads(text, parse_constant=_read_constant)
    except json.JSONDecodeError as error:
        raise FieldError(f"this is no JSON ({error.msg})", line=number + error.lineno - 1) from error
    except RecursionError as error:
        raise FieldError("this is nested too deep to be read", line=number) from error
    except ValueError as error:  # a number with more digits than Python will read
        raise FieldError("this has a number that is too long to be read", line=number) from error


def _join_lines(number: int, first: str, rest: Iterable[str]) -> str:
    """All lines in one text; refused as soon as it is too long."""
    kept, length = [first], len(first)
    for line in rest:
        length += len(line) + 1
        if length > MAX_RECORD_CHARS:
            raise FieldError(f"a document of more than {MAX_RECORD_CHARS} characters; split it", line=number)
        kept.append(line)
    return "\n".join(kept)


def _read_constant(_: str) -> None:
    """What NaN and the infinities are to us."""


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


T = TypeVar("T")
StepInput = TypeVar("StepInput")

Redact = Callable[[str], str]
"""Gives a text without what is secret in it."""

MAX_LISTED_ERRORS = 20
"""How many of those that were refused are told of one by one; the others are counted."""

REPEATED_REASON = "said before in the file"


@dataclass(slots=True)
class ImportNotes:
    """What was skipped and what was assumed, by reason; and the first of those that cannot be, with their lines."""

    skipped: Counter[str] = field(default_factory=Counter[str])
    assumed: Counter[str] = field(default_factory=Counter[str])
    bad_count: int = 0
    errors: list[FieldError] = field(default_factory=list[FieldError])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """For whom a file is read, what it is called, when, where to note what is worth saying, and what is secret."""

    scope: Scope
    source: str | None
    imported_at: datetime
    notes: ImportNotes
    redact: Redact

    def make_id(self, name: str, text: str, *said: object, order: str = "") -> MemoryId:
        """The id that the same text gets each time it is read for this scope; `order` is what it sorts by.

        No hash is made of what is secret: it could be guessed from it.
        """
        return MemoryId(f"{name}-{order}{digest(self.redact(text), str(self.scope), *said)}")


@dataclass(frozen=True, slots=True)
class RecordLocation:
    """Where in a file something stands: on which line, and where in the value that begins there."""

    line: int
    path: str = ""

    def __str__(self) -> str:
        return f"line {self.line}{self.path and f', {self.path}'}"


@dataclass(frozen=True, slots=True)
class RecordPart:
    """What may become one memory, where it is in its record, and the record."""

    value: Any
    path: str = ""
    record: Any = None


def digest(*said: object) -> str:
    """What tells it from all others, in few characters."""
    return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:32]


class FormatReader(Protocol):
    """Knows one format. It raises `FieldError` for what cannot be, at each of the three steps."""

    def split(self, value: Any) -> Iterable[tuple[str, Any]]:
        """The records of a value, each with its place: one, or those of a list."""
        ...

    def parts(self, record: Any) -> Iterable[RecordPart]:
        """What of a record may become memories."""
        ...

    def draft(self, part: RecordPart) -> Draft | None:
        """The memory that is proposed, with an id that is the same each time; nothing if it is to be skipped."""
        ...


class DraftStream(Iterator[Draft]):
    """The drafts of a file, each read as it is asked for; `notes` says what there was to say so far, and `spots` where
    each draft stands, by its id.

    What cannot be is refused with its line, or with `skip_bad` left out and noted.
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
            told = _without_extras(draft) if hash in texts else draft
            yield (
                self._with_key(told) if told.at is None else told
            )  # what has a date is known by it when it comes again
            texts.add(hash)

    def _read_parts(self, lines: Iterable[str]) -> Iterator[tuple[RecordLocation, Draft]]:
        """What the reader makes of each part of each record, and where that is; what cannot be takes nothing beside it
        along.
        """
        for number, text in read_records(lines):
            for place, record in self._try_step(self._parse_records, (number, text), number) or ():
                for part in self._try_step(self._list_parts, record, number, place) or ():
                    spot = RecordLocation(number, join_path(place, part.path))
                    draft = self._try_step(self._reader.draft, part, number, spot.path)
                    if draft is not None:
                        yield spot, draft

    def _parse_records(self, written: tuple[int, str]) -> list[tuple[str, Any]]:
        number, text = written
        return list(self._reader.split(parse_record(text, number)))

    def _list_parts(self, record: Any) -> list[RecordPart]:
        return list(self._reader.parts(record))

    def _with_key(self, draft: Draft) -> Draft:
        """The draft with a key that no other has, so that it is heard once; its id stands for its text."""
        beside = [getattr(draft, one.name) for one in fields(draft) if one.name not in ("text", "metadata")]
        return replace(draft, key=f"import-{digest(self._redacted(json.dumps(draft.metadata)), *beside)}")

    def _try_step(self, step: Callable[[StepInput], T], given: StepInput, number: int, place: str = "") -> T | None:
        """What the step makes of it; if it cannot be, that is raised with its line and place, or noted."""
        try:
            return step(given)
        except FieldError as error:
            told = FieldError(error.problem, field=join_path(place, error.field) or None, line=error.line or number)
            if not self._skip_bad:
                raise told from error
        self.notes.bad_count += 1
        if len(self.notes.errors) < MAX_LISTED_ERRORS:
            self.notes.errors.append(told)
        return None


def join_path(*places: str | None) -> str:
    """The way to a field, as results[3].memory."""
    return ".".join(filter(None, places))


def _without_extras(draft: Draft) -> Draft:
    """The same words once more: what is beside them was said with the first, and would only take turns with it."""
    return replace(draft, tags=(), metadata=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFormat:
    """A format that others write: what it is called, what it is, who reads it, and how it is known; and what a record
    is, for whoever gives something else.
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
        """The drafts of these lines for the scope; `source` is what the file is called, and nothing is after `now`.

        Ids are made of what `redacted` leaves of a text. With `skip_bad`, what cannot be is left out and noted.
        """
        notes = ImportNotes()
        called = _source_label(source) or self.name
        setting = ImportOptions(scope=scope, source=called, imported_at=now, notes=notes, redact=redacted)
        return DraftStream(lines, self.reader(setting), setting, skip_bad=skip_bad)


def _source_label(name: str | None) -> str | None:
    """The name of the file, if a memory can have it as its source."""
    try:
        return read_label("source", name)
    except FieldError:
        return None


def require_name(field: str, value: Any) -> str:
    """What something is called; refused if that is nothing."""
    name = read_label(field, value)
    if name is None:
        raise FieldError("is missing or blank; a graph knows things by their names", field=field)
    return name


def to_words(name: str) -> str:
    """A name as it is read: graphs write John_Smith and works_at."""
    return " ".join(name.replace("_", " ").split()) or name


def draft_relation(setting: ImportOptions, name: str, start: str, relation: str, end: str) -> Draft:
    """That one thing stands to another so, as a fact of the format of that name."""
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
