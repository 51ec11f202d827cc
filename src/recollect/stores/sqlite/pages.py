"""Pages: which bytes of a page of a SQLite file are in use, after the format that SQLite promises to keep.

https://www.sqlite.org/fileformat2.html, section 1.6. What is not in use may still hold what was there before.
"""

from collections.abc import Iterator

LEAF_TABLE, INNER_TABLE, LEAF_INDEX, INNER_INDEX = 0x0D, 0x05, 0x0A, 0x02

HEADER = 100
"""Bytes before the first page's own header: the header of the file."""

POINTER = 4
"""Bytes of the number of a page."""


def cells(page: bytes, *, first: bool, usable: int) -> Iterator[range]:
    """Where the cells of a page of a table or an index are; `first` says that it is the first page of the file."""
    start = HEADER if first else 0
    kind = page[start]
    inner = kind in (INNER_TABLE, INNER_INDEX)
    count = int.from_bytes(page[start + 3 : start + 5])
    pointers = start + (12 if inner else 8)
    for number in range(count):
        place = int.from_bytes(page[pointers + 2 * number : pointers + 2 * number + 2])
        yield range(place, _end(page, place, kind, usable))


def chained(payload: int) -> range:
    """Where the payload of a page is that continues a cell too large for its own page."""
    return range(POINTER, POINTER + payload)


def _end(page: bytes, place: int, kind: int, usable: int) -> int:
    """Where the cell ends that begins there."""
    if kind in (INNER_TABLE, INNER_INDEX):
        place += POINTER
    size, place = _varint(page, place)
    if kind == INNER_TABLE:  # the number is no size but the key, and there is nothing else
        return place
    if kind == LEAF_TABLE:
        _, place = _varint(page, place)
    most = usable - 35 if kind == LEAF_TABLE else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return place + size
    least = (usable - 12) * 32 // 255 - 23
    here = least + (size - least) % (usable - POINTER)
    return place + (here if here <= most else least) + POINTER


def _varint(page: bytes, place: int) -> tuple[int, int]:
    """The number of variable length at the place, and where it ends."""
    value = 0
    for end in range(place, place + 8):
        value = (value << 7) | (page[end] & 0x7F)
        if page[end] < 0x80:
            return value, end + 1
    return (value << 8) | page[place + 8], place + 9
