"""Catalogue: every tool as data, so that the list of them is told before anything that answers is loaded."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from recollect.errors import FieldError, remedy, show
from recollect.service.access import Caller, Right

FILE = Path(__file__).with_name("tools.json")
"""Where `recollect.mcp.described` writes what the operations are; a test holds the two equal."""

CORE: Final = "core"
"""The toolset that every model is offered."""

Toolsets = frozenset[str]
"""The names of the toolsets that are offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tool: what is told of it, who is offered it, and the schemas of what it takes and gives.

    `no_texts` are the arguments that are never a text, whether the schema tells of them or not.
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

    def taken_from(self, caller: Caller) -> Mapping[str, Any]:
        """The schema of what it takes from a caller, who need not say a scope that goes without saying."""
        if self.whose is None or caller.scope is None:
            return self.input
        told = self.input["properties"][self.whose]
        scope = {**told, "description": f"{told['description']} If left out: {caller.scope}."}
        return {
            **self.input,
            "properties": {**self.input["properties"], self.whose: scope},
            "required": [name for name in self.input.get("required", ()) if name != self.whose],
        }


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
