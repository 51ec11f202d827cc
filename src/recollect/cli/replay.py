"""recollect replay: a recorded context once more, as it was."""

import click

from recollect.cli import options, output
from recollect.cli.recall import explain_option
from recollect.cli.target import StoreTarget, pass_target
from recollect.model.scope import Scope
from recollect.render import replay as replayed
from recollect.render import text

EXIT_DIFFERS = 1
"""What a shell learns of a context that does not come back as it was."""


@click.command(short_help="Print a recorded context again, as it was.")
@click.argument("context")
@options.scope
@explain_option
@options.as_json
@click.pass_context
@pass_target
def replay(place: StoreTarget, ctx: click.Context, context: str, scope: Scope, explain: bool, as_json: bool) -> None:
    """Make CONTEXT again from what was known when it was made, and say whether it is identical to the last bit.

    CONTEXT is the id that `recollect recall` tells. Nothing counts as served, and nothing is written. Where
    something has been erased or is another since, it is named, and the exit code is 1.
    """
    with place.open_existing() as engine:
        again = engine.replay(context, scope=scope)
    if as_json:
        output.print_json(replayed.replay_fields(again))
    else:
        click.echo(again.context.text, nl=False)
        if explain:
            apart = [""] if again.context.text else []
            told = text.format_context(again.context, output.paint, width=output.terminal_width())
            output.print_lines([*apart, *told, *replayed.list_differences(again)])
        for line in text.summarize_context(again.context, output.terminal_width()):
            output.print_note(line)
    for line in replayed.describe_replay(again):
        output.print_note(line)
    if not again.identical:
        ctx.exit(EXIT_DIFFERS)
