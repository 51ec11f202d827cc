"""The entry point of the command line: starts agent commands fast, loads the rest on demand."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from recollect.cli.hook_runner import HOOK_EVENTS, parse_plain_arguments, run_hook, warn_skipped

GLOBAL_OPTIONS: Final = ("--db", "--config", "--setting")
"""The options that may stand before a command; each takes one value."""

HELP_FLAGS: Final = ("-h", "--help")

Launcher = Callable[[], None]


def main() -> None:
    """Run the command line."""
    typed = sys.argv[1:]
    before, rest = split_command(typed)
    quick = None if not rest or set(HELP_FLAGS) & set(rest) else FAST_COMMANDS.get(rest[0])
    begin = None if quick is None else quick(before, rest[1:])
    if begin is None and is_misplaced_hook(typed, rest):
        begin = _warn_misplaced_hook
    if begin is None:
        begin = import_module("recollect.cli.main").main
    begin()


def split_command(typed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments into the global options, and the command with its arguments.

    The second list is empty if an unknown option, or one without its value, comes before the command.
    """
    before, rest = list[str](), list(typed)
    while rest and rest[0].startswith("-"):
        name, given, _ = rest[0].partition("=")
        taken = 1 if given else 2
        if name not in GLOBAL_OPTIONS or len(rest) < taken:
            return before, []
        before, rest = before + rest[:taken], rest[taken:]
    return before, rest


def is_misplaced_hook(typed: Sequence[str], rest: Sequence[str]) -> bool:
    """Return whether `hook` is meant but the options before it are wrong.

    Such a call is only warned about, so that it never blocks an agent's prompt.
    """
    meant = any(one == "hook" and event in HOOK_EVENTS for one, event in pairwise(typed))
    return meant and not set(HELP_FLAGS) & set(typed) and (not rest or rest[0] in HOOK_EVENTS)


def _warn_misplaced_hook() -> None:
    warn_skipped(
        f"the options before `hook` are wrong; only {', '.join(GLOBAL_OPTIONS)} are allowed, each with a value"
    )
    os._exit(0)


def _prepare_mcp(before: Sequence[str], typed: Sequence[str]) -> Launcher | None:
    begin: Launcher | None = _load_agent_commands().prepare_mcp(before, typed)
    return begin


def _prepare_hook(before: Sequence[str], typed: Sequence[str]) -> Launcher:
    """Return a function that answers the hook, whatever its arguments are."""
    asked = parse_plain_arguments(typed)
    if asked is None:
        asked = _load_agent_commands().parse_hook(typed)
    if asked is None:
        return partial(os._exit, 0)
    return partial(run_hook, lambda: _load_agent_commands().resolve_target(before), **asked)


def _load_agent_commands() -> Any:
    """Import the module that parses arbitrary arguments; importing it takes time."""
    return import_module("recollect.cli.agent_commands")


FAST_COMMANDS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Launcher | None]] = {
    "mcp": _prepare_mcp,
    "hook": _prepare_hook,
}
"""Commands that start before the others are loaded, each with the function that prepares it."""
