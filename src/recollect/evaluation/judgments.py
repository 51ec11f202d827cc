"""Judgments: a folder of memories, queries, and the relevant memories of each query.

`read_judgments` reads and checks the folder. Errors name the file, the line and the field.
"""

import hashlib
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from recollect.errors import FieldError, InvalidInput, ScopeError, show
from recollect.model import validation
from recollect.model.draft import Draft, read_draft
from recollect.model.memory import Memory
from recollect.model.scope import Scope, as_scope
from recollect.ranking.candidates_json import parse_datetime, parse_json_object
from recollect.retrieval.eligibility import find_barrier

T = TypeVar("T")

MEMORIES_FILE, QUERIES_FILE, QRELS_FILE = "memories.jsonl", "queries.jsonl", "qrels.tsv"

FOLDER_CONTENTS = f"a judgments folder has {MEMORIES_FILE}, {QUERIES_FILE} and {QRELS_FILE}"
"""The files of a judgments folder, named in errors about other folders."""

QRELS_HEADER = ("query", "memory", "grade")
"""The header of the judgments file, tab-separated."""

TAB = "\t"

MAX_GRADE = 1e6
"""Upper limit of a grade: higher than any real grade, and small enough to add up."""

_GRADE = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?")

DEFAULT_CATEGORY = "uncategorised"
"""The category of a query that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuery:
    """A query with its scope, its time, and the grades (1 or more) of its relevant memories."""

    id: str
    scope: Scope
    text: str
    asked_at: datetime
    category: str = DEFAULT_CATEGORY
    grades: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgments:
    """The memories of a folder, oldest first, and its queries that have judgments.

    `drafts` has a draft of each memory, in the same order. `unjudged_queries` counts the queries without judgments,
    which are left out. A judged pair in `absent_pairs` names a memory that the folder does not have, and one in
    `late_pairs` a memory that is newer than the query: neither can be found, and both count as not found.
    `blind_queries` counts the queries that can see no memory at all. `digest` is a hash of the memories file.
    """

    folder: Path
    memories: tuple[Memory, ...]
    drafts: tuple[Draft, ...]
    queries: tuple[JudgedQuery, ...]
    unjudged_queries: int
    digest: str

    @property
    def files(self) -> list[Path]:
        """The files it was read from."""
        return [self.folder / name for name in (MEMORIES_FILE, QUERIES_FILE, QRELS_FILE)]

    @property
    def pairs(self) -> int:
        """The number of judgments."""
        return sum(len(query.grades) for query in self.queries)

    @property
    def absent_pairs(self) -> int:
        known = {memory.id for memory in self.memories}
        return sum(id not in known for query in self.queries for id in query.grades)

    @property
    def late_pairs(self) -> int:
        since = self.creation_times
        return sum(id in since and since[id] > query.asked_at for query in self.queries for id in query.grades)

    @property
    def blind_queries(self) -> int:
        first = _first_visible_memories(self.memories)

        def is_blind(query: JudgedQuery) -> bool:
            near = (first.get(scope, ()) for scope in (query.scope, *query.scope.ancestors))
            return not any(can_see(query, memory) for memory in chain.from_iterable(near))

        return sum(map(is_blind, self.queries))

    @property
    def creation_times(self) -> dict[str, datetime]:
        """When each memory was created, by id."""
        return {memory.id: memory.created_at for memory in self.memories}

    @property
    def texts(self) -> dict[str, str]:
        """The text of each memory, by id."""
        return {memory.id: memory.text for memory in self.memories}

    @property
    def written_at(self) -> datetime:
        """The creation time of the latest memory."""
        return max(self.creation_times.values())

    @property
    def ended_at(self) -> datetime:
        """The time of the latest memory or query."""
        return max(self.written_at, *(query.asked_at for query in self.queries))

    def sample_queries(self, most: int) -> "Judgments":
        """Return the judgments with at most this many queries, evenly spread over the file."""
        total = len(self.queries)
        count = min(most, total)
        return replace(self, queries=tuple(self.queries[number * total // count] for number in range(count)))


def can_see(query: JudgedQuery, memory: Memory) -> bool:
    """Return whether the query can see the memory: valid at query time, and in its scope or shared.

    A shared memory is visible in its own scope and in all scopes below.
    """
    near = memory.scope == query.scope or (memory.shared and query.scope.within(memory.scope))
    return near and find_barrier(memory, query.asked_at) is None


def _first_visible_memories(memories: Iterable[Memory]) -> dict[Scope, list[Memory]]:
    """Return the few memories of each scope that decide whether a query sees any of the scope.

    Of memories with the same sharing and the same period of validity, a query that sees any sees the oldest. The
    memories must come oldest first.
    """
    first: dict[Scope, dict[tuple[bool, datetime | None, datetime | None], Memory]] = {}
    for memory in memories:
        key = memory.shared, memory.valid_from, memory.valid_until
        first.setdefault(memory.scope, {}).setdefault(key, memory)
    return {scope: list(found.values()) for scope, found in first.items()}


def read_judgments(folder: Path) -> Judgments:
    """Read a folder of judgments; raise InvalidInput with file, line and field if it is wrong."""
    _require_folder(folder)
    contents = {name: _read_file(folder, name) for name in (MEMORIES_FILE, QUERIES_FILE, QRELS_FILE)}
    memories = _read_records(folder / MEMORIES_FILE, contents[MEMORIES_FILE], _read_memory)
    memories.sort(key=lambda one: (one[0].created_at, one[0].id))
    queries = _read_records(folder / QUERIES_FILE, contents[QUERIES_FILE], _read_query)
    grades = _read_grades(folder / QRELS_FILE, contents[QRELS_FILE], {query.id for query in queries})
    judged = tuple(replace(query, grades=grades[query.id]) for query in queries if query.id in grades)
    return Judgments(
        folder=folder,
        memories=tuple(memory for memory, _ in memories),
        drafts=tuple(draft for _, draft in memories),
        queries=judged,
        unjudged_queries=len(queries) - len(judged),
        digest=hashlib.sha256(contents[MEMORIES_FILE]).hexdigest(),
    )


def _require_folder(folder: Path) -> None:
    try:
        exists, is_folder = folder.exists(), folder.is_dir()
    except OSError as error:
        raise InvalidInput(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from error
    if not exists:
        raise InvalidInput(f"folder {str(folder)!r} does not exist; {FOLDER_CONTENTS}")
    if not is_folder:
        raise InvalidInput(f"{str(folder)!r} is not a folder; {FOLDER_CONTENTS}")


def _read_file(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        is_regular = stat.S_ISREG(path.stat().st_mode)
        content = path.read_bytes() if is_regular else b""
    except FileNotFoundError as error:
        raise InvalidInput(f"{str(path)!r} does not exist; {FOLDER_CONTENTS}") from error
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error.strerror}") from error
    if not is_regular:  # a pipe would block, and a device may never end
        raise InvalidInput(f"{str(path)!r} is not a regular file; put one there")
    return content


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Add the name of the file to errors about its lines."""
    try:
        yield
    except FieldError as error:
        raise InvalidInput(f"{path}, {error}" if error.line is not None else f"{path}: {error}") from error


def _numbered_lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            raise FieldError(f"invalid UTF-8: {error.reason}", line=number) from error
        if text.strip():
            yield number, text


def _read_records(path: Path, content: bytes, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """Read each line as a record; raise an error if an id repeats or there is no record."""
    records: list[T] = []
    line_by_id: dict[str, int] = {}
    with _naming_file(path):
        for number, line in _numbered_lines(content):
            try:
                record = parse_json_object(line)
                records.append(read(record))
            except FieldError as error:
                raise error.at_line(number) from error
            first_line = line_by_id.setdefault(record["id"], number)
            if first_line != number:
                raise FieldError(f"{show(record['id'])} is already on line {first_line}", field="id", line=number)
        if not records:
            raise FieldError("is empty; write one JSON object a line")
    return records


def _require_fields(record: Mapping[str, Any], names: tuple[str, ...], noun: str) -> None:
    for name in names:
        if record.get(name) is None:
            raise FieldError(f"is missing; every {noun} has {', '.join(names)}", field=name)


def _read_scope(value: Any) -> Scope:
    try:
        return as_scope(value)
    except ScopeError as error:
        raise FieldError(str(error), field="scope") from error


_DRAFT_FIELDS = frozenset(one.name for one in fields(Draft)) - {"at", "key"}
"""The keys of a memory that become fields of its draft; all others become metadata."""

_SHARED_FIELDS = frozenset(one.name for one in fields(Draft)) & frozenset(one.name for one in fields(Memory))


def _read_memory(record: Mapping[str, Any]) -> tuple[Memory, Draft]:
    """Return the memory of a line, and a draft with the same id and time."""
    _require_fields(record, ("id", "scope", "text", "created_at"), "memory")
    fields = {name: value for name, value in record.items() if value is not None}
    values = {name: value for name, value in fields.items() if name in _DRAFT_FIELDS}
    values["scope"] = _read_scope(values["scope"])
    values["at"] = parse_datetime("created_at", fields.pop("created_at"))
    for name in ("valid_from", "valid_until"):
        if name in values:
            values[name] = parse_datetime(name, values[name])
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict):
        raise FieldError(f"{show(metadata)} is not a JSON object", field="metadata")
    values["metadata"] = {**metadata, **{name: value for name, value in fields.items() if name not in _DRAFT_FIELDS}}
    draft = read_draft(values)
    shared = {name: getattr(draft, name) for name in _SHARED_FIELDS}
    memory = Memory(created_at=values["at"], **{name: value for name, value in shared.items() if value is not None})
    return memory, draft


def _read_query(record: Mapping[str, Any]) -> JudgedQuery:
    _require_fields(record, ("id", "scope", "text", "asked_at"), "query")
    category = record.get("category")
    return JudgedQuery(
        id=validation.require_id("id", record["id"]),
        scope=_read_scope(record["scope"]),
        text=validation.require_content("text", record["text"]),
        asked_at=parse_datetime("asked_at", record["asked_at"]),
        category=DEFAULT_CATEGORY if category is None else validation.require_line("category", category),
    )


def _read_grades(path: Path, content: bytes, queries: set[str]) -> dict[str, dict[str, float]]:
    """Read the grades of each query's memories.

    Raises an error if there are none, or if one is for a query that does not exist.
    """
    grades: dict[str, dict[str, float]] = {}
    with _naming_file(path):
        rows = _numbered_lines(content)
        number, header = next(rows, (1, ""))
        if tuple(header.split("\t")) != QRELS_HEADER:
            raise FieldError(f"{show(header)} is not the header {TAB.join(QRELS_HEADER)!r}", line=number)
        for number, row in rows:
            cells = row.split("\t")
            if len(cells) != len(QRELS_HEADER):
                problem = f"has {len(cells)} tab-separated fields; give {len(QRELS_HEADER)}: {', '.join(QRELS_HEADER)}"
                raise FieldError(problem, line=number)
            query, memory, grade = cells
            if query not in queries:
                raise FieldError(f"{show(query)} is not in {QUERIES_FILE}", field="query", line=number)
            if not memory:
                raise FieldError("is empty; give the id of a memory", field="memory", line=number)
            grade_by_memory = grades.setdefault(query, {})
            if memory in grade_by_memory:
                raise FieldError(f"{show(memory)} is judged twice for {show(query)}", field="memory", line=number)
            grade_by_memory[memory] = _parse_grade(grade, number)
        if not grades:
            raise FieldError("has no judgments; write one a line: query, memory and grade, separated by tabs")
    return grades


def _parse_grade(text: str, line: int) -> float:
    if not _GRADE.fullmatch(text):
        raise FieldError(f"{show(text)} is not a number", field="grade", line=line)
    grade = float(text)
    if not 1.0 <= grade <= MAX_GRADE:
        problem = f"{show(text)} is not a grade within 1..{MAX_GRADE:,.0f}; leave out memories that are not relevant"
        raise FieldError(problem, field="grade", line=line)
    return grade
