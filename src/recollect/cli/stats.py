"""recollect stats: how much there is."""

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import Place, place
from recollect.model.scope import Scope
from recollect.render import json_values, listing


@click.command(short_help="Count what a store holds.")
@options.part
@options.as_json
@place
def stats(place: Place, scope: Scope | None, as_json: bool) -> None:
    """Count the memories by status, kind and scope, their versions and uses, and the bytes of the store.

    In a pipe there is one line a figure: what it is of, the figure, and which of them, between tabs.
    """
    with place.there() as engine:
        stats = engine.stats(scope=scope)
        hints = [] if scope is None else empty_hints.told_scope(engine, scope, below=True)
    if as_json:
        output.data({"scope": None if scope is None else str(scope), **json_values.stats(stats)})
    else:
        output.rows(listing.stats(stats))
    for hint in hints:
        output.talk(hint)
