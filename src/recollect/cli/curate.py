"""Commands with which an operator corrects memories: `recollect curate`.

Every change can be undone. The messages about the results are at the end.
"""

import sys
from collections.abc import Iterable
from datetime import datetime

import click

from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.formatting import release_command
from recollect.cli.options import StoreTarget, pass_target
from recollect.model.enums import Kind, Status
from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory
from recollect.model.plan import Purge, UndoReport
from recollect.model.scope import Scope

UNKNOWN_IMPORTANCE = "unknown"
"""What a user types for an importance that is not known."""

MAX_SHOWN_MEMORIES = 20
"""Maximum number of restored memories shown after an undo; --json prints all of them."""

MAX_RUN_DIGITS = 18
"""Maximum number of digits in a run number; a store cannot count further."""


@click.group(short_help="Set right what is remembered.")
def curate() -> None:
    """Weigh, merge, end, isolate, vouch for and purge memories; every act can be undone.

    What was done by `recollect revise`, `forget`, `restore`, `pin` and `unpin` can be undone here too.
    """


def _parse_importance(_: click.Context, __: click.Parameter, value: str) -> float | None:
    if value == UNKNOWN_IMPORTANCE:
        return None
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number within 0..1 nor {UNKNOWN_IMPORTANCE!r}.") from None


def _parse_run(_: click.Context, __: click.Parameter, value: str) -> int:
    if not (value.isdecimal() and value.isascii() and 0 < len(value) <= MAX_RUN_DIGITS and int(value) > 0):
        raise click.BadParameter(f"{value!r} is not a run; a run is a number that `recollect history ID` shows.")
    return int(value)


@curate.command(short_help="Say how important a memory is.")
@click.argument("id")
@click.argument("importance", callback=_parse_importance)
@options.scope
@options.as_json
@pass_target
def weigh(store: StoreTarget, id: str, importance: float | None, scope: Scope, as_json: bool) -> None:
    """Set the IMPORTANCE of the memory ID, within 0..1 and also lower than it was, or to `unknown`."""
    with store.open_existing() as engine:
        receipt = engine.curator.weigh(id, importance, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@curate.command(short_help="Make one memory of several.")
@click.argument("ids", metavar="ID ID...", nargs=-1, required=True)
@options.scope
@click.option("--text", help="What it says; if not given, what the most important says. - reads standard input.")
@click.option("--title", help="Its title; that of the most important if not given.")
@options.choice(Kind, "--kind", help="Its kind; that of the most important if not given.")
@options.as_json
@pass_target
def merge(
    store: StoreTarget,
    ids: tuple[str, ...],
    scope: Scope,
    text: str | None,
    title: str | None,
    kind: Kind | None,
    as_json: bool,
) -> None:
    """Make one memory of the memories ID, and print its id.

    It is as important as any of them, and trusted as little as the least. They stay as what it was made of.
    """
    new_text = None if text is None else options.read_text(text)
    with store.open_existing() as engine:
        receipt = engine.curator.merge(ids, new_text, scope=scope, title=title, kind=kind)
        sources = [engine.get(id, scope=scope) for id in dict.fromkeys(ids)]
    output.print_undoable(receipt, describe_merge(sources), as_json=as_json)


@curate.command(short_help="Let one memory take another's place.")
@click.argument("old")
@click.argument("by")
@options.scope
@options.moment("--at", "Since when; since BY holds if not given.")
@options.as_json
@pass_target
def supersede(store: StoreTarget, old: str, by: str, scope: Scope, at: datetime | None, as_json: bool) -> None:
    """Let the memory OLD hold no longer since the memory BY does."""
    with store.open_existing() as engine:
        receipt = engine.curator.supersede(old, by, scope=scope, at=at)
    output.print_undoable(receipt, as_json=as_json)


@curate.command(short_help="Keep a memory from being recalled.", cls=options.TextCommand)
@click.argument("id")
@click.argument("reason")
@options.scope
@options.as_json
@pass_target
def quarantine(store: StoreTarget, id: str, reason: str, scope: Scope, as_json: bool) -> None:
    """Recall the memory ID no more until it is released; the REASON is kept with it."""
    with store.open_existing() as engine:
        receipt = engine.curator.quarantine(id, reason, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@curate.command(short_help="Let a quarantined memory be recalled.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def release(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Let the quarantined memory ID be recalled; what it is at odds with and began before it holds no longer."""
    with store.open_existing() as engine:
        receipt = engine.curator.release(id, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@curate.command(short_help="Stand for a memory.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def vouch(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Stand for the memory ID: it is trusted as nothing else is, whatever it came through."""
    with store.open_existing() as engine:
        receipt = engine.curator.vouch(id, scope=scope)
    output.print_undoable(receipt, as_json=as_json)
    if receipt.memory.status is Status.QUARANTINED and not as_json:
        release = output.format_command(*release_command(receipt.memory))
        output.print_note(f"it is still quarantined; to release it: {release}")


@curate.command(short_help="Forget all that came from a source.")
@click.argument("source")
@options.scope
@click.option("--dry-run", is_flag=True, help="Only say what would be forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@pass_target
def purge(store: StoreTarget, source: str, scope: Scope, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Forget all that came from SOURCE, and what was made of it, after showing what that is.

    `recollect erase --source` removes it for good instead.
    """
    if not (yes or dry_run or (sys.stdin.isatty() and sys.stderr.isatty())):
        raise click.UsageError("not a terminal; pass --yes to forget it all, or --dry-run")
    with store.open_existing() as engine:
        purged = engine.curator.purge(source, scope=scope)
        if not (yes or dry_run):
            for row in formatting.memory_table(purged.memories).rows:
                output.print_note("  ".join(row))
            click.confirm(f"{describe_purge_preview(purged)}. Forget all of it?", abort=True, err=True)
        if not dry_run:
            purged = engine.curator.purge(source, scope=scope, expected=purged)
    if as_json:
        output.print_answer(schemas.admin.Purged.of(purged))
        return
    output.print_table(formatting.memory_table(purged.memories))
    output.print_note(describe_purge_preview(purged) if dry_run else describe_purge(purged))
    if not dry_run:
        output.print_note(output.undo_hint(purged.run, scope))


@curate.command(short_help="Undo what was done.")
@click.argument("run", callback=_parse_run)
@options.scope
@options.as_json
@click.pass_context
@pass_target
def undo(store: StoreTarget, ctx: click.Context, run: int, scope: Scope, as_json: bool) -> None:
    """Let every memory that RUN changed stand as it did before; `recollect history` shows the runs of a memory.

    Refused if one of them has changed since.
    """
    with store.open_existing() as engine:
        report = engine.curator.undo(run, scope=scope)
    if as_json:
        output.print_answer(schemas.admin.Undone.of(report))
        return
    output.print_table(formatting.memory_table(report.memories[:MAX_SHOWN_MEMORIES]))
    more = len(report.memories) - MAX_SHOWN_MEMORIES
    if more > 0:
        output.print_note(f"and {more} more")
    output.print_note(describe_undo(report))
    output.print_note(output.undo_hint(report.run, scope, (ctx.parent and ctx.parent.info_name) or "curate"))


def describe_purge_preview(purge: Purge) -> str:
    """Describe how many memories came from a source."""
    return f"{_count_memories(purge.memories)} of {purge.scope} came from {make_printable(purge.source)}"


def describe_purge(purge: Purge) -> str:
    """Describe how many memories of a source were forgotten."""
    return f"{describe_purge_preview(purge)} and {'is' if len(purge.memories) == 1 else 'are'} now forgotten"


def describe_merge(sources: Iterable[Memory]) -> str:
    """Describe which memories a merged memory was made of."""
    quoted = ", ".join(formatting.quote_memory(one) for one in sources)
    return f"merged from {quoted}; they are now recalled only through it"


def describe_undo(report: UndoReport) -> str:
    """Describe what was undone."""
    are = "is" if len(report.memories) == 1 else "are"
    return f"{_count_memories(report.memories)} {are} back as before run {report.undone}"


def _count_memories(memories: tuple[Memory, ...]) -> str:
    return format_count(len(memories), "memory", "memories")
