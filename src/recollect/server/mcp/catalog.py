"""The catalog of MCP tools as data, and the short forms of their answers.

The catalog is read from a file, so that tools are listed before the operations are loaded. Answers are shortened by
default, to spare the context of the model.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from recollect.api.auth import WHOLE_STORE, Caller, Right
from recollect.errors import FieldError, show, suggest
from recollect.model.format import format_count

TOOLS_FILE = Path(__file__).with_name("tools.json")
"""Written by `scripts/mcp_tools.py` from the operations; a test compares the two."""

MAX_NAMED_SCOPES: Final = 8
"""Maximum number of a caller's scopes that are named in each tool."""

SINGLE_SCOPE_HINT: Final = "a scope below is a memory of its own, and what is kept there is not recalled from above"
SUBTREE_HINT: Final = "the scopes below count too"
"""Hints on the scopes below, for tools about one scope and for tools about all below it."""

Toolsets = frozenset[str]
"""The names of the offered toolsets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """One tool: its description, the right it needs, and its schemas.

    `no_texts` are arguments that are never a string. `moments` are arguments that are timestamps: `at` or, for items of
    a list, `drafts.at`. Both include arguments that the schema hides.
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
        """Return the input schema for a caller, with the caller's scopes named.

        A caller with one scope may leave it out; a caller with several must name one.
        """
        if self.whose is None or (scope_hint := describe_scope(caller, self.right)) is None:
            return self.input
        required = self.input.get("required", ())
        below = SINGLE_SCOPE_HINT if self.whose in required else SUBTREE_HINT
        others = [name for name in required if name != self.whose]
        field = {**self.input["properties"][self.whose], "description": f"{scope_hint}; {below}."}
        return {
            **self.input,
            "properties": {**self.input["properties"], self.whose: field},
            "required": others if caller.scope is not None else [*others, self.whose],
        }


def describe_scope(caller: Caller, right: Right) -> str | None:
    """Return which scopes the caller may name; None if it has the right everywhere."""
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
    content: Mapping[str, Any] = json.loads(TOOLS_FILE.read_text(encoding="utf-8"))
    return content


@cache
def load_tools() -> Mapping[str, ToolEntry]:
    """Return all tools by name, in the order in which they are listed."""
    return {one["name"]: ToolEntry(**{**one, "right": Right(one["right"])}) for one in _load_file()["tools"]}


def parse_toolsets(text: str) -> Toolsets:
    """Return the toolsets in a comma-separated list; raise FieldError if one is unknown."""
    known: Iterable[str] = _load_file()["toolsets"]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise FieldError(f"unknown toolset {show(name)}; {suggest(name, known)}", field="tools")
    return frozenset(names)


@cache
def select_tools(toolsets: Toolsets) -> Mapping[str, ToolEntry]:
    """Return the tools of the toolsets, by name."""
    return {name: one for name, one in load_tools().items() if one.toolset in toolsets}


def list_allowed_tools(toolsets: Toolsets, caller: Caller) -> list[ToolEntry]:
    """Return the tools of the toolsets that the caller may use in at least one scope."""
    rights = frozenset[Right]().union(*(grant.rights for grant in caller.grants))
    return [one for one in select_tools(toolsets).values() if one.right in rights]


EXPLAIN_ARGUMENT: Final = "explain"
"""The argument with which a model requests the full answer."""

LEFT_OUT_FIELD: Final = "left_out"
"""The field that counts the memories left out, by reason."""

FieldSelection = Mapping[str, "FieldSelection | None"]
"""The fields of an answer that are kept; below a field, the fields kept of its value."""


def _select(*fields: str, **below: FieldSelection) -> FieldSelection:
    return {**dict.fromkeys(fields), **below}


_CONTEXT = _select(
    *("id", "text", "tokens", "budget", "exact"),
    packed=_select("id", "scope", "kind", "score"),  # the text has the rest
)
_RECEIPT = _select(
    *("id", "verdict", "reason", "redacted", "other", "old", "newer", "was", "twin", "instead_of", "to", "revision")
)
_EPISODE = _select("id", "finished")

COMPACT_FIELDS: Mapping[str, FieldSelection] = {
    "recall": _CONTEXT,
    "brief": _CONTEXT,
    "search": _select(
        "exact",
        results=_select(
            *("id", "scope", "text", "kind", "title", "tags", "speaker", "subject", "topic_key", "pinned"),
            *("created_at", "updated_at", "valid_from", "valid_until", "trust", "status", "superseded_by", "score"),
        ),
    ),
    **dict.fromkeys(("remember", "revise", "forget", "restore", "pin", "unpin"), _RECEIPT),
    **dict.fromkeys(("remember_all", "observe"), _select(receipts=_RECEIPT)),
    "extract": _select("rejected", "redacted", extracts=_select(*_RECEIPT, "quote", "turn")),
    "start_episode": _EPISODE,
    "record_action": _EPISODE,
    "complete_episode": _select(*_EPISODE, "run", "again", receipts=_RECEIPT),
    "get_similar_episodes": _select(
        episodes=_select("id", "scope", "task", "plan", "started_at", "finished", "outcome", "value", "score")
    ),
    "get_failure_modes": _select(failure_modes=_select("text", "episodes", "score")),
}
"""The fields kept in the short answer of each tool that has one."""


def compact_answer(selection: FieldSelection, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the short answer, with counts of what was left out by reason.

    A context without memories says why in its text: many models see nothing else.
    """
    compact = {
        name: _keep_fields(answer[name], below) for name, below in selection.items() if answer.get(name) is not None
    }
    if answer.get("packed") == []:
        compact["text"] = explain_empty_context(answer)
    if "excluded" not in answer:
        return compact
    left_out = Counter(one["reason"] for one in answer.get("omitted", ()))
    left_out.update(answer["excluded"])
    return {**compact, LEFT_OUT_FIELD: dict(left_out)}


def explain_empty_context(context: Mapping[str, Any]) -> str:
    """Return why a context has no memories, and which budget would fit the smallest one."""
    omitted, budget = context["omitted"], context["budget"]
    if not omitted:
        return "Nothing is remembered that would help here."
    would = f"{format_count(len(omitted), 'memory', 'memories')} would help here"
    needed = budget + min(one["short"] for one in omitted)
    return f"{would}, and none fits into {budget} tokens; ask again with {needed} or more."


def _keep_fields(value: Any, selection: FieldSelection | None) -> Any:
    """Return the selected fields of a value, or of each item of a list."""
    if selection is None:
        return value
    if isinstance(value, list):
        return [_keep_fields(one, selection) for one in value]
    return {
        name: _keep_fields(value[name], below) for name, below in selection.items() if is_informative(value.get(name))
    }


def is_informative(value: object) -> bool:
    """Return whether the field of an item is worth keeping: not null, empty or false."""
    return value is not None and value is not False and value not in ([], {})


def split_explain(name: str, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], FieldSelection | None]:
    """Return the arguments without `explain`, and the fields to keep; None for all fields."""
    selection = COMPACT_FIELDS.get(name)
    if selection is None or EXPLAIN_ARGUMENT not in arguments:
        return arguments, selection
    if not isinstance(explain := arguments[EXPLAIN_ARGUMENT], bool):
        raise FieldError(f"{show(explain)} is not valid: input should be a valid boolean", field=EXPLAIN_ARGUMENT)
    return {key: value for key, value in arguments.items() if key != EXPLAIN_ARGUMENT}, None if explain else selection
