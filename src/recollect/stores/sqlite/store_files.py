"""Read a store's files safely: plain reads, the checksum of backups, the file's identity.

Plain reads: when a process closes any descriptor of a file, the kernel drops all of its locks on the file, SQLite's
included, and another process may then remove a log in use. So a descriptor stays open as long as this process has a
connection to the store.

Checksum: a backup ends with the SHA-256 of its bytes. SQLite ignores what follows the last page. The checksum is
removed before the file is written as a store, so a file with one has no log of its own: a log beside it belongs to
another store, and SQLite would take it for the newest part of the backup.

Identity: SQLite continues with files that were deleted or replaced, as the system allows it; other processes never see
what it writes there. And when the last connection closes, SQLite merges its log and deletes the log by name, even if
another store's log has that name by then.
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
"""Suffixes of all files of a store, its own included."""

BLOCK_BYTES = 4 * 1024**2
"""Bytes read at a time."""

TOO_MANY_FILES_ERRNOS = (errno.EMFILE, errno.ENFILE)
"""Error numbers that mean too many open files, in this process or in the system."""

_BINARY_FLAG = getattr(os, "O_BINARY", 0)
"""Opens files as binary on Windows, where text is the default."""

_DeviceAndInode = tuple[int, int]


class _Descriptors:
    """The open descriptors of this process by file (device and inode), with the file's path."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._open: dict[_DeviceAndInode, tuple[int, str]] = {}
        self._store_paths: WeakKeyDictionary[apsw.Connection, str] = WeakKeyDictionary()

    def open_connection(self, store: str, connect: Callable[[], apsw.Connection]) -> apsw.Connection:
        """Open a connection to a store; no descriptor is closed meanwhile."""
        with self._lock.rlock:
            db = connect()
            self._store_paths[db] = store
        return db

    def read(self, path: Path, length: int, offset: int) -> bytes:
        """Return up to `length` bytes of the file from this place on."""
        with self._lock.rlock:
            try:
                return _read_at(self._open_file(path), length, offset)
            finally:
                self._close_unused()

    def sync(self, path: Path) -> None:
        """Flush the file to disk."""
        with self._lock.rlock:
            try:
                os.fsync(self._open_file(path))
            finally:
                self._close_unused()

    def close_unused(self) -> None:
        """Close the descriptors of stores that this process has no connection to."""
        with self._lock.rlock:
            if self._open:
                self._close_unused()

    def _open_file(self, path: Path) -> int:
        status = path.stat()
        file_id = (status.st_dev, status.st_ino)
        if file_id not in self._open:
            self._open[file_id] = (os.open(path, os.O_RDONLY | _BINARY_FLAG), os.path.realpath(path))
        return self._open[file_id][0]

    def _close_unused(self) -> None:
        stores = [self._store_of(db) for db in apsw.connections()]
        in_use = None if None in stores else {f"{store}{suffix}" for store in stores for suffix in _STORE_SUFFIXES}
        for file_id, (descriptor, path) in list(self._open.items()):
            deleted = os.fstat(descriptor).st_nlink == 0  # the file cannot be opened any more, so no lock is lost
            if deleted or (in_use is not None and path not in in_use):
                del self._open[file_id]
                os.close(descriptor)

    def _store_of(self, db: apsw.Connection) -> str | None:
        """Return the path of the connection's store; None if it cannot be determined now."""
        if (store := self._store_paths.get(db)) is not None:
            return store
        try:
            return db.filename
        except apsw.ConnectionClosedError:
            return ""
        except apsw.ThreadingViolationError:  # another thread is busy with it
            return None


def _read_at(descriptor: int, length: int, offset: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)
    return os.pread(descriptor, length, offset)  # a child process shares the position of a descriptor


_DESCRIPTORS = _Descriptors()


def list_store_files(path: Path) -> list[Path]:
    """Return the existing files of a store."""
    candidates = [companion_path(path, suffix) for suffix in _STORE_SUFFIXES]
    return [one for one in candidates if one.exists()]


def read_blocks(path: Path, *, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the file in blocks with their places, each with `overlap` bytes of the next block."""
    offset = 0
    while block := read_bytes(path, offset, BLOCK_BYTES + overlap):
        yield offset, block
        offset += BLOCK_BYTES


def read_bytes(path: Path, offset: int, length: int) -> bytes:
    """Return up to `length` bytes of the file from this place on."""
    try:
        return _DESCRIPTORS.read(path, length, offset)
    except OSError as error:
        if error.errno in TOO_MANY_FILES_ERRNOS:
            raise StoreError(f"{path}: {too_many_files_message()}") from error
        raise StoreError(f"{path} cannot be read ({error.strerror})") from error


def sync_file(path: Path) -> None:
    """Flush the file to disk, where a descriptor for reading is enough for that."""
    if sys.platform != "win32":
        _DESCRIPTORS.sync(path)


def open_tracked_connection(store: str, connect: Callable[[], apsw.Connection]) -> apsw.Connection:
    """Return the connection that `connect` opens to the store at this path."""
    return _DESCRIPTORS.open_connection(store, connect)


def close_unused() -> None:
    """Close the files of stores that this process has no connection to."""
    _DESCRIPTORS.close_unused()


def is_out_of_descriptors() -> bool:
    """Whether this process or the system has reached its limit of open files."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in TOO_MANY_FILES_ERRNOS
    return False


def too_many_files_message() -> str:
    """Return the message for too many open files."""
    return "this process has too many open files; close unused stores, or raise the limit (`ulimit -n`)"


def file_size(path: Path) -> int:
    """Return the size of the file in bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def count_links(path: Path) -> int:
    """Return how many names (hard links) the file has; 0 if it does not exist."""
    try:
        return path.stat().st_nlink
    except FileNotFoundError:
        return 0


CHECKSUM_MARK = b"recollect sealed"
CHECKSUM_BYTES = len(CHECKSUM_MARK) + hashlib.sha256().digest_size
"""Bytes of a checksum with its mark."""

_MIN_PAGE_BYTES = 512
"""Bytes; the size of a SQLite file is a multiple of it, unless it has a checksum or is cut."""


class ChecksumState(Enum):
    """Whether a file ends with a checksum, and whether it matches."""

    INTACT = "intact"
    BROKEN = "broken"
    CUT = "cut"
    ABSENT = "absent"


def add_checksum(path: Path) -> None:
    """Append a checksum to a file that is not open elsewhere, and flush the file to disk."""
    with path.open("r+b") as file:
        sum = hashlib.file_digest(file, "sha256")
        file.seek(0, os.SEEK_END)
        file.write(CHECKSUM_MARK + sum.digest())
        file.flush()
        os.fsync(file.fileno())


def remove_checksum(path: Path) -> None:
    """Remove the checksum for good; call this inside a transaction that writes.

    Refused if the log beside the file belongs to another store.
    """
    if has_checksum(path):
        refuse_foreign_log(path)
        os.truncate(path, file_size(path) - CHECKSUM_BYTES)
        sync_file(path)  # before anything is in the log


def refuse_foreign_log(path: Path) -> None:
    """Raise StoreError if a file with a checksum has a log beside it, which is another store's."""
    for log in (companion_path(path, "-wal"), companion_path(path, "-journal")):
        if file_size(log) and has_checksum(path):  # in this order: a checksum is removed before a log is written
            raise StoreError(
                f"{path} is a backup, and {log.name} beside it belongs to the store that it replaced and would undo "
                f"it; close that store in every process, move {log.name} away, and open it again"
            )


def has_checksum(path: Path) -> bool:
    """Whether the file ends in a checksum, right or wrong."""
    size = file_size(path)
    return size % _MIN_PAGE_BYTES == CHECKSUM_BYTES and read_bytes(
        path, size - CHECKSUM_BYTES, CHECKSUM_BYTES
    ).startswith(CHECKSUM_MARK)


def read_checksum_state(path: Path) -> ChecksumState:
    """Return whether the checksum matches; without one, whether the file ends inside a page.

    No complete store ends inside a page.
    """
    if has_checksum(path):
        matches = _checksum_matches(path)
        if matches or has_checksum(path):  # else it was removed meanwhile
            return ChecksumState.INTACT if matches else ChecksumState.BROKEN
    page = int.from_bytes(read_bytes(path, 16, 2)) or 1
    return ChecksumState.CUT if file_size(path) % (65_536 if page == 1 else page) else ChecksumState.ABSENT


def _checksum_matches(path: Path) -> bool:
    sum = hashlib.sha256()
    end = remaining = file_size(path) - CHECKSUM_BYTES
    for _, block in read_blocks(path):
        sum.update(block[:remaining])
        remaining -= len(block[:remaining])
    return read_bytes(path, end, CHECKSUM_BYTES) == CHECKSUM_MARK + sum.digest()


FileId = tuple[int, int]
"""Device and inode: identifies a file whatever its name."""

FileStamp = tuple[int, int, int, int]
"""Device, inode, size and modification time: changes when the file is written."""

ABSENT_STAMP: FileStamp = (0, 0, 0, 0)
ABSENT_ID: FileId = (0, 0)
"""The values for a file that does not exist."""

_OpenFiles = tuple[str, FileId, FileId]
"""Files that a connection has open: the store's path, the log, and the log's index."""

_OPEN_FILES: WeakKeyDictionary[apsw.Connection, _OpenFiles] = WeakKeyDictionary()
"""The open files of every connection of this process."""

_OPEN_FILES_LOCK = ForkSafeLock()


def read_stamp(path: str | Path) -> FileStamp:
    """Return the stamp of the file that is at this path now."""
    try:
        status = os.stat(path)  # noqa: PTH116 — called at every read, and `Path.stat` takes twice as long
    except OSError:
        return ABSENT_STAMP
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read_file_id(path: str) -> FileId:
    """Return the identity of the file that is at this path now."""
    try:
        status = os.stat(path)  # noqa: PTH116 — as above
    except OSError:
        return ABSENT_ID
    return status.st_dev, status.st_ino


class FileIdentity:
    """The files of one store, as its connections know them."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = str(path)
        self._log, self._index = f"{path}-wal", f"{path}-shm"
        self._known: FileStamp | None = None
        self._lost: str | None = None

    def note_file(self) -> None:
        """Accept the file that is at the path now as the store's."""
        self._known = read_stamp(self._path)

    def note_connection(self, db: apsw.Connection) -> None:
        """Note which log a new connection has.

        Raise StoreError if other connections of this process have another log.
        """
        files = self._read_open_files()
        with _OPEN_FILES_LOCK.rlock:
            for known in filter(None, map(_OPEN_FILES.get, apsw.connections())):
                if known[0] == self._path:
                    self._compare(known, files)
            self._refuse_if_lost()
            _OPEN_FILES[db] = files

    def refuse_if_gone(self, db: apsw.Connection | None = None) -> None:
        """Raise StoreError if the file is gone or replaced; with a connection, check its log, too.

        A lost log stays lost.
        """
        stamp = read_stamp(self._path)
        if self._known is not None and stamp[:2] != self._known[:2]:
            change = "moved or deleted" if stamp == ABSENT_STAMP else "replaced by another file"
            raise StoreError(f"{self._name} was {change} while it was open; open the store again")
        if db is not None:
            self._compare(_OPEN_FILES[db], self._read_open_files())
        self._refuse_if_lost()
        if db is not None and self._known is not None:
            self._known = stamp

    def may_delete_log(self, db: apsw.Connection) -> bool:
        """Whether a closing connection may merge the log into the file and delete it.

        The data of a deleted log is not lost yet, as long as no other process has written to the file or to a new log
        since. A backup that was copied into the file is not overwritten.
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
        """Return the files that a connection opened now would have."""
        return self._path, read_file_id(self._log), read_file_id(self._index)

    def _compare(self, known: _OpenFiles, found: _OpenFiles) -> None:
        if found[1] != known[1]:
            self._lost = self._log
        elif found[2] != known[2]:
            self._lost = self._index

    def _refuse_if_lost(self) -> None:
        if self._lost is not None:
            raise StoreError(
                f"{self._lost} was deleted or replaced while {self._name} was open, so other processes do "
                "not see its contents; close the store in every process, and open it again"
            )
