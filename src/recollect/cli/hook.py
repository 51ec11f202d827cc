"""recollect hook: what a coding agent is told before it begins, in time or not at all."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from recollect.cli.hook_runner import (
    DEFAULT_BUDGET_MS,
    DEFAULT_TOKENS,
    HOOK_EVENTS,
    MAX_BUDGET_MS,
    run_hook,
    warn_skipped,
)

if TYPE_CHECKING:
    from recollect.cli.target import StoreTarget


class HookCommand(click.Command):
    """A command that is in nobody's way: what is typed wrong is told, and is no failure."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            warn_skipped(error.format_message())
            ctx.exit(0)


@click.command(cls=HookCommand, short_help="Tell a coding agent what is known, in time or not at all.")
@click.argument("event", type=click.Choice(list(HOOK_EVENTS)))
@click.option("--scope", metavar="S", required=True, help="Whose memory, as acme/ana.")
@click.option(
    "--budget-ms",
    type=click.IntRange(1, MAX_BUDGET_MS),
    metavar="N",
    default=DEFAULT_BUDGET_MS,
    show_default=True,
    help="After how many milliseconds of the process it steps aside.",
)
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEFAULT_TOKENS,
    show_default=True,
    help="The budget in tokens.",
)
@click.option("--server", metavar="URL", help="Ask a running server, as http://127.0.0.1:8765/mcp, not the store.")
@click.option("--key-file", metavar="FILE", help="The file with the key or the token that the server wants.")
@click.pass_obj
def hook(place: "StoreTarget", /, **asked: Any) -> None:
    """Read the JSON of a hook on standard input, and print what is known as its additional context.

    EVENT is session-start or prompt. If there is no answer in time, or anything is wrong, nothing is printed but a line
    on standard error, and the exit code is 0: an agent never waits for its memory.

    \b
    recollect hook prompt --scope acme/ana --server http://127.0.0.1:8765/mcp
    """
    run_hook(lambda: nullcontext(place), **asked)
