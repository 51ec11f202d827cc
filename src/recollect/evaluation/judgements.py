"""Judgements: memories, queries, and which memories each query needs, from a folder."""

import hashlib
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from recollect.errors import FieldError, InvalidInput, ScopeError, show
from recollect.model import limits
from recollect.model.draft import Draft, read_draft
from recollect.model.memory import Memory
from recollect.model.scope import Scope, a_scope
from recollect.ranking.lines import read_moment, read_object

T = TypeVar("T")

MEMORIES, QUERIES, QRELS = "memories.jsonl", "queries.jsonl", "qrels.tsv"
HEADER = ("query", "memory", "grade")
"""The first line of the judgements, between tabs."""

TAB = "\t"

HIGHEST = 1e6
"""More than anybody grades, and little enough to be added up."""

_GRADE = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?")

UNCATEGORISED = "uncategorised"
"""The category of a query that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked, by whom and when, and the ids of the memories it needs, each with its grade of 1 or more."""

    id: str
    scope: Scope
    text: str
    asked_at: datetime
    category: str = UNCATEGORISED
    grades: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """The memories of a folder as drafts, the oldest first, and those of its queries that have judgements.

    `unjudged` counts the queries without any, which are left out. Of the judged pairs, `absent` name a memory that
    the folder does not have and `later` one that was not there yet when it was asked: both can never be found, and
    count as not found. `blind` counts the queries for which no memory at all was there. `digest` tells one content of
    the memories from another.
    """

    folder: Path
    drafts: tuple[Draft, ...]
    queries: tuple[Query, ...]
    unjudged: int
    digest: str

    @property
    def files(self) -> list[Path]:
        """What it was read from."""
        return [self.folder / name for name in (MEMORIES, QUERIES, QRELS)]

    @property
    def pairs(self) -> int:
        """How many judgements there are."""
        return sum(len(query.grades) for query in self.queries)

    @property
    def absent(self) -> int:
        known = {draft.id for draft in self.drafts}
        return sum(id not in known for query in self.queries for id in query.grades)

    @property
    def later(self) -> int:
        since = self.since
        return sum(id in since and since[id] > query.asked_at for query in self.queries for id in query.grades)

    @property
    def blind(self) -> int:
        first: dict[tuple[Scope, bool], datetime] = {}
        for draft in self.drafts:  # of which the oldest comes first
            first.setdefault((draft.scope, draft.shared), draft.at or limits.EARLIEST)

        def is_blind(query: Query) -> bool:
            seen = [(query.scope, False), (query.scope, True), *((above, True) for above in query.scope.ancestors)]
            return not any(one in first and first[one] <= query.asked_at for one in seen)

        return sum(map(is_blind, self.queries))

    @property
    def since(self) -> dict[str, datetime]:
        """From when each memory is there, by its id."""
        return {draft.id: draft.at for draft in self.drafts if draft.id is not None and draft.at is not None}

    @property
    def texts(self) -> dict[str, str]:
        """What each memory says, by its id."""
        return {draft.id: draft.text for draft in self.drafts if draft.id is not None}

    @property
    def written_at(self) -> datetime:
        """The moment of the latest memory."""
        return max(self.since.values())

    @property
    def ended_at(self) -> datetime:
        """The moment of whatever came last, a memory or a query."""
        return max(self.written_at, *(query.asked_at for query in self.queries))

    def some(self, most: int) -> "Judgements":
        """The same with at most so many queries, evenly spread over the file."""
        there = len(self.queries)
        taken = min(most, there)
        return replace(self, queries=tuple(self.queries[place * there // taken] for place in range(taken)))


def sees(query: Query, draft: Draft) -> bool:
    """Whether the memory was there for the query: by then, and the scope's own or shared by one above it."""
    by_then = draft.at is None or draft.at <= query.asked_at
    return by_then and (draft.scope == query.scope or (draft.shared and query.scope.within(draft.scope)))


def read_judgements(folder: Path) -> Judgements:
    """The judgements of a folder; refused with file, line and field if anything in it cannot be."""
    _refuse_no_folder(folder)
    written = {name: _content(folder, name) for name in (MEMORIES, QUERIES, QRELS)}
    drafts = _records(folder / MEMORIES, written[MEMORIES], _draft)
    queries = _records(folder / QUERIES, written[QUERIES], _query)
    grades = _grades(folder / QRELS, written[QRELS], {query.id for query in queries})
    judged = tuple(replace(query, grades=grades[query.id]) for query in queries if query.id in grades)
    return Judgements(
        folder=folder,
        drafts=tuple(sorted(drafts, key=lambda draft: (draft.at or limits.EARLIEST, draft.id or ""))),
        queries=judged,
        unjudged=len(queries) - len(judged),
        digest=hashlib.sha256(written[MEMORIES]).hexdigest(),
    )


def _refuse_no_folder(folder: Path) -> None:
    try:
        is_there, is_folder = folder.exists(), folder.is_dir()
    except OSError as error:
        raise InvalidInput(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from error
    if not is_there:
        raise InvalidInput(f"there is no folder {str(folder)!r}; {HOLDS}")
    if not is_folder:
        raise InvalidInput(f"{str(folder)!r} is no folder; {HOLDS}")


HOLDS = f"a folder of judgements has {MEMORIES}, {QUERIES} and {QRELS}"


def _content(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        is_ordinary = stat.S_ISREG(path.stat().st_mode)
        content = path.read_bytes() if is_ordinary else b""
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no {str(path)!r}; {HOLDS}") from error
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error.strerror}") from error
    if not is_ordinary:  # a pipe would be waited for, and a device may have no end
        raise InvalidInput(f"{str(path)!r} is no ordinary file; put one there")
    return content


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Tells of which file the line is that is refused."""
    try:
        yield
    except FieldError as error:
        raise InvalidInput(f"{path}, {error}" if error.line is not None else f"{path}: {error}") from error


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, each with its number."""
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            raise FieldError(f"this is not UTF-8: {error.reason}", line=number) from error
        if text.strip():
            yield number, text


def _records(path: Path, content: bytes, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """What is read of each line; refused if an id is there twice, or nothing at all."""
    found: list[T] = []
    seen: dict[str, int] = {}
    with _reading(path):
        for number, line in _lines(content):
            try:
                record = read_object(line)
                found.append(read(record))
            except FieldError as error:
                raise error.at_line(number) from error
            before = seen.setdefault(record["id"], number)
            if before != number:
                raise FieldError(f"{show(record['id'])} is on line {before} already", field="id", line=number)
        if not found:
            raise FieldError("is empty; write one JSON object a line")
    return found


def _needed(record: Mapping[str, Any], names: tuple[str, ...], noun: str) -> None:
    for name in names:
        if record.get(name) is None:
            raise FieldError(f"is missing; every {noun} has {', '.join(names)}", field=name)


def _scope(value: Any) -> Scope:
    try:
        return a_scope(value)
    except ScopeError as error:
        raise FieldError(str(error), field="scope") from error


_TAKEN_OVER = frozenset(one.name for one in fields(Draft)) - {"at", "key"}
"""The keys of a memory that a draft has too; all others are metadata."""

_CHECKED = frozenset(one.name for one in fields(Draft)) & frozenset(one.name for one in fields(Memory))


def _draft(record: Mapping[str, Any]) -> Draft:
    """The memory of a line, as a draft that keeps its id and its moment."""
    _needed(record, ("id", "scope", "text", "created_at"), "memory")
    given = {name: value for name, value in record.items() if value is not None}
    values = {name: value for name, value in given.items() if name in _TAKEN_OVER}
    values["scope"] = _scope(values["scope"])
    values["at"] = read_moment("created_at", given.pop("created_at"))
    for name in ("valid_from", "valid_until"):
        if name in values:
            values[name] = read_moment(name, values[name])
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict):
        raise FieldError(f"{show(metadata)} is no JSON object", field="metadata")
    values["metadata"] = {**metadata, **{name: value for name, value in given.items() if name not in _TAKEN_OVER}}
    draft = read_draft(values)
    said = {name: getattr(draft, name) for name in _CHECKED}
    Memory(created_at=values["at"], **{name: value for name, value in said.items() if value is not None})
    return draft


def _query(record: Mapping[str, Any]) -> Query:
    _needed(record, ("id", "scope", "text", "asked_at"), "query")
    category = record.get("category")
    return Query(
        id=limits.an_id("id", record["id"]),
        scope=_scope(record["scope"]),
        text=limits.a_content("text", record["text"]),
        asked_at=read_moment("asked_at", record["asked_at"]),
        category=UNCATEGORISED if category is None else limits.a_line("category", category),
    )


def _grades(path: Path, content: bytes, queries: set[str]) -> dict[str, dict[str, float]]:
    """The grades of each query's memories; refused if nothing is judged, or of a query that is not there."""
    found: dict[str, dict[str, float]] = {}
    with _reading(path):
        rows = _lines(content)
        number, header = next(rows, (1, ""))
        if tuple(header.split("\t")) != HEADER:
            raise FieldError(f"{show(header)} is not the header {TAB.join(HEADER)!r}", line=number)
        for number, row in rows:
            cells = row.split("\t")
            if len(cells) != len(HEADER):
                told = f"{len(cells)} fields between tabs, where {' '.join(HEADER)!r} are asked for"
                raise FieldError(told, line=number)
            query, memory, grade = cells
            if query not in queries:
                raise FieldError(f"{show(query)} is not in {QUERIES}", field="query", line=number)
            if not memory:
                raise FieldError("is empty; give the id of a memory", field="memory", line=number)
            judged = found.setdefault(query, {})
            if memory in judged:
                raise FieldError(f"{show(memory)} is judged twice for {show(query)}", field="memory", line=number)
            judged[memory] = _grade(grade, number)
        if not found:
            raise FieldError("has no judgements; write a query, a memory and a grade a line, between tabs")
    return found


def _grade(written: str, line: int) -> float:
    if not _GRADE.fullmatch(written):
        raise FieldError(f"{show(written)} is no number", field="grade", line=line)
    grade = float(written)
    if not 1.0 <= grade <= HIGHEST:
        told = f"{show(written)} is not a grade within 1..{HIGHEST:,.0f}; leave out what is not relevant"
        raise FieldError(told, field="grade", line=line)
    return grade
