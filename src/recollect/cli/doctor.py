"""recollect doctor: whether the installation is well, and what to do if it is not."""

import click

from recollect.cli import options, output
from recollect.cli.target import Place, place
from recollect.diagnosis.diagnose import diagnose
from recollect.model.diagnosis import Finding
from recollect.render import diagnosis

FAILED = 1
"""What a shell learns of a problem."""


@click.command(short_help="Check the installation, and name the fix.")
@options.as_json
@click.pass_context
@place
def doctor(place: Place, ctx: click.Context, as_json: bool) -> None:
    """Check Python, the embedders, what serves agents and its keys, the store, and SQLite and its folder or the
    database it is in, and name the fix of whatever is not well.

    It makes no store and uses no network, but for a database. The exit code is 1 if anything is a problem.
    """
    checks = diagnose(place.target)
    if as_json:
        output.data(diagnosis.fields(checks))
    else:
        output.lines(diagnosis.lines(checks, output.paint))
        output.talk(diagnosis.tally(checks))
    if any(one.finding is Finding.PROBLEM for one in checks):
        ctx.exit(FAILED)
