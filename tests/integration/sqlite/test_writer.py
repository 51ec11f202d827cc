"""The writer loses nothing it acknowledged, does nothing it refused, and keeps changes from harming each other."""

import gc
import logging
import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from recollect.errors import InvalidInput, StoreBusy, StoreError
from recollect.stores.sqlite import process_lock, write_queue
from recollect.stores.sqlite.connection import PAGE_SIZE, SqliteDatabase
from recollect.stores.sqlite.transaction import ReaderPool
from recollect.stores.sqlite.write_queue import CHECKPOINT_PAGES, MAX_DEFERRED_WRITES, SqliteWriter, WriteRequest
from tests.integration.sqlite.scene import Other, a_database, a_writer, note, notes

MOMENT = 0.05
"""A deadline that passes soon."""


@pytest.fixture
def database(tmp_path: Path) -> SqliteDatabase:
    return a_database(tmp_path / "store.db")


@pytest.fixture
def writer(database: SqliteDatabase) -> Iterator[SqliteWriter]:
    with a_writer(database) as writer:
        yield writer


@pytest.fixture(autouse=True)
def no_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction goes on until nothing waits, however slow the machine is."""
    monkeypatch.setattr(write_queue, "MAX_BATCH_SECONDS", 60.0)


@pytest.fixture
def no_way_past(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody goes past whoever has the turn, however late it is noticed on a slow machine that a time is over."""
    monkeypatch.setattr(process_lock, "STALLED_SECONDS", 60.0)


@contextmanager
def paused(writer: SqliteWriter) -> Iterator[None]:
    """Keeps the writer busy with a change, so that all that is asked meanwhile joins its transaction."""
    begun, over = threading.Event(), threading.Event()

    def pause(_: apsw.Connection) -> None:
        begun.set()
        over.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(writer.write, pause)
        begun.wait()
        yield
        over.set()


def wait_until(happened: Callable[[], bool]) -> None:
    while not happened():
        os.sched_yield()


def counting_commits(db: apsw.Connection) -> list[int]:
    """A list that grows by one with every commit of the writer."""
    commits: list[int] = []

    def count() -> bool:
        commits.append(1)
        return False  # the commit may go on

    db.set_commit_hook(count)
    return commits


# --- one change


def test_a_change_returns_its_result_when_it_is_written(database: SqliteDatabase, writer: SqliteWriter) -> None:
    assert [writer.write(note("first")), writer.write(note("second"))] == [1, 2]
    assert notes(database) == ["first", "second"]


def test_a_change_that_raises_writes_nothing_and_its_caller_gets_the_error(
    database: SqliteDatabase, writer: SqliteWriter
) -> None:
    def change(db: apsw.Connection) -> None:
        note("half")(db)
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        writer.write(change)
    writer.write(note("whole"))
    assert notes(database) == ["whole"]


def test_an_error_of_the_driver_comes_out_as_ours(writer: SqliteWriter) -> None:
    writer.write(note("same"))
    with pytest.raises(StoreError, match=r"store\.db: UNIQUE constraint failed: notes\.text") as caught:
        writer.write(note("same"))
    assert isinstance(caught.value.__cause__, apsw.ConstraintError)


def test_a_change_may_time_out_for_reasons_of_its_own(writer: SqliteWriter) -> None:
    def change(_: apsw.Connection) -> None:
        raise TimeoutError("the model did not answer")

    with pytest.raises(TimeoutError, match="the model did not answer"):
        writer.write(change)


def test_a_change_cannot_wait_for_another_one(database: SqliteDatabase, writer: SqliteWriter) -> None:
    with pytest.raises(InvalidInput, match="a write cannot wait for another write"):
        writer.write(lambda _: writer.write(note("never")))
    with pytest.raises(InvalidInput, match="a write cannot wait for another write"):
        writer.write(lambda _: writer.close())
    writer.write(note("still there"))
    assert notes(database) == ["still there"]


def test_a_statement_that_a_change_left_unread_does_not_keep_the_writer_in_the_past(
    database: SqliteDatabase, writer: SqliteWriter
) -> None:
    writer.write(lambda db: [note(text)(db) for text in "ab"])
    cursor = writer.write(lambda db: db.execute("SELECT text FROM notes"))
    with a_writer(database) as other:
        other.write(note("c"))
    writer.write(note("d"))
    assert notes(database) == ["a", "b", "c", "d"]
    del cursor


# --- several at once


def test_changes_that_wait_are_committed_together(database: SqliteDatabase, writer: SqliteWriter) -> None:
    commits = writer.write(counting_commits)
    commits.clear()
    with ThreadPoolExecutor(8) as pool:
        with paused(writer):
            done = [pool.submit(writer.write, note(f"{number}")) for number in range(8)]
            wait_until(lambda: len(writer._queue) == 8)
        assert sorted(one.result() for one in done) == list(range(1, 9))
    assert len(commits) == 1
    assert sorted(notes(database)) == [f"{number}" for number in range(8)]


def test_a_change_that_fails_harms_no_other_in_its_commit(database: SqliteDatabase, writer: SqliteWriter) -> None:
    commits = writer.write(counting_commits)
    commits.clear()
    with ThreadPoolExecutor(3) as pool:
        with paused(writer):
            done = []
            for number, text in enumerate(["first", "first", "third"], 1):
                done.append(pool.submit(writer.write, note(text)))
                wait_until(lambda number=number: len(writer._queue) == number)  # type: ignore[misc]
        assert done[0].result() == 1
        with pytest.raises(StoreError, match="UNIQUE"):
            done[1].result()
        assert done[2].result() == 2
    assert len(commits) == 1
    assert notes(database) == ["first", "third"]


def test_who_is_refused_finds_what_stood_in_the_way(database: SqliteDatabase, writer: SqliteWriter) -> None:
    def refused() -> list[str]:
        with pytest.raises(StoreError, match="UNIQUE"):
            writer.write(note("first"))
        return notes(database)

    with ThreadPoolExecutor(3) as pool:
        with paused(writer):
            pool.submit(writer.write, note("first"))
            wait_until(lambda: len(writer._queue) == 1)
            found = pool.submit(refused)
            wait_until(lambda: len(writer._queue) == 2)
            pool.submit(writer.write, lambda _: time.sleep(MOMENT))
            wait_until(lambda: len(writer._queue) == 3)
        assert found.result() == ["first"]


def test_many_threads_and_processes_lose_no_write(database: SqliteDatabase) -> None:
    names, threads, times = ("a", "b", "c"), 4, 20
    others = [Other("writes", database.path, name, threads, times) for name in names]
    for other in others:
        assert other.end() == []
    expected = {f"{name} {thread} {number}" for name in names for thread in range(threads) for number in range(times)}
    assert set(notes(database)) == expected
    db = database.connect_reading()
    assert db.execute("SELECT max(size) FROM notes").get == len(expected)  # each read what the one before wrote
    db.close()


def test_what_was_acknowledged_survives_a_kill(database: SqliteDatabase) -> None:
    for rounds in range(2):
        other = Other("says_what_it_wrote", database.path)
        acknowledged = [int(other.hear()) for _ in range(10 + 17 * rounds)][-1]
        other.kill()
        assert len(notes(database)) >= acknowledged


# --- deadlines


@pytest.mark.usefixtures("no_way_past")
def test_a_caller_whose_time_is_over_is_told_so_and_its_change_never_happens(
    database: SqliteDatabase, writer: SqliteWriter
) -> None:
    other = Other("holds_the_turn", database.path)
    assert other.hear() == "ready"
    with pytest.raises(StoreBusy, match=r"another process was writing for 0\.05 s; try again") as caught:
        writer.write(note("never"), timeout=MOMENT)
    assert caught.value.retryable
    other.tell()
    assert other.end() == ["left"]
    writer.write(note("later"))
    assert notes(database) == ["later"]


def test_somebody_who_does_not_stand_in_line_is_waited_for_no_longer_either(
    database: SqliteDatabase, writer: SqliteWriter
) -> None:
    other = Other("holds_the_lock", database.path)
    assert other.hear() == "ready"
    with pytest.raises(StoreBusy):
        writer.write(note("never"), timeout=MOMENT)
    waiting = threading.Thread(target=writer.write, args=(note("later"),))
    waiting.start()
    other.tell()
    assert other.end() == ["left"]
    waiting.join()
    assert notes(database) == ["later"]


@pytest.mark.usefixtures("no_way_past")
def test_an_interrupted_caller_takes_its_change_back(database: SqliteDatabase, writer: SqliteWriter) -> None:
    other = Other("holds_the_turn", database.path)
    assert other.hear() == "ready"
    main = threading.get_ident()

    def interrupt() -> None:
        wait_until(lambda: len(writer._queue) == 1)
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background inherits another
    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.write(note("never"))
    signal.signal(signal.SIGINT, before)
    other.tell()
    assert other.end() == ["left"]
    writer.write(note("later"))
    assert notes(database) == ["later"]


def test_a_line_that_cannot_be_stood_in_is_named(tmp_path: Path) -> None:
    database = a_database(tmp_path / "store.db")
    (tmp_path / "store.db-queue").mkdir()
    with a_writer(database) as writer:
        with pytest.raises(StoreError, match=r"store\.db-queue cannot be opened \(Is a directory\)"):
            writer.write(note("first"))
        (tmp_path / "store.db-queue").rmdir()
        writer.write(note("second"))
    assert notes(database) == ["second"]


@pytest.mark.usefixtures("no_way_past")
def test_the_deadline_of_a_writer_holds_where_a_call_says_nothing(database: SqliteDatabase) -> None:
    other = Other("holds_the_turn", database.path)
    assert other.hear() == "ready"
    with a_writer(database, timeout=MOMENT) as writer, pytest.raises(StoreBusy):
        writer.write(note("never"))
    other.tell()
    assert other.end() == ["left"]
    assert notes(database) == []


def test_one_may_wait_for_ever(database: SqliteDatabase) -> None:
    with a_writer(database, timeout=math.inf) as writer:
        writer.write(note("first"))
    assert notes(database) == ["first"]


def test_a_change_that_has_begun_is_waited_for_beyond_its_deadline(
    database: SqliteDatabase, writer: SqliteWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over = threading.Event(), threading.Event()
    add = writer._queue.add

    def add_and_see_it_begin(asked: WriteRequest) -> None:
        add(asked)
        assert begun.wait(30)

    def slow(db: apsw.Connection) -> int:
        begun.set()
        over.wait()
        return note("slow")(db)

    monkeypatch.setattr(writer._queue, "add", add_and_see_it_begin)
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(writer.write, slow, timeout=0.0)
        assert begun.wait(30)
        with pytest.raises(StoreBusy):
            writer.write(note("never"), timeout=MOMENT)
        assert not result.done()
        over.set()
        assert result.result() == 1
    assert notes(database) == ["slow"]


# --- later


def test_what_is_put_off_is_written_with_the_next_change_and_before_it(
    database: SqliteDatabase, writer: SqliteWriter
) -> None:
    commits = writer.write(counting_commits)
    commits.clear()
    with ThreadPoolExecutor(1) as pool, paused(writer):
        writer.defer(note("put off"))
        done = pool.submit(writer.write, note("urgent"))
        wait_until(lambda: len(writer._queue) == 2)
    assert done.result() == 2
    assert len(commits) == 1
    assert notes(database) == ["put off", "urgent"]


def test_what_is_put_off_is_written_soon_even_if_nothing_else_is(writer: SqliteWriter) -> None:
    written = threading.Event()
    writer.defer(lambda _: written.set())
    assert written.wait(30)


def test_flush_waits_for_what_was_put_off(database: SqliteDatabase, writer: SqliteWriter) -> None:
    for number in range(10):
        writer.defer(note(f"{number}"))
    writer.flush()
    assert notes(database) == [f"{number}" for number in range(10)]


def test_there_may_be_nothing_to_flush(database: SqliteDatabase) -> None:
    writer = SqliteWriter(database)
    writer.flush()
    writer.close()
    assert not Path(f"{database.path}-queue").exists()


def test_a_change_put_off_that_fails_is_logged_and_raised_once_and_harms_no_other(
    database: SqliteDatabase, writer: SqliteWriter, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        for text in ("same", "same", "same", "other"):
            writer.defer(note(text))
        with pytest.raises(StoreError, match=r"2 deferred writes failed, the first with: .*UNIQUE"):
            writer.flush()
    assert [record.message for record in caplog.records] == ["deferred_write_failed"] * 2
    writer.flush()
    assert notes(database) == ["same", "other"]


def test_a_change_may_put_off_another(database: SqliteDatabase, writer: SqliteWriter) -> None:
    writer.write(lambda _: writer.defer(note("more")))
    writer.flush()
    assert notes(database) == ["more"]


def test_who_puts_off_too_much_waits_for_it(database: SqliteDatabase, writer: SqliteWriter) -> None:
    longest = 0
    for number in range(3 * MAX_DEFERRED_WRITES):
        writer.defer(note(f"{number}"))
        longest = max(longest, len(writer._queue))
    writer.flush()
    assert longest <= MAX_DEFERRED_WRITES + 1
    assert len(notes(database)) == 3 * MAX_DEFERRED_WRITES


# --- closing


def test_close_writes_what_was_put_off_and_ends_the_thread(database: SqliteDatabase) -> None:
    writer = SqliteWriter(database)
    writer.defer(note("put off"))
    thread = writer._thread
    writer.close()
    assert notes(database) == ["put off"]
    assert thread is not None
    assert not thread.is_alive()


def test_a_closed_writer_says_so_and_may_be_closed_again(database: SqliteDatabase) -> None:
    writer = SqliteWriter(database)
    writer.write(note("first"))
    writer.close()
    writer.close()
    for use in (writer.write, writer.defer):
        with pytest.raises(StoreError, match=r"store\.db is closed; open the store again"):
            use(note("second"))
    assert notes(database) == ["first"]


@pytest.mark.usefixtures("no_way_past")
def test_close_says_what_could_not_be_written(database: SqliteDatabase) -> None:
    other = Other("holds_the_turn", database.path)
    assert other.hear() == "ready"
    writer = SqliteWriter(database, timeout=MOMENT)
    writer.defer(note("never"))
    with pytest.raises(StoreBusy, match="1 deferred writes were not made"):
        writer.close()
    other.tell()
    assert other.end() == ["left"]
    with a_writer(database) as second:
        second.write(note("after"))
    assert notes(database) == ["after"]


def test_close_raises_what_failed(database: SqliteDatabase) -> None:
    writer = SqliteWriter(database)
    writer.write(note("same"))
    writer.defer(note("same"))
    with pytest.raises(StoreError, match="1 deferred writes failed"):
        writer.close()


def test_a_writer_may_be_closed_when_the_process_ends(database: SqliteDatabase) -> None:
    assert Other("writes_when_it_ends", database.path).end() == []
    assert notes(database) == ["at the end"]


# --- processes that end


def test_what_was_put_off_is_written_when_a_process_ends_that_closed_nothing(database: SqliteDatabase) -> None:
    other = Other("ends", database.path)
    assert other.hear() == "ready"
    other.tell()
    assert other.end() == []
    assert sorted(notes(database)) == ["first", "second"]


@pytest.mark.parametrize("kept", ["", "kept"])
def test_the_file_of_a_process_that_closed_nothing_is_a_whole_store_when_it_ended(
    database: SqliteDatabase, tmp_path: Path, kept: str
) -> None:
    other = Other("ends_with_nothing_to_write", database.path, kept)
    assert other.hear() == "ready"
    assert log_of(database).stat().st_size
    other.tell()
    assert other.end() == []
    copied = shutil.copy(database.name, tmp_path / "copied.db")
    assert notes(a_database(copied)) == ["first"]


def test_a_writer_that_nobody_has_any_more_writes_what_was_put_off_and_ends(database: SqliteDatabase) -> None:
    writer = SqliteWriter(database)
    writer.defer(note("first"))
    thread = writer._thread
    del writer
    wait_until(lambda: bool(gc.collect()) or notes(database) == ["first"])
    gc.collect()
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()


def test_a_writer_may_be_closed_by_a_signal_that_comes_while_a_change_is_asked_for(
    writer: SqliteWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(_: int, __: object) -> None:
        writer.close()
        raise SystemExit

    writer.write(note("first"))
    before = signal.signal(signal.SIGTERM, close)
    monkeypatch.setattr(writer._queue, "add", lambda _: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(SystemExit):
        writer.write(note("second"))
    signal.signal(signal.SIGTERM, before)


def test_a_writer_that_is_closed_amid_the_change_of_another_is_waited_for_by_nobody(database: SqliteDatabase) -> None:
    dropped = SqliteWriter(database)
    dropped.defer(note("put off"))
    thread = dropped._thread
    assert thread is not None
    with a_writer(database) as writer:
        writer.write(lambda _: dropped.close())  # as the collector does that finds it there
        thread.join(60)
    assert not thread.is_alive()
    assert notes(database) == ["put off"]


def test_a_call_that_nobody_heard_costs_a_moment(writer: SqliteWriter, database: SqliteDatabase) -> None:
    writer.write(note("first"))
    unheard = WriteRequest(note("second"))
    writer._queue._requests.append(unheard)
    unheard.future.result(60)
    assert notes(database) == ["first", "second"]


def test_a_process_that_has_written_all_ends_without_a_word(database: SqliteDatabase) -> None:
    other = Other("ends_with_nothing_to_write", database.path)
    assert other.hear() == "ready"
    Path(database.name).unlink()
    other.tell()
    assert other.end() == []


def test_a_process_ends_though_others_write_and_says_what_is_lost(database: SqliteDatabase) -> None:
    busy = Other("holds_the_lock", database.path)
    assert busy.hear() == "ready"
    other = Other("ends", database.path, MOMENT)
    assert other.hear() == "ready"
    other.tell()
    assert other.end() == ["deferred_writes_lost"] * 2
    busy.tell()
    assert busy.end() == ["left"]
    assert notes(database) == []


def test_a_process_ends_though_the_file_is_gone_and_says_so(database: SqliteDatabase) -> None:
    busy = Other("holds_the_lock", database.path)
    assert busy.hear() == "ready"
    other = Other("ends", database.path)
    assert other.hear() == "ready"
    Path(database.name).unlink()
    busy.kill()
    other.tell()
    said = other.end()
    assert said.count("deferred_write_failed") == 2
    assert any("store.db was moved or deleted while it was open" in line for line in said)


def test_a_process_may_end_while_it_writes(database: SqliteDatabase) -> None:
    other = Other("ends_while_it_writes", database.path)
    assert other.hear() == "ready"
    other.tell()
    assert other.end() == []
    with a_writer(database) as writer:
        writer.write(note("after"))


# --- disks that fail


LOG, FILE = "-wal", ".db"
"""How the names of the files end that a disk may fail to write."""


class Disk(apsw.VFS):
    """A disk that once fails to make durable what was written to a file whose name ends so."""

    def __init__(self) -> None:
        self.failures = 0
        self._ending: str | None = None
        super().__init__("failing", "unix", makedefault=True)

    def fail_next(self, ending: str) -> None:
        """Fail the next time."""
        self._ending = ending

    def sync(self, name: str) -> None:
        """Make the file durable, or not."""
        if self._ending and name.endswith(self._ending):
            self.failures += 1
            self._ending = None
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "DiskFile":  # noqa: N802 — SQLite's name
        return DiskFile(self, name, flags)


class DiskFile(apsw.VFSFile):
    """A file on that disk."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._name = str(name if name is None or isinstance(name, str) else name.filename())
        super().__init__("unix", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 — SQLite's name
        self._disk.sync(self._name)
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


def after_a_crash(database: SqliteDatabase, folder: Path) -> list[str]:
    """What is found when the machine goes down now: the files as they are, without any process."""
    folder.mkdir()
    for suffix in ("", "-wal"):
        if Path(f"{database.path}{suffix}").exists():
            (folder / f"store.db{suffix}").write_bytes(Path(f"{database.path}{suffix}").read_bytes())
    return notes(a_database(folder / "store.db"))


def test_what_the_disk_did_not_make_durable_is_not_acknowledged(tmp_path: Path, disk: Disk) -> None:
    database = a_database(tmp_path / "store.db")
    another = database.connect_reading()  # so that the log outlives the connection that failed
    with a_writer(database) as writer:
        writer.write(note("first"))
        disk.fail_next(LOG)
        with pytest.raises(StoreError, match=r"store\.db: the disk failed .*nothing was written"):
            writer.write(note("second"))
        assert disk.failures == 1
        assert notes(database) == ["first"]
        assert after_a_crash(database, tmp_path / "crash") == ["first"]
        writer.write(note("third"))
        assert after_a_crash(database, tmp_path / "second crash") == ["first", "third"]
    another.close()


def test_a_commit_that_fails_fails_for_all_of_its_changes_and_the_writer_goes_on(tmp_path: Path, disk: Disk) -> None:
    database = a_database(tmp_path / "store.db")
    with a_writer(database) as writer, ThreadPoolExecutor(4) as pool:
        writer.write(note("first"))
        with paused(writer):
            done = [pool.submit(writer.write, note(f"{number}")) for number in range(4)]
            wait_until(lambda: len(writer._queue) == 4)
            disk.fail_next(LOG)
        errors = [one.exception() for one in done]
        assert [str(error) for error in errors] == [str(errors[0])] * 4
        assert all(isinstance(error, StoreError) for error in errors)
        assert len({id(error) for error in errors}) == 4  # each caller has one of its own
        writer.write(note("last"))
    assert notes(database) == ["first", "last"]


def test_a_checkpoint_that_fails_takes_nothing_back(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    database = a_database(tmp_path / "store.db")
    with a_writer(database) as writer, caplog.at_level(logging.WARNING):
        disk.fail_next(FILE)
        large = "x" * (CHECKPOINT_PAGES * PAGE_SIZE)
        writer.write(note(large))
        writer.write(note("small"))
        assert disk.failures == 1
        assert after_a_crash(database, tmp_path / "crash") == [large, "small"]
    assert [record.message for record in caplog.records] == ["checkpoint_failed"]


def test_a_full_disk_says_so_and_is_no_end(database: SqliteDatabase, writer: SqliteWriter) -> None:
    writer.write(lambda db: db.pragma("max_page_count", db.pragma("page_count") + 2))
    with pytest.raises(StoreError, match=r"store\.db: the disk is full, so nothing was written; make room"):
        writer.write(note("x" * 1_000_000))
    writer.write(note("small"))
    assert notes(database) == ["small"]


def test_a_full_disk_fails_the_whole_commit_if_sqlite_gave_it_up(
    database: SqliteDatabase, writer: SqliteWriter
) -> None:
    def full(db: apsw.Connection) -> None:
        db.execute("ROLLBACK")  # as SQLite does by itself when it can keep nothing of the transaction
        raise apsw.FullError("database or disk is full")

    with ThreadPoolExecutor(2) as pool:
        with paused(writer):
            first = pool.submit(writer.write, note("lost"))
            wait_until(lambda: len(writer._queue) == 1)
            second = pool.submit(writer.write, full)
            wait_until(lambda: len(writer._queue) == 2)
        for error in (first.exception(), second.exception()):
            assert isinstance(error, StoreError)
            assert "the disk is full" in str(error)
    writer.write(note("kept"))
    assert notes(database) == ["kept"]


# --- the log


def log_of(database: SqliteDatabase) -> Path:
    return Path(f"{database.path}-wal")


def test_what_is_done_alone_is_outside_of_any_transaction(database: SqliteDatabase, writer: SqliteWriter) -> None:
    writer.write(note("first"))
    writer.run_alone(lambda db: db.execute("VACUUM"))
    assert writer.run_alone(lambda db: db.in_transaction) is False
    with pytest.raises(StoreError, match="no such table"):
        writer.run_alone(lambda db: db.execute("DELETE FROM nowhere"))
    writer.run_alone(lambda db: db.execute("BEGIN IMMEDIATE"))
    writer.write(note("second"))
    assert notes(database) == ["first", "second"]


def test_changes_and_what_is_done_alone_keep_their_order(writer: SqliteWriter) -> None:
    seen: list[int] = []
    with ThreadPoolExecutor(3) as pool, paused(writer):
        acts = [
            lambda: writer.write(note("first")),
            lambda: writer.run_alone(lambda db: seen.append(int(db.execute("SELECT count(*) FROM notes").get))),
            lambda: writer.write(note("second")),
        ]
        for number, act in enumerate(acts, 1):
            pool.submit(act)
            wait_until(lambda number=number: len(writer._queue) == number)  # type: ignore[misc]
    assert seen == [1]


def test_the_log_stays_short_while_others_read_all_the_time(
    database: SqliteDatabase, writer: SqliteWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "CHECKPOINT_PAGES", 50)
    monkeypatch.setattr(write_queue, "LONG_LOG_PAGES", 200)
    readers = ReaderPool(database)
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            with readers.borrow() as db:
                db.execute("SELECT count(*) FROM notes").fetchall()
                over.wait(0.01)  # so that there is always one who sees something older than the log's end

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    logs = []
    for number in range(100):  # each ten pages in the table, and as many in its index
        writer.write(note(f"{number:04}" * (10 * PAGE_SIZE // 4)))
        logs.append(log_of(database).stat().st_size)
    over.set()
    for thread in threads:
        thread.join()
    # readers that get no processor put a checkpoint off; but not each of the many that fall due in half of the pages
    assert 200 * PAGE_SIZE < max(logs) < 100 * 20 * PAGE_SIZE / 2
    readers.close()


def test_whoever_waits_for_what_was_put_off_is_not_told_that_its_commit_failed_unless_they_look_after_it(
    writer: SqliteWriter,
) -> None:
    def refuse_commit(db: apsw.Connection) -> None:
        note("lost")(db)
        db.set_commit_hook(lambda: True)

    writer.defer(refuse_commit)
    writer.settle()
    with pytest.raises(StoreError, match="1 deferred writes failed"):
        writer.flush()
    writer.settle()
