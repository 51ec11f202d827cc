"""Seals: the sum of all bytes of a backup, at its end, by which any change to it is noticed.

SQLite reads a file up to the last page that its header counts, so it does not mind what is behind. As soon as the file
is written to as a store, SQLite cuts it to whole pages and the seal is gone, so that it is never wrong about a store.
"""

import hashlib
import os
from enum import Enum
from pathlib import Path

from recollect.stores.sqlite import descriptors

MARK = b"recollect sealed"
LENGTH = len(MARK) + hashlib.sha256().digest_size


class Seal(Enum):
    """What the end of a file says about the rest."""

    INTACT = "intact"
    BROKEN = "broken"
    ABSENT = "absent"


def seal(path: Path) -> None:
    """Put a seal on a file that nobody has open, and have all of it on the disk."""
    with path.open("r+b") as file:
        sum = hashlib.file_digest(file, "sha256")
        file.seek(0, os.SEEK_END)
        file.write(MARK + sum.digest())
        file.flush()
        os.fsync(file.fileno())


def look(path: Path) -> Seal:
    """Whether the file has a seal, and whether every byte is as it was when it was sealed."""
    size = descriptors.size(path)
    end = descriptors.piece(path, max(size - LENGTH, 0), LENGTH)
    if not end.startswith(MARK):
        page = int.from_bytes(descriptors.piece(path, 16, 2)) or 1
        return Seal.BROKEN if size % (65_536 if page == 1 else page) else Seal.ABSENT
    sum = hashlib.sha256()
    left = size - LENGTH
    for _, block in descriptors.blocks(path):
        sum.update(block[:left])
        left -= len(block[:left])
    return Seal.INTACT if end == MARK + sum.digest() else Seal.BROKEN
