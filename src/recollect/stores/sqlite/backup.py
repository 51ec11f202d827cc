"""Backup: a copy of a store as it is at one moment, made while others read and write it, and sealed."""

import os
from pathlib import Path

import apsw

from recollect.atomic_files import give_name, unfinished, unmerged
from recollect.errors import Conflict, StoreError, show
from recollect.protocols import Progress
from recollect.stores.sqlite import checksum
from recollect.stores.sqlite.connection import usable
from recollect.stores.sqlite.driver_errors import translated

PAGES = 256
"""How many pages are copied at a time."""


def backup(source: apsw.Connection, target: Path, mode: int, progress: Progress) -> None:
    """Copy what the connection sees to a new file, which is there only when it is whole; one that is there stays."""
    usable(os.fsdecode(target))
    _refuse(target)
    try:
        with unfinished(target.parent) as folder:
            copied = folder / "copy.db"
            with translated(str(target)):
                _copy(source, copied, progress)
            checksum.put_on(copied)
            copied.chmod(mode)
            _refuse(target)  # for what came meanwhile
            give_name(copied, target)
    except FileExistsError as error:
        raise _is_there(target) from error
    except OSError as error:
        remedy = "check the folder and the room in it"
        raise StoreError(f"{target} cannot be written ({error.strerror}); {remedy}") from error


def copy(source: apsw.Connection, target: Path) -> None:
    """Copy what the connection sees to a file, page by page, whatever they say."""
    _copy(source, target, _silently)


def _refuse(target: Path) -> None:
    """Nothing is overwritten, and nothing is made that SQLite would read together with what is beside it."""
    if target.exists():
        raise _is_there(target)
    beside = unmerged(target)
    if beside is not None:
        taken = f"{beside.name} is there, which would be taken for the newest part of it"
        raise Conflict(f"{show(str(target))} cannot be made: {taken}; name another file, or move that away")


def _is_there(target: Path) -> Conflict:
    """What is said of a file that would be overwritten."""
    return Conflict(f"{show(str(target))} is there already; name another file, or move it away")


def _silently(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def _copy(source: apsw.Connection, target: Path, progress: Progress) -> None:
    db = apsw.Connection(str(target))
    try:
        db.pragma("synchronous", "OFF")  # it is on the disk when it is sealed
        with db.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES)
                progress(copying.page_count - copying.remaining, copying.page_count)
        db.pragma("journal_mode", "wal")  # as a store has it, so that who opens the copy changes nothing
    finally:
        db.close()
