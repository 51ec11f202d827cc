"""The door of the command line: what an agent waits for begins at once, and the rest is loaded when it is needed."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from recollect.cli.hook import answer
from recollect.cli.hook import hook as hook_command
from recollect.cli.mcp import mcp as mcp_command
from recollect.cli.mcp import most_bytes, opened, ready, speak
from recollect.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from recollect.cli.mcp import Made
    from recollect.cli.place import Place

BEFORE: Final = ("--db", "--config", "--setting")
"""The options that stand before any command; each is given one thing."""

HELP: Final = frozenset({"-h", "--help"})


def main() -> None:
    """Run the command line."""
    typed = sys.argv[1:]
    before, rest = split(typed)
    quick = None if not rest or HELP & set(rest) else QUICK.get(rest[0])
    begin = None if quick is None else quick(before, rest[1:])
    if begin is None:
        begin = import_module("recollect.cli.main").main
    begin()


def split(typed: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before the command, and the command with all behind it; nothing behind what nobody knows."""
    before, rest = list[str](), list(typed)
    while rest and rest[0].startswith("-"):
        name, given, _ = rest[0].partition("=")
        taken = 1 if given else 2
        if name not in BEFORE or len(rest) < taken:
            return before, []
        before, rest = before + rest[:taken], rest[taken:]
    return before, rest


def _mcp(before: Sequence[str], typed: Sequence[str]) -> Callable[[], None] | None:
    """What speaks MCP; nothing if what is typed is wrong, which is told by whoever can tell it best."""
    try:
        params = mcp_command.make_context("mcp", list(typed)).params
        who = ready(**params)
    except (click.ClickException, RecollectError):
        return None
    return partial(speak, partial(_made, before), partial(_most_bytes, before), *who)


def _made(before: Sequence[str]) -> "Made":
    with _place(before) as place:
        return opened(place.made())


def _most_bytes(before: Sequence[str]) -> int:
    with _place(before):
        return most_bytes()


def _hook(before: Sequence[str], typed: Sequence[str]) -> Callable[[], None]:
    """What answers a hook, whatever is typed."""
    try:
        params = hook_command.make_context("hook", list(typed)).params
    except click.exceptions.Exit:
        return lambda: None
    return partial(answer, partial(_place, before), **params)


@contextmanager
def _place(before: Sequence[str]) -> "Iterator[Place]":
    """The place that is named before the command, with the settings that are."""
    cli: click.Group = import_module("recollect.cli.main").cli
    try:
        with cli.make_context("recollect", [*before, "mcp"]) as context:
            context.invoke(cli.callback or (lambda: None), **context.params)
            yield context.obj
    except click.ClickException as error:
        raise InvalidInput(error.format_message()) from error


QUICK: Mapping[str, Callable[[Sequence[str], Sequence[str]], Callable[[], None] | None]] = {
    "mcp": _mcp,
    "hook": _hook,
}
"""The commands that begin before the others are loaded: by their names, what each makes of what is typed."""
