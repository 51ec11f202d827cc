"""Search a store's files for erased bytes, and rebuild the file if any are found.

SQLite pages are parsed to tell leftovers from live rows with the same bytes.
"""

import tempfile
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import apsw

from recollect.atomic_files import companion_path, remove_abandoned_folders
from recollect.errors import StoreBusy, StoreError
from recollect.model.archive import ResidueSearch
from recollect.stores.sql.erasure import NEEDLE_BYTES, NeedleFinder, find_needles, join_ranges
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.transaction import SQL
from recollect.stores.sqlite.write_queue import SqliteWriter

RESERVED_BYTES_OFFSET = 20
"""Where a SQLite file says how many bytes at the end of each page are reserved."""

LEAF_TABLE_PAGE, INNER_TABLE_PAGE, INNER_INDEX_PAGE = 0x0D, 0x05, 0x02
"""First byte of a page by its kind; the fourth kind is the leaf page of an index."""

HEADER_BYTES = 100
"""Bytes of the file header, which comes before the first page's own header."""

POINTER_BYTES = 4
"""Bytes of a page number."""


def scrub_files(path: Path, writer: SqliteWriter, pieces: Set[bytes], *, timeout: float) -> ResidueSearch:
    """Search every file of the store for erased byte strings, and rebuild the file if a page has any.

    SQLite overwrites what it deletes. But when it moves rows between pages, it may leave a copy in an unused part of a
    page. Only a rebuilt file is free of such copies.
    """
    copies = _unfinished_copies(path)
    try:
        result = _search_quiet_store(path, writer, pieces, timeout)
        if result.remains and result.unfinished is None:
            writer.run_alone(_rebuild)
            result = _search_quiet_store(path, writer, pieces, timeout)
    except (StoreError, OSError) as error:
        result = replace(search_files(path, None, pieces), unfinished=str(error))
    return replace(result, copies=copies)


def _unfinished_copies(path: Path) -> tuple[str, ...]:
    """Return copies that are being made beside the store; remove those of killed processes."""
    with suppress(OSError):  # there may be no temporary folder
        remove_abandoned_folders(Path(tempfile.gettempdir()))
    return tuple(sorted(one.name for one in remove_abandoned_folders(path.parent)))


def _search_quiet_store(path: Path, writer: SqliteWriter, pieces: Set[bytes], timeout: float) -> ResidueSearch:
    """Search the files while the log is empty and no process writes.

    The result has `unfinished` set if a reader or a writer keeps the log from being emptied.
    """
    deadline = time.monotonic() + timeout
    try:
        while True:
            result = writer.run_alone(lambda db: _search_without_log(path, db, pieces))
            if result is not None:
                return result
            if time.monotonic() >= deadline:
                break
    except StoreBusy:
        pass  # others wrote for the whole wait: treated like busy readers
    result_now = search_files(path, None, pieces)
    reason = "another connection reads an older snapshot or keeps writing, so the log cannot be emptied"
    return replace(result_now, unfinished=f"{path.name}: {reason}; close the programs that have it open")


def _search_without_log(path: Path, db: apsw.Connection, pieces: Set[bytes]) -> ResidueSearch | None:
    """Search the files while the log is empty and stays so; None if it cannot be emptied now."""
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        db.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        return None
    try:
        return None if store_files.file_size(companion_path(path, "-wal")) else search_files(path, db, pieces)
    finally:
        db.execute("ROLLBACK")


def _rebuild(db: apsw.Connection) -> None:
    db.execute("VACUUM")


def search_files(path: Path, db: apsw.Connection | None, needles: Set[bytes]) -> ResidueSearch:
    """Search every file of the store for erased byte strings.

    With a connection that holds the write lock, and an empty log, bytes that belong to live rows are told apart.
    """
    finder = NeedleFinder(needles)
    remains: list[str] = []
    elsewhere: Counter[str] = Counter()
    files = store_files.list_store_files(path)
    for file in files:
        found = find_needles(store_files.read_blocks(file, overlap=NEEDLE_BYTES - 1), finder)
        places = [place for place, _ in join_ranges(found)]
        if found and file == path and db is not None:
            places, elsewhere = _separate_live_rows(db, path, found)
        if places:
            remains.append(f"{file.name} (first at byte {places[0]})")
    return ResidueSearch(
        files=tuple(file.name for file in files),
        remains=tuple(remains),
        elsewhere=dict(sorted(elsewhere.items())),
    )


def _separate_live_rows(db: apsw.Connection, path: Path, found: Mapping[int, int]) -> tuple[list[int], Counter[str]]:
    """Return where needles are left over, and how many live rows per table have the same bytes.

    Bytes outside all rows are left over, unless a live row contains all of them: then they are a copy of that row, or
    cannot be told from one.
    """
    page_size = int(db.pragma("page_size"))
    usable = page_size - store_files.read_bytes(path, RESERVED_BYTES_OFFSET, 1)[0]
    by_page: dict[int, list[int]] = defaultdict(list)
    for place in sorted(found):
        by_page[place // page_size].append(place)
    outside, live_bytes, rows = dict(found), set[bytes](), Counter[str]()
    for number, table, kind, payload in db.execute(SQL["pages"]):
        start = (number - 1) * page_size
        if places := by_page.get(number - 1):
            page = store_files.read_bytes(path, start, page_size)
            used = (
                [range(POINTER_BYTES, POINTER_BYTES + payload)]  # part of a large cell
                if kind == "overflow"
                else find_cells(page, first=number == 1, usable=usable)
            )
            for row in used:
                near = places[bisect_left(places, start + row.start) : bisect_left(places, start + row.stop)]
                inside = {at: found[at] for at in near if at + found[at] <= start + row.stop}
                live_bytes.update(page[begin - start : end - start] for begin, end in join_ranges(inside))
                rows[table] += bool(inside)
                for at in inside:
                    del outside[at]
    leftover = [
        begin
        for begin, end in join_ranges(outside)
        if not _is_in_live_row(store_files.read_bytes(path, begin, end - begin), live_bytes)
    ]
    return leftover, +rows


def _is_in_live_row(leftover: bytes, live_bytes: Set[bytes]) -> bool:
    return leftover in live_bytes or any(leftover in one for one in live_bytes)


def find_cells(page: bytes, *, first: bool, usable: int) -> Iterator[range]:
    """Yield where the cells of a table or index page are; `first` marks the file's first page.

    The format is fixed by SQLite: https://www.sqlite.org/fileformat2.html, section 1.6. Bytes in no cell are unused and
    may still hold old data.
    """
    start = HEADER_BYTES if first else 0
    kind = page[start]
    inner = kind in (INNER_TABLE_PAGE, INNER_INDEX_PAGE)
    count = int.from_bytes(page[start + 3 : start + 5])
    pointers = start + (12 if inner else 8)
    for number in range(count):
        place = int.from_bytes(page[pointers + 2 * number : pointers + 2 * number + 2])
        yield range(place, _cell_end(page, place, kind, usable))


def _cell_end(page: bytes, place: int, kind: int, usable: int) -> int:
    """Return where the cell that begins at this place ends."""
    if kind in (INNER_TABLE_PAGE, INNER_INDEX_PAGE):
        place += POINTER_BYTES
    size, place = _read_varint(page, place)
    if kind == INNER_TABLE_PAGE:  # the number is not a size but the key, and the cell ends there
        return place
    if kind == LEAF_TABLE_PAGE:
        _, place = _read_varint(page, place)
    max_local = usable - 35 if kind == LEAF_TABLE_PAGE else (usable - 12) * 64 // 255 - 23
    if size <= max_local:
        return place + size
    min_local = (usable - 12) * 32 // 255 - 23
    local = min_local + (size - min_local) % (usable - POINTER_BYTES)
    return place + (local if local <= max_local else min_local) + POINTER_BYTES


def _read_varint(page: bytes, place: int) -> tuple[int, int]:
    """Return the variable-length integer at this place, and where it ends."""
    value = 0
    for end in range(place, place + 8):
        value = (value << 7) | (page[end] & 0x7F)
        if page[end] < 0x80:
            return value, end + 1
    return (value << 8) | page[place + 8], place + 9
