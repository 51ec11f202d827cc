"""recollect why: where a memory stands or fell, and what would change it."""

from datetime import datetime

import click

from recollect.cli import options, output
from recollect.cli.place import Place, place
from recollect.model.scope import Scope
from recollect.render import text, wire


@click.command(short_help="Say where a memory stands or fell, and what would help.")
@click.argument("id")
@click.argument("query")
@options.scope
@options.profile("default")
@options.tokens
@options.moment("--as-of", "The moment to answer for; the present if not given.")
@options.as_json
@place
def why(
    place: Place,
    id: str,
    query: str,
    scope: Scope,
    profile: str,
    tokens: int,
    as_of: datetime | None,
    as_json: bool,
) -> None:
    """Say at which step the memory ID stands or fell when QUERY is recalled, and what would change that.

    \b
    recollect why 0193e5b2-7e1c-7000-8000-0123456789ab "which seat?" --scope acme/ana --tokens 200
    """
    with place.there() as engine:
        reason = engine.why(id, options.said(query), scope=scope, profile=profile, tokens=tokens, as_of=as_of)
    if as_json:
        output.data(wire.why(reason))
    else:
        output.lines(text.why(reason, output.paint))
