"""Back up a store while it is in use: a copy of one moment, with a checksum at its end."""

import os
from pathlib import Path

import apsw

from recollect.atomic_files import find_sqlite_log, move_into_place, temp_folder
from recollect.errors import Conflict, StoreError, show
from recollect.protocols import ProgressListener
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.connection import resolve_store_path, translate_errors

PAGES_PER_STEP = 256
"""Number of pages copied at a time."""


def write_backup(source: apsw.Connection, target: Path, mode: int, progress: ProgressListener) -> None:
    """Copy what the connection sees to a new file, which appears only when it is complete.

    An existing file is never overwritten.
    """
    resolve_store_path(os.fsdecode(target))
    _refuse_existing(target)
    try:
        with temp_folder(target.parent) as folder:
            copied = folder / "copy.db"
            with translate_errors(str(target)):
                _copy_pages(source, copied, progress)
            store_files.add_checksum(copied)
            copied.chmod(mode)
            _refuse_existing(target)  # a file may have appeared meanwhile
            move_into_place(copied, target)
    except FileExistsError as error:
        raise _exists_error(target) from error
    except OSError as error:
        remedy = "check the folder and the room in it"
        raise StoreError(f"{target} cannot be written ({error.strerror}); {remedy}") from error


def copy_database(source: apsw.Connection, target: Path) -> None:
    """Copy what the connection sees to a file, page by page."""
    _copy_pages(source, target, _ignore_progress)


def _refuse_existing(target: Path) -> None:
    """Raise Conflict if the target exists, or if SQLite would read a file beside it as its log."""
    if target.exists():
        raise _exists_error(target)
    beside = find_sqlite_log(target)
    if beside is not None:
        taken = f"{beside.name} is there, which would be taken for the newest part of it"
        raise Conflict(f"{show(str(target))} cannot be made: {taken}; name another file, or move that away")


def _exists_error(target: Path) -> Conflict:
    """Return the error for a file that would be overwritten."""
    return Conflict(f"{show(str(target))} is there already; name another file, or move it away")


def _ignore_progress(done: int, total: int) -> None:
    """Ignore the progress."""


def _copy_pages(source: apsw.Connection, target: Path, progress: ProgressListener) -> None:
    db = apsw.Connection(str(target))
    try:
        db.pragma("synchronous", "OFF")  # adding the checksum syncs the file
        with db.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES_PER_STEP)
                progress(copying.page_count - copying.remaining, copying.page_count)
        db.pragma("journal_mode", "wal")  # as in a store, so that opening the copy changes nothing
    finally:
        db.close()
