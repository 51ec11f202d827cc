"""recollect feedback: which memories of a context helped, which misled, and which the answer quotes."""

import click

from recollect.cli import options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.errors import NotFound
from recollect.model.scope import Scope
from recollect.render import json_values

REPEAT_REMEDY = "repeat --helped or --misled for each memory"
"""What is told to who names several at once."""


class FeedbackCommand(options.TextCommand):
    """A command that is given ids by options: of more than one behind an option it is told to repeat that."""

    def extra_words_remedy(self, ctx: click.Context) -> str:
        return REPEAT_REMEDY


@click.command(cls=FeedbackCommand, short_help="Say which memories helped and which misled.")
@click.argument("context")
@options.scope
@click.option("--helped", metavar="ID", multiple=True, help="A memory that helped; may be repeated.")
@click.option("--misled", metavar="ID", multiple=True, help="A memory that misled; may be repeated.")
@click.option(
    "--answer", metavar="TEXT", help="What was answered from it, or - for standard input: what it quotes is noted."
)
@click.option("--by", metavar="NAME", help="Who says so; the scope if not given. Saying it again replaces it.")
@options.as_json
@pass_target
def feedback(
    place: StoreTarget,
    context: str,
    scope: Scope,
    helped: tuple[str, ...],
    misled: tuple[str, ...],
    answer: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Say which memories of CONTEXT helped and which misled; it moves their usefulness, and only that.

    CONTEXT is the id that `recollect recall` tells. With an answer, prints the ids of those that it quotes, which is
    noted as weaker evidence; the answer is not kept.
    """
    if not helped and not misled and answer is None:
        raise click.UsageError("Say what helped or misled, with --helped ID or --misled ID, or give the --answer TEXT.")
    said = None if answer is None else options.read_text(answer)
    with place.open_existing() as engine:
        try:
            noted = engine.feedback(context, scope=scope, helped=helped, misled=misled, by=by, answer=said)
        except NotFound as error:
            if not any("," in one for one in (*helped, *misled)):
                raise
            raise NotFound(f"{error}; {REPEAT_REMEDY}") from error
    if as_json:
        output.print_json(json_values.feedback_fields(noted, context, scope, helped=helped, misled=misled))
    else:
        output.print_lines(noted.quoted)
    found = "" if answer is None else f", {len(noted.quoted)} quoted"
    output.print_note(f"{len(helped)} helped, {len(misled)} misled{found}")
    if noted.remark is not None:
        output.print_note(f"nothing of the answer was noted: {noted.remark}")
