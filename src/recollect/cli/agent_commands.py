"""The commands that coding agents start and wait for: `recollect hook` and `recollect mcp`.

They are kept apart from the other commands so that they start fast. The entry point loads this module without the rest
of the command line, and server modules are imported only inside functions.
"""

import contextvars
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from recollect.api.auth import WHOLE_STORE, Caller, Grant, Reach, Right
from recollect.cli.entrypoint import HELP_FLAGS
from recollect.cli.hook import (
    DEFAULT_BUDGET_MS,
    DEFAULT_TOKENS,
    HOOK_EVENTS,
    MAX_BUDGET_MS,
    HookOptions,
    run_hook,
    skip_hook,
)
from recollect.errors import InvalidInput, RecollectError
from recollect.model.enums import Provenance
from recollect.model.scope import Scope
from recollect.server.json_log import JsonFormatter

if TYPE_CHECKING:
    from recollect.api.dispatcher import Dispatcher
    from recollect.cli.options import StoreTarget
    from recollect.engine.engine import Engine
    from recollect.server.mcp.catalog import Toolsets


HELP_SETTINGS = {"help_option_names": list(HELP_FLAGS)}
"""The help options of the command line: click caches those of a command's first context, which may have no parent."""


class HookCommand(click.Command):
    """A command that warns about wrong arguments and exits with 0, so that no agent is blocked."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            skip_hook(error.format_message())


@click.command(
    cls=HookCommand,
    context_settings=HELP_SETTINGS,
    short_help="Tell a coding agent what is known, in time or not at all.",
)
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
def hook(store: "StoreTarget", /, **options: Any) -> None:
    """Read the JSON of a hook on standard input, and print what is known as its additional context.

    EVENT is session-start or prompt. If there is no answer in time, or anything is wrong, nothing is printed but a line
    on standard error, and the exit code is 0: an agent never waits for its memory.

    \b
    recollect hook prompt --scope acme/ana --server http://127.0.0.1:8765/mcp
    """
    run_hook(lambda: nullcontext(store), HookOptions(**options))


OpenedDispatcher: TypeAlias = "tuple[Dispatcher, Callable[[], None]]"

AGENT_NAME = "agent"
"""The caller name recorded for an agent that speaks over standard input."""

READ_ONLY_REASON = "recollect mcp was started with --read-only"
"""The reason a right is missing; an agent on standard input has no key that could grant it."""

MCP_NOT_INSTALLED = (
    "the packages that MCP needs are not installed; "
    "install recollect with its extra server (in its folder: pip install '.[server]')"
)


@click.command(context_settings=HELP_SETTINGS, short_help="Be the memory of an agent that speaks MCP.")
@click.option(
    "--scope",
    metavar="S",
    help="Whose memory, as acme/ana: no call need name it, and none can name another but those below it, each of which "
    "is a memory of its own.",
)
@click.option("--read-only", is_flag=True, help="Only tools that look.")
@click.option(
    "--tools",
    metavar="SETS",
    default="core",
    show_default=True,
    help="The toolsets to offer, between commas: core, episodes, observations, operator.",
)
@click.pass_obj
def mcp(store: "StoreTarget", scope: str | None, read_only: bool, tools: str) -> None:
    """Speak MCP over standard input and output with the agent that starts it, until that ends.

    The store is made if it is not there, and opened when the agent has seen the tools.

    \b
    recollect --db agent.db mcp --scope acme/ana
    """
    open_store = partial(contextvars.copy_context().run, lambda: open_dispatcher(store.open_or_create()))
    serve_stdio(
        open_store, partial(contextvars.copy_context().run, read_body_limit), *prepare_session(scope, read_only, tools)
    )


def prepare_session(scope: str | None, read_only: bool, tools: str) -> "tuple[Caller, Toolsets]":
    """Return the caller and the toolsets of an MCP session, or raise InvalidInput.

    The error is raised if an argument is wrong or the `mcp` package is not installed.
    """
    from recollect.server.mcp.catalog import parse_toolsets

    if find_spec("mcp") is None:
        raise InvalidInput(MCP_NOT_INSTALLED)
    return make_agent_caller(scope, read_only=read_only), parse_toolsets(tools)


def serve_stdio(
    open_store: "Callable[[], OpenedDispatcher]", max_bytes: Callable[[], int], caller: Caller, toolsets: "Toolsets"
) -> None:
    """Serve MCP over standard input and output; the store is opened when it is first needed."""
    from recollect.server.mcp.stdio_transport import serve_stdio

    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    serve_stdio(open_store, max_bytes, caller, toolsets)


def make_agent_caller(scope: str | None, *, read_only: bool) -> Caller:
    """Return the caller for an agent on standard input, trusted like the user who started it."""
    reach: Reach = WHOLE_STORE if scope is None else Scope.parse(scope)
    rights = frozenset({Right.READ}) if read_only else frozenset(Right)
    hint = READ_ONLY_REASON if read_only else None
    return Caller(
        name=AGENT_NAME, grants=(Grant(rights, reach),), provenance=Provenance.DIRECT_USER, missing_right_hint=hint
    )


def open_dispatcher(opening: "AbstractContextManager[Engine]") -> "OpenedDispatcher":
    """Open the engine, and return a dispatcher for it and a function that closes both."""
    from recollect.api.auth import HostPolicy
    from recollect.api.dispatcher import Dispatcher, OperationRunner, RequestLimits
    from recollect.server.health import create_monitor

    limits, stack = RequestLimits.from_settings(), ExitStack()
    engine = stack.enter_context(opening)
    monitor = create_monitor(engine)
    stack.callback(monitor.close)
    dispatcher = Dispatcher(
        OperationRunner(engine), refuse_keys, HostPolicy(frozenset()), limits=limits, on_outcome=monitor.on_request
    )
    stack.callback(dispatcher.close)
    monitor.log_changes()
    return dispatcher, stack.close


def read_body_limit() -> int:
    """Return the maximum size of a request in bytes, from the settings."""
    from recollect.api.dispatcher import RequestLimits

    return RequestLimits.from_settings().body_bytes


def refuse_keys(_: str | None) -> Caller:
    """Refuse every API key: over standard input the caller is the owner of the process."""
    raise InvalidInput("API keys are not used over standard input; remove the key")


def prepare_mcp(global_options: Sequence[str], arguments: Sequence[str]) -> Callable[[], None] | None:
    """Return a function that serves MCP, or None if the arguments are wrong.

    If it returns None, the entry point runs the full command line, which reports the error.
    """
    try:
        params = mcp.make_context("mcp", list(arguments)).params
        session = prepare_session(**params)
    except (click.ClickException, RecollectError):
        return None
    return partial(
        serve_stdio,
        partial(_open_target_dispatcher, global_options),
        partial(_read_target_body_limit, global_options),
        *session,
    )


def _open_target_dispatcher(global_options: Sequence[str]) -> "OpenedDispatcher":
    with resolve_target(global_options) as target:
        return open_dispatcher(target.open_or_create())


def _read_target_body_limit(global_options: Sequence[str]) -> int:
    with resolve_target(global_options):
        return read_body_limit()


@contextmanager
def resolve_target(global_options: Sequence[str]) -> "Iterator[StoreTarget]":
    """Yield the store target named by the global options, with their settings applied."""
    cli: click.Group = import_module("recollect.cli.main").cli
    try:
        with cli.make_context("recollect", [*global_options, "mcp"]) as context:
            context.invoke(cli.callback or (lambda: None), **context.params)
            yield context.obj
    except click.ClickException as error:
        raise InvalidInput(error.format_message()) from error
