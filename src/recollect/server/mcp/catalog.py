"""Catalogue: every tool as data, so that the list of them is told before anything that answers is loaded."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from recollect.api.auth import WHOLE_STORE, Caller, Right
from recollect.errors import FieldError, show, suggest

TOOLS_FILE = Path(__file__).with_name("tools.json")
"""Where `recollect.server.mcp.codegen` writes what the operations are; a test holds the two equal."""

CORE_TOOLSET: Final = "core"
"""The toolset that every model is offered."""

MAX_NAMED_SCOPES: Final = 8
"""How many scopes of a caller are told by name with every tool."""

SINGLE_SCOPE_HINT: Final = "a scope below is a memory of its own, and what is kept there is not recalled from above"
SUBTREE_HINT: Final = "the scopes below count too"
"""What is told of the scopes below to a caller who has only some, by whether a tool is about one or about all there."""

Toolsets = frozenset[str]
"""The names of the toolsets that are offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """One tool: what is told of it, who is offered it, and the schemas of what it takes and gives.

    `no_texts` are the arguments that are never a text, and `moments` those that are moments, as `at` or, of each in a
    list, `drafts.at`; whether the schema tells of them or not.
    """

    name: str
    title: str
    about: str
    toolset: str
    right: Right
    whose: str | None
    read_only: bool
    destructive: bool
    repeatable: bool
    input: Mapping[str, Any]
    output: Mapping[str, Any]
    no_texts: Collection[str]
    moments: Collection[str]

    def input_for(self, caller: Caller) -> Mapping[str, Any]:
        """The schema of what it takes from a caller, who is told of the scopes that are its own.

        One that goes without saying need not be said; where there are several, one of them has to be.
        """
        if self.whose is None or (told := describe_scope(caller, self.right)) is None:
            return self.input
        required = self.input.get("required", ())
        below = SINGLE_SCOPE_HINT if self.whose in required else SUBTREE_HINT
        others = [name for name in required if name != self.whose]
        field = {**self.input["properties"][self.whose], "description": f"{told}; {below}."}
        return {
            **self.input,
            "properties": {**self.input["properties"], self.whose: field},
            "required": others if caller.scope is not None else [*others, self.whose],
        }


def describe_scope(caller: Caller, right: Right) -> str | None:
    """What is told of the scope to a caller who has the right only in some; nothing to who has it everywhere."""
    if caller.scope is not None:
        return f"Leave it out: then it is {caller.scope}"
    reaches = dict.fromkeys(grant.reach for grant in caller.grants if right in grant.rights)
    if WHOLE_STORE in reaches:
        return None
    named = [str(reach) for reach in reaches]
    more = f" or one of {len(named) - MAX_NAMED_SCOPES} others" if len(named) > MAX_NAMED_SCOPES else ""
    return f"Whose memory: {', '.join(named[:MAX_NAMED_SCOPES])}{more}"


@cache
def _load_file() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(TOOLS_FILE.read_text(encoding="utf-8"))
    return found


@cache
def load_tools() -> Mapping[str, ToolEntry]:
    """Every tool by its name, in the order in which they are always listed."""
    return {one["name"]: ToolEntry(**{**one, "right": Right(one["right"])}) for one in _load_file()["tools"]}


def parse_toolsets(said: str) -> Toolsets:
    """The toolsets that are named, between commas."""
    known: Iterable[str] = _load_file()["toolsets"]
    wanted = [name.strip() for name in said.split(",")]
    for name in wanted:
        if name not in known:
            raise FieldError(f"{show(name)} is no toolset; {suggest(name, known)}", field="tools")
    return frozenset(wanted)


@cache
def select_tools(wanted: Toolsets) -> Mapping[str, ToolEntry]:
    """The tools of some toolsets, by name."""
    return {name: one for name, one in load_tools().items() if one.toolset in wanted}


def list_allowed_tools(wanted: Toolsets, caller: Caller) -> list[ToolEntry]:
    """The tools of some toolsets that the caller has the right to use anywhere."""
    rights = frozenset[Right]().union(*(grant.rights for grant in caller.grants))
    return [one for one in select_tools(wanted).values() if one.right in rights]
