"""Rows: what the tables of a store have, read by statements of our own and by nothing that is on trial."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import psycopg

from .life import CANARY, SECRET

ACTIVE = "active"

MEMORIES = """
SELECT m.id, s.path, m.level, m.status, m.pinned, m.created_at, m.more,
       EXISTS (SELECT 1 FROM vectors v WHERE {vector})
FROM memories m JOIN scopes s ON s.number = m.scope ORDER BY m.id
"""

WORDS = """
SELECT m.id, coalesce(c.title, '') || ' ' || c.text
FROM memories m JOIN contents c ON c.number = m.content WHERE c.title LIKE '%{word}%' OR c.text LIKE '%{word}%'
"""

TORN = {
    "contents that belong to nobody": """
        SELECT count(*) FROM contents WHERE number NOT IN (SELECT content FROM memories)
        AND number NOT IN (SELECT content FROM versions)""",
    "vectors that belong to nobody": """
        SELECT count(*) FROM vectors WHERE {content} NOT IN (SELECT number FROM contents)""",
    "memories or versions without a content": """
        SELECT count(*) FROM (SELECT content FROM memories UNION ALL SELECT content FROM versions) AS found
        WHERE content NOT IN (SELECT number FROM contents)""",
    "versions that do not follow each other": """
        SELECT count(*) FROM (
            SELECT v.memory, v.until, lead(v.changed) OVER (PARTITION BY v.memory ORDER BY v.changed, v.number) AS later
            FROM versions v
        ) AS found JOIN memories m ON m.number = found.memory WHERE found.until <> coalesce(found.later, m.changed)""",
    "versions of nobody": "SELECT count(*) FROM versions WHERE memory NOT IN (SELECT number FROM memories)",
    "uses, votes or keys of nobody": """
        SELECT count(*) FROM (SELECT memory FROM uses UNION ALL SELECT memory FROM usage UNION ALL
        SELECT memory FROM votes UNION ALL SELECT memory FROM keys) AS found
        WHERE memory NOT IN (SELECT number FROM memories)""",
}
"""What must not be there, and how much of it is."""

OCCURRENCES = "SELECT job, due, state FROM occurrences ORDER BY job, due"

SQLITE = {
    "vector": "v.key = 256 * m.content + (SELECT number FROM encoders WHERE present = 1)",
    "content": "key / 256",
}
POSTGRES = {
    "vector": "v.root = m.root AND v.content = m.content AND v.encoder = (SELECT number FROM encoders WHERE present)",
    "content": "content",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A memory as a table has it."""

    id: str
    scope: str
    level: str | None
    status: str
    pinned: bool
    at: datetime
    left: frozenset[str]
    stands_for: frozenset[str]
    made_of: Sequence[str]
    embedded: bool

    @property
    def is_active(self) -> bool:
        return self.status == ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """All of a store: its memories by their ids, those that have a word, what is torn, and what became of jobs."""

    memories: Mapping[str, Row]
    words: Mapping[str, Sequence[str]]
    """The ids of the memories that have a canary, by the canary."""
    secrets: frozenset[str]
    """The words to be erased that are there, wherever it is."""
    torn: Mapping[str, int]
    occurrences: Sequence[tuple[str, datetime, str]]

    def of(self, scope: str, *levels: str | None, active: bool = True) -> list[Row]:
        """The memories of a scope and these levels, in the order of ids."""
        found = (one for one in self.memories.values() if one.scope == scope and one.level in levels)
        return [one for one in found if one.is_active or not active]


def look(target: str) -> Rows:
    """What a store has at this moment."""
    with _reading(target) as (run, words):
        memories = {one.id: one for one in map(_row, run(MEMORIES))}
        found = defaultdict(list)
        for id, text in run(WORDS.replace("{word}", CANARY)):
            for word in set(re.findall(rf"{CANARY}\w+", text)):
                found[word].append(str(id))
        torn = {name: int(next(run(statement))[0]) for name, statement in TORN.items()}
        occurrences = [(job, _moment(due), state) for job, due, state in run(OCCURRENCES)]
        secrets = words(run)
    return Rows(memories=memories, words=found, secrets=secrets, torn=torn, occurrences=occurrences)


def _row(row: Sequence[Any]) -> Row:
    id, scope, level, status, pinned, at, more, embedded = row
    values = json.loads(more)
    return Row(
        id=id,
        scope=scope,
        level=level,
        status=status,
        pinned=bool(pinned),
        at=_moment(at),
        left=frozenset(values.get("left", ())),
        stands_for=frozenset(values.get("stands_for", ())),
        made_of=values.get("derived_from", ()),
        embedded=bool(embedded),
    )


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@contextmanager
def _reading(target: str) -> Iterator[tuple[Any, Any]]:
    """How statements are run on it, and how words that should be gone are looked for."""
    if "://" in target:
        with psycopg.connect(target) as database:
            database.execute("SELECT set_config('recollect.reach', 'all', false)")
            yield (
                (lambda text: iter(database.execute(_written(text, POSTGRES).encode()).fetchall())),
                _secrets_of_tables,
            )
        return
    file = apsw.Connection(target, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield (lambda text: iter(file.execute(_written(text, SQLITE)).fetchall())), lambda _: _secrets_of_files(target)
    finally:
        file.close()


def _written(statement: str, dialect: Mapping[str, str]) -> str:
    for name, text in dialect.items():
        statement = statement.replace(f"{{{name}}}", text)
    return statement


_SECRET = re.compile(rf"{SECRET}[a-z]+")


def _secrets_of_tables(run: Any) -> frozenset[str]:
    """Of a database whose files are a server's: all rows of all tables that can have a text, as text."""
    tables = ("contents", "memories", "versions", "contexts", "checkpoints", "occurrences", "keys")
    return frozenset(
        word
        for table in tables
        for (text,) in run(f"SELECT t::text FROM {table} t WHERE t::text LIKE '%{SECRET}%'")  # noqa: S608 (our tables)
        for word in _SECRET.findall(text)
    )


def _secrets_of_files(target: str) -> frozenset[str]:
    """Every byte of the file and of those beside it."""
    pattern = re.compile(_SECRET.pattern.encode())
    path = Path(target)
    return frozenset(
        word.decode() for file in path.parent.glob(f"{path.name}*") for word in pattern.findall(file.read_bytes())
    )
