"""Where output goes: data to standard output, talk to standard error, colour and tables to a terminal alone.

Bars: how far something long has come, for people at a terminal and nobody else.

Scopes: something that is done to each of several scopes, of which one may fail without stopping the others.

What a writer is told: which memory it is, what became of it, and what to type to go on from there.

Empty answers: what someone is told who got nothing, since that may mean a wrong scope or too early a moment.

What took the place of memories, looked up to be told beside them.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any, TypeVar

import click

from recollect.cli import formatting
from recollect.cli.options import StoreTarget
from recollect.engine.engine import Engine
from recollect.errors import RecollectError, suggest
from recollect.model.draft import Reactivated, Receipt, Refused, Superseded, Unchanged, Updated
from recollect.model.encoder import ReembeddingProgress, ReembeddingStage
from recollect.model.format import format_count, format_moment, make_printable
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.ranking.result import Ranking
from recollect.render import json_values
from recollect.render.tables import TextStyle, TextTable, format_aligned, format_tabs
from recollect.retrieval.eligibility import Barrier

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


STAGE_LABELS: Mapping[ReembeddingStage, str] = {
    ReembeddingStage.EMBEDDING: "embedding",
    ReembeddingStage.REMOVING: "removing former vectors",
}
"""What a bar says in front of it."""

ShowProgress = Callable[[ReembeddingProgress], None]

ReportProgress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@contextmanager
def stage_bars() -> Iterator[ShowProgress]:
    """Shows how far each stage is, in a bar of its own on standard error; nothing where that is no terminal."""
    with ExitStack() as opened:
        begun: dict[ReembeddingStage, ReportProgress] = {}

        def show(progress: ReembeddingProgress) -> None:
            if progress.stage not in begun and progress.total:
                opened.close()  # which ends the line of the bar before
                begun[progress.stage] = _open_bar(opened, STAGE_LABELS[progress.stage], progress.total)
            begun.get(progress.stage, _ignore_progress)(progress.done, progress.total)

        yield show if sys.stderr.isatty() else _ignore_stage


@contextmanager
def progress_bar(label: str, *, wanted: bool = True) -> Iterator[ReportProgress]:
    """Shows how far it is, in a bar on standard error; nothing where that is no terminal, or if it is not wanted."""
    with ExitStack() as opened:
        begun: list[ReportProgress] = []

        def show(done: int, total: int) -> None:
            if not begun and total:
                begun.append(_open_bar(opened, label, total))
            for one in begun:
                one(done, total)

        yield show if wanted and sys.stderr.isatty() else _ignore_progress


def _open_bar(opened: ExitStack, label: str, total: int) -> ReportProgress:
    bar = opened.enter_context(click.progressbar(length=total, label=label, file=sys.stderr))

    def show(done: int, total: int) -> None:
        bar.length = total
        bar.update(max(done - bar.pos, 0))

    return show


def _ignore_stage(_: ReembeddingProgress) -> None:
    """Nobody would see it."""


def _ignore_progress(_: int, __: int) -> None:
    """Nobody would see it."""


T = TypeVar("T")


def run_for_each_scope(
    place: StoreTarget, scope: Scope | None, label: str, do: Callable[[Engine, Scope, ReportProgress], T]
) -> tuple[list[T], RecollectError | None]:
    """What came of it for this scope and those below it, or for all of the store; and what first went wrong."""
    done, failed = list[T](), list[RecollectError]()
    with place.open_existing() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with progress_bar(f"{label} {one}") as show:
                    done.append(do(engine, one, show))
            except RecollectError as error:  # which is no reason to leave the others
                print_note(f"{one}: {error}")
                failed.append(error)
    return done, next(iter(failed), None)


EXIT_REFUSED = 1
"""What a shell learns of a write that was refused: that it failed."""


def print_receipt(receipt: Receipt, *, as_json: bool) -> None:
    """Which memory it is, so that a script can go on with it, and what became of it; a refusal ends the command."""
    refused = isinstance(receipt.verdict, Refused)
    if as_json:
        print_json(json_values.receipt_fields(receipt))
    elif not refused:
        click.echo(receipt.id)
        for line in formatting.format_receipt(receipt):
            print_note(line)
    if refused:
        click.echo(
            f"Error: {make_printable(formatting.describe_verdict(receipt.verdict))}; nothing was written", err=True
        )
    way = formatting.suggest_remedy(receipt)
    if way is not None and not as_json:
        what, words = way
        print_note(f"{what}: {format_command(*words)}")
    if refused:
        click.get_current_context().exit(EXIT_REFUSED)


def print_undoable(receipt: Receipt, *more: str, as_json: bool) -> None:
    """The same of a change, with what more there is to say, and how to undo it, if anything was written."""
    print_receipt(receipt, as_json=as_json)
    if not as_json and not isinstance(receipt.verdict, Unchanged):
        for line in (*more, undo_hint(receipt.memory.commit, receipt.memory.scope)):
            print_note(line)


def print_new(receipt: Receipt, *, as_json: bool) -> None:
    """The same of something new, with how to undo it if another memory holds no longer for it."""
    print_receipt(receipt, as_json=as_json)
    ends = isinstance(receipt.verdict, Superseded | Updated | Reactivated) and receipt.other is not None
    if ends and not as_json:
        print_note(undo_hint(receipt.memory.commit, receipt.memory.scope))


def undo_hint(run: int | None, scope: Scope, by: str = "curate") -> str:
    """How a run is undone, as it is typed: as an act of a curator, or as a job of an `admin`."""
    return f"run {run}; to undo it: {format_command(by, 'undo', str(run), '--scope', str(scope))}"


def format_command(*words: str) -> str:
    """A command as it is typed in the same shell: on the same store."""
    place = click.get_current_context().find_object(StoreTarget)
    before = ["--db", place.display_name] if place is not None and place.is_explicit else []
    return make_printable(shlex.join(["recollect", *before, *words]))


TIME_BARRIERS = frozenset({Barrier.NOT_YET_KNOWN, Barrier.NOT_YET_VALID, Barrier.NO_LONGER_VALID})
"""What keeps memories out of an answer that is for another moment."""


def explain_empty_result(
    engine: Engine,
    ranking: Ranking,
    *,
    as_json: bool,
    scope: Scope,
    as_of: datetime | None,
    known_at: datetime | None,
    **_: Any,
) -> list[str]:
    """What to tell about a question that got no answer: that its scope has nothing, or had nothing at the moment."""
    if len(ranking):
        return []
    at_another = (as_of, known_at) != (None, None) and ranking.excluded.keys() <= TIME_BARRIERS
    return explain_empty_scope(engine, scope) or (
        _explain_empty_moment(engine, ranking, scope, known_at) if at_another and not as_json else []
    )


def explain_empty_scope(engine: Engine, scope: Scope, *, below: bool = False) -> list[str]:
    """What to tell at a terminal about a scope without memories, and which scopes have some; nothing if it has any.

    With `below`, those of the scopes below count as its own.
    """
    if not sys.stderr.isatty() or engine.stats(scope=scope, below=below).memories:
        return []
    stats = engine.stats()
    if not stats.memories:
        return ["the store has no memories yet; `recollect remember` makes the first"]
    known = [str(one) for one, _ in stats.largest]
    told = suggest(str(scope), known)
    more = f" and {stats.scopes - len(known)} more" if stats.scopes > len(known) and not told.endswith("?") else ""
    return [f"{scope} has no memories; {told}{more}"]


def _explain_empty_moment(engine: Engine, ranking: Ranking, scope: Scope, known_at: datetime | None) -> list[str]:
    memories = engine.stats(scope=scope, below=False).memories
    now = f"{scope} has {format_count(memories, 'memory', 'memories')} now"
    if not memories:
        return []
    if known_at is not None and not ranking.excluded:
        return [f"{now}, but the store had taken in none by {format_moment(known_at)}; --as-of asks what held then"]
    return [f"{now}, but none that was known and held at {format_moment(ranking.at)}"]


def find_replacements(engine: Engine, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """What took the place of any of these, as far as it is still there."""
    given = list(memories)
    here = {one.id: one for one in given}
    wanted = {one.superseded_by: one for one in given if one.superseded_by is not None}
    found = {id: here.get(id) or engine.replacement(one, scope=one.scope) for id, one in wanted.items()}
    return {id: one for id, one in found.items() if one is not None}
