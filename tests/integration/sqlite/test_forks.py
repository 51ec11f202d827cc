"""A forked child writes and reads with connections of its own, or is told why it cannot; the parent notices nothing."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import apsw
import pytest

from recollect.errors import RecollectError
from recollect.stores.sql import deferred
from recollect.stores.sqlite import fork
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.transaction import ReaderPool
from recollect.stores.sqlite.write_queue import SqliteWriter
from tests.integration.sqlite.engines import SCOPE, an_engine
from tests.integration.sqlite.scene import a_database, a_writer, note, notes

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # there are threads, and that is the point
]


@pytest.fixture
def database(tmp_path: Path) -> SqliteDatabase:
    return a_database(tmp_path / "store.db")


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork waits for whoever reads or writes, however slow the machine is."""
    monkeypatch.setattr(fork, "FORK_WAIT_SECONDS", 60.0)


def forked(act: Callable[[], object]) -> str:
    """What `act` returns in a forked child, or what it is told there."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = str(act())
        except RecollectError as error:
            said = f"{type(error).__name__} {error}"
        except BaseException as error:
            said = f"unforeseen: {error!r}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as heard:
        said = heard.read()
    os.waitpid(child, 0)
    return said


def locks_of(process: int, path: Path | None) -> list[str]:
    """The locks that the kernel knows of a process on a file."""
    assert path is not None
    lines = Path("/proc/locks").read_text().splitlines()
    return [line for line in lines if f" {process} " in line and line.split()[5].endswith(f":{path.stat().st_ino}")]


def test_a_child_writes_through_the_same_writer_and_so_does_its_parent(database: SqliteDatabase) -> None:
    with a_writer(database) as writer:
        writer.write(note("before"))
        assert forked(lambda: writer.write(note("of the child"))) == "2"
        assert writer.write(note("after")) == 3
    assert notes(database) == ["before", "of the child", "after"]


def test_a_child_reads_through_the_same_readers_and_so_does_its_parent(database: SqliteDatabase) -> None:
    readers = ReaderPool(database)

    def count() -> int:
        with readers.borrow() as db:
            return int(db.execute("SELECT count(*) FROM notes").get)

    with a_writer(database) as writer:
        writer.write(note("before"))
    assert (count(), forked(count), count()) == (1, "1", 1)
    readers.close()


def test_a_child_has_locks_of_its_own(database: SqliteDatabase) -> None:
    readers = ReaderPool(database)
    with readers.borrow() as inherited:
        inherited.execute("SELECT count(*) FROM notes").fetchall()

    def locks() -> int:
        with readers.borrow():
            return len(locks_of(os.getpid(), database.path))

    assert forked(locks) == "1"  # without it, the last other process to close would remove the log
    assert inherited.execute("SELECT count(*) FROM notes").get == 0
    assert len(locks_of(os.getpid(), database.path)) == 1
    readers.close()


def test_a_connection_that_was_closed_before_the_fork_is_no_trouble(database: SqliteDatabase) -> None:
    closed = database.connect()
    closed.close()
    with a_writer(database) as writer:
        writer.write(note("before"))
        assert forked(lambda: writer.write(note("of the child"))) == "2"
    del closed


def test_a_child_writes_nothing_of_what_waits_in_its_parent(database: SqliteDatabase) -> None:
    with a_writer(database) as writer:
        writer.write(note("before"))
        writer.defer(note("put off"))
        assert forked(writer.close) == "None"
        writer.flush()
    assert notes(database) == ["before", "put off"]


def test_a_child_that_drops_a_writer_does_not_wait_for_what_a_thread_of_its_parent_held(
    database: SqliteDatabase,
) -> None:
    writers = [SqliteWriter(database)]
    writers[0].write(note("before"))
    with writers[0]._queue._changed:
        pid = os.fork()
        if not pid:
            signal.alarm(60)  # instead of waiting for ever
            held = threading.Thread(target=writers.clear)  # another thread than the one that had it
            held.start()
            held.join()
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    writers[0].close()


@pytest.mark.usefixtures("patience")
def test_many_forks_write_at_once(database: SqliteDatabase) -> None:
    with a_writer(database) as writer:
        writer.write(note("before"))
        threads = [
            threading.Thread(target=lambda name=name: forked(lambda: writer.write(note(name)))) for name in "abcd"
        ]
        for thread in threads:
            thread.start()
        writer.write(note("meanwhile"))
        for thread in threads:
            thread.join()
    assert sorted(notes(database)) == ["a", "b", "before", "c", "d", "meanwhile"]


@pytest.mark.usefixtures("patience")
def test_a_fork_is_not_kept_waiting_by_threads_that_begin_to_read_all_the_time(database: SqliteDatabase) -> None:
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            with fork.delay_forks():
                over.wait(0.005)  # so that with many threads there is always one

    threads = [threading.Thread(target=read) for _ in range(16)]
    for thread in threads:
        thread.start()
    with a_writer(database) as writer:
        said = [forked(partial(writer.write, note(f"{number}"))) for number in range(5)]
    over.set()
    for thread in threads:
        thread.join()
    assert said == ["1", "2", "3", "4", "5"]


@pytest.mark.usefixtures("patience")
def test_a_fork_waits_for_a_change_that_is_under_way(database: SqliteDatabase) -> None:
    begun, never = threading.Event(), threading.Event()

    def slow(db: apsw.Connection) -> int:
        begun.set()
        never.wait(0.2)
        return note("slow")(db)

    with a_writer(database) as writer:
        thread = threading.Thread(target=writer.write, args=(slow,))
        thread.start()
        begun.wait()
        assert forked(lambda: writer.write(note("of the child"))) == "2"
        thread.join()
    assert notes(database) == ["slow", "of the child"]


def test_a_child_that_was_forked_while_a_thread_was_reading_is_told_so(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork, "FORK_WAIT_SECONDS", 0.05)
    readers = ReaderPool(database)
    reading, over = threading.Event(), threading.Event()

    def read() -> None:
        with readers.borrow():
            reading.set()
            over.wait()

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()
    with a_writer(database) as writer:
        said = forked(lambda: writer.write(note("never")))
        assert said.startswith("StoreError this process was forked while its parent was reading or writing a store")
        assert said.endswith("start processes with 'spawn', or fork before the store is used")
        writer.write(note("of the parent"))
    over.set()
    thread.join()
    readers.close()
    assert notes(database) == ["of the parent"]


def test_a_child_forked_from_within_reading_may_leave_it(database: SqliteDatabase) -> None:
    readers = ReaderPool(database)
    with readers.borrow() as db:
        child = os.fork()
        if child:
            assert db.execute("SELECT count(*) FROM notes").get == 0
    if not child:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    readers.close()


def test_what_is_in_memory_stays_with_the_parent() -> None:
    database = a_database(":memory:")
    with a_writer(database) as writer:
        writer.write(note("before"))
        said = forked(lambda: writer.write(note("of the child")))
        assert said.startswith("StoreError :memory: belongs to the process that created it")
        writer.write(note("after"))
    assert notes(database) == ["before", "after"]


def test_a_child_does_not_keep_the_turn_of_a_parent_that_was_killed(database: SqliteDatabase) -> None:
    reading, writing = os.pipe()

    def take_the_turn_and_fork() -> None:
        turn = a_database(database.name).open_write_lock()
        turn.acquire()
        if child := os.fork():
            os.write(writing, child.to_bytes(8, "little"))
        signal.pause()  # until both are killed

    parent = os.fork()
    if not parent:
        try:
            take_the_turn_and_fork()
        finally:
            os._exit(1)
    child = int.from_bytes(os.read(reading, 8), "little")
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    try:
        with a_writer(database) as writer:
            writer.write(note("after"))
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(reading)
        os.close(writing)
    assert notes(database) == ["after"]


def test_an_open_engine_has_loaded_all_that_a_recall_needs(tmp_path: Path) -> None:
    code = (
        "import sys, recollect; memory = recollect.open(sys.argv[1], embedder='hashing'); before = set(sys.modules); "
        "memory.remember('a seat', scope='a', pinned=True); memory.recall('a seat', scope='a'); "
        "memory.search('a seat', scope='a', profile='five-signal'); print(sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "a.db"], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.usefixtures("patience")
@pytest.mark.thorough
def test_children_that_are_forked_while_an_engine_is_in_full_use_use_it_too(tmp_path: Path) -> None:
    engine = an_engine(tmp_path / "agent.db", clock=None)
    engine.remember("a seat by the window", scope=SCOPE)
    over, written = threading.Event(), list[str]()

    def use(thread: int) -> None:
        for number in count():
            written.append(engine.remember(f"of the parent {thread} {number}", scope=SCOPE).id)
            engine.recall("a seat", scope=SCOPE)
            engine.search("the parent", scope=SCOPE, limit=2)
            if over.is_set():
                return

    def act(child: int) -> str:
        signal.alarm(60)  # instead of waiting for ever
        receipt = engine.remember(f"of the child {child}", scope=f"{SCOPE}/child")
        engine.recall("a seat", scope=SCOPE)
        found = engine.search("the child", scope=f"{SCOPE}/child", limit=200)
        engine.close()
        return str(any(one.id == receipt.id for one in found))

    threads = [threading.Thread(target=use, args=(thread,)) for thread in range(3)]
    for thread in threads:
        thread.start()
    said = [forked(partial(act, child)) for child in range(40)]
    over.set()
    for thread in threads:
        thread.join()
    assert said == ["True"] * 40
    kept = {memory.id for memory in engine.memories(scope=SCOPE)}
    assert kept >= set(written)
    assert len(engine.memories(scope=f"{SCOPE}/child")) == 40
    engine.close()


PROCESSES = {
    "fork": multiprocessing.get_context("fork").Process,
    "spawn": multiprocessing.get_context("spawn").Process,
}


@pytest.mark.parametrize("way", PROCESSES)
def test_a_process_of_multiprocessing_that_closes_nothing_keeps_what_it_put_off(tmp_path: Path, way: str) -> None:
    with an_engine(tmp_path / "agent.db", clock=None) as engine:
        engine.remember("a seat by the window", scope=SCOPE)
        child = PROCESSES[way](target=_recall_and_end, args=(tmp_path / "agent.db",))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert engine.stats().contexts == 1


@pytest.mark.parametrize("way", PROCESSES)
def test_a_process_of_multiprocessing_that_gives_up_says_so_once_for_every_store(tmp_path: Path, way: str) -> None:
    databases = [a_database(tmp_path / f"{number}.db") for number in range(3)]
    held = [apsw.Connection(database.name) for database in databases]
    for db in held:
        db.execute("BEGIN IMMEDIATE")
    child = PROCESSES[way](target=_put_off_and_end, args=(tmp_path,))
    child.start()
    child.join()
    for db in held:
        db.close()
    assert child.exitcode == 0
    assert (tmp_path / "log").read_text().split() == ["deferred_writes_lost"] * 3


def _put_off_and_end(folder: Path) -> None:
    logging.basicConfig(filename=folder / "log", format="%(message)s", force=True)
    deferred.EXIT_FLUSH_SECONDS = 0.5
    for path in sorted(folder.glob("*.db")):
        KEPT.append(SqliteWriter(a_database(path)))
        KEPT[-1].defer(note("never"))


KEPT: list[SqliteWriter] = []
"""What lives until a process ends."""


def _recall_and_end(path: Path) -> None:
    deferred.EXIT_FLUSH_SECONDS = 60.0
    an_engine(path, clock=None).recall("a seat", scope=SCOPE)
