"""recollect doctor: whether the installation is well, and what to do if it is not."""

import click

from recollect.cli import options, output
from recollect.cli.target import StoreTarget, pass_target
from recollect.diagnosis.diagnose import diagnose
from recollect.model.diagnosis import CheckStatus
from recollect.render import diagnosis

EXIT_PROBLEM = 1
"""What a shell learns of a problem."""


@click.command(short_help="Check the installation, and name the fix.")
@options.as_json
@click.pass_context
@pass_target
def doctor(place: StoreTarget, ctx: click.Context, as_json: bool) -> None:
    """Check Python, the embedders, what serves agents and its keys, the store, and SQLite and its folder or the
    database it is in, and name the fix of whatever is not well.

    It makes no store and uses no network, but for a database. The exit code is 1 if anything is a problem.
    """
    checks = diagnose(place.target)
    if as_json:
        output.print_json(diagnosis.diagnosis_fields(checks))
    else:
        output.print_lines(diagnosis.format_checks(checks, output.paint))
        output.print_note(diagnosis.tally_checks(checks))
    if any(one.finding is CheckStatus.PROBLEM for one in checks):
        ctx.exit(EXIT_PROBLEM)
