"""recollect recall and brief: memories packed into a budget, ready for a prompt."""

from datetime import datetime

import click

from recollect.cli import options, output
from recollect.cli.place import Place, place
from recollect.model.scope import Scope
from recollect.packing.pack import Context
from recollect.render import text, wire

depth = click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="N",
    default=200,
    show_default=True,
    help="How many of the best are considered.",
)
explain = click.option("--explain", is_flag=True, help="Show what each signal contributed, and what was left out.")


@click.command(short_help="Print what best answers a question, ready for a prompt.")
@click.argument("query")
@options.scope
@options.tokens
@options.profile("default")
@options.moment("--as-of", "The moment to answer for; the present if not given.")
@options.moment("--known-at", "Answer from what the store knew then.")
@options.kinds
@depth
@explain
@options.as_json
@place
def recall(
    place: Place,
    query: str,
    scope: Scope,
    tokens: int,
    profile: str,
    as_of: datetime | None,
    known_at: datetime | None,
    kinds: tuple[str, ...],
    depth: int,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the memories that best answer QUERY, ready for a prompt and within a budget of tokens.

    QUERY of - reads standard input. What was handed over counts as served; the id of the context, which
    `recollect feedback` takes, is told on standard error.

    \b
    recollect recall "which seat should I book?" --scope acme/ana --tokens 800
    """
    with place.there() as engine:
        context = engine.recall(
            options.said(query),
            scope=scope,
            tokens=tokens,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            kinds=kinds or None,
            depth=depth,
        )
    _print(context, explain=explain, as_json=as_json)


@click.command(short_help="Print what to know before anyone asks.")
@options.scope
@options.tokens
@options.profile("session")
@options.moment("--as-of", "The moment to answer for; the present if not given.")
@options.moment("--known-at", "Answer from what the store knew then.")
@options.kinds
@depth
@explain
@options.as_json
@place
def brief(
    place: Place,
    scope: Scope,
    tokens: int,
    profile: str,
    as_of: datetime | None,
    known_at: datetime | None,
    kinds: tuple[str, ...],
    depth: int,
    explain: bool,
    as_json: bool,
) -> None:
    """Print what to know before anyone asks, ready for a prompt and within a budget of tokens.

    It is `recollect recall` without a question, for the start of a session.
    """
    with place.there() as engine:
        context = engine.brief(
            scope=scope,
            tokens=tokens,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            kinds=kinds or None,
            depth=depth,
        )
    _print(context, explain=explain, as_json=as_json)


def _print(context: Context, *, explain: bool, as_json: bool) -> None:
    if as_json:
        output.data(wire.context(context))
        return
    click.echo(context.text, nl=False)
    if explain:
        output.lines(["", *text.context(context, output.paint)])
    output.talk(text.handed(context))
