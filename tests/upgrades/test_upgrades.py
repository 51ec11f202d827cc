"""Stores, exports, dumps and backups of every earlier version that is kept here open, and nothing in them is lost."""

import gzip
import json
import shutil
import subprocess
from contextlib import closing
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from click.testing import CliRunner

import recollect
from recollect.cli.main import cli
from recollect.engine.archive import NUMBER as EXPORT_FORMAT
from recollect.model.kept import Kept
from recollect.model.timetable import State
from recollect.model.trace import Making, Trace
from recollect.model.usage import Use
from recollect.stores.migrate import migrations
from recollect.stores.postgres.connection import MIGRATIONS as POSTGRES_MIGRATIONS
from recollect.stores.sqlite import seal
from recollect.stores.sqlite.connection import MIGRATIONS as SQLITE_MIGRATIONS
from tests.postgres import admin_url
from tests.rights import heeding
from tests.upgrades.life import ANA, END, KEYED
from tests.upgrades.look import ASKED, differences, look
from tests.upgrades.write import (
    BACKUP,
    DUMP,
    EXPECTED,
    EXPORT,
    STORE,
    empty_tables,
    rows_of_database,
    rows_of_file,
    schema_of,
    write_files,
)

ROOT = Path(__file__).parents[2]
FOLDERS = sorted((Path(__file__).parent / "fixtures").iterdir())
ANY_FOLDER = FOLDERS[0]
"""A folder for tests that set the number of the schema or format themselves: sorting does not tell which is newest."""

SQLITE_SCHEMA, POSTGRES_SCHEMA = len(migrations(SQLITE_MIGRATIONS)), len(migrations(POSTGRES_MIGRATIONS))

NOT_EXPORTED = {
    "jobs": "a timetable belongs to the schedulers of one store",
    "topics": "which memories belong together is found again by the next refresh",
}
"""The sections that an export leaves out, and why."""

every_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: one.name)


def expected_of(folder: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    return expected


def unpacked(packed: Path, target: Path) -> Path:
    target.write_bytes(gzip.decompress(packed.read_bytes()))
    return target


def load_dump(folder: Path, url: str) -> None:
    """Run the statements of the dump in an empty database."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        db.execute(gzip.decompress((folder / DUMP).read_bytes()))


def import_export(folder: Path, target: str) -> recollect.Engine:
    """A new store with what the export has."""
    engine = recollect.open(target, embedder="hashing-32", clock=lambda: END)
    with (folder / EXPORT).open(encoding="ascii") as lines:
        engine.import_(lines)
    return engine


def recorded_schema(store: Path) -> int:
    """The number that the file has, without opening it as a store."""
    with closing(apsw.Connection(str(store), apsw.SQLITE_OPEN_READONLY)) as db:
        return int(db.pragma("user_version"))


def problems(folder: Path, found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Every row that was lost or came out otherwise, by its section."""
    told = []
    for name, expected in expected_of(folder)["found"].items():
        lost, new = differences(expected, found.get(name, []))
        told += [f"{name}: lost {row}" for row in lost]
        told += [f"{name}: new {row}" for row in new if name not in ASKED]  # questions may be added
    return told


def lost_rows(before: dict[str, int], after: dict[str, int]) -> dict[str, tuple[int, int]]:
    """The tables that have another number of rows than before; one that is gone has none."""
    return {name: (rows, after.get(name, 0)) for name, rows in before.items() if rows != after.get(name, 0)}


@every_folder
def test_a_store_is_migrated_and_holds_what_it_held(folder: Path, tmp_path: Path) -> None:
    store, expected = unpacked(folder / STORE, tmp_path / "store.db"), expected_of(folder)
    assert recorded_schema(store) == expected["schema"]["store"]
    assert problems(folder, look(str(store))) == []
    assert recorded_schema(store) == SQLITE_SCHEMA
    assert lost_rows(expected["rows"]["store"], rows_of_file(store)) == {}
    assert recollect.verify(store).problems == ()


@every_folder
def test_a_store_that_may_only_be_read_holds_what_it_held(folder: Path, tmp_path: Path) -> None:
    store = unpacked(folder / STORE, tmp_path / "store.db")
    recollect.open(store).close()  # who may only read cannot migrate
    store.chmod(0o444)
    command = heeding("-m", "tests.upgrades.look", str(store))
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert problems(folder, json.loads(outcome.stdout)) == []


@every_folder
def test_a_dump_is_migrated_and_holds_what_it_held_and_can_be_worked_with(folder: Path, postgres_url: str) -> None:
    load_dump(folder, postgres_url)
    expected = expected_of(folder)
    assert problems(folder, look(postgres_url)) == []
    assert schema_of(postgres_url) == POSTGRES_SCHEMA
    assert lost_rows(expected["rows"]["postgres"], rows_of_database(postgres_url)) == {}
    with recollect.open(postgres_url, clock=lambda: END) as engine:
        retry(engine, expected)
        assert engine.undo(expected["runs"][0], scope=ANA).memories
        remember_and_recall(engine)


@every_folder
def test_a_backup_is_whole_and_restored_it_holds_what_the_store_held(folder: Path, tmp_path: Path) -> None:
    backup = unpacked(folder / BACKUP, tmp_path / "backup.db")
    report = recollect.verify(backup)
    assert (report.problems, report.sealed, report.schema) == ((), True, SQLITE_SCHEMA)
    restored = tmp_path / "restored.db"
    shutil.copy(backup, restored)
    assert problems(folder, look(str(restored))) == []
    assert lost_rows(expected_of(folder)["rows"]["store"], rows_of_file(restored)) == {}


@every_folder
def test_an_old_store_can_be_worked_with(folder: Path, tmp_path: Path) -> None:
    store, expected = unpacked(folder / STORE, tmp_path / "store.db"), expected_of(folder)
    with recollect.open(store, clock=lambda: END) as engine:
        retry(engine, expected)
        applied = engine.apply(recollect.Plan.read(expected["plan"]))
        assert applied.run is not None
        for run in (applied.run, *reversed(expected["runs"])):
            assert engine.undo(run, scope=ANA).memories
        remember_and_recall(engine)
    with recollect.scheduler(store, clock=lambda: END) as scheduler:
        done = {one.job: one for one in scheduler.run_due()}
    assert {one.state for one in done.values()} == {State.DONE}
    assert "prune-vectors" not in done  # it is paused
    assert {done["topics"].attempt, done["consolidate"].attempt} == {2}  # which others left behind
    assert done["rollup"].attempt == 1


def retry(engine: recollect.Engine, expected: dict[str, Any]) -> None:
    """Send the requests with idempotency keys again, which are answered as they were."""
    kept = {row["kept"]["key"]: (row["kept"]["memory"], row["verdict"]) for row in expected["found"]["keys"]}
    drafts = {key: {**draft, "key": key} for key, draft in KEYED.items() if key in kept}
    again = engine.remember_all(drafts.values(), scope=ANA)
    assert [(one.id, type(one.verdict).__name__) for one in again] == [kept[key] for key in drafts]


def remember_and_recall(engine: recollect.Engine) -> None:
    new = engine.remember("Ana learns to play the harp", scope=ANA)
    context = engine.recall("which instrument does Ana learn to play?", scope=ANA)
    assert new.id in [one.id for one in context.packed]


@pytest.fixture(params=["sqlite", "postgres"])
def empty_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that is to be made, of each sort."""
    if request.param == "sqlite":
        return str(tmp_path / "new.db")
    url: str = request.getfixturevalue("postgres_store_url")
    return url


@every_folder
def test_an_export_gives_a_new_store_what_the_exported_one_held(folder: Path, empty_target: str) -> None:
    import_export(folder, empty_target).close()
    found = look(empty_target)
    left_out = {section: found[section] for section in NOT_EXPORTED}
    assert left_out == {section: [] for section in NOT_EXPORTED}
    expected = expected_of(folder)["found"]
    assert problems(folder, {**found, **{section: expected[section] for section in NOT_EXPORTED}}) == []


def test_this_version_writes_files_with_something_in_every_table_and_field(tmp_path: Path) -> None:
    expected = write_files(tmp_path)
    assert empty_tables(expected) == set()

    found = expected["found"]
    made: dict[type[StrEnum], set[str]] = {
        recollect.Kind: {row["kind"] for row in found["versions"]},
        recollect.Level: {row["level"] for row in found["versions"] if "level" in row},
        recollect.Status: {row["status"] for row in found["versions"]},
        recollect.Provenance: {row["provenance"] for row in found["versions"]},
        recollect.Trust: {row["trust"] for row in found["versions"]},
        recollect.Index: {one for row in found["versions"] for one in row.get("left", ())},
        Use: {row["use"] for row in found["uses"]} | {row["vote"]["use"] for row in found["votes"]},
        State: {one["state"] for row in found["jobs"] for one in row.get("occurrences", ())},
    }
    lacking = {kind.__name__: {one.value for one in kind} - values for kind, values in made.items()}
    assert {name: values for name, values in lacking.items() if values} == {}

    kept: dict[type[Any], list[dict[str, Any]]] = {
        recollect.Memory: found["versions"],
        recollect.Usage: [row["usage"] for row in found["usage"] if "usage" in row],
        Trace: [{"elsewhere": "only of another store's contexts", **row} for row in found["traces"]],
        Making: [row["making"] for row in found["traces"]],
        Kept: [row["kept"] for row in found["keys"]],
    }
    unfilled = {of.__name__: {one.name for one in fields(of)}.difference(*rows) for of, rows in kept.items()}
    assert {name: names for name, names in unfilled.items() if names} == {}
    assert {row["replay"] for row in found["contexts"]} == {"identical"}


class TestWhatANewerVersionWrote:
    """It is refused in plain words, and left as it is."""

    def test_a_store_is_refused(self, tmp_path: Path) -> None:
        store = a_newer(STORE, tmp_path)
        before = store.read_bytes()
        with pytest.raises(recollect.SchemaMismatch) as refused:
            recollect.open(store)
        assert str(refused.value) == newer(str(store), SQLITE_SCHEMA)
        assert store.read_bytes() == before

    def test_a_store_is_refused_on_the_command_line(self, tmp_path: Path) -> None:
        store = a_newer(STORE, tmp_path)
        before = store.read_bytes()
        for command in (["list", "--scope", ANA], ["search", "seat", "--scope", ANA], ["stats"]):
            outcome = CliRunner().invoke(cli, ["--db", str(store), *command], env={"RECOLLECT_CONFIG": ""})
            assert (outcome.exit_code, outcome.stdout) == (1, ""), command
            assert newer(str(store), SQLITE_SCHEMA) in outcome.stderr
        assert store.read_bytes() == before

    def test_a_database_is_refused(self, postgres_store_url: str) -> None:
        with psycopg.connect(admin_url(postgres_store_url)) as db:
            db.execute("INSERT INTO recollect.migrated (number) VALUES (%s)", [POSTGRES_SCHEMA + 1])
        before = rows_of_database(postgres_store_url)
        with pytest.raises(recollect.SchemaMismatch) as refused:
            recollect.open(postgres_store_url)
        shown = str(refused.value)
        assert shown.startswith("store 'postgresql://")
        assert shown.endswith(newer("", POSTGRES_SCHEMA).removeprefix("store ''"))
        outcome = CliRunner().invoke(cli, ["--db", postgres_store_url, "list", "--scope", ANA])
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert shown in outcome.stderr
        assert rows_of_database(postgres_store_url) == before

    def test_a_backup_is_refused(self, tmp_path: Path) -> None:
        backup = a_newer(BACKUP, tmp_path)
        before = backup.read_bytes()
        told = newer(str(backup), SQLITE_SCHEMA)
        with pytest.raises(recollect.SchemaMismatch) as refused:
            recollect.open(backup)
        assert str(refused.value) == told
        report = recollect.verify(backup)
        what, _, _ = newer(backup.name, SQLITE_SCHEMA).rpartition("; ")
        assert report.problems == (f"it cannot be used as a store: {what}",)
        assert report.sealed
        assert backup.read_bytes() == before

    def test_an_export_is_refused(self, tmp_path: Path) -> None:
        lines = (ANY_FOLDER / EXPORT).read_text(encoding="ascii").splitlines(keepends=True)
        header = {**json.loads(lines[0]), "number": EXPORT_FORMAT + 1}
        export = tmp_path / "export.jsonl"
        export.write_text("".join([json.dumps(header) + "\n", *lines[1:]]), encoding="ascii")
        numbers = f"format {EXPORT_FORMAT + 1}; this version reads up to {EXPORT_FORMAT}"
        seen = f"the export was written by a newer recollect ({numbers})"
        told = f"line 1: {seen}; upgrade recollect"
        with recollect.open(tmp_path / "new.db", embedder="hashing") as engine, export.open(encoding="ascii") as file:
            with pytest.raises(recollect.FieldError) as refused:
                engine.import_(file)
            assert str(refused.value) == told
            assert engine.stats().memories == 0
        outcome = CliRunner().invoke(cli, ["--db", str(tmp_path / "other.db"), "import", str(export)])
        assert outcome.exit_code != 0
        assert f"{seen}; upgrade recollect" in outcome.stderr


def a_newer(packed: str, folder: Path) -> Path:
    """A store or a backup whose schema is one later than the last that this version knows."""
    path = unpacked(ANY_FOLDER / packed, folder / packed.removesuffix(".gz"))
    sealed = seal.is_there(path)
    if sealed:
        seal.take_off(path)
    db = apsw.Connection(str(path))
    db.pragma("user_version", SQLITE_SCHEMA + 1)
    db.close()
    if sealed:
        seal.put_on(path)
    return path


def newer(name: str, known: int) -> str:
    seen = f"store '{name}' was written by a newer recollect (schema {known + 1}; this version reads up to {known})"
    return f"{seen}; upgrade recollect"
