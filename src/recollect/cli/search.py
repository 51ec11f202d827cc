"""recollect search: the best memories for a question, with their scores."""

from datetime import datetime

import click

from recollect.cli import options, output
from recollect.cli.place import Place, place
from recollect.model.scope import Scope
from recollect.render import listing, text, wire


@click.command(short_help="List what best matches a question.")
@click.argument("query")
@options.scope
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Print the best so many.",
)
@options.profile("default")
@options.moment("--as-of", "The moment to answer for; the present if not given.")
@options.moment("--known-at", "Answer from what the store knew then.")
@options.kinds
@click.option("--explain", is_flag=True, help="Show what each signal contributed.")
@options.as_json
@place
def search(
    place: Place,
    query: str,
    scope: Scope,
    limit: int,
    profile: str,
    as_of: datetime | None,
    known_at: datetime | None,
    kinds: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> None:
    """Print the memories that best match QUERY, best first; none of them counts as served.

    QUERY of - reads standard input. In a pipe there is one line a memory: score, id, kind, date and text,
    between tabs.

    \b
    recollect search "window seats" --scope acme/ana --limit 3
    """
    with place.there() as engine:
        ranking = engine.search(
            options.said(query),
            scope=scope,
            profile=profile,
            limit=limit,
            as_of=as_of,
            known_at=known_at,
            kinds=kinds or None,
        )
    if as_json:
        output.data(wire.search(ranking))
    elif explain:
        output.lines(text.ranking(ranking, output.paint))
    else:
        output.rows(listing.found(ranking))
        output.talk(text.tally(ranking))
