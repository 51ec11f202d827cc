"""This version opens the stores, exports, dumps and backups in `fixtures`, and loses nothing in them."""

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
from recollect.engine.archive_format import FORMAT_NUMBER as EXPORT_FORMAT
from recollect.model.context import ContextRecipe, ContextRecord, Use
from recollect.model.draft import IdempotencyRecord
from recollect.model.plan import JobState
from recollect.stores.postgres.connection import MIGRATIONS as POSTGRES_MIGRATIONS
from recollect.stores.sql.migrations import load_migrations
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.connection import MIGRATIONS as SQLITE_MIGRATIONS
from tests.postgres import admin_url
from tests.rights import heeding
from tests.upgrades.scenario import ANA, END, KEYED_DRAFTS
from tests.upgrades.snapshot import QUERY_SECTIONS, compare, take_snapshot
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

SQLITE_SCHEMA, POSTGRES_SCHEMA = len(load_migrations(SQLITE_MIGRATIONS)), len(load_migrations(POSTGRES_MIGRATIONS))

NOT_EXPORTED = {
    "jobs": "a timetable belongs to the schedulers of one store",
    "topics": "the next refresh finds them again",
}
"""The sections that an export leaves out, and why."""

every_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: one.name)


def load_expected(folder: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    return expected


def unpack(archive: Path, target: Path) -> Path:
    target.write_bytes(gzip.decompress(archive.read_bytes()))
    return target


def load_dump(folder: Path, url: str) -> None:
    """Run the statements of the dump in an empty database."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        db.execute(gzip.decompress((folder / DUMP).read_bytes()))


def import_export(folder: Path, target: str) -> recollect.Engine:
    """Open a new store and import the export into it."""
    engine = recollect.open(target, embedder="hashing-32", clock=lambda: END)
    with (folder / EXPORT).open(encoding="ascii") as lines:
        engine.import_(lines)
    return engine


def read_schema(store: Path) -> int:
    """Read the number of the schema without opening the file as a store, which would migrate it."""
    with closing(apsw.Connection(str(store), apsw.SQLITE_OPEN_READONLY)) as db:
        return int(db.pragma("user_version"))


def find_problems(folder: Path, actual: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Describe every row that was lost, changed or added, by section."""
    problems = []
    for name, expected in load_expected(folder)["found"].items():
        lost, new = compare(expected, actual.get(name, []))
        problems += [f"{name}: lost {row}" for row in lost]
        problems += [f"{name}: new {row}" for row in new if name not in QUERY_SECTIONS]  # queries may be added
    return problems


def changed_counts(before: dict[str, int], after: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Return the row counts before and after of each table where they differ; a dropped table has 0."""
    return {name: (rows, after.get(name, 0)) for name, rows in before.items() if rows != after.get(name, 0)}


@every_folder
def test_a_store_is_migrated_and_holds_what_it_held(folder: Path, tmp_path: Path) -> None:
    store, expected = unpack(folder / STORE, tmp_path / "store.db"), load_expected(folder)
    assert read_schema(store) == expected["schema"]["store"]
    assert find_problems(folder, take_snapshot(str(store))) == []
    assert read_schema(store) == SQLITE_SCHEMA
    assert changed_counts(expected["rows"]["store"], rows_of_file(store)) == {}
    assert recollect.verify(store).problems == ()


@every_folder
def test_a_store_that_may_only_be_read_holds_what_it_held(folder: Path, tmp_path: Path) -> None:
    store = unpack(folder / STORE, tmp_path / "store.db")
    recollect.open(store).close()  # migrate it while it can be written
    store.chmod(0o444)
    command = heeding("-m", "tests.upgrades.snapshot", str(store))
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert find_problems(folder, json.loads(outcome.stdout)) == []


@every_folder
def test_a_dump_is_migrated_and_holds_what_it_held_and_can_be_worked_with(folder: Path, postgres_url: str) -> None:
    load_dump(folder, postgres_url)
    expected = load_expected(folder)
    assert find_problems(folder, take_snapshot(postgres_url)) == []
    assert schema_of(postgres_url) == POSTGRES_SCHEMA
    assert changed_counts(expected["rows"]["postgres"], rows_of_database(postgres_url)) == {}
    with recollect.open(postgres_url, clock=lambda: END) as engine:
        retry(engine, expected)
        assert engine.undo(expected["runs"][0], scope=ANA).memories
        remember_and_recall(engine)


@every_folder
def test_a_backup_is_whole_and_restored_it_holds_what_the_store_held(folder: Path, tmp_path: Path) -> None:
    backup = unpack(folder / BACKUP, tmp_path / "backup.db")
    report = recollect.verify(backup)
    assert (report.problems, report.sealed, report.schema) == ((), True, SQLITE_SCHEMA)
    restored = tmp_path / "restored.db"
    shutil.copy(backup, restored)
    assert find_problems(folder, take_snapshot(str(restored))) == []
    assert changed_counts(load_expected(folder)["rows"]["store"], rows_of_file(restored)) == {}


@every_folder
def test_an_old_store_can_be_worked_with(folder: Path, tmp_path: Path) -> None:
    store, expected = unpack(folder / STORE, tmp_path / "store.db"), load_expected(folder)
    with recollect.open(store, clock=lambda: END) as engine:
        retry(engine, expected)
        receipt = engine.apply(recollect.Plan.read(expected["plan"]))
        assert receipt.run is not None
        for run in (receipt.run, *reversed(expected["runs"])):
            assert engine.undo(run, scope=ANA).memories
        remember_and_recall(engine)
    with recollect.scheduler(store, clock=lambda: END) as scheduler:
        runs = {run.job: run for run in scheduler.run_due()}
    assert {run.state for run in runs.values()} == {JobState.DONE}
    assert "prune-vectors" not in runs  # it is paused
    assert {runs["topics"].attempt, runs["consolidate"].attempt} == {2}  # the first attempts did not finish
    assert runs["rollup"].attempt == 1


def retry(engine: recollect.Engine, expected: dict[str, Any]) -> None:
    """Send the requests with idempotency keys again, and expect the same answers."""
    answers = {row["kept"]["key"]: (row["kept"]["memory"], row["verdict"]) for row in expected["found"]["keys"]}
    drafts = {key: {**draft, "key": key} for key, draft in KEYED_DRAFTS.items() if key in answers}
    receipts = engine.remember_all(drafts.values(), scope=ANA)
    assert [(one.id, type(one.verdict).__name__) for one in receipts] == [answers[key] for key in drafts]


def remember_and_recall(engine: recollect.Engine) -> None:
    new = engine.remember("Ana learns to play the harp", scope=ANA)
    context = engine.recall("which instrument does Ana learn to play?", scope=ANA)
    assert new.id in [one.id for one in context.packed]


@pytest.fixture(params=["sqlite", "postgres"])
def empty_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or URL of a store that does not exist yet."""
    if request.param == "sqlite":
        return str(tmp_path / "new.db")
    url: str = request.getfixturevalue("postgres_store_url")
    return url


@every_folder
def test_an_export_gives_a_new_store_what_the_exported_one_held(folder: Path, empty_target: str) -> None:
    import_export(folder, empty_target).close()
    actual = take_snapshot(empty_target)
    assert {section: actual[section] for section in NOT_EXPORTED} == {section: [] for section in NOT_EXPORTED}
    expected = load_expected(folder)["found"]
    assert find_problems(folder, {**actual, **{section: expected[section] for section in NOT_EXPORTED}}) == []


def test_this_version_writes_files_with_something_in_every_table_and_field(tmp_path: Path) -> None:
    expected = write_files(tmp_path)
    assert empty_tables(expected) == set()

    snapshot = expected["found"]
    values: dict[type[StrEnum], set[str]] = {
        recollect.Kind: {row["kind"] for row in snapshot["versions"]},
        recollect.Level: {row["level"] for row in snapshot["versions"] if "level" in row},
        recollect.Status: {row["status"] for row in snapshot["versions"]},
        recollect.Provenance: {row["provenance"] for row in snapshot["versions"]},
        recollect.Trust: {row["trust"] for row in snapshot["versions"]},
        recollect.types.Index: {one for row in snapshot["versions"] for one in row.get("left", ())},
        Use: {row["use"] for row in snapshot["uses"]} | {row["vote"]["use"] for row in snapshot["votes"]},
        JobState: {one["state"] for row in snapshot["jobs"] for one in row.get("occurrences", ())},
    }
    missing_values = {kind.__name__: {one.value for one in kind} - used for kind, used in values.items()}
    assert {name: missing for name, missing in missing_values.items() if missing} == {}

    records: dict[type[Any], list[dict[str, Any]]] = {
        recollect.Memory: snapshot["versions"],
        recollect.types.Usage: [row["usage"] for row in snapshot["usage"] if "usage" in row],
        ContextRecord: [{"elsewhere": "only for contexts of another store", **row} for row in snapshot["traces"]],
        ContextRecipe: [row["making"] for row in snapshot["traces"]],
        IdempotencyRecord: [row["kept"] for row in snapshot["keys"]],
    }
    missing_fields = {of.__name__: {one.name for one in fields(of)}.difference(*rows) for of, rows in records.items()}
    assert {name: missing for name, missing in missing_fields.items() if missing} == {}
    assert {row["replay"] for row in snapshot["contexts"]} == {"identical"}


class TestFilesOfANewerVersion:
    """The error names both numbers, and the file stays as it is."""

    def test_a_store_is_refused(self, tmp_path: Path) -> None:
        store = make_newer(STORE, tmp_path)
        before = store.read_bytes()
        with pytest.raises(recollect.errors.SchemaMismatch) as error:
            recollect.open(store)
        assert str(error.value) == schema_error(str(store), SQLITE_SCHEMA)
        assert store.read_bytes() == before

    def test_a_store_is_refused_on_the_command_line(self, tmp_path: Path) -> None:
        store = make_newer(STORE, tmp_path)
        before = store.read_bytes()
        for command in (["list", "--scope", ANA], ["search", "seat", "--scope", ANA], ["stats"]):
            outcome = CliRunner().invoke(cli, ["--db", str(store), *command], env={"RECOLLECT_CONFIG": ""})
            assert (outcome.exit_code, outcome.stdout) == (1, ""), command
            assert schema_error(str(store), SQLITE_SCHEMA) in outcome.stderr
        assert store.read_bytes() == before

    def test_a_database_is_refused(self, postgres_store_url: str) -> None:
        with psycopg.connect(admin_url(postgres_store_url)) as db:
            db.execute("INSERT INTO recollect.migrated (number) VALUES (%s)", [POSTGRES_SCHEMA + 1])
        before = rows_of_database(postgres_store_url)
        with pytest.raises(recollect.errors.SchemaMismatch) as error:
            recollect.open(postgres_store_url)
        message = str(error.value)
        assert message.startswith("store 'postgresql://")
        assert message.endswith(schema_error("", POSTGRES_SCHEMA).removeprefix("store ''"))
        outcome = CliRunner().invoke(cli, ["--db", postgres_store_url, "list", "--scope", ANA])
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert message in outcome.stderr
        assert rows_of_database(postgres_store_url) == before

    def test_a_backup_is_refused(self, tmp_path: Path) -> None:
        backup = make_newer(BACKUP, tmp_path)
        before = backup.read_bytes()
        with pytest.raises(recollect.errors.SchemaMismatch) as error:
            recollect.open(backup)
        assert str(error.value) == schema_error(str(backup), SQLITE_SCHEMA)
        report = recollect.verify(backup)
        problem, _, _ = schema_error(backup.name, SQLITE_SCHEMA).rpartition("; ")
        assert report.problems == (f"it cannot be used as a store: {problem}",)
        assert report.sealed
        assert backup.read_bytes() == before

    def test_an_export_is_refused(self, tmp_path: Path) -> None:
        lines = (ANY_FOLDER / EXPORT).read_text(encoding="ascii").splitlines(keepends=True)
        header = {**json.loads(lines[0]), "number": EXPORT_FORMAT + 1}
        export = tmp_path / "export.jsonl"
        export.write_text("".join([json.dumps(header) + "\n", *lines[1:]]), encoding="ascii")
        numbers = f"format {EXPORT_FORMAT + 1}; this version reads up to {EXPORT_FORMAT}"
        message = f"the export was written by a newer recollect ({numbers}); upgrade recollect"
        with recollect.open(tmp_path / "new.db", embedder="hashing") as engine, export.open(encoding="ascii") as file:
            with pytest.raises(recollect.errors.FieldError) as error:
                engine.import_(file)
            assert str(error.value) == f"line 1: {message}"
            assert engine.stats().memories == 0
        outcome = CliRunner().invoke(cli, ["--db", str(tmp_path / "other.db"), "import", str(export)])
        assert outcome.exit_code != 0
        assert message in outcome.stderr


def make_newer(archive: str, folder: Path) -> Path:
    """Unpack a store or a backup, and give it a schema one above that of this version."""
    path = unpack(ANY_FOLDER / archive, folder / archive.removesuffix(".gz"))
    sealed = store_files.has_checksum(path)
    if sealed:
        store_files.remove_checksum(path)
    db = apsw.Connection(str(path))
    db.pragma("user_version", SQLITE_SCHEMA + 1)
    db.close()
    if sealed:
        store_files.add_checksum(path)
    return path


def schema_error(name: str, schema: int) -> str:
    """The message for a store whose schema is one above `schema`."""
    numbers = f"schema {schema + 1}; this version reads up to {schema}"
    return f"store '{name}' was written by a newer recollect ({numbers}); upgrade recollect"
