"""Where output goes: data to standard output, talk to standard error, colour and tables to a terminal alone."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from recollect.render import json_values
from recollect.render.styles import TextStyle
from recollect.render.table import TextTable, format_aligned, format_tabs

MAX_TABLE_COLUMNS = 120
"""How wide a table gets on however wide a terminal."""

DEFAULT_TERMINAL_COLUMNS = 100
"""How wide a terminal is that does not say."""

_STAGE_KEY = "recollect.stage"

STYLES: Mapping[TextStyle, Mapping[str, Any]] = {
    TextStyle.STRONG: {"bold": True},
    TextStyle.FAINT: {"dim": True},
    TextStyle.BAR: {"fg": "cyan"},
    TextStyle.SCORE: {"fg": "green", "bold": True},
    TextStyle.TYPED: {"fg": "yellow"},
}
"""What each look is on a terminal."""


def paint(look: TextStyle, text: str) -> str:
    """The text with its look; click removes it again where the output is no terminal."""
    return click.style(text, **STYLES[look])


def detect_color() -> bool | None:
    """False if the user wants none (no-color.org) or the terminal has none, or else what click finds out."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def print_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """One line of JSON."""
    click.echo(json_values.dump_line(value))


def print_lines(shown: Iterable[str]) -> None:
    """Lines for people."""
    for line in shown:
        click.echo(line)


def print_table(table: TextTable) -> None:
    """A table on a terminal, fields between tabs in a pipe or a file."""
    room = terminal_width()
    print_lines(format_tabs(table) if room is None else format_aligned(table, room, paint))


def terminal_width() -> int | None:
    """How wide what people see may be; `None` in a pipe or a file, where nothing is cut."""
    if not sys.stdout.isatty() and not _streams_are_merged():
        return None
    return min(shutil.get_terminal_size((DEFAULT_TERMINAL_COLUMNS, 24)).columns, MAX_TABLE_COLUMNS)


def print_note(line: str) -> None:
    """A line beside the data, which nobody who reads the data stumbles over."""
    click.echo(paint(TextStyle.FAINT, line), err=not _streams_are_merged())


def merge_streams(ctx: click.Context) -> None:
    """Let this command, and those it runs, print all that a person would see into one stream."""
    ctx.meta[_STAGE_KEY] = True


def _streams_are_merged() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and _STAGE_KEY in ctx.meta
