"""The door of the command line: what an agent waits for begins at once, and the rest is loaded when it is needed."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from recollect.cli.hook_runner import EVENTS, answer, plain, say_aside

BEFORE: Final = ("--db", "--config", "--setting")
"""The options that stand before any command; each is given one thing."""

HELP: Final = frozenset({"-h", "--help"})

Begin = Callable[[], None]


def main() -> None:
    """Run the command line."""
    typed = sys.argv[1:]
    before, rest = split(typed)
    quick = None if not rest or HELP & set(rest) else QUICK.get(rest[0])
    begin = None if quick is None else quick(before, rest[1:])
    if begin is None and is_stray(typed, rest):
        begin = _stray
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


def is_stray(typed: Sequence[str], rest: Sequence[str]) -> bool:
    """Whether a hook is meant, but what stands before it is wrong: no agent is refused its prompt for that."""
    meant = any(one == "hook" and event in EVENTS for one, event in pairwise(typed))
    return meant and not HELP & set(typed) and (not rest or rest[0] in EVENTS)


def _stray() -> None:
    say_aside(f"what stands before `hook` is wrong; only {', '.join(BEFORE)} may, each with what it names")
    os._exit(0)


def _mcp(before: Sequence[str], typed: Sequence[str]) -> Begin | None:
    begin: Begin | None = _early().mcp(before, typed)
    return begin


def _hook(before: Sequence[str], typed: Sequence[str]) -> Begin:
    """What answers a hook, whatever is typed."""
    asked = plain(typed)
    if asked is None:
        asked = _early().hook(typed)
    if asked is None:
        return partial(os._exit, 0)
    return partial(answer, lambda: _early().place(before), **asked)


def _early() -> Any:
    """What reads more than the plainest call; it takes its time to load."""
    return import_module("recollect.cli.fast_start")


QUICK: Mapping[str, Callable[[Sequence[str], Sequence[str]], Begin | None]] = {
    "mcp": _mcp,
    "hook": _hook,
}
"""The commands that begin before the others are loaded: by their names, what each makes of what is typed."""
