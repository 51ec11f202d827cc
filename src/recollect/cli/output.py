"""Output of commands: data on standard output, notes and progress bars on standard error.

Colors and aligned tables are used only on a terminal. After the basic functions come progress bars, running a function
for each scope, messages about writes, and hints for empty results.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any, TypeVar

import click

from recollect.api import schemas
from recollect.cli import formatting
from recollect.cli.options import StoreTarget
from recollect.cli.tables import TextStyle, TextTable, format_aligned, format_tabs
from recollect.engine.engine import Engine
from recollect.errors import RecollectError, suggest
from recollect.model.draft import Reactivated, Receipt, Refused, Superseded, Unchanged, Updated
from recollect.model.encoder import ReembeddingProgress, ReembeddingStage
from recollect.model.format import format_count, format_moment, make_printable
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.ranking.result import Ranking
from recollect.retrieval.eligibility import Barrier

MAX_TABLE_COLUMNS = 120
"""Maximum width of a table, even on a wider terminal."""

DEFAULT_TERMINAL_COLUMNS = 100
"""Assumed width of a terminal that does not report its own."""

_STAGE_KEY = "recollect.stage"

STYLES: Mapping[TextStyle, Mapping[str, Any]] = {
    TextStyle.STRONG: {"bold": True},
    TextStyle.FAINT: {"dim": True},
    TextStyle.BAR: {"fg": "cyan"},
    TextStyle.SCORE: {"fg": "green", "bold": True},
    TextStyle.TYPED: {"fg": "yellow"},
}
"""The terminal style of each text style."""


def paint(look: TextStyle, text: str) -> str:
    """Return the text with its style; click removes the style if the output is not a terminal."""
    return click.style(text, **STYLES[look])


def detect_color() -> bool | None:
    """Return False if colors are unwanted or unsupported, else None to let click decide.

    See no-color.org for the variable NO_COLOR.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def print_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print a value as one line of JSON."""
    click.echo(dump_line(value))


def print_answer(answer: "schemas.base.AnswerSchema") -> None:
    """Print an answer as one line of JSON, as the transports send it."""
    print_json(answer.to_json())


MAX_FOUR_DIGIT_CODE = 0xFFFF
"""The last character that JSON escapes as one \\u and four digits."""


def dump_line(value: Any) -> str:
    """Return a value as one line of JSON, with characters that could control a terminal escaped."""
    line = json.dumps(value, ensure_ascii=False)
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() else _escape_character(one) for one in line)


def _escape_character(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= MAX_FOUR_DIGIT_CODE else json.dumps(character)[1:-1]


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text."""
    for line in lines:
        click.echo(line)


def print_table(table: TextTable) -> None:
    """Print a table: aligned on a terminal, tab-separated in a pipe or a file."""
    room = terminal_width()
    print_lines(format_tabs(table) if room is None else format_aligned(table, room, paint))


def terminal_width() -> int | None:
    """Return the width for output, or None in a pipe or a file, where nothing is cut."""
    if not sys.stdout.isatty() and not _streams_are_merged():
        return None
    return min(shutil.get_terminal_size((DEFAULT_TERMINAL_COLUMNS, 24)).columns, MAX_TABLE_COLUMNS)


def print_note(line: str) -> None:
    """Print a note on standard error, so that it does not disturb readers of the data."""
    click.echo(paint(TextStyle.FAINT, line), err=not _streams_are_merged())


def merge_streams(ctx: click.Context) -> None:
    """Print notes of this command, and of those it runs, to standard output as on a terminal."""
    ctx.meta[_STAGE_KEY] = True


def _streams_are_merged() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and _STAGE_KEY in ctx.meta


STAGE_LABELS: Mapping[ReembeddingStage, str] = {
    ReembeddingStage.EMBEDDING: "embedding",
    ReembeddingStage.REMOVING: "removing former vectors",
}
"""The label of the progress bar of each stage."""

ShowProgress = Callable[[ReembeddingProgress], None]

ReportProgress = Callable[[int, int], None]
"""Callback for progress: the count done, and the total."""


@contextmanager
def stage_bars() -> Iterator[ShowProgress]:
    """Show a progress bar for each stage on standard error, if that is a terminal."""
    with ExitStack() as stack:
        bars: dict[ReembeddingStage, ReportProgress] = {}

        def show(progress: ReembeddingProgress) -> None:
            if progress.stage not in bars and progress.total:
                stack.close()  # this ends the line of the previous bar
                bars[progress.stage] = _open_bar(stack, STAGE_LABELS[progress.stage], progress.total)
            bars.get(progress.stage, _ignore_progress)(progress.done, progress.total)

        yield show if sys.stderr.isatty() else _ignore_stage


@contextmanager
def progress_bar(label: str, *, wanted: bool = True) -> Iterator[ReportProgress]:
    """Show a progress bar on standard error if that is a terminal and the bar is wanted."""
    with ExitStack() as stack:
        bars: list[ReportProgress] = []

        def show(done: int, total: int) -> None:
            if not bars and total:
                bars.append(_open_bar(stack, label, total))
            for one in bars:
                one(done, total)

        yield show if wanted and sys.stderr.isatty() else _ignore_progress


def _open_bar(stack: ExitStack, label: str, total: int) -> ReportProgress:
    bar = stack.enter_context(click.progressbar(length=total, label=label, file=sys.stderr))

    def show(done: int, total: int) -> None:
        bar.length = total
        bar.update(max(done - bar.pos, 0))

    return show


def _ignore_stage(_: ReembeddingProgress) -> None:
    """Ignore progress, because standard error is not a terminal."""


def _ignore_progress(_: int, __: int) -> None:
    """Ignore progress, because no bar is shown."""


T = TypeVar("T")


def run_for_each_scope(
    store: StoreTarget, scope: Scope | None, label: str, do: Callable[[Engine, Scope, ReportProgress], T]
) -> tuple[list[T], RecollectError | None]:
    """Run a function for a scope and those below it, or for all scopes of the store.

    Returns the results, and the first error. A failed scope is noted and does not stop the others.
    """
    results, errors = list[T](), list[RecollectError]()
    with store.open_existing() as engine:
        for one in engine.scopes(scope=scope):
            try:
                with progress_bar(f"{label} {one}") as show:
                    results.append(do(engine, one, show))
            except RecollectError as error:  # one failed scope does not stop the others
                print_note(f"{one}: {error}")
                errors.append(error)
    return results, next(iter(errors), None)


EXIT_REFUSED = 1
"""The exit code of a refused write."""


def print_receipt(receipt: Receipt, *, as_json: bool) -> None:
    """Print the id of the written memory, for scripts, and the verdict; exit if it was refused."""
    refused = isinstance(receipt.verdict, Refused)
    if as_json:
        print_answer(schemas.memories.Receipt.of(receipt))
    elif not refused:
        click.echo(receipt.id)
        for line in formatting.format_receipt(receipt):
            print_note(line)
    if refused:
        click.echo(
            f"Error: {make_printable(formatting.describe_verdict(receipt.verdict))}; nothing was written", err=True
        )
    remedy = formatting.suggest_remedy(receipt)
    if remedy is not None and not as_json:
        purpose, words = remedy
        print_note(f"{purpose}: {format_command(*words)}")
    if refused:
        click.get_current_context().exit(EXIT_REFUSED)


def print_undoable(receipt: Receipt, *more: str, as_json: bool) -> None:
    """Print the receipt of a change, further notes, and how to undo it if anything was written."""
    print_receipt(receipt, as_json=as_json)
    if not as_json and not isinstance(receipt.verdict, Unchanged):
        for line in (*more, undo_hint(receipt.memory.commit, receipt.memory.scope)):
            print_note(line)


def print_new(receipt: Receipt, *, as_json: bool) -> None:
    """Print the receipt of a new memory, and how to undo it if it replaced another memory."""
    print_receipt(receipt, as_json=as_json)
    ends = isinstance(receipt.verdict, Superseded | Updated | Reactivated) and receipt.other is not None
    if ends and not as_json:
        print_note(undo_hint(receipt.memory.commit, receipt.memory.scope))


def undo_hint(run: int | None, scope: Scope, by: str = "curate") -> str:
    """Return how to undo a run: with `curate undo` by default, or with `admin undo` for jobs."""
    return f"run {run}; to undo it: {format_command(by, 'undo', str(run), '--scope', str(scope))}"


def format_command(*words: str) -> str:
    """Return a command line for the user to type, with --db if this command had it."""
    store = click.get_current_context().find_object(StoreTarget)
    before = ["--db", store.display_name] if store is not None and store.is_explicit else []
    return make_printable(shlex.join(["recollect", *before, *words]))


TIME_BARRIERS = frozenset({Barrier.NOT_YET_KNOWN, Barrier.NOT_YET_VALID, Barrier.NO_LONGER_VALID})
"""The reasons that leave memories out because the query is about another time."""


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
    """Return hints for an empty result: an empty scope, or no memories at the queried moment."""
    if len(ranking):
        return []
    at_another = (as_of, known_at) != (None, None) and ranking.excluded.keys() <= TIME_BARRIERS
    return explain_empty_scope(engine, scope) or (
        _explain_empty_moment(engine, ranking, scope, known_at) if at_another and not as_json else []
    )


def explain_empty_scope(engine: Engine, scope: Scope, *, below: bool = False) -> list[str]:
    """Return hints for a scope without memories, such as similar scopes; none if it has any.

    Hints are given only at a terminal. With `below`, memories of the scopes below count too.
    """
    if not sys.stderr.isatty() or engine.stats(scope=scope, below=below).memories:
        return []
    stats = engine.stats()
    if not stats.memories:
        return ["the store has no memories yet; `recollect remember` adds the first"]
    largest = [str(one) for one, _ in stats.largest]
    suggestion = suggest(str(scope), largest)
    more = (
        f" and {stats.scopes - len(largest)} more"
        if stats.scopes > len(largest) and not suggestion.endswith("?")
        else ""
    )
    return [f"{scope} has no memories; {suggestion}{more}"]


def _explain_empty_moment(engine: Engine, ranking: Ranking, scope: Scope, known_at: datetime | None) -> list[str]:
    memories = engine.stats(scope=scope, below=False).memories
    now = f"{scope} has {format_count(memories, 'memory', 'memories')} now"
    if not memories:
        return []
    if known_at is not None and not ranking.excluded:
        return [f"{now}, but the store had none at {format_moment(known_at)}; --as-of asks what was true then"]
    return [f"{now}, but none that was known and valid at {format_moment(ranking.at)}"]


def find_replacements(engine: Engine, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """Return the memories that replaced any of these, as far as they still exist."""
    replaced = list(memories)
    by_id = {one.id: one for one in replaced}
    ids = {one.superseded_by: one for one in replaced if one.superseded_by is not None}
    replacements = {id: by_id.get(id) or engine.items.replacement(one, scope=one.scope) for id, one in ids.items()}
    return {id: one for id, one in replacements.items() if one is not None}
