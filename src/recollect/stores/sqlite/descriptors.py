"""Descriptors: files of a store opened for plain reading, in a way that does not disturb SQLite.

When a process closes any descriptor of a file, the kernel drops every lock the process has on it, SQLite's among them,
and another process may then remove the log of a store that is in use. So the descriptor of a file stays open for as
long as this process has a connection to its store.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from recollect.atomic_files import COMPANION_SUFFIXES, companion_path
from recollect.errors import StoreError
from recollect.fork_safety import ForkSafeLock

_STORE_SUFFIXES = ("", *COMPANION_SUFFIXES)
"""What the files of a store are called, after its path."""

BLOCK_BYTES = 4 * 1024**2
"""How many bytes are read at a time."""

TOO_MANY_FILES_ERRNOS = (errno.EMFILE, errno.ENFILE)
"""What an error says when no more files can be opened, by this process or by all."""

_BINARY_FLAG = getattr(os, "O_BINARY", 0)
"""Windows opens files as text without it."""

_DeviceAndInode = tuple[int, int]


class _Descriptors:
    """Those of this process, by the file they are of, each with the path of the file."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._open: dict[_DeviceAndInode, tuple[int, str]] = {}
        self._store_paths: WeakKeyDictionary[apsw.Connection, str] = WeakKeyDictionary()

    def open_connection(self, store: str, connect: Callable[[], apsw.Connection]) -> apsw.Connection:
        """Have a store connected to; no descriptor is closed meanwhile."""
        with self._lock.rlock:
            db = connect()
            self._store_paths[db] = store
        return db

    def read(self, path: Path, length: int, place: int) -> bytes:
        """So many bytes of the file from a place on, or what there is of them."""
        with self._lock.rlock:
            try:
                return _read_at(self._open_file(path), length, place)
            finally:
                self._close_unused()

    def sync(self, path: Path) -> None:
        """Have what was written to the file on the disk."""
        with self._lock.rlock:
            try:
                os.fsync(self._open_file(path))
            finally:
                self._close_unused()

    def close_unused(self) -> None:
        """Close those whose stores nobody here is connected to any more."""
        with self._lock.rlock:
            if self._open:
                self._close_unused()

    def _open_file(self, path: Path) -> int:
        told = path.stat()
        file = (told.st_dev, told.st_ino)
        if file not in self._open:
            self._open[file] = (os.open(path, os.O_RDONLY | _BINARY_FLAG), os.path.realpath(path))
        return self._open[file][0]

    def _close_unused(self) -> None:
        stores = [self._store_of(db) for db in apsw.connections()]
        in_use = None if None in stores else {f"{store}{ending}" for store in stores for ending in _STORE_SUFFIXES}
        for file, (descriptor, path) in list(self._open.items()):
            deleted = os.fstat(descriptor).st_nlink == 0  # nobody can open it any more, so no lock is lost
            if deleted or (in_use is not None and path not in in_use):
                del self._open[file]
                os.close(descriptor)

    def _store_of(self, db: apsw.Connection) -> str | None:
        """The path of the store that it is connected to; nothing if that cannot be said now."""
        if (store := self._store_paths.get(db)) is not None:
            return store
        try:
            return db.filename
        except apsw.ConnectionClosedError:
            return ""
        except apsw.ThreadingViolationError:  # another thread is busy with it
            return None


def _read_at(descriptor: int, length: int, place: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.read(descriptor, length)
    return os.pread(descriptor, length, place)  # a child process shares the position of a descriptor


_DESCRIPTORS = _Descriptors()


def list_store_files(path: Path) -> list[Path]:
    """The files of a store that are there."""
    candidates = [companion_path(path, ending) for ending in _STORE_SUFFIXES]
    return [one for one in candidates if one.exists()]


def read_blocks(path: Path, *, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
    """The file in pieces, each with its place and with `overlap` bytes of the next one behind it."""
    place = 0
    while block := read_bytes(path, place, BLOCK_BYTES + overlap):
        yield place, block
        place += BLOCK_BYTES


def read_bytes(path: Path, place: int, length: int) -> bytes:
    """So many bytes of the file, or what there is of them."""
    try:
        return _DESCRIPTORS.read(path, length, place)
    except OSError as error:
        told = (
            too_many_files_message()
            if error.errno in TOO_MANY_FILES_ERRNOS
            else f"it cannot be read ({error.strerror})"
        )
        raise StoreError(f"{path}: {told}") from error


def sync_file(path: Path) -> None:
    """Have what was written to the file on the disk, where a descriptor for reading suffices for that."""
    if sys.platform != "win32":
        _DESCRIPTORS.sync(path)


def open_tracked_connection(store: str, connect: Callable[[], apsw.Connection]) -> apsw.Connection:
    """What `connect` gives, a connection to the store of that path."""
    return _DESCRIPTORS.open_connection(store, connect)


def close_unused() -> None:
    """Let go of the files of stores that this process is no longer connected to."""
    _DESCRIPTORS.close_unused()


def is_out_of_descriptors() -> bool:
    """Whether this process, or the system, has as many files open as it may."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in TOO_MANY_FILES_ERRNOS
    return False


def too_many_files_message() -> str:
    """What is said then."""
    return "this process has too many files open; close stores that are not needed, or raise its limit (`ulimit -n`)"


def file_size(path: Path) -> int:
    """How many bytes the file has; none if it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def count_links(path: Path) -> int:
    """How many names the file has; none if it is not there."""
    try:
        return path.stat().st_nlink
    except FileNotFoundError:
        return 0
