"""Rows for people and for programs: columns that line up on a terminal, or fields between tabs."""

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.model.wording import printable
from recollect.render.looks import Look, Paint, plain

GAP = "  "
LEAST = 32
"""With less room than this, the last column gets a line of its own."""

_WIDE = frozenset({"W", "F"})
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under names; the last column is the long one."""

    names: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def separated(table: Table) -> Iterator[str]:
    """A line a row, fields between tabs, nothing cut: for programs."""
    for row in table.rows:
        yield "\t".join(printable(cell) for cell in row)


def aligned(table: Table, width: int, paint: Paint = plain) -> Iterator[str]:
    """The rows under their names, the last column cut to what the width leaves: for people."""
    if not table.rows:
        return
    rows = [tuple(printable(cell) for cell in row) for row in table.rows]
    widths = [max(map(_width, column)) for column in zip(table.names, *rows, strict=True)][:-1]
    room = width - sum(widths) - len(GAP) * len(widths)
    if room < LEAST:
        yield from _stacked(rows, widths, width, paint)
        return
    yield paint(Look.FAINT, f"{_joined(table.names[:-1], widths)}{table.names[-1]}")
    for row in rows:
        yield f"{_joined(row[:-1], widths)}{cut(row[-1], room)}".rstrip()


def _stacked(rows: Sequence[tuple[str, ...]], widths: Sequence[int], width: int, paint: Paint) -> Iterator[str]:
    """Two lines a row: the short columns, and the long one under them."""
    for row in rows:
        yield paint(Look.FAINT, _joined(row[:-1], widths).rstrip())
        yield f"{GAP}{cut(row[-1], width - len(GAP))}"


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    padding = [" " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "".join(f"{cell}{blanks}{GAP}" for cell, blanks in zip(cells, padding, strict=True))


def cut(text: str, width: int) -> str:
    """As much of the text as so many columns hold, with a mark if that is not all."""
    if _width(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _width(character)
        if used >= width:
            break
        kept += character
    return f"{kept.rstrip()}…"


def wrapped(text: str, width: int | None) -> Iterator[str]:
    """The text in lines of at most so many columns where commas allow it, the later ones indented; whole without."""
    line, room = "", math.inf if width is None else width
    for part in text.split(", "):
        longer = f"{line}, {part}" if line else part
        if line and _width(longer) + len(",") > room:
            yield f"{line},"
            longer = f"{GAP}{part}"
        line = longer
    yield line


def _width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
