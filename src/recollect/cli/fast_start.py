"""What begins before the other commands are loaded, read as the whole command line reads it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import click

from recollect.cli.hook import hook
from recollect.cli.mcp import mcp, open_dispatcher, prepare_session, read_body_limit, serve_stdio
from recollect.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from recollect.cli.mcp import OpenedDispatcher
    from recollect.cli.target import StoreTarget


def prepare_mcp(before: Sequence[str], typed: Sequence[str]) -> Callable[[], None] | None:
    """What speaks MCP; nothing if what is typed is wrong, which is told by whoever can tell it best."""
    try:
        params = mcp.make_context("mcp", list(typed)).params
        who = prepare_session(**params)
    except (click.ClickException, RecollectError):
        return None
    return partial(
        serve_stdio, partial(_open_target_dispatcher, before), partial(_read_target_body_limit, before), *who
    )


def _open_target_dispatcher(before: Sequence[str]) -> "OpenedDispatcher":
    with resolve_target(before) as found:
        return open_dispatcher(found.open_or_create())


def _read_target_body_limit(before: Sequence[str]) -> int:
    with resolve_target(before):
        return read_body_limit()


def parse_hook(typed: Sequence[str]) -> dict[str, object] | None:
    """What a hook is told; nothing if what is typed is wrong, which is said on standard error."""
    try:
        return hook.make_context("hook", list(typed)).params
    except click.exceptions.Exit:
        return None


@contextmanager
def resolve_target(before: Sequence[str]) -> "Iterator[StoreTarget]":
    """The place that is named before the command, with the settings that are."""
    cli: click.Group = import_module("recollect.cli.main").cli
    try:
        with cli.make_context("recollect", [*before, "mcp"]) as context:
            context.invoke(cli.callback or (lambda: None), **context.params)
            yield context.obj
    except click.ClickException as error:
        raise InvalidInput(error.format_message()) from error
