"""Descriptors: files of a store opened for plain reading, in a way that does not disturb SQLite.

When a process closes any descriptor of a file, the kernel drops every lock the process has on it, SQLite's among them,
and another process may then remove the log of a store that is in use. So a file is opened once, and its descriptor
stays open for as long as the file exists.
"""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from recollect.stores.sqlite import forks

COMPANIONS = ("", "-wal", "-shm", "-queue", "-journal")
"""What the files of a store are called, after its path."""

BLOCK = 4 * 1024**2
"""How many bytes are read at a time."""

_Identity = tuple[int, int]


class _Descriptors:
    """Those of this process, by the file they are of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[_Identity, int] = {}
        forks.tell_children(self)

    def read(self, path: Path, length: int, place: int) -> bytes:
        """So many bytes of the file from a place on, or what there is of them; it is opened if it never was."""
        with self._lock:
            self._close_deleted()
            told = path.stat()
            file = (told.st_dev, told.st_ino)
            if file not in self._open:
                self._open[file] = os.open(path, os.O_RDONLY)
            return _read(self._open[file], length, place)

    def _close_deleted(self) -> None:
        for file, descriptor in list(self._open.items()):
            if os.fstat(descriptor).st_nlink == 0:  # nobody can open it any more, so no lock is lost
                os.close(self._open.pop(file))

    def after_fork(self) -> None:
        """Another thread of the parent may have had the lock."""
        self._lock = threading.Lock()


def _read(descriptor: int, length: int, place: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.read(descriptor, length)
    return os.pread(descriptor, length, place)  # a child process shares the position of a descriptor


_DESCRIPTORS = _Descriptors()


def files_of(path: Path) -> list[Path]:
    """The files of a store that are there."""
    candidates = [path.with_name(path.name + ending) for ending in COMPANIONS]
    return [one for one in candidates if one.exists()]


def blocks(path: Path, *, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
    """The file in pieces, each with its place and with `overlap` bytes of the next one behind it."""
    place = 0
    while block := _DESCRIPTORS.read(path, BLOCK + overlap, place):
        yield place, block
        place += BLOCK


def piece(path: Path, place: int, length: int) -> bytes:
    """So many bytes of the file, or what there is of them."""
    return _DESCRIPTORS.read(path, length, place)


def size(path: Path) -> int:
    """How many bytes the file has; none if it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
