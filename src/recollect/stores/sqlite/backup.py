"""Backup: a copy of a store as it is at one moment, made while others read and write it, and sealed.

The seal is the sum of all bytes, at the end of the file, by which any change to it is noticed. SQLite reads a file up
to the last page that its header counts, so it does not mind what is behind. As soon as the file is written to as a
store, SQLite cuts it to whole pages and the seal is gone, so that it is never wrong about a store.
"""

import hashlib
import os
from enum import Enum
from pathlib import Path

import apsw

from recollect.errors import Conflict, StoreError, show
from recollect.files import give_name, unfinished, unmerged
from recollect.ports import Progress
from recollect.stores.sqlite import descriptors
from recollect.stores.sqlite.connection import translated, usable

PAGES = 256
"""How many pages are copied at a time."""

MARK = b"recollect sealed"
LENGTH = len(MARK) + hashlib.sha256().digest_size
"""Bytes of a seal."""


class Seal(Enum):
    """What the end of a file says about the rest."""

    INTACT = "intact"
    BROKEN = "broken"
    CUT = "cut"
    ABSENT = "absent"


def backup(source: apsw.Connection, target: Path, mode: int, progress: Progress) -> None:
    """Copy what the connection sees to a new file, which is there only when it is whole; one that is there stays."""
    usable(os.fsdecode(target))
    _refuse(target)
    try:
        with unfinished(target.parent) as folder:
            copied = folder / "copy.db"
            with translated(str(target)):
                _copy(source, copied, progress)
            _seal(copied)
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


def seal_of(path: Path) -> Seal:
    """Whether the file has a seal, and whether every byte is as it was when it was sealed; or else, whether the file
    ends inside of a page, as no store does."""
    size = descriptors.size(path)
    end = descriptors.piece(path, max(size - LENGTH, 0), LENGTH)
    if not end.startswith(MARK):
        page = int.from_bytes(descriptors.piece(path, 16, 2)) or 1
        return Seal.CUT if size % (65_536 if page == 1 else page) else Seal.ABSENT
    sum = hashlib.sha256()
    left = size - LENGTH
    for _, block in descriptors.blocks(path):
        sum.update(block[:left])
        left -= len(block[:left])
    return Seal.INTACT if end == MARK + sum.digest() else Seal.BROKEN


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


def _seal(path: Path) -> None:
    """Put a seal on a file that nobody has open, and have all of it on the disk."""
    with path.open("r+b") as file:
        sum = hashlib.file_digest(file, "sha256")
        file.seek(0, os.SEEK_END)
        file.write(MARK + sum.digest())
        file.flush()
        os.fsync(file.fileno())
