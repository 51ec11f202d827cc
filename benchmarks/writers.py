"""How long one durable write takes when a hundred processes write to one SQLite file, and how threads share a commit.

The yardstick is the plain way, in the same run on the same disk: each process begins its own transaction with
BEGIN IMMEDIATE and a busy timeout. `in line` is the same row through our writer, with the same settings; `remember` is
a whole memory through an engine, its vector given. Compare the ratio, not the digits. What was acknowledged and is not
there afterwards is lost.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

import recollect
from recollect.errors import RecollectError
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.write_queue import SqliteWriter

Write = Callable[[], int | str]
"""Writes one memory and gives its id."""

TABLE = "CREATE TABLE memories (number INTEGER PRIMARY KEY, text TEXT NOT NULL, vector BLOB NOT NULL) STRICT;"
INSERT = "INSERT INTO memories (text, vector) VALUES (?, ?)"
DIMENSIONS = 384
TEXT = "What an agent has learned, in about two hundred letters. " * 4
ROW = (TEXT, os.urandom(4 * DIMENSIONS))
VECTOR = np.random.default_rng(0).normal(size=DIMENSIONS).tolist()
SCOPE = "acme/ana"
PERCENTILES = (0.50, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Result:
    """What one way of writing came to: the seconds of each write, and of all together.

    `acknowledged` are the ids that writers were given, `there` those that a reader finds afterwards.
    """

    times: list[float]
    acknowledged: list[int | str]
    errors: int
    total: float
    there: list[int | str]

    @property
    def figures(self) -> list[float]:
        """The milliseconds within which 50, 95, 99 and 100 % of the writes returned, and the seconds of the whole."""
        times = sorted(self.times)
        return [*(1000 * times[int(len(times) * share)] for share in PERCENTILES), 1000 * times[-1], self.total]

    def line(self, name: str) -> str:
        """One line of a table, in milliseconds."""
        p50, p95, p99, longest, total = self.figures
        lost = len(set(self.acknowledged) - set(self.there))
        return (
            f"{name:37} {len(self.acknowledged):6} {self.errors:6} {len(self.there):6} {lost:5} "
            f"{p50:8.2f} {p95:8.2f} {p99:8.2f} {longest:8.1f} {total:7.2f}"
        )

    def beside(self, other: "Result", name: str) -> str:
        """The times as multiples of another's. A median among many says little: who has the lock of SQLite keeps it."""
        ratios = [mine / theirs for mine, theirs in zip(self.figures, other.figures, strict=True)]
        said = (f"{ratio:,.0f}" if ratio >= 100.0 else f"{ratio:.2f}" for ratio in ratios)
        return f"{name:37} {'':26} " + " ".join(f"{ratio:>6} ×" for ratio in said)


HEADER = (
    f"{'':37} {'acked':>6} {'errors':>6} {'there':>6} {'lost':>5} "
    f"{'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'max ms':>8} {'total s':>7}"
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to write: how its file is made, what a process writes with, and the ids that are there afterwards."""

    name: str
    make: Callable[[str], object]
    writing: Callable[[str], AbstractContextManager[Write]]
    there: Callable[[str], list[int | str]]


class Given:
    """An embedder that is never asked, for every vector is given: embedding time is not what is measured."""

    name = "given"
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str], purpose: str) -> NDArray[np.float32]:
        raise NotImplementedError(f"a vector was to be given with each of {len(texts)} texts")


def insert(db: apsw.Connection) -> int:
    """One memory with its vector."""
    db.execute(INSERT, ROW)
    return db.last_insert_rowid()


@contextmanager
def through_the_writer(path: str) -> Iterator[Write]:
    """Our way: in line with the other processes."""
    writer = SqliteWriter(opened(path), timeout=60.0)
    try:
        yield lambda: writer.write(insert)
    finally:
        writer.close()


@contextmanager
def by_busy_timeout(path: str) -> Iterator[Write]:
    """The plain way: SQLite asks again until it may write."""
    db = opened(path).connect()
    db.pragma("wal_autocheckpoint", 1000)
    db.set_busy_timeout(60_000)

    def write() -> int:
        db.execute("BEGIN IMMEDIATE")
        number = insert(db)
        db.execute("COMMIT")
        return number

    try:
        yield write
    finally:
        db.close()


@contextmanager
def through_an_engine(path: str) -> Iterator[Write]:
    """What a program calls, with the settings it gets unless it says otherwise; no two texts are the same."""
    numbers = iter(range(10**9))
    with recollect.open(path, embedder=Given()) as engine:
        yield lambda: engine.remember(f"{TEXT}{os.getpid()} {next(numbers)}", scope=SCOPE, vector=VECTOR).id


def first_remembered(path: str) -> None:
    """A store with a memory of another scope, so that every module is loaded before the processes begin."""
    with recollect.open(path, embedder=Given()) as engine:
        engine.remember(TEXT, scope="acme/first", vector=VECTOR)


def opened(path: str) -> SqliteDatabase:
    """The database of this run, with the one table of this run."""
    folder = Path(path).parent / "migrations"
    if not folder.exists():
        folder.mkdir()
        (folder / "0001_memories.sql").write_text(TABLE)
    return SqliteDatabase.open(path, folder=folder)


def numbers(path: str) -> list[int | str]:
    """The rows that are really there."""
    db = opened(path).connect_reading()
    try:
        return [number for (number,) in db.execute("SELECT number FROM memories")]
    finally:
        db.close()


def remembered(path: str) -> list[int | str]:
    """The memories that an engine finds."""
    with recollect.open(path, embedder=Given()) as engine:
        return [memory.id for memory in engine.memories(scope=SCOPE)]


BARE = Way("busy timeout", opened, by_busy_timeout, numbers)
IN_LINE = Way("in line", opened, through_the_writer, numbers)
REMEMBER = Way("remember", first_remembered, through_an_engine, remembered)

Written = tuple[list[float], list[int | str], int]
"""How long each write took, what was acknowledged, and how many failed."""


def repeat(write: Write, times: int) -> Written:
    """So many writes, one after the other."""
    took: list[float] = []
    acknowledged: list[int | str] = []
    for _ in range(times):
        start = time.perf_counter()
        with suppress(RecollectError, apsw.Error):  # what failed is what is missing among the acknowledged
            acknowledged.append(write())
        took.append(time.perf_counter() - start)
    return took, acknowledged, times - len(acknowledged)


def result(found: Sequence[Written], total: float, there: list[int | str]) -> Result:
    """What all writers came to together."""
    times = [one for took, _, _ in found for one in took]
    acknowledged = [one for _, ids, _ in found for one in ids]
    return Result(times, acknowledged, sum(errors for _, _, errors in found), total, there)


def work(way: Way, path: str, times: int, start: Any, results: Any) -> None:
    """One process: gets ready, waits for the others, writes."""
    with way.writing(path) as write:
        start.wait()
        results.put(repeat(write, times))


def processes(way: Way, count: int, times: int, folder: str) -> Result:
    """So many processes that each write so often to one new file."""
    path = str(Path(folder) / "store.db")
    way.make(path)
    context = multiprocessing.get_context("fork")  # nothing is open here, and a hundred starts are quick
    start, results = context.Barrier(count + 1), context.Queue()
    running = [context.Process(target=work, args=(way, path, times, start, results)) for _ in range(count)]
    for process in running:
        process.start()
    start.wait()
    begun = time.perf_counter()
    found = [results.get() for _ in running]
    total = time.perf_counter() - begun
    for process in running:
        process.join()
    return result(found, total, way.there(path))


def threads(way: Way, count: int, times: int, folder: str) -> Result:
    """So many threads of one process that each write so often through what they share."""
    path = str(Path(folder) / "store.db")
    found: list[Written] = []
    way.make(path)
    with way.writing(path) as write:
        first = write()
        running = [threading.Thread(target=lambda: found.append(repeat(write, times))) for _ in range(count)]
        begun = time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        total = time.perf_counter() - begun
    return result(found, total, [one for one in way.there(path) if one != first])


def sync(folder: str) -> float:
    """What the disk takes to make one page durable, in milliseconds."""
    file = os.open(Path(folder) / "page", os.O_RDWR | os.O_CREAT)
    took = []
    try:
        for number in range(100):
            os.pwrite(file, ROW[1].ljust(8192, b"."), 8192 * number)
            start = time.perf_counter()
            os.fsync(file)
            took.append(time.perf_counter() - start)
    finally:
        os.close(file)
    return 1000 * statistics.median(took)


def fresh(measure: Callable[[Way, int, int, str], Result], way: Way, count: int, times: int, folder: str) -> Result:
    """The measure in a new folder inside of this one."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return measure(way, count, times, place)


def compare(what: str, count: int, times: int, folder: str) -> None:
    """So many processes by every way, and the ratio to the plain one."""
    bare = None
    for way in (BARE, IN_LINE, REMEMBER):
        found = fresh(processes, way, count, times, folder)
        print(found.line(f"{count} {what} × {times}, {way.name}"), flush=True)
        if bare is None:
            bare = found
        else:
            print(found.beside(bare, f"  beside {BARE.name}"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--writes", type=int, default=50, help="by each process")
    parser.add_argument("--folder", default=".", help="where to write: a folder on a real disk")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(f"{os.cpu_count()} cores, one fsync takes {sync(folder):.2f} ms")
    print(HEADER)
    compare("processes", given.processes, given.writes, given.folder)
    compare("process", 1, 1000, given.folder)  # nobody else writes, so that medians compare, too
    for way in (IN_LINE, REMEMBER):
        for count, times in ((1, 1000), (4, 500), (16, 250)):
            found = fresh(threads, way, count, times, given.folder)
            each = f"{len(found.times) / found.total:,.0f}/s"
            what = "thread" if count == 1 else "threads"
            print(found.line(f"{count} {what} × {times}, {way.name}, {each}"), flush=True)


if __name__ == "__main__":
    main()
