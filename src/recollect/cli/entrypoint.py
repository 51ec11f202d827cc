"""The door of the command line: what an agent waits for begins at once, and the rest is loaded when it is needed."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from recollect.cli.hook_runner import HOOK_EVENTS, parse_plain_arguments, run_hook, warn_skipped

GLOBAL_OPTIONS: Final = ("--db", "--config", "--setting")
"""The options that stand before any command; each is given one thing."""

HELP_FLAGS: Final = frozenset({"-h", "--help"})

Launcher = Callable[[], None]


def main() -> None:
    """Run the command line."""
    typed = sys.argv[1:]
    before, rest = split_command(typed)
    quick = None if not rest or HELP_FLAGS & set(rest) else FAST_COMMANDS.get(rest[0])
    begin = None if quick is None else quick(before, rest[1:])
    if begin is None and is_misplaced_hook(typed, rest):
        begin = _warn_misplaced_hook
    if begin is None:
        begin = import_module("recollect.cli.main").main
    begin()


def split_command(typed: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before the command, and the command with all behind it; nothing behind what nobody knows."""
    before, rest = list[str](), list(typed)
    while rest and rest[0].startswith("-"):
        name, given, _ = rest[0].partition("=")
        taken = 1 if given else 2
        if name not in GLOBAL_OPTIONS or len(rest) < taken:
            return before, []
        before, rest = before + rest[:taken], rest[taken:]
    return before, rest


def is_misplaced_hook(typed: Sequence[str], rest: Sequence[str]) -> bool:
    """Whether a hook is meant, but what stands before it is wrong: no agent is refused its prompt for that."""
    meant = any(one == "hook" and event in HOOK_EVENTS for one, event in pairwise(typed))
    return meant and not HELP_FLAGS & set(typed) and (not rest or rest[0] in HOOK_EVENTS)


def _warn_misplaced_hook() -> None:
    warn_skipped(f"what stands before `hook` is wrong; only {', '.join(GLOBAL_OPTIONS)} may, each with what it names")
    os._exit(0)


def _prepare_mcp(before: Sequence[str], typed: Sequence[str]) -> Launcher | None:
    begin: Launcher | None = _load_agent_commands().prepare_mcp(before, typed)
    return begin


def _prepare_hook(before: Sequence[str], typed: Sequence[str]) -> Launcher:
    """What answers a hook, whatever is typed."""
    asked = parse_plain_arguments(typed)
    if asked is None:
        asked = _load_agent_commands().parse_hook(typed)
    if asked is None:
        return partial(os._exit, 0)
    return partial(run_hook, lambda: _load_agent_commands().resolve_target(before), **asked)


def _load_agent_commands() -> Any:
    """What reads more than the plainest call; it takes its time to load."""
    return import_module("recollect.cli.agent_commands")


FAST_COMMANDS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Launcher | None]] = {
    "mcp": _prepare_mcp,
    "hook": _prepare_hook,
}
"""The commands that begin before the others are loaded: by their names, what each makes of what is typed."""
