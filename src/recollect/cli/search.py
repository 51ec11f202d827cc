"""recollect search: the best memories for a question, with their scores."""

from typing import Any

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.superseded import find_replacements
from recollect.cli.target import StoreTarget, pass_target
from recollect.ranking.proof import Exact
from recollect.render import json_values, listing, text


@click.command(cls=options.TextCommand, short_help="List what best matches a question.")
@click.argument("query")
@options.query_options("default")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Print the best so many.",
)
@options.choice(
    Exact,
    "--exact",
    metavar="MODE",
    default=Exact.REQUIRED.value,
    show_default=True,
    help="required, or preferred: an index of the scope may be asked, if there is one.",
)
@click.option("--explain", is_flag=True, help="Show what each signal contributed.")
@options.as_json
@pass_target
def search(
    place: StoreTarget, /, query: str, limit: int, exact: Exact, explain: bool, as_json: bool, **asked: Any
) -> None:
    """Print the memories that best match QUERY, best first; none of them counts as served.

    QUERY of - reads standard input. In a pipe there is one line a memory: score, id, kind, date and text,
    between tabs.

    \b
    recollect search "window seats" --scope acme/ana --limit 3
    """
    with place.open_existing() as engine:
        ranking = engine.search(options.read_text(query), limit=limit, exact=exact, **asked)
        hints = empty_hints.explain_empty_result(engine, ranking, as_json=as_json, **asked)
        instead = {} if as_json or explain else find_replacements(engine, (one.memory for one in ranking))
    if as_json:
        output.print_json(json_values.search_fields(ranking))
    elif explain:
        output.print_lines(text.format_ranking(ranking, output.paint, width=output.terminal_width()))
    else:
        output.print_table(listing.ranking_table(ranking, instead))
        output.print_note(text.tally_ranking(ranking))
    for hint in hints:
        output.print_note(hint)
