"""recollect why: where a memory stands or fell, and what would change it."""

from typing import Any

import click

from recollect.cli import options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.render import json_values, text


@click.command(cls=options.TextCommand, short_help="Say where a memory stands or fell, and what would help.")
@click.argument("id")
@click.argument("query")
@options.query_options("default")
@options.tokens
@options.as_json
@pass_target
def why(place: StoreTarget, /, id: str, query: str, tokens: int, as_json: bool, **asked: Any) -> None:
    """Say at which step the memory ID stands or fell when QUERY is recalled, and what would change that.

    \b
    recollect why 0193e5b2-7e1c-7000-8000-0123456789ab "which seat?" --scope acme/ana --tokens 200
    """
    with place.open_existing() as engine:
        reason = engine.why(id, options.read_text(query), tokens=tokens, **asked)
        memory = reason.candidate.memory
        by = None if memory is None else engine.replacement(memory, scope=memory.scope)
    if as_json:
        output.print_json(json_values.why_fields(reason))
    else:
        output.print_lines(text.format_why(reason, output.paint, by))
