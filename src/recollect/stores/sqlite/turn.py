"""Turn: whose turn it is to write among the processes that share a file, first come, first served.

SQLite lets one process write at a time, but who waits asks again after a pause, so that luck decides who is next, and
some wait for seconds. Here processes stand in line at a companion file, with locks that the kernel hands on and that
vanish with a process that dies. The line is a courtesy: SQLite's own lock is still what keeps writers apart, so that
a process that jumps the line does no harm.
"""

import os
import struct
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from recollect.stores.sqlite import forks

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
"""The file locks of Unix; Windows has none of them."""


class Turn(Protocol):
    """The right to write, which one process has at a time."""

    def take(self) -> None:
        """Wait in line, for as long as it takes."""
        ...

    def leave(self) -> None:
        """Let the next one write."""
        ...

    def close(self) -> None:
        """Leave the line for good."""
        ...


class NoTurn:
    """No line at all: for a database that no other process can see, and where there are no file locks."""

    def take(self) -> None:
        """Nobody is before us."""

    def leave(self) -> None:
        """Nobody is behind us."""

    def close(self) -> None:
        """Nothing is open."""


class _Companion:
    """The companion file, open; a child process closes it, since a lock lives as long as anyone has it open."""

    def __init__(self, path: str, mode: int) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
        forks.tell_children(self)

    def close(self) -> None:
        """Let go of the file, and of every lock on it."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    def after_fork(self) -> None:
        """Leave the parent alone in line."""
        self.close()


class Gate(_Companion):
    """One lock for all. The kernel wakes who waited longest, but whoever comes by just then may be quicker."""

    def take(self) -> None:
        """Wait until the gate is free."""
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def leave(self) -> None:
        """Open the gate."""
        fcntl.flock(self.file, fcntl.LOCK_UN)


class Line(_Companion):
    """A number for everyone: each holds a lock of its own number, and waits for the lock of the number before.

    The next in line is woken, and nobody else can come between. If one dies while it waits, its lock goes, and who
    waits behind it does not know that others are still before it: the two then meet at SQLite's own lock.
    """

    _COUNTER = 0
    _NUMBERS = 8
    """Where the locks of the numbers begin, right behind the eight bytes of the counter."""

    def __init__(self, path: str, mode: int) -> None:
        super().__init__(path, mode)
        self._number = 0

    def take(self) -> None:
        """Draw a number, and wait until the one before has left."""
        self._lock(self._COUNTER)
        try:
            self._number = int.from_bytes(os.pread(self.file, 8, 0), "little") % 2**62 + 1
            self._lock(self._NUMBERS + self._number)
            os.pwrite(self.file, self._number.to_bytes(8, "little"), 0)
        finally:
            self._unlock(self._COUNTER)
        self._lock(self._NUMBERS + self._number - 1)

    def leave(self) -> None:
        """Wake the one behind."""
        self._unlock(self._NUMBERS + self._number - 1, 2)

    def _lock(self, place: int) -> None:
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLKW, _region(fcntl.F_WRLCK, place))

    def _unlock(self, place: int, length: int = 1) -> None:
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, _region(fcntl.F_UNLCK, place, length))


def _region(kind: int, place: int, length: int = 1) -> bytes:
    """A `struct flock` that names bytes of the file."""
    return struct.pack("hhqqi", kind, os.SEEK_SET, place, length, 0)


def turn(path: str, mode: int) -> Turn:
    """The best line that this platform has, at the companion file of that path."""
    if fcntl is None:  # who waits asks SQLite again and again
        return NoTurn()
    return Line(path, mode) if _locks_of_open_files(path, mode) else Gate(path, mode)


def _locks_of_open_files(path: str, mode: int) -> bool:
    """Whether the kernel and the file system know locks that belong to an open file instead of a process."""
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return False
    companion = _Companion(path, mode)
    try:
        fcntl.fcntl(companion.file, fcntl.F_OFD_GETLK, _region(fcntl.F_WRLCK, 0))
    except OSError:
        return False
    finally:
        companion.close()
    return True
