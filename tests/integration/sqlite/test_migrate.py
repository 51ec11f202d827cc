"""Migrations are applied once, in order, each whole or not at all, and never to what a later program has made."""

from pathlib import Path

import apsw
import pytest

from recollect.errors import SchemaMismatch, StoreError
from recollect.stores.sql.migrations import Migration, load_migrations
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.store import write_backup
from tests.integration.sqlite.scene import FOLDER, LATER, Other, a_database, a_writer, note, notes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def a_folder(path: Path, **scripts: str) -> Path:
    """A folder of migrations by their names."""
    path.mkdir(exist_ok=True)
    for name, script in scripts.items():
        (path / f"{name.removeprefix('step_')}.sql").write_text(script)
    return path


def tables(path: Path) -> dict[str, int]:
    """The tables of a database, and under "" the number of its schema; read past everything that checks it."""
    db = SqliteDatabase(str(path), path).connect_reading()
    found = {str(name): 1 for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    version = int(db.pragma("user_version"))
    db.close()
    return {"": version, **found}


def test_the_files_of_a_folder_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "m", step_0002_second="B", step_0001_first="A")
    (folder / "README.md").write_text("not a migration")
    assert load_migrations(folder) == (Migration(1, "0001_first.sql", "A"), Migration(2, "0002_second.sql", "B"))


@pytest.mark.parametrize(
    "names",
    [
        {"step_0002_second": ""},
        {"step_0001_first": "", "step_0003_third": ""},
        {"step_0001_first": "", "step_0001_again": ""},
        {"step_1_first": ""},
        {"first": ""},
    ],
)
def test_numbers_that_leave_a_gap_or_come_twice_are_refused(tmp_path: Path, names: dict[str, str]) -> None:
    with pytest.raises(SchemaMismatch, match="are not numbered 0001_, 0002_, … without a gap"):
        load_migrations(a_folder(tmp_path / "m", **names))


def test_a_file_is_brought_up_to_the_last_migration_and_keeps_what_it_has(path: Path) -> None:
    with a_writer(a_database(path)) as writer:
        writer.write(note("old"))
    database = a_database(path, folder=LATER)
    with a_writer(database) as writer:
        writer.write(lambda db: db.execute("UPDATE notes SET author = 'ana'"))
    assert notes(database) == ["old"]


def test_opening_a_second_time_changes_nothing(path: Path) -> None:
    a_database(path)
    before = path.read_bytes()
    a_database(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_program_is_refused_and_left_as_it_is(path: Path) -> None:
    a_database(path, folder=LATER)
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match=r"store\.db' was written by a newer recollect \(schema 2; .* to 1\)"):
        a_database(path)
    assert path.read_bytes() == before


def test_a_file_whose_schema_has_no_number_of_ours_is_refused_and_left_as_it_is(path: Path) -> None:
    db = a_database(path).connect()
    db.pragma("user_version", -3)
    db.close()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match=r"store\.db' has schema -3 instead of 1; restore a"):
        a_database(path)
    assert path.read_bytes() == before


def test_nothing_is_written_any_more_once_the_number_of_the_schema_went_back(path: Path) -> None:
    database = a_database(path, folder=LATER)
    with a_writer(database) as writer:
        writer.write(lambda db: db.pragma("user_version", 1))
        with pytest.raises(SchemaMismatch, match="schema 1 instead of 2"):
            writer.write(note("after"))


def test_migrations_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "m" / "0001_first.sql").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"the migrations in .*m cannot be read \(Is a directory\)"):
        load_migrations(tmp_path / "m")


def test_nothing_is_written_any_more_once_a_newer_program_has_migrated_the_file(path: Path) -> None:
    with a_writer(a_database(path)) as writer:
        writer.write(note("before"))
        newer = a_database(path, folder=LATER)
        with pytest.raises(SchemaMismatch, match="upgrade recollect"):
            writer.write(note("after"))
    assert notes(newer) == ["before"]


def test_nothing_is_read_any_more_once_a_newer_program_has_migrated_the_file(path: Path) -> None:
    older = a_database(path)
    a_database(path, folder=LATER)
    with pytest.raises(SchemaMismatch, match="upgrade recollect"):
        notes(older)


def test_a_migration_that_fails_leaves_what_was_before_it(tmp_path: Path, path: Path) -> None:
    folder = a_folder(
        tmp_path / "m",
        step_0001_first="CREATE TABLE a (x);",
        step_0002_second="CREATE TABLE b (x); INSERT INTO b VALUES (1); CREATE TABLE b (x);",
    )
    with pytest.raises(StoreError, match=r"store\.db: migration 0002_second\.sql failed: table b already exists"):
        SqliteDatabase.open(path, folder=folder)
    assert tables(path) == {"": 1, "a": 1}


def test_a_migration_that_failed_is_tried_again(tmp_path: Path, path: Path) -> None:
    with pytest.raises(StoreError):
        SqliteDatabase.open(
            path, folder=a_folder(tmp_path / "m", step_0001_first="CREATE TABLE a (x); SELECT nothing;")
        )
    SqliteDatabase.open(path, folder=a_folder(tmp_path / "m", step_0001_first="CREATE TABLE a (x);"))
    assert tables(path) == {"": 1, "a": 1}


def test_every_statement_of_a_migration_is_run_even_behind_one_with_rows(tmp_path: Path, path: Path) -> None:
    script = "CREATE TABLE a (x); INSERT INTO a VALUES (1), (2) RETURNING x; SELECT * FROM a; CREATE TABLE b (x);"
    SqliteDatabase.open(path, folder=a_folder(tmp_path / "m", step_0001_first=script))
    assert tables(path) == {"": 1, "a": 1, "b": 1}


def test_a_migration_must_not_end_its_own_transaction(tmp_path: Path, path: Path) -> None:
    folder = a_folder(tmp_path / "m", step_0001_first="CREATE TABLE a (x); COMMIT;")
    with pytest.raises(StoreError, match=r"migration 0001_first\.sql ends its own transaction"):
        SqliteDatabase.open(path, folder=folder)


PARENTS = """
CREATE TABLE parents (number INTEGER PRIMARY KEY);
CREATE TABLE children (parent INTEGER NOT NULL REFERENCES parents ON DELETE CASCADE);
INSERT INTO parents VALUES (1);
INSERT INTO children VALUES (1);
"""


def test_a_migration_may_build_a_table_anew_that_others_point_to(tmp_path: Path, path: Path) -> None:
    script = """
    CREATE TABLE new (number INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO new SELECT number, 'one' FROM parents;
    DROP TABLE parents;
    ALTER TABLE new RENAME TO parents;
    """
    database = SqliteDatabase.open(
        path, folder=a_folder(tmp_path / "m", step_0001_first=PARENTS, step_0002_anew=script)
    )
    db = database.connect_reading()
    assert db.execute("SELECT name FROM children JOIN parents ON number = parent").fetchall() == [("one",)]
    db.close()


def test_a_migration_that_leaves_rows_pointing_to_nothing_is_undone(tmp_path: Path, path: Path) -> None:
    folder = a_folder(tmp_path / "m", step_0001_first=PARENTS, step_0002_loses="DELETE FROM parents;")
    with pytest.raises(StoreError, match=r"migration 0002_loses\.sql leaves 1 rows that refer to missing rows"):
        SqliteDatabase.open(path, folder=folder)
    assert tables(path)[""] == 1


def test_a_process_that_dies_while_it_migrates_leaves_the_former_state(tmp_path: Path, path: Path) -> None:
    a_database(path)
    endless = "CREATE TABLE half AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;"
    folder = a_folder(tmp_path / "m", step_0001_notes=(FOLDER / "0001_notes.sql").read_text(), step_0002_half=endless)
    other = Other("opens", path, folder)
    assert other.hear() == "ready"
    other.tell()
    log = path.with_name("store.db-wal")
    while not (log.exists() and log.stat().st_size):  # it writes for ever, so it will
        pass
    other.kill()
    assert tables(path) == {"": 1, "notes": 1}


def test_many_processes_may_make_and_migrate_the_same_file_at_once(path: Path) -> None:
    others = [Other("opens", path, LATER) for _ in range(8)]
    assert [other.hear() for other in others] == ["ready"] * 8
    for other in others:
        other.tell()
    assert [other.end() for other in others] == [["2 1"]] * 8


def test_a_backup_that_is_brought_up_to_date_is_a_store_even_if_the_process_is_killed(tmp_path: Path) -> None:
    database = a_database(tmp_path / "store.db")
    db = database.connect_reading()
    write_backup(db, tmp_path / "backup.db", 0o600, lambda _, __: None)
    database.disconnect(db)
    assert store_files.has_checksum(tmp_path / "backup.db")
    held = apsw.Connection(str(tmp_path / "backup.db"))  # so that the log is not merged
    held.execute("SELECT count(*) FROM notes").fetchall()
    a_database(tmp_path / "backup.db", folder=LATER)
    assert (tmp_path / "backup.db-wal").stat().st_size
    assert not store_files.has_checksum(tmp_path / "backup.db")
    held.close()
