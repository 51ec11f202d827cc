"""Filling: memories by COPY into the tables of the store, as `remember` would have written them.

A role that row-level security holds may not COPY into a table, so the superuser does it. Single uses and votes, which
only `known_at` reads, are left out; what they add up to is there.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from postgres.material import AT, MODEL, Made, Stated
from recollect.model.memory import content_hash
from recollect.model.scope import Scope
from recollect.retrieval import bm25, entity_links
from recollect.stores.postgres.connection import register_vector_type
from recollect.stores.sql.rows import STATE_COLUMNS, VectorBytes, state_values, to_micros, to_optional_micros
from recollect.stores.sql.transaction import Row
from recollect.text import entities, tokenizer
from recollect.text.paraphrase import paraphrase_key

Admin = psycopg.Connection[tuple[Any, ...]]

ENCODER = 1
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "contents": ("root", "number", "scope", "title", "text", "hash", "terms", "analyser", "entities", "naming"),
    "vectors": ("root", "content", "encoder", "scope", "value"),
    "memories": ("root", "number", "id", "scope", "content", *STATE_COLUMNS),
    "versions": ("root", "memory", "scope", "until", "content", *STATE_COLUMNS),
    "usage": ("root", "memory", "scope", "served", "helped", "misled", "last_served_at", "changed"),
}
"""In the order in which they refer to each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Rows on their way, with the commits that they say they were written in: news, revisions, uses."""

    root: str
    scope: int
    commits: tuple[int, int, int]
    tables: Mapping[str, Sequence[Row]]


def admit(db: Admin) -> None:
    """Have a connection speak of vectors as the store does."""
    row = db.execute("SELECT oid FROM pg_type WHERE typname = 'vector'").fetchone()
    assert row is not None
    register_vector_type(db, row[0])


def begin(db: Admin, dimensions: int) -> None:
    """Say which model the vectors are from."""
    db.execute("INSERT INTO recollect.encoders VALUES (%s, %s, %s, true)", [ENCODER, MODEL, dimensions])


def fill(db: Admin, chunk: Sequence[Made]) -> None:
    """Write memories of one scope."""
    write(db, prepare(db, chunk))


def prepare(db: Admin, chunk: Sequence[Made]) -> Prepared:
    """The rows of memories of one scope, with numbers that nobody else will have."""
    scope = chunk[0].scope
    root, number, last = scope.parts[0], _scope(db, scope), _last_commit(db, scope)
    commits = (last + 1, last + 2, last + 3)
    versions = sum(1 if one.former is None else 2 for one in chunk)
    content, memory = _free(db, "contents", versions), _free(db, "memories", len(chunk))
    tables: dict[str, list[Row]] = {name: [] for name in COLUMNS}

    def say(stated: Stated) -> int:
        nonlocal content
        here, content = content, content + 1
        tables["contents"].append((root, here, number, *_content(stated.text)))
        direction = VectorBytes(stated.vector.astype("<f4").tobytes())
        tables["vectors"].append((root, here, ENCODER, number, direction))
        return here

    for place, one in enumerate(chunk, start=memory):
        if one.former is not None:
            was = _state(one, one.former, commits[0])
            tables["versions"].append((root, place, number, commits[1], say(one.former), *was))
        now = _state(one, one.said, commits[0 if one.former is None else 1])
        tables["memories"].append((root, place, one.id, number, say(one.said), *now))
        if one.served or one.helped or one.misled:
            used = (one.served, one.helped, one.misled, to_optional_micros(one.served_at))
            tables["usage"].append((root, place, number, *used, commits[2]))
    return Prepared(root=root, scope=number, commits=commits, tables=tables)


def write(db: Admin, prepared: Prepared) -> None:
    """Write rows, all or none."""
    with db.transaction(), db.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO recollect.commits (root, number, recorded_at, token) VALUES (%s, %s, %s, %s)",
            [(prepared.root, number, to_micros(AT), uuid.uuid4()) for number in prepared.commits],
        )
        for table, rows in prepared.tables.items():
            copy(db, "recollect", table, COLUMNS[table], rows)
        cursor.execute(
            "UPDATE recollect.scopes SET changed = %s, used = %s WHERE root = %s AND number = %s",
            [*prepared.commits[1:], prepared.root, prepared.scope],
        )


def copy(db: Admin, schema: str, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """COPY rows into a table, in binary."""
    known: dict[str, int] = dict(
        db.execute(
            "SELECT attname, atttypid FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0",
            [f"{schema}.{table}"],
        ).fetchall()
    )
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    told = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(schema, table), names)
    with db.cursor() as cursor, cursor.copy(told) as copying:
        copying.set_types([known[name] for name in columns])
        for row in rows:
            copying.write_row(row)


def _content(text: str) -> Row:
    terms = bm25.encode_terms(tokenizer.count_terms(text))
    return (
        None,
        text,
        content_hash(text),
        terms,
        tokenizer.VERSION,
        entity_links.find_stored_names(None, text),
        entities.VERSION,
    )


def _state(one: Made, stated: Stated, commit: int) -> Row:
    memory = one.memory(stated)
    return state_values(memory, memory.hash, paraphrase_key(memory), recorded_at=to_micros(AT), commit=commit)


def _scope(db: Admin, scope: Scope) -> int:
    """The number of a scope, which is made with its root where it is not there."""
    given = {"root": scope.parts[0], "path": str(scope)}
    db.execute("INSERT INTO recollect.roots (root) VALUES (%(root)s) ON CONFLICT DO NOTHING", given)
    db.execute("INSERT INTO recollect.scopes (root, path) VALUES (%(root)s, %(path)s) ON CONFLICT DO NOTHING", given)
    row = db.execute("SELECT number FROM recollect.scopes WHERE root = %(root)s AND path = %(path)s", given).fetchone()
    assert row is not None
    return int(row[0])


def _last_commit(db: Admin, scope: Scope) -> int:
    asked = "SELECT coalesce(max(number), 0) FROM recollect.commits WHERE root = %s"
    row = db.execute(asked, [scope.parts[0]]).fetchone()
    assert row is not None
    return int(row[0])


def _free(db: Admin, table: str, count: int) -> int:
    """The first of so many numbers in a row."""
    sequence = f"recollect.{table}_numbers"
    row = db.execute("SELECT setval(%s, nextval(%s) + %s)", [sequence, sequence, count - 1]).fetchone()
    assert row is not None
    return int(row[0]) - count + 1
