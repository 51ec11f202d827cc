"""The entry point of the command line: starts agent commands fast and loads the rest on demand."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from recollect.cli.hook_runner import HOOK_EVENTS, parse_plain_arguments, run_hook, warn_skipped

GLOBAL_OPTIONS: Final = ("--db", "--config", "--setting")
"""The options allowed before a command; each takes one value."""

HELP_FLAGS: Final = ("-h", "--help")

Launcher = Callable[[], None]


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    global_options, command = split_command(arguments)
    prepare = None if not command or set(HELP_FLAGS) & set(command) else FAST_COMMANDS.get(command[0])
    launch = None if prepare is None else prepare(global_options, command[1:])
    if launch is None and is_misplaced_hook(arguments, command):
        launch = _warn_misplaced_hook
    if launch is None:
        launch = import_module("recollect.cli.main").main
    launch()


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments into the global options, and the command with its arguments.

    The second list is empty if an unknown option, or one without its value, comes before the command.
    """
    global_options, command = list[str](), list(arguments)
    while command and command[0].startswith("-"):
        name, equals, _ = command[0].partition("=")
        words = 1 if equals else 2
        if name not in GLOBAL_OPTIONS or len(command) < words:
            return global_options, []
        global_options, command = global_options + command[:words], command[words:]
    return global_options, command


def is_misplaced_hook(arguments: Sequence[str], command: Sequence[str]) -> bool:
    """Return whether the command is `hook`, but the options before it are wrong.

    Such a call is only warned about, so that it never blocks an agent's prompt.
    """
    has_hook = any(word == "hook" and event in HOOK_EVENTS for word, event in pairwise(arguments))
    return has_hook and not set(HELP_FLAGS) & set(arguments) and (not command or command[0] in HOOK_EVENTS)


def _warn_misplaced_hook() -> None:
    warn_skipped(
        f"the options before `hook` are wrong; only {', '.join(GLOBAL_OPTIONS)} are allowed, each with a value"
    )
    os._exit(0)


def _prepare_mcp(global_options: Sequence[str], arguments: Sequence[str]) -> Launcher | None:
    launch: Launcher | None = _load_agent_commands().prepare_mcp(global_options, arguments)
    return launch


def _prepare_hook(global_options: Sequence[str], arguments: Sequence[str]) -> Launcher:
    """Return a function that answers the hook, whatever its arguments are."""
    options = parse_plain_arguments(arguments)
    if options is None:
        options = _load_agent_commands().parse_hook(arguments)
    if options is None:
        return partial(os._exit, 0)
    return partial(run_hook, lambda: _load_agent_commands().resolve_target(global_options), **options)


def _load_agent_commands() -> Any:
    """Import the module that parses arbitrary arguments; importing it takes time."""
    return import_module("recollect.cli.agent_commands")


FAST_COMMANDS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Launcher | None]] = {
    "mcp": _prepare_mcp,
    "hook": _prepare_hook,
}
"""Commands that start before the others are loaded, each with the function that prepares it."""
