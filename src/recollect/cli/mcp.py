"""recollect mcp: the memory of one agent, which starts it and speaks MCP with it over standard input and output."""

import contextvars
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

import click

from recollect.api.auth import WHOLE_STORE, Caller, Grant, Reach, Right
from recollect.errors import InvalidInput
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.server.json_log import JsonFormatter

if TYPE_CHECKING:
    from recollect.api.dispatcher import Dispatcher
    from recollect.cli.target import StoreTarget
    from recollect.engine.engine import Engine
    from recollect.server.mcp.catalog import Toolsets

OpenedDispatcher: TypeAlias = "tuple[Dispatcher, Callable[[], None]]"

AGENT_NAME = "agent"
"""What whoever speaks over standard input is called in what is kept."""

READ_ONLY_REASON = "recollect mcp was started with --read-only"
"""Why an agent lacks a right; it has no key that could have it."""

MCP_NOT_INSTALLED = (
    "what MCP needs is not installed; install recollect with its extra server (in its folder: pip install '.[server]')"
)


@click.command(short_help="Be the memory of an agent that speaks MCP.")
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
def mcp(place: "StoreTarget", scope: str | None, read_only: bool, tools: str) -> None:
    """Speak MCP over standard input and output with the agent that starts it, until that ends.

    The store is made if it is not there, and opened when the agent has seen the tools.

    \b
    recollect --db agent.db mcp --scope acme/ana
    """
    made = partial(contextvars.copy_context().run, lambda: open_dispatcher(place.open_or_create()))
    serve_stdio(
        made, partial(contextvars.copy_context().run, read_body_limit), *prepare_session(scope, read_only, tools)
    )


def prepare_session(scope: str | None, read_only: bool, tools: str) -> "tuple[Caller, Toolsets]":
    """Who will speak, and what is offered; refused is what makes no sense, and what cannot be spoken here."""
    from recollect.server.mcp.catalog import parse_toolsets

    if find_spec("mcp") is None:
        raise InvalidInput(MCP_NOT_INSTALLED)
    return make_agent_caller(scope, read_only=read_only), parse_toolsets(tools)


def serve_stdio(
    make: "Callable[[], OpenedDispatcher]", most_bytes: Callable[[], int], caller: Caller, wanted: "Toolsets"
) -> None:
    """Speak with the agent; the store is made open when it is needed."""
    from recollect.server.mcp.stdio_transport import serve_stdio

    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    serve_stdio(make, most_bytes, caller, wanted)


def make_agent_caller(scope: str | None, *, read_only: bool) -> Caller:
    """Whoever speaks over standard input: the owner's agent, who is believed no more than the owner's own words."""
    reach: Reach = WHOLE_STORE if scope is None else Scope.parse(scope)
    rights = frozenset({Right.READ}) if read_only else frozenset(Right)
    because = READ_ONLY_REASON if read_only else None
    return Caller(
        name=AGENT_NAME, grants=(Grant(rights, reach),), provenance=Provenance.DIRECT_USER, missing_right_hint=because
    )


def open_dispatcher(engine: "AbstractContextManager[Engine]") -> "OpenedDispatcher":
    """What answers for an engine, and what closes both."""
    from recollect.api.dispatcher import Dispatcher
    from recollect.api.host_policy import HostPolicy
    from recollect.api.operation_runner import OperationRunner
    from recollect.server.health_monitor import create_monitor
    from recollect.server.request_limits import load_request_limits

    limits, open = load_request_limits(), ExitStack()
    found = open.enter_context(engine)
    watch = create_monitor(found)
    open.callback(watch.close)
    front = Dispatcher(
        OperationRunner(found), refuse_keys, HostPolicy(frozenset()), limits=limits, heard=watch.on_request
    )
    open.callback(front.close)
    watch.log_changes()
    return front, open.close


def read_body_limit() -> int:
    """How long a request may be, by the settings."""
    from recollect.server.request_limits import load_request_limits

    return load_request_limits().body_bytes


def refuse_keys(_: str | None) -> Caller:
    """Nobody is let in by a key here: whoever started the process is the one who asks."""
    raise InvalidInput("there are no keys over standard input")
