"""recollect remember: a text becomes a memory."""

from typing import Any

import click

from recollect.cli import options, receipts
from recollect.cli.target import StoreTarget, pass_target
from recollect.model.draft import read_draft
from recollect.model.memory import Kind


@click.command(cls=options.TextCommand, short_help="Remember a text.", epilog=f"Kinds: {', '.join(Kind)}.")
@click.argument("text")
@options.scope
@options.choice(
    Kind, "--kind", help="What sort of memory it is; if not given, what its topic is, or else an observation."
)
@click.option("--title", help="A short title.")
@click.option("--topic-key", metavar="KEY", help="What it is about: the next one with this key revises it.")
@click.option(
    "--subject", metavar="NAME", help="What it is about, where only one thing holds at a time: it replaces the former."
)
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@options.fraction("--importance", "How much it matters.")
@options.fraction("--confidence", "How sure it is.")
@click.option("--pinned", is_flag=True, help="Keep room for it in every context.")
@click.option("--shared", is_flag=True, help="Let the scopes below see it too.")
@click.option("--session", metavar="ID", help="The session it comes from.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@options.moment("--at", "When it was observed; now if not given.")
@options.moment("--valid-from", "Since when it holds.")
@options.moment("--valid-until", "Until when it holds.")
@options.provenance("Through whom it came.")
@click.option("--source", metavar="ID", help="The document, tool or import it came from.")
@click.option("--derived-from", metavar="ID", multiple=True, help="A memory it was made from; may be repeated.")
@click.option("--evidence", metavar="QUOTE", multiple=True, help="A quote that bears it out; may be repeated.")
@options.metadata("Anything else, as a JSON object.")
@click.option("--key", help="Makes a retry harmless: the same call with the same key is done once.")
@click.option("--id", metavar="ID", help="The id it is to have; one is made if not given.")
@options.as_json
@pass_target
def remember(place: StoreTarget, /, text: str, as_json: bool, **given: Any) -> None:
    """Remember TEXT, or what standard input says if TEXT is -.

    Prints the id of the memory that says it now.

    \b
    recollect remember "Ana prefers window seats" --scope acme/ana --kind preference
    git log -1 --format=%B | recollect remember - --scope acme/builds --kind event
    """
    told = {name: value for name, value in given.items() if value is not None}
    draft = read_draft({"text": options.read_text(text), **told})
    with place.open_or_create() as engine:
        (receipt,) = engine.remember_all([draft])
    if draft.key is None:
        receipts.print_new(receipt, as_json=as_json)
    else:  # a retry is told what came of the first call, and which run that was is not known
        receipts.print_receipt(receipt, as_json=as_json)
