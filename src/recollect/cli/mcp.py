"""recollect mcp: the memory of one agent, which starts it and speaks MCP with it over standard input and output."""

import contextvars
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from recollect.api.auth import WHOLE, Caller, Grant, Reach, Right
from recollect.errors import InvalidInput
from recollect.model.scope import Scope
from recollect.model.trust import Provenance
from recollect.server.json_log import Lines

if TYPE_CHECKING:
    from recollect.api.dispatcher import Front
    from recollect.cli.target import Place
    from recollect.engine.engine import Engine
    from recollect.server.mcp.catalog import Toolsets

    Made = tuple[Front, Callable[[], None]]

AGENT = "agent"
"""What whoever speaks over standard input is called in what is kept."""

ONLY_READS = "recollect mcp was started with --read-only"
"""Why an agent lacks a right; it has no key that could have it."""

NOT_INSTALLED = (
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
def mcp(place: "Place", scope: str | None, read_only: bool, tools: str) -> None:
    """Speak MCP over standard input and output with the agent that starts it, until that ends.

    The store is made if it is not there, and opened when the agent has seen the tools.

    \b
    recollect --db agent.db mcp --scope acme/ana
    """
    made = partial(contextvars.copy_context().run, lambda: opened(place.made()))
    speak(made, partial(contextvars.copy_context().run, most_bytes), *ready(scope, read_only, tools))


def ready(scope: str | None, read_only: bool, tools: str) -> "tuple[Caller, Toolsets]":
    """Who will speak, and what is offered; refused is what makes no sense, and what cannot be spoken here."""
    from recollect.server.mcp.catalog import toolsets

    if find_spec("mcp") is None:
        raise InvalidInput(NOT_INSTALLED)
    return agent(scope, read_only=read_only), toolsets(tools)


def speak(make: "Callable[[], Made]", most_bytes: Callable[[], int], caller: Caller, wanted: "Toolsets") -> None:
    """Speak with the agent; the store is made open when it is needed."""
    from recollect.server.mcp.stdio_transport import serve

    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    serve(make, most_bytes, caller, wanted)


def agent(scope: str | None, *, read_only: bool) -> Caller:
    """Whoever speaks over standard input: the owner's agent, who is believed no more than the owner's own words."""
    reach: Reach = WHOLE if scope is None else Scope.parse(scope)
    rights = frozenset({Right.READ}) if read_only else frozenset(Right)
    because = ONLY_READS if read_only else None
    return Caller(name=AGENT, grants=(Grant(rights, reach),), provenance=Provenance.DIRECT_USER, because=because)


def opened(engine: "AbstractContextManager[Engine]") -> "Made":
    """What answers for an engine, and what closes both."""
    from recollect.api.dispatcher import Front
    from recollect.api.host_policy import Gate
    from recollect.api.operation_runner import Service
    from recollect.server.health_monitor import watching
    from recollect.server.request_limits import configured

    limits, open = configured(), ExitStack()
    found = open.enter_context(engine)
    watch = watching(found)
    open.callback(watch.close)
    front = Front(Service(found), nobody, Gate(frozenset()), limits=limits, heard=watch.heard)
    open.callback(front.close)
    watch.notice()
    return front, open.close


def most_bytes() -> int:
    """How long a request may be, by the settings."""
    from recollect.server.request_limits import configured

    return configured().body_bytes


def nobody(_: str | None) -> Caller:
    """Nobody is let in by a key here: whoever started the process is the one who asks."""
    raise InvalidInput("there are no keys over standard input")
