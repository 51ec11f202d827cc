"""What a writer is told: which memory it is, what became of it, and what to type to go on from there."""

import shlex

import click

from recollect.cli import output
from recollect.cli.target import Place
from recollect.model.format import printable
from recollect.model.scope import Scope
from recollect.model.verdict import Reactivated, Receipt, Refused, Superseded, Unchanged, Updated
from recollect.render import json_values, text

REFUSED = 1
"""What a shell learns of a write that was refused: that it failed."""


def told(receipt: Receipt, *, as_json: bool) -> None:
    """Which memory it is, so that a script can go on with it, and what became of it; a refusal ends the command."""
    refused = isinstance(receipt.verdict, Refused)
    if as_json:
        output.data(json_values.receipt(receipt))
    elif not refused:
        click.echo(receipt.id)
        for line in text.receipt(receipt):
            output.talk(line)
    if refused:
        click.echo(f"Error: {printable(text.verdict(receipt.verdict))}; nothing was written", err=True)
    way = text.remedy(receipt)
    if way is not None and not as_json:
        what, words = way
        output.talk(f"{what}: {typed(*words)}")
    if refused:
        click.get_current_context().exit(REFUSED)


def undoable(receipt: Receipt, *more: str, as_json: bool) -> None:
    """The same of a change, with what more there is to say, and how to undo it, if anything was written."""
    told(receipt, as_json=as_json)
    if not as_json and not isinstance(receipt.verdict, Unchanged):
        for line in (*more, way_back(receipt.memory.commit, receipt.memory.scope)):
            output.talk(line)


def written(receipt: Receipt, *, as_json: bool) -> None:
    """The same of something new, with how to undo it if another memory holds no longer for it."""
    told(receipt, as_json=as_json)
    ends = isinstance(receipt.verdict, Superseded | Updated | Reactivated) and receipt.other is not None
    if ends and not as_json:
        output.talk(way_back(receipt.memory.commit, receipt.memory.scope))


def way_back(run: int | None, scope: Scope, by: str = "curate") -> str:
    """How a run is undone, as it is typed: as an act of a curator, or as a job of an `admin`."""
    return f"run {run}; to undo it: {typed(by, 'undo', str(run), '--scope', str(scope))}"


def typed(*words: str) -> str:
    """A command as it is typed in the same shell: on the same store."""
    place = click.get_current_context().find_object(Place)
    before = ["--db", place.shown] if place is not None and place.asked_for else []
    return printable(shlex.join(["recollect", *before, *words]))
