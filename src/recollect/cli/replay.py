"""recollect replay: a recorded context once more, as it was."""

import click

from recollect.cli import options, output
from recollect.cli.recall import explain
from recollect.cli.target import Place, place
from recollect.model.scope import Scope
from recollect.render import replay as replayed
from recollect.render import text

DIFFERS = 1
"""What a shell learns of a context that does not come back as it was."""


@click.command(short_help="Print a recorded context again, as it was.")
@click.argument("context")
@options.scope
@explain
@options.as_json
@click.pass_context
@place
def replay(place: Place, ctx: click.Context, context: str, scope: Scope, explain: bool, as_json: bool) -> None:
    """Make CONTEXT again from what was known when it was made, and say whether it is identical to the last bit.

    CONTEXT is the id that `recollect recall` tells. Nothing counts as served, and nothing is written. Where
    something has been erased or is another since, it is named, and the exit code is 1.
    """
    with place.there() as engine:
        again = engine.replay(context, scope=scope)
    if as_json:
        output.data(replayed.fields(again))
    else:
        click.echo(again.context.text, nl=False)
        if explain:
            apart = [""] if again.context.text else []
            told = text.context(again.context, output.paint, width=output.width())
            output.lines([*apart, *told, *replayed.each(again)])
        for line in text.handed(again.context, output.width()):
            output.talk(line)
    for line in replayed.told(again):
        output.talk(line)
    if not again.identical:
        ctx.exit(DIFFERS)
