"""recollect graph: the names that memories mention, and what they link."""

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.model.scope import Scope
from recollect.render import graph as rendered


@click.command(short_help="List names, and what they link.")
@click.argument("name", metavar="[NAME|ID]", required=False)
@options.scope
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="Print at most so many."
)
@options.as_json
@pass_target
def graph(place: StoreTarget, name: str | None, scope: Scope, limit: int, as_json: bool) -> None:
    """List the names that the memories of a scope mention, the most mentioned first.

    With NAME, what is linked to it: the names that are mentioned with it, and the memories that mention it. With ID,
    the names that this memory mentions, and the memories that mention one of them. Looking counts as no use.

    In a pipe there is one line a name or memory: how many mention it and the name, or with NAME or ID what
    it is, date, the name that links it and text, between tabs.

    \b
    recollect graph --scope acme/ana
    recollect graph "Access Bank" --scope acme/ana
    """
    with place.open_existing() as engine:
        if name is not None:
            found = engine.neighbours(name, scope=scope, limit=limit)
            shown, table = rendered.neighbor_fields(found), rendered.neighbor_table(found)
        else:
            entities = engine.entities(scope=scope, limit=limit)
            shown, table = (
                {"scope": str(scope), "entities": rendered.entity_fields(entities)},
                rendered.entity_table(entities),
            )
        hints = [] if table.rows else empty_hints.explain_empty_scope(engine, scope)
    if as_json:
        output.print_json(shown)
    else:
        output.print_table(table)
    for hint in hints:
        output.print_note(hint)
