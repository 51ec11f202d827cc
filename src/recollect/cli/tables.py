"""Text tables and text styles: aligned columns for people, tab-separated for programs.

A style says what a part of a text is to the reader. The program that prints it decides on colors.
"""

import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

from recollect.model.format import make_printable


class TextStyle(StrEnum):
    """What a part of a text is to the reader."""

    STRONG = "strong"
    FAINT = "faint"
    BAR = "bar"
    SCORE = "score"
    TYPED = "typed"


Paint = Callable[[TextStyle, str], str]
"""Applies a style to a part of a text."""


def paint_plain(_: TextStyle, text: str) -> str:
    """Return the text without a style."""
    return text


COLUMN_GAP = "  "
MIN_TEXT_COLUMNS = 32
"""Minimum width of the last column; if it has less room, it gets its own line."""

_WIDE = frozenset({"W", "F"})
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})


class LongColumn(Enum):
    """Where the long column is shown: beside the others if it fits, or below, cut or whole."""

    BESIDE = "beside"
    UNDER = "under"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose last column is the long one; notes to a row are never cut."""

    names: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[tuple[str, ...]] = ()
    long: LongColumn = LongColumn.BESIDE


def format_tabs(table: TextTable) -> Iterator[str]:
    """Yield tab-separated rows with their notes at the end, uncut, for programs."""
    for row, notes in zip(table.rows, _row_notes(table), strict=True):
        line = "\t".join(make_printable(cell) for cell in row)
        yield f"{line}{''.join(f' [{make_printable(note)}]' for note in notes)}"


def format_aligned(table: TextTable, width: int, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield aligned columns under their names for people, each row followed by its notes.

    The last column is cut to the width unless it is to be shown whole.
    """
    if not table.rows:
        return
    rows = [tuple(make_printable(cell) for cell in row) for row in table.rows]
    widths = [max(map(_text_width, column)) for column in zip(table.names, *rows, strict=True)][:-1]
    room = width - sum(widths) - len(COLUMN_GAP) * len(widths)
    stacked = room < MIN_TEXT_COLUMNS or table.long is not LongColumn.BESIDE
    paint_note = paint if table.long is LongColumn.BESIDE else paint_plain  # notes below a faint line stay plain
    names = _join_cells(table.names[:-1], widths)
    yield paint(TextStyle.FAINT, names.rstrip() if stacked else f"{names}{table.names[-1]}")
    for row, notes in zip(rows, _row_notes(table), strict=True):
        short = _join_cells(row[:-1], widths)
        if stacked:
            yield paint(TextStyle.FAINT, short.rstrip())
            yield from _format_under(row[-1], width, table.long)
        else:
            yield f"{short}{truncate(row[-1], room)}".rstrip()
        for note in notes:
            yield from (paint_note(TextStyle.FAINT, line) for line in _wrap_words(note, width, COLUMN_GAP + COLUMN_GAP))


def _row_notes(table: TextTable) -> Sequence[tuple[str, ...]]:
    return table.notes or [()] * len(table.rows)


def _format_under(text: str, width: int, layout: LongColumn) -> Iterable[str]:
    return (
        _wrap_words(text, width, COLUMN_GAP)
        if layout is LongColumn.WHOLE
        else [f"{COLUMN_GAP}{truncate(text, width - len(COLUMN_GAP))}"]
    )


def _wrap_words(text: str, width: int, indent: str) -> list[str]:
    """Return the whole text in indented lines, broken between words."""
    room = max(width - len(indent), MIN_TEXT_COLUMNS)
    lines = textwrap.wrap(make_printable(text), room, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}{line}" for line in lines]


def _join_cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    padding = [" " * (width - _text_width(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "".join(f"{cell}{blanks}{COLUMN_GAP}" for cell, blanks in zip(cells, padding, strict=True))


def truncate(text: str, width: int) -> str:
    """Return as much of the text as fits into the width, with an ellipsis if it is cut."""
    if _text_width(text) <= width:
        return text
    start, used = "", 0
    for character in text:
        used += _text_width(character)
        if used >= width:
            break
        start += character
    return f"{start.rstrip()}…"


def wrap_at_commas(text: str, width: int | None) -> Iterator[str]:
    """Yield the text broken after commas to fit the width; in one line if there is no width."""
    line, room = "", math.inf if width is None else width
    for part in text.split(", "):
        longer = f"{line}, {part}" if line else part
        if line and _text_width(longer) + len(",") > room:
            yield f"{line},"
            longer = f"{COLUMN_GAP}{part}"
        line = longer
    yield line


def _text_width(text: str) -> int:
    """Return how many terminal columns the text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
