"""Descriptors: files of a store opened for plain reading, in a way that does not disturb SQLite.

When a process closes any descriptor of a file, the kernel drops every lock the process has on it, SQLite's among them,
and another process may then remove the log of a store that is in use. So the descriptor of a file stays open for as
long as this process has a connection to its store.

Seal: the sum of all bytes of a backup, at the end of its file, by which any change to it is noticed.

SQLite reads a file up to the last page that its header counts, so it does not mind what is behind. Who is about to
write to the file as a store takes the seal off first. So a sealed file has no log of its own, and a log beside it is
what another store left there: SQLite would take it for the newest part of the backup.

Presence: whether the files at the path of a store are those that its connections have open.

SQLite goes on with files that were deleted or replaced, as the system lets it: what is written then is in no file that
anybody else sees. And when the last connection closes, SQLite moves its log into its file and deletes the log by its
name, whosever log has that name by then.
"""

import errno
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from enum import Enum
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


CHECKSUM_MARK = b"recollect sealed"
CHECKSUM_BYTES = len(CHECKSUM_MARK) + hashlib.sha256().digest_size
"""Bytes of a seal."""

_MIN_PAGE_BYTES = 512
"""Bytes; files of SQLite have a multiple of it, unless they are sealed or cut."""


class ChecksumState(Enum):
    """What the end of a file says about the rest."""

    INTACT = "intact"
    BROKEN = "broken"
    CUT = "cut"
    ABSENT = "absent"


def add_checksum(path: Path) -> None:
    """Put a seal on a file that nobody has open, and have all of it on the disk."""
    with path.open("r+b") as file:
        sum = hashlib.file_digest(file, "sha256")
        file.seek(0, os.SEEK_END)
        file.write(CHECKSUM_MARK + sum.digest())
        file.flush()
        os.fsync(file.fileno())


def remove_checksum(path: Path) -> None:
    """Take the seal off, for good, inside a transaction that writes; refused if the log beside it is not its own."""
    if has_checksum(path):
        refuse_foreign_log(path)
        os.truncate(path, file_size(path) - CHECKSUM_BYTES)
        sync_file(path)  # before anything is in the log


def refuse_foreign_log(path: Path) -> None:
    """What another store left beside a sealed file is not taken for a part of it."""
    for log in (companion_path(path, "-wal"), companion_path(path, "-journal")):
        if file_size(log) and has_checksum(path):  # in this order: a seal is taken off before there is a log
            raise StoreError(
                f"{path} is a backup, and {log.name} beside it is of the store that was there before and would undo "
                f"it; close that store in every process, move {log.name} away, and open it again"
            )


def has_checksum(path: Path) -> bool:
    """Whether the file ends in a seal, right or wrong."""
    size = file_size(path)
    return size % _MIN_PAGE_BYTES == CHECKSUM_BYTES and read_bytes(
        path, size - CHECKSUM_BYTES, CHECKSUM_BYTES
    ).startswith(CHECKSUM_MARK)


def read_checksum_state(path: Path) -> ChecksumState:
    """Whether the file has a seal, and whether every byte is as it was when it was sealed; or else, whether the file
    ends inside of a page, as no store does."""
    if has_checksum(path):
        right = _checksum_matches(path)
        if right or has_checksum(path):  # else it was taken off meanwhile
            return ChecksumState.INTACT if right else ChecksumState.BROKEN
    page = int.from_bytes(read_bytes(path, 16, 2)) or 1
    return ChecksumState.CUT if file_size(path) % (65_536 if page == 1 else page) else ChecksumState.ABSENT


def _checksum_matches(path: Path) -> bool:
    sum = hashlib.sha256()
    size = left = file_size(path) - CHECKSUM_BYTES
    for _, block in read_blocks(path):
        sum.update(block[:left])
        left -= len(block[:left])
    return read_bytes(path, size, CHECKSUM_BYTES) == CHECKSUM_MARK + sum.digest()


FileId = tuple[int, int]
"""Which file it is, whatever it is called."""

FileStamp = tuple[int, int, int, int]
"""The identity of a file, and what changes when it is written."""

ABSENT_STAMP: FileStamp = (0, 0, 0, 0)
ABSENT_ID: FileId = (0, 0)
"""Where there is no file."""

_OpenFiles = tuple[str, FileId, FileId]
"""What a connection has open: the path of the store, the log, and the index of the log."""

_OPEN_FILES: WeakKeyDictionary[apsw.Connection, _OpenFiles] = WeakKeyDictionary()
"""That of every connection of this process."""

_OPEN_FILES_LOCK = ForkSafeLock()


def read_stamp(path: str | Path) -> FileStamp:
    """What there is at the path just now."""
    try:
        found = os.stat(path)  # noqa: PTH116 — at every reading, and a `Path` takes twice as long
    except OSError:
        return ABSENT_STAMP
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read_file_id(path: str) -> FileId:
    """Which file there is at the path just now."""
    try:
        found = os.stat(path)  # noqa: PTH116 — as above
    except OSError:
        return ABSENT_ID
    return found.st_dev, found.st_ino


class FileIdentity:
    """The files of one store, as its connections know them."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = str(path)
        self._log, self._index = f"{path}-wal", f"{path}-shm"
        self._known: FileStamp | None = None
        self._lost: str | None = None

    def note_file(self) -> None:
        """The file that is there now is the one we mean."""
        self._known = read_stamp(self._path)

    def note_connection(self, db: apsw.Connection) -> None:
        """Note which log a connection has, that has just opened it; refused if others of this process have another."""
        found = self._read_open_files()
        with _OPEN_FILES_LOCK.rlock:
            for known in filter(None, map(_OPEN_FILES.get, apsw.connections())):
                if known[0] == self._path:
                    self._compare(known, found)
            self._refuse_if_lost()
            _OPEN_FILES[db] = found

    def refuse_if_gone(self, db: apsw.Connection | None = None) -> None:
        """The file is still there; and so is its log, if a connection is given. Once that is lost, it stays so."""
        now = read_stamp(self._path)
        if self._known is not None and now[:2] != self._known[:2]:
            what = "moved or deleted" if now == ABSENT_STAMP else "replaced by another file"
            raise StoreError(f"{self._name} was {what} while it was open; open the store again")
        if db is not None:
            self._compare(_OPEN_FILES[db], self._read_open_files())
        self._refuse_if_lost()
        if db is not None and self._known is not None:
            self._known = now

    def may_delete_log(self, db: apsw.Connection) -> bool:
        """Whether the connection may move the log into the file and delete it when it closes.

        If the log was deleted, what it has is not lost yet, as long as nobody else has written to the file since, nor
        to another log. A backup that was copied into the file is not undone.
        """
        if db not in _OPEN_FILES:
            return True
        _, log, index = _OPEN_FILES[db]
        *present, size, _ = read_stamp(self._log)
        if size and has_checksum(Path(self._path)):
            return False
        if tuple(present) == log:
            return read_file_id(self._index) == index
        return size == 0 and read_stamp(self._path) in (ABSENT_STAMP, self._known)

    def _read_open_files(self) -> _OpenFiles:
        """What somebody has open who opens it now."""
        return self._path, read_file_id(self._log), read_file_id(self._index)

    def _compare(self, known: _OpenFiles, found: _OpenFiles) -> None:
        if found[1] != known[1]:
            self._lost = self._log
        elif found[2] != known[2]:
            self._lost = self._index

    def _refuse_if_lost(self) -> None:
        if self._lost is not None:
            raise StoreError(
                f"{self._lost} was deleted or replaced while {self._name} was open, so others do not see what is in "
                "it; close the store in every process, and open it again"
            )
