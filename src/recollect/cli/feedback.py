"""recollect feedback: which memories of a context helped, and which misled."""

import click

from recollect.cli import options, output
from recollect.cli.place import Place, place
from recollect.model.scope import Scope


@click.command(short_help="Say which memories helped and which misled.")
@click.argument("context")
@options.scope
@click.option("--helped", metavar="ID", multiple=True, help="A memory that helped; may be repeated.")
@click.option("--misled", metavar="ID", multiple=True, help="A memory that misled; may be repeated.")
@click.option("--by", metavar="NAME", help="Who says so; the scope if not given. Saying it again replaces it.")
@options.as_json
@place
def feedback(
    place: Place,
    context: str,
    scope: Scope,
    helped: tuple[str, ...],
    misled: tuple[str, ...],
    by: str | None,
    as_json: bool,
) -> None:
    """Say which memories of CONTEXT helped and which misled; it moves their usefulness, and only that.

    CONTEXT is the id that `recollect recall` tells.
    """
    if not helped and not misled:
        raise click.UsageError("Say what helped or misled, with --helped ID or --misled ID.")
    with place.there() as engine:
        engine.feedback(context, scope=scope, helped=helped, misled=misled, by=by)
    if as_json:
        output.data({"context": context, "scope": str(scope), "helped": list(helped), "misled": list(misled)})
    output.talk(f"{len(helped)} helped, {len(misled)} misled")
