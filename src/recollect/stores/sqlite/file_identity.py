"""Presence: whether the files at the path of a store are those that its connections have open.

SQLite goes on with files that were deleted or replaced, as the system lets it: what is written then is in no file that
anybody else sees. And when the last connection closes, SQLite moves its log into its file and deletes the log by its
name, whosever log has that name by then.
"""

import os
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from recollect.errors import StoreError
from recollect.fork_safety import ForkSafeLock
from recollect.stores.sqlite import checksum

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
        if size and checksum.has_checksum(Path(self._path)):
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
