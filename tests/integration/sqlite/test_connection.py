"""A SQLite file is opened in one way, refused if it is not ours, and what the driver says is said in our words."""

import os
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from recollect.errors import InvalidInput, RecollectError, SchemaMismatch, StoreBusy, StoreError
from recollect.stores.sqlite import process_lock, write_queue
from recollect.stores.sqlite.connection import (
    APPLICATION_ID,
    PAGE_SIZE,
    SqliteDatabase,
    translate_error,
    translate_errors,
)
from recollect.stores.sqlite.transaction import ReaderPool
from tests.integration.sqlite.scene import Other, a_database, a_writer, note, notes
from tests.rights import heeding
from tests.tables import table

"""A user who owns nothing."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def filled(database: SqliteDatabase, *texts: str) -> SqliteDatabase:
    with a_writer(database) as writer:
        for text in texts:
            writer.write(note(text))
    return database


# --- what a new file is like


def test_a_new_file_is_marked_as_ours_and_has_a_log(path: Path) -> None:
    db = a_database(path).connect()
    said = {name: db.pragma(name) for name in ("application_id", "user_version", "journal_mode", "page_size")}
    db.close()
    assert said == {
        "application_id": APPLICATION_ID,
        "user_version": 1,
        "journal_mode": "wal",
        "page_size": PAGE_SIZE,
    }


def test_a_connection_that_writes_is_durable_and_leaves_no_deleted_bytes(path: Path) -> None:
    db = a_database(path).connect()
    said = {name: db.pragma(name) for name in ("synchronous", "secure_delete", "foreign_keys")}
    db.close()
    assert said == {"synchronous": 2, "secure_delete": 1, "foreign_keys": 1}  # 2 is FULL


def test_a_statement_has_one_plan_whatever_it_is_given(path: Path) -> None:
    database = a_database(path)
    for db in (database.connect(), database.connect_reading()):
        assert db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1)
        db.close()


def test_a_connection_that_reads_cannot_write(path: Path) -> None:
    readers = ReaderPool(a_database(path))
    with pytest.raises(StoreError, match="cannot be written"), readers.borrow() as db:
        note("no")(db)
    readers.close()


def test_an_empty_file_is_taken_for_a_new_one(path: Path) -> None:
    path.touch()
    assert notes(filled(a_database(path), "first")) == ["first"]


def test_a_path_may_have_any_letters(tmp_path: Path) -> None:
    for name in ("with space.db", "question?mark#.db", "grüße-記憶.db", "%41.db", "file:x.db"):
        filled(a_database(tmp_path / name), name)
        assert notes(a_database(tmp_path / name)) == [name]
        assert (tmp_path / name).is_file()


def test_two_names_of_a_file_are_one_file_with_one_line(path: Path) -> None:
    filled(a_database(path), "by its name")
    other = path.with_name("link.db")
    other.symlink_to(path)
    assert notes(filled(a_database(other), "by its link")) == ["by its name", "by its link"]
    assert sorted(file.name for file in path.parent.glob("*-queue")) == ["store.db-queue"]


# --- what is not ours


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match=r"store\.db is a SQLite database of another program"):
        a_database(path)
    assert path.read_bytes() == before


def test_a_database_with_the_mark_of_another_program_is_refused_even_if_it_is_empty(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA application_id = 7")
    other.close()
    with pytest.raises(SchemaMismatch, match="application id 7"):
        a_database(path)


@pytest.mark.parametrize("version", [5, -1])
def test_a_database_with_the_version_of_another_program_is_refused_and_left_as_it_is(path: Path, version: int) -> None:
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {version}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match=r"store\.db is a SQLite database of another program"):
        a_database(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_text("# Notes\n" * 1000)
    with pytest.raises(SchemaMismatch, match=r"store\.db is not a SQLite database; use another file"):
        a_database(path)
    assert path.read_text() == "# Notes\n" * 1000


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder; give the path of a file in it"):
        a_database(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the folder .*missing does not exist; create it first"):
        a_database(tmp_path / "missing" / "store.db")


def test_a_file_in_the_place_of_a_folder_is_named(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match=r"the folder .* does not exist"):
        a_database(path / "store.db")


def test_what_is_no_ordinary_file_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as endpoint:
        name = os.path.join(folder, "s")  # noqa: PTH118 — a socket's name must be short
        endpoint.bind(name)
        with pytest.raises(StoreError, match="not a regular file"):
            a_database(name)


@table("name", ["", "a\0b", "half a letter \ud800"])
def test_what_is_no_path_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="give the path of a file"):
        a_database(name)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, which the folders of tests are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_a_file_that_may_only_be_read_is_named(open_folder: Path, mode: int) -> None:
    filled(a_database(open_folder / "store.db"), "first")
    (open_folder / "store.db").chmod(0o444)
    open_folder.chmod(mode)
    (said,) = Other("opens_without_rights", open_folder / "store.db", python=heeding()).end()
    assert said.startswith("StoreError ")
    assert "store.db cannot be written" in said
    assert "check the permissions of the file and its folder" in said


def test_a_folder_that_may_only_be_read_is_named(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    (said,) = Other("opens_without_rights", open_folder / "store.db", python=heeding()).end()
    assert said.startswith("StoreError ")
    assert "store.db cannot be written" in said
    assert "check the permissions of the file and its folder" in said


def test_a_folder_nobody_may_enter_is_named(open_folder: Path) -> None:
    (open_folder / "inner").mkdir(mode=0o700)
    (open_folder / "inner").chmod(0o000)
    (said,) = Other("opens_without_rights", open_folder / "inner" / "store.db", python=heeding()).end()
    (open_folder / "inner").chmod(0o700)
    assert said.startswith("StoreError ")
    assert "check the permissions" in said


# --- what the driver says


@table(
    ("raised", "sort", "words"),
    [
        (apsw.BusyError("locked"), StoreBusy, "another process is writing"),
        (apsw.LockedError("locked"), StoreBusy, "another process is writing"),
        (apsw.FullError("full"), StoreError, "the disk is full"),
        (apsw.CorruptError("malformed"), StoreError, "run `recollect verify`"),
        (apsw.NotADBError("no"), SchemaMismatch, "is not a SQLite database"),
        (apsw.ReadOnlyError("no"), StoreError, "check the permissions"),
        (apsw.CantOpenError("no"), StoreError, "check the permissions"),
        (apsw.IOError("disk I/O error"), StoreError, "the disk failed"),
        (apsw.SQLError("no such table"), StoreError, "no such table"),
        (apsw.ConstraintError("UNIQUE"), StoreError, "UNIQUE"),
        (apsw.InterruptError("interrupted"), StoreError, "interrupted"),
    ],
)
def test_every_error_of_the_driver_becomes_one_of_ours(
    raised: apsw.Error, sort: type[RecollectError], words: str
) -> None:
    with pytest.raises(StoreError) as caught, translate_errors("notes.db"):
        raise raised
    assert type(caught.value) is sort
    assert "notes.db" in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.__cause__ is raised
    assert caught.value.retryable == (sort is StoreBusy)


def test_no_room_for_the_index_of_the_log_is_a_full_disk_too() -> None:
    error = apsw.exception_for(apsw.SQLITE_IOERR_SHMSIZE)
    assert isinstance(error, apsw.IOError)
    assert "the disk is full" in str(translate_error(error, "notes.db"))


def test_a_damaged_file_is_told_with_the_command_that_helps(path: Path) -> None:
    with a_writer(a_database(path)) as writer:
        writer.write(lambda db: [note(f"{number:0500}")(db) for number in range(500)])
    with path.open("r+b") as file:
        for page in range(2, path.stat().st_size // PAGE_SIZE):
            file.seek(page * PAGE_SIZE)
            file.write(b"\xff" * 200)
    with pytest.raises(StoreError, match=r"store\.db: the file is damaged .* run `recollect verify`"):
        notes(a_database(path))


# --- readers


def test_a_reader_sees_one_moment_however_much_is_written_meanwhile(path: Path) -> None:
    database = filled(a_database(path), "first")
    readers = ReaderPool(database)
    with readers.borrow() as db:
        filled(database, "second")
        seen = db.execute("SELECT count(*) FROM notes").get
        filled(database, "third")
        assert (seen, db.execute("SELECT count(*) FROM notes").get) == (1, 1)
    with readers.borrow() as db:
        assert db.execute("SELECT count(*) FROM notes").get == 3
    readers.close()


def test_reading_may_begin_inside_reading(path: Path) -> None:
    readers = ReaderPool(filled(a_database(path), "first"))
    with readers.borrow() as outer, readers.borrow() as inner:
        assert outer is not inner
        assert outer.execute("SELECT text FROM notes").get == inner.execute("SELECT text FROM notes").get
    readers.close()


def test_a_connection_is_lent_again(path: Path) -> None:
    readers = ReaderPool(a_database(path))
    with readers.borrow() as first:
        pass
    with readers.borrow() as second:
        assert second is first
    readers.close()


def test_only_some_connections_are_kept(path: Path) -> None:
    readers = ReaderPool(a_database(path), kept=1)
    with readers.borrow() as first, readers.borrow() as second:
        pass
    with readers.borrow() as third, readers.borrow() as fourth:
        assert third is second
        assert fourth is not first
    readers.close()


def test_an_error_while_reading_ends_the_reading(path: Path) -> None:
    readers = ReaderPool(a_database(path))
    with pytest.raises(StoreError, match="no such table: nowhere"), readers.borrow() as db:
        db.execute("SELECT * FROM nowhere")
    with readers.borrow() as again:
        assert again is db
        assert again.execute("SELECT count(*) FROM notes").get == 0
    readers.close()


def test_a_statement_left_unread_does_not_keep_the_next_reader_in_the_past(path: Path) -> None:
    database = filled(a_database(path), "first", "second")
    readers = ReaderPool(database)
    with readers.borrow() as db:
        unread = db.execute("SELECT text FROM notes")
        assert next(iter(unread)) == ("first",)
    filled(database, "third")
    with readers.borrow() as db:
        assert db.execute("SELECT count(*) FROM notes").get == 3
    readers.close()
    del unread


def test_closed_readers_say_so(path: Path) -> None:
    readers = ReaderPool(a_database(path))
    readers.close()
    with pytest.raises(StoreError, match=r"store\.db is closed; open the store again"), readers.borrow():
        pass


def test_a_connection_that_is_lent_when_the_readers_close_is_closed_when_it_comes_back(path: Path) -> None:
    readers = ReaderPool(filled(a_database(path), "first"))
    with readers.borrow() as db:
        readers.close()
        assert db.execute("SELECT text FROM notes").get == "first"
    with pytest.raises(apsw.ConnectionClosedError):
        db.execute("SELECT 1")


# --- in memory


def test_what_is_in_memory_is_shared_by_the_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    database = a_database(":memory:")
    readers = ReaderPool(database)
    seen: list[object] = []

    def read() -> None:
        with readers.borrow() as db:
            seen.append(db.execute("SELECT count(*) FROM notes").get)

    with a_writer(database) as writer:
        writing = [threading.Thread(target=writer.write, args=(note(f"{number}"),)) for number in range(10)]
        reading = [threading.Thread(target=read) for _ in range(10)]
        for thread in writing + reading:
            thread.start()
        for thread in writing + reading:
            thread.join()
        read()
    assert seen[-1] == 10
    readers.close()
    database.close()
    assert list(tmp_path.iterdir()) == []


def test_in_memory_a_change_waits_for_readers_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "MAX_BATCH_WRITES", 1)
    database = a_database(":memory:")
    readers = ReaderPool(database)
    begun = threading.Event()

    def change(db: apsw.Connection) -> int:
        begun.set()
        return note("first")(db)

    with a_writer(database) as writer, ThreadPoolExecutor(1) as pool:
        with readers.borrow() as db:
            assert db.execute("SELECT count(*) FROM notes").get == 0
            done = pool.submit(writer.write, change)
            assert begun.wait(30)
            with pytest.raises(StoreBusy):
                writer.write(
                    note("never"), timeout=2 * write_queue.BUSY_RETRY_SECONDS
                )  # longer than SQLite's own lock is waited for
        assert done.result() == 1
    assert notes(database) == ["first"]
    readers.close()


def test_two_databases_in_memory_have_nothing_in_common() -> None:
    first, second = a_database(":memory:"), a_database(":memory:")
    filled(first, "mine")
    assert (notes(first), notes(second)) == (["mine"], [])


def test_a_full_memory_is_not_called_a_disk() -> None:
    database = a_database(":memory:")
    with a_writer(database) as writer:
        writer.write(lambda db: db.pragma("max_page_count", 8))
        with pytest.raises(StoreError, match=":memory:: memory is full"):
            writer.write(note("x" * 100_000))


# --- files that are not there any more


Change = Callable[[Path], object]


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    filled(a_database(other), "another")
    other.replace(path)


GONE = [
    (moved, "moved or deleted"),
    (Path.unlink, "moved or deleted"),
    (replaced, "replaced by another file"),
]


@pytest.mark.parametrize(("change", "what"), GONE)
def test_nothing_is_written_to_a_file_that_is_not_there_any_more(path: Path, change: Change, what: str) -> None:
    with a_writer(a_database(path)) as writer:
        writer.write(note("first"))
        change(path)
        for _ in range(2):
            with pytest.raises(StoreError, match=rf"store\.db was {what} while it was open; open the store again"):
                writer.write(note("second"))


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize(("change", "what"), GONE)
def test_nothing_is_read_from_a_file_that_is_not_there_any_more(
    path: Path, change: Change, what: str, kept: int
) -> None:
    database = filled(a_database(path), "first")
    readers = ReaderPool(database, kept=kept)  # also with a connection that is opened only then
    with readers.borrow():
        pass
    change(path)
    for _ in range(2):
        told = rf"store\.db was {what} while it was open; open the store again"
        with pytest.raises(StoreError, match=told), readers.borrow():
            pass
    readers.close()


def test_a_file_that_comes_back_is_used_again(path: Path) -> None:
    with a_writer(a_database(path)) as writer:
        writer.write(note("first"))
        moved(path)
        with pytest.raises(StoreError, match="moved or deleted"):
            writer.write(note("second"))
        path.with_name("elsewhere.db").rename(path)
        writer.write(note("third"))
    assert notes(a_database(path)) == ["first", "third"]


LOGS = [("-wal", "-shm"), ("-wal",), ("-shm",)]


@pytest.mark.parametrize("endings", LOGS)
def test_a_store_whose_log_was_deleted_is_refused_and_loses_nothing(path: Path, endings: Sequence[str]) -> None:
    database = a_database(path)
    readers = ReaderPool(database)
    with a_writer(database) as writer, readers.borrow():
        writer.write(note("first"))
        delete(path, endings)
        for _ in range(2):
            told = rf"store\.db{endings[0]} was deleted or replaced while .*store\.db was open"
            with pytest.raises(StoreError, match=told):
                writer.write(note("never"))
            with pytest.raises(StoreError, match=told), readers.borrow():
                pass
    readers.close()
    assert notes(a_database(path)) == ["first"]


@pytest.mark.parametrize("endings", LOGS)
def test_who_opens_a_store_while_others_of_the_process_have_a_deleted_log_is_refused(
    path: Path, endings: Sequence[str]
) -> None:
    readers, late = ReaderPool(filled(a_database(path), "first")), ReaderPool(a_database(path))
    with readers.borrow():
        delete(path, endings)
        with pytest.raises(StoreError, match="was deleted or replaced while"), late.borrow():
            pass
    readers.close()
    late.close()
    assert notes(a_database(path)) == ["first"]


@pytest.mark.parametrize("endings", LOGS)
def test_what_others_write_after_the_log_was_deleted_is_not_overwritten(path: Path, endings: Sequence[str]) -> None:
    database = a_database(path)
    with a_writer(database) as writer:
        writer.write(note("first"))
        delete(path, endings)
        acknowledged = Other("says_what_was_acknowledged", path).end()
    assert acknowledged != [] or endings == ("-wal",)  # with an index of another log, SQLite refuses by itself
    assert [text for text in notes(a_database(path)) if text != "first"] == acknowledged


def test_what_others_moved_into_the_file_after_the_log_was_deleted_is_not_overwritten(path: Path) -> None:
    with a_writer(a_database(path)) as writer:
        writer.write(note("first"))
        delete(path, ("-wal", "-shm"))
        assert Other("writes_and_moves_the_log", path).end() == ["moved"]
        delete(path, ("-wal", "-shm"))
    assert notes(a_database(path)) == ["theirs"]


def test_what_is_left_in_a_deleted_log_after_a_checkpoint_of_our_own_is_saved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_lock, "STALLED_SECONDS", 60.0)  # or a slow checkpoint would be gone past
    database = a_database(path)
    readers = ReaderPool(database)
    with a_writer(database) as writer:
        writer.write(note("first" * PAGE_SIZE))  # on pages of its own
        before = path.stat().st_mtime_ns
        with readers.borrow() as db:
            db.execute("SELECT count(*) FROM notes").fetchall()  # holds on to all that comes after
            writer.write(note("x" * (write_queue.CHECKPOINT_PAGES * PAGE_SIZE)))
            after = database.open_write_lock()
            assert after.acquire()  # behind the checkpoint, which is part of the writer's turn
            after.release()
            after.close()
        assert path.stat().st_mtime_ns > before  # the first is in the file now, and the second is not
        delete(path, ["-wal"])
    readers.close()
    assert [text[:5] for text in notes(a_database(path))] == ["first", "xxxxx"]


def delete(path: Path, endings: Sequence[str]) -> None:
    for ending in endings:
        path.with_name(f"{path.name}{ending}").unlink()


# --- closing


def test_a_connection_that_cannot_be_closed_keeps_no_other_open(path: Path) -> None:
    readers = ReaderPool(a_database(path))
    begun, over = threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        begun.set()
        over.wait()

    with readers.borrow() as busy, readers.borrow() as idle:
        busy.create_scalar_function("wait", wait)
    thread = threading.Thread(target=lambda: busy.execute("SELECT wait()").fetchall())
    thread.start()
    begun.wait()
    with pytest.raises(StoreError, match="busy in another thread"):
        readers.close()
    with pytest.raises(apsw.ConnectionClosedError):
        idle.execute("SELECT 1")
    over.set()
    thread.join()
