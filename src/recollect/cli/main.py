"""The command `recollect`, and what its errors are to a shell."""

import errno
import io
import sys
from collections.abc import Mapping
from typing import Any

import click

from recollect.cli.profiles import profiles
from recollect.cli.rank import rank
from recollect.errors import InvalidInput, NotFound, RecollectError, SignalMissing
from recollect.render.text import printable
from recollect.version import __version__

EXIT_CODES: Mapping[type[RecollectError], int] = {
    NotFound: 3,
    InvalidInput: 2,
    SignalMissing: 2,
    RecollectError: 1,
}
"""What a shell learns of an error: the first class that fits."""


class Commands(click.Group):
    """A group whose commands may raise our errors."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RecollectError as error:
            click.echo(f"Error: {printable(str(error))}", err=True)
            ctx.exit(next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind)))
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has seen enough; click ends quietly
                raise
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recollect")
def cli() -> None:
    """A memory engine for AI agents: exact, explained ranking of what an agent knows."""


cli.add_command(rank)
cli.add_command(profiles)


def main() -> None:
    """Run the command line; a character the terminal cannot show is spelled out instead of failing."""
    if sys.stdout is None:
        sys.exit("Error: there is nowhere to write to; standard output is closed")
    if sys.stdin is None:  # closed by whoever started us: there is nothing to read
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    cli()
