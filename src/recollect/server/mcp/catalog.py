"""Catalogue: every tool as data, so that the list of them is told before anything that answers is loaded."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from recollect.api.auth import WHOLE, Caller, Right
from recollect.errors import FieldError, remedy, show

FILE = Path(__file__).with_name("tools.json")
"""Where `recollect.server.mcp.codegen` writes what the operations are; a test holds the two equal."""

CORE: Final = "core"
"""The toolset that every model is offered."""

MOST_NAMED: Final = 8
"""How many scopes of a caller are told by name with every tool."""

APART: Final = "a scope below is a memory of its own, and what is kept there is not recalled from above"
TOGETHER: Final = "the scopes below count too"
"""What is told of the scopes below to a caller who has only some, by whether a tool is about one or about all there."""

Toolsets = frozenset[str]
"""The names of the toolsets that are offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
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

    def taken_from(self, caller: Caller) -> Mapping[str, Any]:
        """The schema of what it takes from a caller, who is told of the scopes that are its own.

        One that goes without saying need not be said; where there are several, one of them has to be.
        """
        if self.whose is None or (told := whose(caller, self.right)) is None:
            return self.input
        required = self.input.get("required", ())
        below = APART if self.whose in required else TOGETHER
        others = [name for name in required if name != self.whose]
        field = {**self.input["properties"][self.whose], "description": f"{told}; {below}."}
        return {
            **self.input,
            "properties": {**self.input["properties"], self.whose: field},
            "required": others if caller.scope is not None else [*others, self.whose],
        }


def whose(caller: Caller, right: Right) -> str | None:
    """What is told of the scope to a caller who has the right only in some; nothing to who has it everywhere."""
    if caller.scope is not None:
        return f"Leave it out: then it is {caller.scope}"
    reaches = dict.fromkeys(grant.reach for grant in caller.grants if right in grant.rights)
    if WHOLE in reaches:
        return None
    named = [str(reach) for reach in reaches]
    more = f" or one of {len(named) - MOST_NAMED} others" if len(named) > MOST_NAMED else ""
    return f"Whose memory: {', '.join(named[:MOST_NAMED])}{more}"


@cache
def _read() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@cache
def entries() -> Mapping[str, Entry]:
    """Every tool by its name, in the order in which they are always listed."""
    return {one["name"]: Entry(**{**one, "right": Right(one["right"])}) for one in _read()["tools"]}


def toolsets(said: str) -> Toolsets:
    """The toolsets that are named, between commas."""
    known: Iterable[str] = _read()["toolsets"]
    wanted = [name.strip() for name in said.split(",")]
    for name in wanted:
        if name not in known:
            raise FieldError(f"{show(name)} is no toolset; {remedy(name, known)}", field="tools")
    return frozenset(wanted)


@cache
def in_toolsets(wanted: Toolsets) -> Mapping[str, Entry]:
    """The tools of some toolsets, by name."""
    return {name: one for name, one in entries().items() if one.toolset in wanted}


def offered(wanted: Toolsets, caller: Caller) -> list[Entry]:
    """The tools of some toolsets that the caller has the right to use anywhere."""
    rights = frozenset[Right]().union(*(grant.rights for grant in caller.grants))
    return [one for one in in_toolsets(wanted).values() if one.right in rights]
