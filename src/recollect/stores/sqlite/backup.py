"""Backup: a copy of a store as it is at one moment, made while others read and write it."""

import os
import sys
import tempfile
from pathlib import Path

import apsw

from recollect.errors import Conflict, StoreError, show
from recollect.ports import Progress
from recollect.stores.sqlite.connection import translated
from recollect.stores.sqlite.seals import seal

PAGES = 256
"""How many pages are copied at a time."""


def backup(source: apsw.Connection, target: Path, mode: int, progress: Progress) -> None:
    """Copy what the connection sees to a new file, which is there only when it is whole; one that is there stays."""
    if target.exists():
        raise is_there(target)
    unfinished = _unfinished(target)
    try:
        with translated(str(target)):
            _copy(source, unfinished, progress)
        seal(unfinished)
        unfinished.chmod(mode)
        _give_name(unfinished, target)
    except OSError as error:
        remedy = "check the folder and the room in it"
        raise StoreError(f"{target} cannot be written ({error.strerror}); {remedy}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def is_there(target: Path) -> Conflict:
    """What is said of a file that would be overwritten."""
    return Conflict(f"{show(str(target))} is there already; name another file, or move it away")


def copy(source: apsw.Connection, target: Path) -> None:
    """Copy what the connection sees to a file, page by page, whatever they say."""
    _copy(source, target, _silently)


def _silently(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def _unfinished(target: Path) -> Path:
    """A new file beside the target, for us alone."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".unfinished", dir=target.parent)
    except OSError as error:
        raise StoreError(f"{target} cannot be made ({error.strerror}); check its folder") from error
    os.close(descriptor)
    return Path(name)


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


def _give_name(unfinished: Path, target: Path) -> None:
    """Give the file its name in one step, unless somebody else was quicker."""
    try:
        os.link(unfinished, target)
    except FileExistsError as error:
        raise is_there(target) from error
    except OSError as error:  # some file systems have no links
        if target.exists():
            raise is_there(target) from error
        unfinished.replace(target)
    if sys.platform != "win32":  # where a folder cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
