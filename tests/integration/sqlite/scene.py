"""A small database on a real disk, and other processes that use it too."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, ClassVar

import apsw

from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.transaction import ReaderPool
from recollect.stores.sqlite.write_queue import SqliteWriter

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FOLDER, LATER = HERE / "migrations", HERE / "migrations_later"
"""The migrations of this program, and of one that knows one more."""


def a_database(path: Path | str, *, folder: Path = FOLDER) -> SqliteDatabase:
    """The database at a path, with a table of notes."""
    return SqliteDatabase.open(path, folder=folder)


def note(text: str) -> Callable[[apsw.Connection], int]:
    """A change that writes down a text, and returns its number."""
    return lambda db: int(db.execute("INSERT INTO notes (text) VALUES (?) RETURNING number", (text,)).get)


def notes(database: SqliteDatabase) -> list[str]:
    """All texts that are written down, in the order they were."""
    readers = ReaderPool(database)
    with readers.borrow() as db:
        found = [str(text) for (text,) in db.execute("SELECT text FROM notes ORDER BY number")]
    readers.close()
    return found


@contextmanager
def a_writer(database: SqliteDatabase, *, timeout: float = 30.0) -> Iterator[SqliteWriter]:
    """A writer that is closed in the end."""
    writer = SqliteWriter(database, timeout=timeout)
    try:
        yield writer
    finally:
        writer.close()


class Other:
    """Another process, which says a line when it is ready and goes on when it is told a line, or when it is ended."""

    acts: ClassVar[str] = "tests.integration.sqlite.other"
    """The module of what it can do."""

    def __init__(self, *command: object, python: Sequence[str] = (sys.executable,)) -> None:
        arguments = [*python, "-m", self.acts, *map(str, command)]
        self.process = subprocess.Popen(
            arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def hear(self) -> str:
        """The next line it says; empty when it has ended."""
        return _there(self.process.stdout).readline().strip()

    def tell(self) -> None:
        """Let it go on."""
        _there(self.process.stdin).write("go on\n")
        _there(self.process.stdin).flush()

    def end(self) -> list[str]:
        """What it still has to say; it must end well."""
        said, _ = self.process.communicate()
        assert self.process.returncode == 0
        return str(said).splitlines()

    def suspend(self) -> None:
        """Stop it where it is, until it is resumed; it is not told."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on from where it was."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, wherever it is."""
        self.process.kill()
        self.process.communicate()


def _there(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
