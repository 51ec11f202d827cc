"""recollect admin sweep: PostgreSQL writes the files anew that still have what was erased."""

import click

from recollect import factory
from recollect.cli import options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.render import sweeping


@click.command(short_help="Rid the files of PostgreSQL of what was erased.")
@options.as_json
@pass_target
def sweep(place: StoreTarget, as_json: bool) -> None:
    """Write the files of PostgreSQL anew that still have what was erased, with the rows that stay alone.

    For a database of PostgreSQL, as the owner of its tables. Nobody else can use a table while it is written: about a
    second for 100 MB, and longer with an index of the nearest. It may be stopped at any moment: the same command goes
    on from there. Nothing is done if nothing was erased since.

    \b
    recollect admin sweep
    """
    swept = factory.sweep(place.target)
    if as_json:
        output.print_json(sweeping.sweep_fields(swept))
    else:
        output.print_lines([sweeping.describe_sweep(swept)])
