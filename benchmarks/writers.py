"""How long one durable write takes when a hundred processes write to one SQLite file, and how threads share a commit.

The yardstick is the plain way, in the same run on the same disk: each process begins its own transaction with
BEGIN IMMEDIATE and a busy timeout. Both have the same settings; compare the ratio, not the digits.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import StoreError
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.writer import Writer

Write = Callable[[], object]

TABLE = "CREATE TABLE memories (number INTEGER PRIMARY KEY, text TEXT NOT NULL, vector BLOB NOT NULL) STRICT;"
INSERT = "INSERT INTO memories (text, vector) VALUES (?, ?)"
ROW = ("What an agent has learned, in about two hundred letters. " * 4, os.urandom(1536))


@dataclass(frozen=True, slots=True)
class Result:
    """What one way of writing came to: the seconds of each write, and of all together."""

    times: list[float]
    errors: int
    total: float
    rows: int

    def line(self, name: str) -> str:
        """One line of a table, in milliseconds."""
        times = sorted(self.times)
        p50, p95, p99 = (1000 * times[int(len(times) * share)] for share in (0.50, 0.95, 0.99))
        return (
            f"{name:34} {self.rows:6} {self.errors:6} {p50:8.2f} {p95:8.2f} {p99:8.2f} "
            f"{1000 * times[-1]:8.1f} {self.total:7.2f}"
        )


HEADER = f"{'':34} {'rows':>6} {'errors':>6} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'max ms':>8} {'total s':>7}"


def insert(db: apsw.Connection) -> None:
    """One memory with its vector."""
    db.execute(INSERT, ROW)


@contextmanager
def through_the_writer(path: str) -> Iterator[Write]:
    """Our way: in line with the other processes."""
    writer = Writer(opened(path), timeout=60.0)
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

    def write() -> None:
        db.execute("BEGIN IMMEDIATE")
        insert(db)
        db.execute("COMMIT")

    try:
        yield write
    finally:
        db.close()


def opened(path: str) -> Database:
    """The database of this run, with the one table of this run."""
    folder = Path(path).parent / "migrations"
    if not folder.exists():
        folder.mkdir()
        (folder / "0001_memories.sql").write_text(TABLE)
    return Database.open(path, folder=folder)


def repeat(write: Write, times: int) -> tuple[list[float], int]:
    """How long each of so many writes took, and how many failed."""
    took, errors = [], 0
    for _ in range(times):
        start = time.perf_counter()
        try:
            write()
        except (StoreError, apsw.Error):
            errors += 1
        took.append(time.perf_counter() - start)
    return took, errors


def work(way: Callable[[str], Any], path: str, times: int, start: Any, results: Any) -> None:
    """One process: gets ready, waits for the others, writes."""
    with way(path) as write:
        start.wait()
        results.put(repeat(write, times))


def processes(way: Callable[[str], Any], count: int, times: int, folder: str) -> Result:
    """So many processes that each write so often to one new file."""
    path = str(Path(folder) / "store.db")
    opened(path)
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
    return Result([t for took, _ in found for t in took], sum(errors for _, errors in found), total, rows(path))


def threads(count: int, times: int, folder: str) -> Result:
    """So many threads of one process that each write so often through one writer."""
    path = str(Path(folder) / "store.db")
    found: list[tuple[list[float], int]] = []
    with through_the_writer(path) as write:
        write()
        running = [threading.Thread(target=lambda: found.append(repeat(write, times))) for _ in range(count)]
        begun = time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        total = time.perf_counter() - begun
    return Result([t for took, _ in found for t in took], sum(errors for _, errors in found), total, rows(path) - 1)


def rows(path: str) -> int:
    """How many memories are really there."""
    db = opened(path).connect_reading()
    try:
        return int(db.execute("SELECT count(*) FROM memories").get)
    finally:
        db.close()


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--writes", type=int, default=50, help="by each process")
    parser.add_argument("--folder", default=".", help="where to write: a folder on a real disk")
    given = parser.parse_args()

    def fresh(measure: Callable[[str], Result]) -> Result:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            return measure(folder)

    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(f"{os.cpu_count()} cores, one fsync takes {sync(folder):.2f} ms")
    print(HEADER)
    many = f"{given.processes} processes × {given.writes}"
    for name, way in (("busy timeout", by_busy_timeout), ("in line", through_the_writer)):
        result = fresh(lambda at, way=way: processes(way, given.processes, given.writes, at))  # type: ignore[misc]
        print(result.line(f"{many}, {name}"), flush=True)
    for count, times in ((1, 1000), (4, 500), (16, 250)):
        result = fresh(lambda at, count=count, times=times: threads(count, times, at))  # type: ignore[misc]
        each = f"{len(result.times) / result.total:,.0f} a second"
        print(result.line(f"{count} threads × {times}, {each}"), flush=True)


if __name__ == "__main__":
    main()
