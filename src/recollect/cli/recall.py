"""recollect recall and brief: memories packed into a budget, ready for a prompt."""

from collections.abc import Iterable
from typing import Any

import click

from recollect.cli import empty_hints, options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.packing.pack import Context
from recollect.render import json_values, text

explain_option = click.option(
    "--explain", is_flag=True, help="Show what each signal contributed, and what was left out."
)
depth_option = click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="N",
    default=200,
    show_default=True,
    help="How many of the best are considered.",
)


@click.command(cls=options.TextCommand, short_help="Print what best answers a question, ready for a prompt.")
@click.argument("query")
@options.query_options("default")
@options.tokens
@depth_option
@explain_option
@options.as_json
@pass_target
def recall(place: StoreTarget, /, query: str, explain: bool, as_json: bool, **asked: Any) -> None:
    """Print the memories that best answer QUERY, ready for a prompt and within a budget of tokens.

    QUERY of - reads standard input. What was handed over counts as served; the id of the context, which
    `recollect feedback` takes, is told on standard error.

    \b
    recollect recall "which seat should I book?" --scope acme/ana --tokens 800
    """
    with place.open_existing() as engine:
        context = engine.recall(options.read_text(query), **asked)
        hints = empty_hints.explain_empty_result(engine, context.ranking, as_json=as_json, **asked)
    _print_context(context, hints, explain=explain, as_json=as_json)


@click.command(short_help="Print what to know before anyone asks.")
@options.query_options("session")
@options.tokens
@depth_option
@explain_option
@options.as_json
@pass_target
def brief(place: StoreTarget, /, explain: bool, as_json: bool, **asked: Any) -> None:
    """Print what to know before anyone asks, ready for a prompt and within a budget of tokens.

    It is `recollect recall` without a question, for the start of a session.
    """
    with place.open_existing() as engine:
        context = engine.brief(**asked)
        hints = empty_hints.explain_empty_result(engine, context.ranking, as_json=as_json, **asked)
    _print_context(context, hints, explain=explain, as_json=as_json)


def _print_context(context: Context, hints: Iterable[str], *, explain: bool, as_json: bool) -> None:
    if as_json:
        output.print_json(json_values.context_fields(context))
    else:
        click.echo(context.text, nl=False)
        if explain:
            output.print_lines(["", *text.format_context(context, output.paint, width=output.terminal_width())])
        for line in text.summarize_context(context, output.terminal_width()):
            output.print_note(line)
    for hint in hints:
        output.print_note(hint)
