"""Scrubbing: an empty log, a search of every file, and a rebuilt file where pages kept what they should not have."""

import time
from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path

import apsw

from recollect.errors import StoreBusy, StoreError
from recollect.model.erasure import Search
from recollect.stores.sqlite import descriptors, remains
from recollect.stores.sqlite.writer import Writer

Act = Callable[[apsw.Connection], Search]


def scrub(path: Path, writer: Writer, pieces: Set[bytes], *, patience: float) -> Search:
    """Look for the pieces in every file of the store, and rebuild the file if a page still has any.

    SQLite overwrites what it deletes, but when it moves rows from one page to another it may leave a copy behind in a
    part of the page that it does not use. Only a rebuilt file is free of these.
    """
    try:
        found = _search(path, writer, pieces, patience)
        if found.remains and found.unfinished is None:
            writer.alone(_rebuild)
            found = _search(path, writer, pieces, patience)
    except (StoreError, OSError) as error:
        return replace(remains.search(path, None, pieces), unfinished=f"{error}; then prove it again")
    return found


def _search(path: Path, writer: Writer, pieces: Set[bytes], patience: float) -> Search:
    """What is found while the log is empty and nobody writes; `unfinished` if a reader keeps the log from that."""
    end = time.monotonic() + patience
    try:
        while True:
            found = writer.alone(lambda db: _with_empty_log(db, path, lambda db: remains.search(path, db, pieces)))
            if found is not None:
                return found
            if time.monotonic() >= end:
                break
    except StoreBusy:
        pass  # others were writing for as long as we may wait: the same as with those who read
    left = remains.search(path, None, pieces)
    reason = "somebody still reads it as it was before, or keeps writing, so its log cannot be emptied"
    return replace(left, unfinished=f"{path.name}: {reason}; close what has it open, then prove it again")


def _with_empty_log(db: apsw.Connection, path: Path, act: Act) -> Search | None:
    """What the act finds while the log is empty and stays so; nothing if it cannot be emptied now."""
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        db.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        return None
    try:
        return None if descriptors.size(path.with_name(f"{path.name}-wal")) else act(db)
    finally:
        db.execute("ROLLBACK")


def _rebuild(db: apsw.Connection) -> None:
    db.execute("VACUUM")
