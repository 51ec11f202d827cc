"""What a writer is told: which memory it is, what became of it, and what to type to go on from there."""

import shlex

import click

from recollect.cli import output
from recollect.cli.target import StoreTarget
from recollect.model.format import make_printable
from recollect.model.scope import Scope
from recollect.model.verdict import Reactivated, Receipt, Refused, Superseded, Unchanged, Updated
from recollect.render import json_values, text

EXIT_REFUSED = 1
"""What a shell learns of a write that was refused: that it failed."""


def print_receipt(receipt: Receipt, *, as_json: bool) -> None:
    """Which memory it is, so that a script can go on with it, and what became of it; a refusal ends the command."""
    refused = isinstance(receipt.verdict, Refused)
    if as_json:
        output.print_json(json_values.receipt_fields(receipt))
    elif not refused:
        click.echo(receipt.id)
        for line in text.format_receipt(receipt):
            output.print_note(line)
    if refused:
        click.echo(f"Error: {make_printable(text.describe_verdict(receipt.verdict))}; nothing was written", err=True)
    way = text.suggest_remedy(receipt)
    if way is not None and not as_json:
        what, words = way
        output.print_note(f"{what}: {format_command(*words)}")
    if refused:
        click.get_current_context().exit(EXIT_REFUSED)


def print_undoable(receipt: Receipt, *more: str, as_json: bool) -> None:
    """The same of a change, with what more there is to say, and how to undo it, if anything was written."""
    print_receipt(receipt, as_json=as_json)
    if not as_json and not isinstance(receipt.verdict, Unchanged):
        for line in (*more, undo_hint(receipt.memory.commit, receipt.memory.scope)):
            output.print_note(line)


def print_new(receipt: Receipt, *, as_json: bool) -> None:
    """The same of something new, with how to undo it if another memory holds no longer for it."""
    print_receipt(receipt, as_json=as_json)
    ends = isinstance(receipt.verdict, Superseded | Updated | Reactivated) and receipt.other is not None
    if ends and not as_json:
        output.print_note(undo_hint(receipt.memory.commit, receipt.memory.scope))


def undo_hint(run: int | None, scope: Scope, by: str = "curate") -> str:
    """How a run is undone, as it is typed: as an act of a curator, or as a job of an `admin`."""
    return f"run {run}; to undo it: {format_command(by, 'undo', str(run), '--scope', str(scope))}"


def format_command(*words: str) -> str:
    """A command as it is typed in the same shell: on the same store."""
    place = click.get_current_context().find_object(StoreTarget)
    before = ["--db", place.display_name] if place is not None and place.is_explicit else []
    return make_printable(shlex.join(["recollect", *before, *words]))
