"""Rows for people and for programs: columns that line up on a terminal, or fields between tabs."""

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from recollect.model.format import printable
from recollect.render.styles import Look, Paint, plain

GAP = "  "
LEAST = 32
"""With less room than this, the last column gets a line of its own, under the others."""

_WIDE = frozenset({"W", "F"})
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})


class Long(Enum):
    """Where people find the long column: beside the others where there is room, or always under them, cut or whole."""

    BESIDE = "beside"
    UNDER = "under"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under names; the last column is the long one. There may be notes to each row, which are never cut."""

    names: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[tuple[str, ...]] = ()
    long: Long = Long.BESIDE


def separated(table: Table) -> Iterator[str]:
    """A line a row, fields between tabs, its notes behind the last of them, nothing cut: for programs."""
    for row, notes in zip(table.rows, _notes(table), strict=True):
        line = "\t".join(printable(cell) for cell in row)
        yield f"{line}{''.join(f' [{printable(note)}]' for note in notes)}"


def aligned(table: Table, width: int, paint: Paint = plain) -> Iterator[str]:
    """The rows under their names, each above its notes, the last column cut to what the width leaves unless it is to be
    whole: for people.
    """
    if not table.rows:
        return
    rows = [tuple(printable(cell) for cell in row) for row in table.rows]
    widths = [max(map(_width, column)) for column in zip(table.names, *rows, strict=True)][:-1]
    room = width - sum(widths) - len(GAP) * len(widths)
    stacked = room < LEAST or table.long is not Long.BESIDE
    look = paint if table.long is Long.BESIDE else plain  # what is under a faint line is no aside
    names = _joined(table.names[:-1], widths)
    yield paint(Look.FAINT, names.rstrip() if stacked else f"{names}{table.names[-1]}")
    for row, notes in zip(rows, _notes(table), strict=True):
        short = _joined(row[:-1], widths)
        if stacked:
            yield paint(Look.FAINT, short.rstrip())
            yield from _under(row[-1], width, table.long)
        else:
            yield f"{short}{cut(row[-1], room)}".rstrip()
        for note in notes:
            yield from (look(Look.FAINT, line) for line in _broken(note, width, GAP + GAP))


def _notes(table: Table) -> Sequence[tuple[str, ...]]:
    return table.notes or [()] * len(table.rows)


def _under(text: str, width: int, long: Long) -> Iterable[str]:
    return _broken(text, width, GAP) if long is Long.WHOLE else [f"{GAP}{cut(text, width - len(GAP))}"]


def _broken(text: str, width: int, indent: str) -> list[str]:
    """The whole text in lines of its own, broken between words."""
    room = max(width - len(indent), LEAST)
    lines = textwrap.wrap(printable(text), room, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}{line}" for line in lines]


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
