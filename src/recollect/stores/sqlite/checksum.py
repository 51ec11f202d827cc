"""Seal: the sum of all bytes of a backup, at the end of its file, by which any change to it is noticed.

SQLite reads a file up to the last page that its header counts, so it does not mind what is behind. Who is about to
write to the file as a store takes the seal off first. So a sealed file has no log of its own, and a log beside it is
what another store left there: SQLite would take it for the newest part of the backup.
"""

import hashlib
import os
from enum import Enum
from pathlib import Path

from recollect.atomic_files import companion_path
from recollect.errors import StoreError
from recollect.stores.sqlite import descriptors

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
        os.truncate(path, descriptors.file_size(path) - CHECKSUM_BYTES)
        descriptors.sync_file(path)  # before anything is in the log


def refuse_foreign_log(path: Path) -> None:
    """What another store left beside a sealed file is not taken for a part of it."""
    for log in (companion_path(path, "-wal"), companion_path(path, "-journal")):
        if descriptors.file_size(log) and has_checksum(
            path
        ):  # in this order: a seal is taken off before there is a log
            raise StoreError(
                f"{path} is a backup, and {log.name} beside it is of the store that was there before and would undo "
                f"it; close that store in every process, move {log.name} away, and open it again"
            )


def has_checksum(path: Path) -> bool:
    """Whether the file ends in a seal, right or wrong."""
    size = descriptors.file_size(path)
    return size % _MIN_PAGE_BYTES == CHECKSUM_BYTES and descriptors.read_bytes(
        path, size - CHECKSUM_BYTES, CHECKSUM_BYTES
    ).startswith(CHECKSUM_MARK)


def read_checksum_state(path: Path) -> ChecksumState:
    """Whether the file has a seal, and whether every byte is as it was when it was sealed; or else, whether the file
    ends inside of a page, as no store does."""
    if has_checksum(path):
        right = _checksum_matches(path)
        if right or has_checksum(path):  # else it was taken off meanwhile
            return ChecksumState.INTACT if right else ChecksumState.BROKEN
    page = int.from_bytes(descriptors.read_bytes(path, 16, 2)) or 1
    return ChecksumState.CUT if descriptors.file_size(path) % (65_536 if page == 1 else page) else ChecksumState.ABSENT


def _checksum_matches(path: Path) -> bool:
    sum = hashlib.sha256()
    size = left = descriptors.file_size(path) - CHECKSUM_BYTES
    for _, block in descriptors.read_blocks(path):
        sum.update(block[:left])
        left -= len(block[:left])
    return descriptors.read_bytes(path, size, CHECKSUM_BYTES) == CHECKSUM_MARK + sum.digest()
