"""Reading: the drafts of a file, made one by one, and what there is to say of the file."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar

from recollect.errors import FieldError
from recollect.importers.fields import read_label
from recollect.importers.records import parse_record, read_records
from recollect.model.draft import Draft
from recollect.model.memory import Kind, MemoryId, said_hash
from recollect.model.scope import Scope

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
