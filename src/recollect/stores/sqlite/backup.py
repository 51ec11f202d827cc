"""Backup: a copy of a store as it is at one moment, made while others read and write it, and sealed."""

import os
from pathlib import Path

import apsw

from recollect.atomic_files import find_sqlite_log, move_into_place, temp_folder
from recollect.errors import Conflict, StoreError, show
from recollect.protocols import ProgressListener
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.connection import resolve_store_path, translate_errors

PAGES_PER_STEP = 256
"""How many pages are copied at a time."""


def write_backup(source: apsw.Connection, target: Path, mode: int, progress: ProgressListener) -> None:
    """Copy what the connection sees to a new file, which is there only when it is whole; one that is there stays."""
    resolve_store_path(os.fsdecode(target))
    _refuse_existing(target)
    try:
        with temp_folder(target.parent) as folder:
            copied = folder / "copy.db"
            with translate_errors(str(target)):
                _copy_pages(source, copied, progress)
            store_files.add_checksum(copied)
            copied.chmod(mode)
            _refuse_existing(target)  # for what came meanwhile
            move_into_place(copied, target)
    except FileExistsError as error:
        raise _exists_error(target) from error
    except OSError as error:
        remedy = "check the folder and the room in it"
        raise StoreError(f"{target} cannot be written ({error.strerror}); {remedy}") from error


def copy_database(source: apsw.Connection, target: Path) -> None:
    """Copy what the connection sees to a file, page by page, whatever they say."""
    _copy_pages(source, target, _ignore_progress)


def _refuse_existing(target: Path) -> None:
    """Nothing is overwritten, and nothing is made that SQLite would read together with what is beside it."""
    if target.exists():
        raise _exists_error(target)
    beside = find_sqlite_log(target)
    if beside is not None:
        taken = f"{beside.name} is there, which would be taken for the newest part of it"
        raise Conflict(f"{show(str(target))} cannot be made: {taken}; name another file, or move that away")


def _exists_error(target: Path) -> Conflict:
    """What is said of a file that would be overwritten."""
    return Conflict(f"{show(str(target))} is there already; name another file, or move it away")


def _ignore_progress(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def _copy_pages(source: apsw.Connection, target: Path, progress: ProgressListener) -> None:
    db = apsw.Connection(str(target))
    try:
        db.pragma("synchronous", "OFF")  # it is on the disk when it is sealed
        with db.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES_PER_STEP)
                progress(copying.page_count - copying.remaining, copying.page_count)
        db.pragma("journal_mode", "wal")  # as a store has it, so that who opens the copy changes nothing
    finally:
        db.close()
