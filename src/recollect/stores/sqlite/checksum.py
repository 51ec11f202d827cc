"""Seal: the sum of all bytes of a backup, at the end of its file, by which any change to it is noticed.

SQLite reads a file up to the last page that its header counts, so it does not mind what is behind. Who is about to
write to the file as a store takes the seal off first. So a sealed file has no log of its own, and a log beside it is
what another store left there: SQLite would take it for the newest part of the backup.
"""

import hashlib
import os
from enum import Enum
from pathlib import Path

from recollect.atomic_files import beside
from recollect.errors import StoreError
from recollect.stores.sqlite import descriptors

MARK = b"recollect sealed"
LENGTH = len(MARK) + hashlib.sha256().digest_size
"""Bytes of a seal."""

_SMALLEST_PAGE = 512
"""Bytes; files of SQLite have a multiple of it, unless they are sealed or cut."""


class Seal(Enum):
    """What the end of a file says about the rest."""

    INTACT = "intact"
    BROKEN = "broken"
    CUT = "cut"
    ABSENT = "absent"


def put_on(path: Path) -> None:
    """Put a seal on a file that nobody has open, and have all of it on the disk."""
    with path.open("r+b") as file:
        sum = hashlib.file_digest(file, "sha256")
        file.seek(0, os.SEEK_END)
        file.write(MARK + sum.digest())
        file.flush()
        os.fsync(file.fileno())


def take_off(path: Path) -> None:
    """Take the seal off, for good, inside a transaction that writes; refused if the log beside it is not its own."""
    if is_there(path):
        refuse_with_log(path)
        os.truncate(path, descriptors.size(path) - LENGTH)
        descriptors.sync(path)  # before anything is in the log


def refuse_with_log(path: Path) -> None:
    """What another store left beside a sealed file is not taken for a part of it."""
    for log in (beside(path, "-wal"), beside(path, "-journal")):
        if descriptors.size(log) and is_there(path):  # in this order: a seal is taken off before there is a log
            raise StoreError(
                f"{path} is a backup, and {log.name} beside it is of the store that was there before and would undo "
                f"it; close that store in every process, move {log.name} away, and open it again"
            )


def is_there(path: Path) -> bool:
    """Whether the file ends in a seal, right or wrong."""
    size = descriptors.size(path)
    return size % _SMALLEST_PAGE == LENGTH and descriptors.piece(path, size - LENGTH, LENGTH).startswith(MARK)


def seal_of(path: Path) -> Seal:
    """Whether the file has a seal, and whether every byte is as it was when it was sealed; or else, whether the file
    ends inside of a page, as no store does."""
    if is_there(path):
        right = _is_right(path)
        if right or is_there(path):  # else it was taken off meanwhile
            return Seal.INTACT if right else Seal.BROKEN
    page = int.from_bytes(descriptors.piece(path, 16, 2)) or 1
    return Seal.CUT if descriptors.size(path) % (65_536 if page == 1 else page) else Seal.ABSENT


def _is_right(path: Path) -> bool:
    sum = hashlib.sha256()
    size = left = descriptors.size(path) - LENGTH
    for _, block in descriptors.blocks(path):
        sum.update(block[:left])
        left -= len(block[:left])
    return descriptors.piece(path, size, LENGTH) == MARK + sum.digest()
