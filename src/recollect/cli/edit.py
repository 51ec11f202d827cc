"""recollect revise, forget, restore, pin and unpin: a memory says something else, or stands elsewhere."""

from typing import Any

import click

from recollect.cli import options, receipts
from recollect.cli.target import StoreTarget, pass_target
from recollect.model.memory import Kind
from recollect.model.scope import Scope

memory_id = click.argument("id")


@click.command(short_help="Give a memory a new text.", cls=options.TextCommand)
@memory_id
@click.argument("text")
@options.scope
@options.choice(Kind, "--kind", help="Another kind.")
@click.option("--title", help="Another title.")
@click.option("--tag", "tags", multiple=True, help="A tag; those given replace the former ones.")
@options.fraction("--importance", "How much it matters; it never falls.")
@options.fraction("--confidence", "How sure it is.")
@options.moment("--at", "When that was observed; now if not given.")
@options.moment("--valid-from", "Since when it holds.")
@options.moment("--valid-until", "Until when it holds.")
@options.metadata("Another JSON object in place of the former.")
@options.provenance("Through whom the new text came.")
@options.as_json
@pass_target
def revise(
    place: StoreTarget, /, id: str, text: str, scope: Scope, tags: tuple[str, ...], as_json: bool, **changes: Any
) -> None:
    """Give the memory ID the new TEXT, or what standard input says if TEXT is -.

    It keeps its id; what it said before stays in its history. What is not given stays as it was.
    """
    with place.open_existing() as engine:
        receipt = engine.revise(id, options.read_text(text), scope=scope, tags=tags or None, **changes)
    receipts.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Recall a memory no more.")
@memory_id
@options.scope
@options.as_json
@pass_target
def forget(place: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Recall the memory ID no more; `recollect restore` brings it back."""
    with place.open_existing() as engine:
        receipt = engine.forget(id, scope=scope)
    receipts.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Bring a memory back.")
@memory_id
@options.scope
@options.as_json
@pass_target
def restore(place: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Bring back the memory ID, which was forgotten or put away."""
    with place.open_existing() as engine:
        receipt = engine.restore(id, scope=scope)
    receipts.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Keep room for a memory.")
@memory_id
@options.scope
@options.as_json
@pass_target
def pin(place: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Keep room for the memory ID in every context of its scope."""
    with place.open_existing() as engine:
        receipt = engine.pin(id, scope=scope)
    receipts.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Let a memory compete again.")
@memory_id
@options.scope
@options.as_json
@pass_target
def unpin(place: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Let the memory ID compete like any other."""
    with place.open_existing() as engine:
        receipt = engine.unpin(id, scope=scope)
    receipts.print_undoable(receipt, as_json=as_json)
