"""recollect erase: memories go for good, and the files are searched for what is left."""

import sys

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.engine.engine import Engine
from recollect.model.erasure import ErasureReceipt
from recollect.model.format import format_count, make_printable
from recollect.model.scope import Scope
from recollect.render import json_values, text

UNPROVED_REMEDY = (
    "No other run can look again, for what to look for is kept nowhere. To be sure, close what has the store open; "
    "then `recollect export FILE` and `recollect --db NEW import FILE` make a store without any of it. "
    "With RECOLLECT_BUSY_TIMEOUT=600 an erasure waits so many seconds for others."
)
"""What somebody can do about an erasure that is not proved once its run has ended."""

UNSWEPT_REMEDY = (
    "What is still to be done is noted in the database: `recollect admin sweep`, run as the owner of its tables, does "
    "it, and says when nothing is left in their files."
)
"""The same of an erasure in a database."""


@click.command(short_help="Remove memories for good, and prove it.")
@options.scope
@click.option("--id", metavar="ID", help="Erase this memory, and what was derived from it.")
@click.option("--source", metavar="ID", help="Erase all that came from this source, and what was derived from it.")
@click.option("--everything", is_flag=True, help="Erase all memories and contexts of exactly this scope.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@click.pass_context
@pass_target
def erase(
    place: StoreTarget,
    ctx: click.Context,
    scope: Scope,
    id: str | None,
    source: str | None,
    everything: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove memories for good, from every file of the store, and look whether anything of them is left.

    Prints what was removed, which files were searched, and what is out of reach. The exit code is 1 if it could not be
    proved that nothing is left.

    \b
    recollect erase --scope acme/ana --id 0193e5b2-7e1c-7000-8000-0123456789ab
    recollect erase --scope acme/ana --source mail-7 --yes
    """
    if (id is not None) + (source is not None) + everything != 1:
        raise click.UsageError("Say what to erase by exactly one of --id ID, --source ID and --everything.")
    if not yes and not _can_prompt():
        raise click.UsageError("Nobody is there to be asked whether to erase for good; say --yes if that is meant.")
    with place.open_existing() as engine:
        for hint in [] if id is not None else empty_hints.explain_empty_scope(engine, scope):
            output.print_note(hint)
        if not yes:
            click.confirm(_confirmation_question(engine, scope, id, source), abort=True, err=True)
        erasure = engine.erase(scope=scope, id=id, source=source, everything=everything)
        while not yes and erasure.retryable and click.confirm(text.ask_to_prove_again(erasure), default=True, err=True):
            erasure = engine.prove_erased(erasure)
    _print_erasure(erasure, as_json=as_json)
    if not erasure.proven:
        output.print_note(UNSWEPT_REMEDY if place.is_database else UNPROVED_REMEDY)
        ctx.exit(1)


def _can_prompt() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirmation_question(engine: Engine, scope: Scope, id: str | None, source: str | None) -> str:
    """What is about to be erased; refused if it is not there."""
    if id is not None:
        what = text.quote_memory(engine.get(id, scope=scope))
        return f"Erase for good {what}, and all that was derived from it?"
    if source is not None:
        return (
            f"Erase for good all that came to {scope} from {make_printable(source)}, and all that was derived from it?"
        )
    memories = format_count(engine.stats(scope=scope, below=False).memories, "memory", "memories")
    return f"Erase for good everything in {scope}, {memories} and the contexts made for it?"


def _print_erasure(erasure: ErasureReceipt, *, as_json: bool) -> None:
    if as_json:
        output.print_json(json_values.erasure_fields(erasure))
    else:
        output.print_lines(text.format_erasure(erasure, output.paint))
