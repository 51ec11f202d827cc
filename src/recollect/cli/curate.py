"""recollect curate: an operator sets right what a scope knows, and can undo it."""

import sys
from datetime import datetime

import click

from recollect.cli import options, output, receipts
from recollect.cli.target import Place, place
from recollect.model.memory import Kind, Status
from recollect.model.scope import Scope
from recollect.render import curation, listing, text

UNKNOWN = "unknown"
"""What is typed in place of an importance that nobody knows."""

MOST_SHOWN = 20
"""How many of the memories are shown that stand as before; --json has all of them."""

LONGEST_RUN = 18
"""How many digits a run has at most: a store cannot count further."""


@click.group(short_help="Set right what is remembered.")
def curate() -> None:
    """Weigh, merge, end, isolate, vouch for and purge memories; every act can be undone.

    What was done by `recollect revise`, `forget`, `restore`, `pin` and `unpin` can be undone here too.
    """


def _importance(_: click.Context, __: click.Parameter, value: str) -> float | None:
    if value == UNKNOWN:
        return None
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number within 0..1 nor {UNKNOWN!r}.") from None


def _run(_: click.Context, __: click.Parameter, value: str) -> int:
    if not (value.isdecimal() and value.isascii() and 0 < len(value) <= LONGEST_RUN and int(value) > 0):
        raise click.BadParameter(f"{value!r} is no run; a run is a number, which `recollect history ID` shows.")
    return int(value)


@curate.command(short_help="Say how important a memory is.")
@click.argument("id")
@click.argument("importance", callback=_importance)
@options.scope
@options.as_json
@place
def weigh(place: Place, id: str, importance: float | None, scope: Scope, as_json: bool) -> None:
    """Set the IMPORTANCE of the memory ID, within 0..1 and also lower than it was, or to `unknown`."""
    with place.there() as engine:
        receipt = engine.curator.weigh(id, importance, scope=scope)
    receipts.undoable(receipt, as_json=as_json)


@curate.command(short_help="Make one memory of several.")
@click.argument("ids", metavar="ID ID...", nargs=-1, required=True)
@options.scope
@click.option("--text", help="What it says; if not given, what the most important says. - reads standard input.")
@click.option("--title", help="Its title; that of the most important if not given.")
@options.choice(Kind, "--kind", help="Its kind; that of the most important if not given.")
@options.as_json
@place
def merge(
    place: Place,
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
    said = None if text is None else options.said(text)
    with place.there() as engine:
        receipt = engine.curator.merge(ids, said, scope=scope, title=title, kind=kind)
        sources = [engine.get(id, scope=scope) for id in dict.fromkeys(ids)]
    receipts.undoable(receipt, curation.merged(sources), as_json=as_json)


@curate.command(short_help="Let one memory take another's place.")
@click.argument("old")
@click.argument("by")
@options.scope
@options.moment("--at", "Since when; since BY holds if not given.")
@options.as_json
@place
def supersede(place: Place, old: str, by: str, scope: Scope, at: datetime | None, as_json: bool) -> None:
    """Let the memory OLD hold no longer since the memory BY does."""
    with place.there() as engine:
        receipt = engine.curator.supersede(old, by, scope=scope, at=at)
    receipts.undoable(receipt, as_json=as_json)


@curate.command(short_help="Keep a memory from being recalled.", cls=options.Texted)
@click.argument("id")
@click.argument("reason")
@options.scope
@options.as_json
@place
def quarantine(place: Place, id: str, reason: str, scope: Scope, as_json: bool) -> None:
    """Recall the memory ID no more until it is released; the REASON is kept with it."""
    with place.there() as engine:
        receipt = engine.curator.quarantine(id, reason, scope=scope)
    receipts.undoable(receipt, as_json=as_json)


@curate.command(short_help="Let a quarantined memory be recalled.")
@click.argument("id")
@options.scope
@options.as_json
@place
def release(place: Place, id: str, scope: Scope, as_json: bool) -> None:
    """Let the quarantined memory ID be recalled; what it is at odds with and began before it holds no longer."""
    with place.there() as engine:
        receipt = engine.curator.release(id, scope=scope)
    receipts.undoable(receipt, as_json=as_json)


@curate.command(short_help="Stand for a memory.")
@click.argument("id")
@options.scope
@options.as_json
@place
def vouch(place: Place, id: str, scope: Scope, as_json: bool) -> None:
    """Stand for the memory ID: it is trusted as nothing else is, whatever it came through."""
    with place.there() as engine:
        receipt = engine.curator.vouch(id, scope=scope)
    receipts.undoable(receipt, as_json=as_json)
    if receipt.memory.status is Status.QUARANTINED and not as_json:
        output.talk(f"it is quarantined still; to let it be recalled: {receipts.typed(*text.release(receipt.memory))}")


@curate.command(short_help="Forget all that came from a source.")
@click.argument("source")
@options.scope
@click.option("--dry-run", is_flag=True, help="Only say what would be forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@place
def purge(place: Place, source: str, scope: Scope, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Forget all that came from SOURCE, and what was made of it, after showing what that is.

    `recollect erase --source` removes it for good instead.
    """
    if not (yes or dry_run or (sys.stdin.isatty() and sys.stderr.isatty())):
        raise click.UsageError("Nobody is there to be asked whether to forget it all; say --yes or --dry-run.")
    with place.there() as engine:
        found = engine.curator.purge(source, scope=scope)
        if not (yes or dry_run):
            for row in listing.memories(found.memories).rows:
                output.talk("  ".join(row))
            click.confirm(f"{curation.previewed(found)}. Forget all of it?", abort=True, err=True)
        if not dry_run:
            found = engine.curator.purge(source, scope=scope, expected=found)
    if as_json:
        output.data(curation.purge_fields(found))
        return
    output.rows(listing.memories(found.memories))
    output.talk(curation.previewed(found) if dry_run else curation.purged(found))
    if not dry_run:
        output.talk(receipts.way_back(found.run, scope))


@curate.command(short_help="Undo what was done.")
@click.argument("run", callback=_run)
@options.scope
@options.as_json
@click.pass_context
@place
def undo(place: Place, ctx: click.Context, run: int, scope: Scope, as_json: bool) -> None:
    """Let every memory that RUN changed stand as it did before; `recollect history` shows the runs of a memory.

    Refused if one of them has changed since.
    """
    with place.there() as engine:
        done = engine.curator.undo(run, scope=scope)
    if as_json:
        output.data(curation.undone_fields(done))
        return
    output.rows(listing.memories(done.memories[:MOST_SHOWN]))
    more = len(done.memories) - MOST_SHOWN
    if more > 0:
        output.talk(f"and {more} more")
    output.talk(curation.undone(done))
    output.talk(receipts.way_back(done.run, scope, (ctx.parent and ctx.parent.info_name) or "curate"))
