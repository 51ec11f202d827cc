"""recollect recall and brief: memories packed into a budget, ready for a prompt."""

from collections.abc import Iterable
from typing import Any

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import Place, place
from recollect.packing.pack import Context
from recollect.render import json_values, text

explain = click.option("--explain", is_flag=True, help="Show what each signal contributed, and what was left out.")
depth = click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="N",
    default=200,
    show_default=True,
    help="How many of the best are considered.",
)


@click.command(cls=options.Texted, short_help="Print what best answers a question, ready for a prompt.")
@click.argument("query")
@options.asked("default")
@options.tokens
@depth
@explain
@options.as_json
@place
def recall(place: Place, /, query: str, explain: bool, as_json: bool, **asked: Any) -> None:
    """Print the memories that best answer QUERY, ready for a prompt and within a budget of tokens.

    QUERY of - reads standard input. What was handed over counts as served; the id of the context, which
    `recollect feedback` takes, is told on standard error.

    \b
    recollect recall "which seat should I book?" --scope acme/ana --tokens 800
    """
    with place.there() as engine:
        context = engine.recall(options.said(query), **asked)
        hints = empty_hints.told(engine, context.ranking, as_json=as_json, **asked)
    _print(context, hints, explain=explain, as_json=as_json)


@click.command(short_help="Print what to know before anyone asks.")
@options.asked("session")
@options.tokens
@depth
@explain
@options.as_json
@place
def brief(place: Place, /, explain: bool, as_json: bool, **asked: Any) -> None:
    """Print what to know before anyone asks, ready for a prompt and within a budget of tokens.

    It is `recollect recall` without a question, for the start of a session.
    """
    with place.there() as engine:
        context = engine.brief(**asked)
        hints = empty_hints.told(engine, context.ranking, as_json=as_json, **asked)
    _print(context, hints, explain=explain, as_json=as_json)


def _print(context: Context, hints: Iterable[str], *, explain: bool, as_json: bool) -> None:
    if as_json:
        output.data(json_values.context(context))
    else:
        click.echo(context.text, nl=False)
        if explain:
            output.lines(["", *text.context(context, output.paint, width=output.width())])
        for line in text.handed(context, output.width()):
            output.talk(line)
    for hint in hints:
        output.talk(hint)
