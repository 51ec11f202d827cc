"""The entry point of the command line: starts agent commands fast and loads the rest on demand."""

import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from recollect.cli.hook import HOOK_EVENTS, run_hook_command, skip_hook

GLOBAL_OPTIONS: Final = ("--db", "--config", "--setting")
"""The options allowed before a command; each takes one value."""

HELP_FLAGS: Final = ("-h", "--help")


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    global_options, command = split_command(arguments)
    if not set(HELP_FLAGS) & set(arguments):
        match command:
            case ["hook", *rest]:
                run_hook_command(lambda: _load_agent_commands().resolve_target(global_options), rest)
            case ["mcp", *rest] if serve := _load_agent_commands().prepare_mcp(global_options, rest):
                serve()
                return
            case _ if is_misplaced_hook(arguments, command):
                allowed = ", ".join(GLOBAL_OPTIONS)
                skip_hook(f"the options before `hook` are wrong; only {allowed} are allowed, each with a value")
    import_module("recollect.cli.main").main()


def _load_agent_commands() -> Any:
    """Import the module of the commands that agents start; importing it takes time."""
    return import_module("recollect.cli.agent_commands")


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
    return has_hook and (not command or command[0] in HOOK_EVENTS)
