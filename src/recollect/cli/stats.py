"""recollect stats: how much there is."""

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.model.scope import Scope
from recollect.render import json_values, listing


@click.command(short_help="Count what a store holds.")
@options.scope_filter
@options.as_json
@pass_target
def stats(place: StoreTarget, scope: Scope | None, as_json: bool) -> None:
    """Count the memories by status, kind and scope, their versions and uses, and the bytes of the store.

    In a pipe there is one line a figure: what it is of, the figure, and which of them, between tabs.
    """
    with place.open_existing() as engine:
        stats = engine.stats(scope=scope)
        hints = [] if scope is None else empty_hints.explain_empty_scope(engine, scope, below=True)
    if as_json:
        output.print_json({"scope": None if scope is None else str(scope), **json_values.stats_fields(stats)})
    else:
        output.print_table(listing.stats_table(stats))
    for hint in hints:
        output.print_note(hint)
