"""Remains: whether bytes that were erased are still in a file, and whether what is there belongs to what stays."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.model.erasure import Search
from recollect.stores.sqlite import descriptors, pages
from recollect.stores.sqlite.sql import SQL

PIECE = 24
"""Bytes of a piece: whatever is left of a text is found if it is at least twice as long."""

ANCHOR = 8
"""Bytes that are compared first; what is shorter is in every file, so it is not looked for."""

DISTINCT = 4
"""How many different bytes an anchor has, at least."""

RESERVED = 20
"""Where a SQLite file says how many bytes at the end of each page are not SQLite's."""

_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
"""Odd numbers, one for each eight bytes of a piece, that make a hash of them."""


def cut(said: bytes) -> Iterator[bytes]:
    """The pieces by which bytes are known again, also where SQLite has spread them over several pages."""
    starts = [*range(0, len(said) - PIECE, PIECE), max(len(said) - PIECE, 0)]
    return filter(_tells, (said[start : start + PIECE] for start in starts))


def _tells(piece: bytes) -> bool:
    """Whether it is worth looking for: blanks and zeros are everywhere."""
    return len(set(piece[:ANCHOR])) >= DISTINCT


class Finder:
    """Looks for many pieces at once: at every place, a hash of eight bytes says whether it is worth a closer look."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces: dict[int, list[bytes]] = defaultdict(list)
        for one in sorted(one for one in pieces if len(one) >= ANCHOR):
            self._pieces[int.from_bytes(one[:ANCHOR], "little")].append(one)
        known = [one for pieces in self._pieces.values() for one in pieces]
        whole = b"".join(one for one in known if len(one) == PIECE)
        short = b"".join(one[:ANCHOR] for one in known if len(one) < PIECE)
        self._short = np.unique(np.frombuffer(short, dtype="<u8"))
        self._whole = np.unique(_sums(np.frombuffer(whole, dtype="<u8").reshape(-1, PIECE // ANCHOR)))
        self._bits = 16 if len(known) < 1_000 else 22
        self._marked = np.zeros(1 << self._bits, dtype=np.bool_)
        self._marked[self._hashes(np.array(list(self._pieces), dtype=np.uint64))] = True

    def find(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """Every piece that is in the block, with its place."""
        padded = block + bytes(PIECE)
        for shift in range(ANCHOR):
            windows = np.frombuffer(padded, dtype="<u8", offset=shift, count=(len(padded) - shift) // ANCHOR)
            near = np.flatnonzero(self._marked[self._hashes(windows[: 1 - PIECE // ANCHOR])])
            sums = _sums(windows[near[:, None] + np.arange(PIECE // ANCHOR)])
            for index in near[_among(sums, self._whole) | _among(windows[near], self._short)].tolist():
                place = shift + ANCHOR * index
                for one in self._pieces[int(windows[index])]:
                    if block.startswith(one, place):
                        yield place, one

    def _hashes(self, windows: NDArray[np.uint64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = ((windows * _FACTORS[0]) >> np.uint64(64 - self._bits)).view(np.int64)
        return found


def _sums(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number for each row of words, which tells nearly all rows apart."""
    found: NDArray[np.uint64] = (words * _FACTORS).sum(axis=1, dtype=np.uint64)
    return found


def _among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the values are known; these are sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(known[np.searchsorted(known, values) % len(known)] == values)


def places(path: Path, finder: Finder) -> dict[int, int]:
    """Where in the file a piece begins, and how long it is."""
    found: dict[int, int] = {}
    for start, block in descriptors.blocks(path, overlap=PIECE - 1):
        for place, one in finder.find(block):
            found[start + place] = max(len(one), found.get(start + place, 0))
    return found


def search(path: Path, db: apsw.Connection | None, wanted: Set[bytes]) -> Search:
    """Look for the pieces in every file of the store.

    With a connection that keeps others from writing, and an empty log, what belongs to a row that stays is told apart.
    """
    finder = Finder(wanted)
    remains: list[str] = []
    elsewhere: Counter[str] = Counter()
    files = descriptors.files_of(path)
    for file in files:
        found = places(file, finder)
        if found and file == path and db is not None:
            rows = _rows_at(db, path, found)
            elsewhere = Counter(table for table, _ in set(rows.values()))
            found = {place: length for place, length in found.items() if place not in rows}
        if found:
            remains.append(f"{file.name} (first at byte {min(found)})")
    return Search(
        files=tuple(file.name for file in files),
        remains=tuple(remains),
        elsewhere=dict(sorted(elsewhere.items())),
    )


def _rows_at(db: apsw.Connection, path: Path, found: Mapping[int, int]) -> dict[int, tuple[str, int]]:
    """Those of the places that are inside a row, each with the table of the row and where the row is."""
    page_size = int(db.pragma("page_size"))
    usable = page_size - descriptors.piece(path, RESERVED, 1)[0]
    by_page: dict[int, list[int]] = defaultdict(list)
    for place in found:
        by_page[place // page_size].append(place)
    rows: dict[int, tuple[str, int]] = {}
    for number, table, kind, payload in db.execute(SQL["pages"]):
        start = (number - 1) * page_size
        if here := by_page.get(number - 1):
            page = descriptors.piece(path, start, page_size)
            first = number == 1
            used = [pages.chained(payload)] if kind == "overflow" else pages.cells(page, first=first, usable=usable)
            for row in used:
                inside = [at for at in here if row.start <= at - start and at - start + found[at] <= row.stop]
                rows |= dict.fromkeys(inside, (table, start + row.start))
    return rows
