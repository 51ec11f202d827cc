"""recollect admin: what an operator does to a whole store."""

import click

from recollect import wiring
from recollect.cli import options, output
from recollect.cli.bars import bars
from recollect.cli.place import Place, place
from recollect.render import reembedding

EMBEDDERS = ("minilm", "wordllama", "hashing")
"""What a shell offers to go over to."""


def _embedders(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in EMBEDDERS if name.startswith(incomplete)]


@click.group(short_help="Change a whole store.")
def admin() -> None:
    """Change a whole store."""


@admin.command("re-embed", short_help="Go over to another embedder.")
@click.option(
    "--embedder",
    metavar="NAME",
    required=True,
    shell_complete=_embedders,
    help="The embedder to go over to: a name, or https://host/v1#model.",
)
@options.as_json
@place
def re_embed(place: Place, embedder: str, as_json: bool) -> None:
    """Embed all that memories say or said anew, and make the embedder NAME the store's.

    Others may read and write meanwhile; when it is done, they are told to open the store again. It may be stopped
    at any moment: the same command goes on from there.

    \b
    recollect admin re-embed --embedder minilm
    """
    with bars() as show:
        done = wiring.re_embed(place.target, embedder=embedder, progress=show)
    if as_json:
        output.data(reembedding.fields(done))
    else:
        output.lines([reembedding.sentence(done)])
