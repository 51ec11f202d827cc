"""Where output goes: data to standard output, talk to standard error, colour and tables to a terminal alone."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from recollect.render import json_values
from recollect.render.styles import Look
from recollect.render.table import Table, aligned, separated

WIDEST = 120
"""How wide a table gets on however wide a terminal."""

USUAL = 100
"""How wide a terminal is that does not say."""

_STAGE = "recollect.stage"

STYLES: Mapping[Look, Mapping[str, Any]] = {
    Look.STRONG: {"bold": True},
    Look.FAINT: {"dim": True},
    Look.BAR: {"fg": "cyan"},
    Look.SCORE: {"fg": "green", "bold": True},
    Look.TYPED: {"fg": "yellow"},
}
"""What each look is on a terminal."""


def paint(look: Look, text: str) -> str:
    """The text with its look; click removes it again where the output is no terminal."""
    return click.style(text, **STYLES[look])


def colour_wanted() -> bool | None:
    """False if the user wants none (no-color.org) or the terminal has none, or else what click finds out."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def data(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """One line of JSON."""
    click.echo(json_values.line(value))


def lines(shown: Iterable[str]) -> None:
    """Lines for people."""
    for line in shown:
        click.echo(line)


def rows(table: Table) -> None:
    """A table on a terminal, fields between tabs in a pipe or a file."""
    room = width()
    lines(separated(table) if room is None else aligned(table, room, paint))


def width() -> int | None:
    """How wide what people see may be; `None` in a pipe or a file, where nothing is cut."""
    if not sys.stdout.isatty() and not _staged():
        return None
    return min(shutil.get_terminal_size((USUAL, 24)).columns, WIDEST)


def talk(line: str) -> None:
    """A line beside the data, which nobody who reads the data stumbles over."""
    click.echo(paint(Look.FAINT, line), err=not _staged())


def stage(ctx: click.Context) -> None:
    """Let this command, and those it runs, print all that a person would see into one stream."""
    ctx.meta[_STAGE] = True


def _staged() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and _STAGE in ctx.meta
