"""Results: an answer or a problem as a tool tells it."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import CallToolResult, TextContent

from recollect.api.auth import Caller, Right
from recollect.api.problems import Problem
from recollect.model.format import RATED
from recollect.server.mcp import compact_results
from recollect.server.mcp.compact_results import Kept

READY: Final = frozenset({"recall", "brief"})
"""The tools whose answer has a text that is ready for a model."""


def told(name: str, answer: Mapping[str, Any], caller: Caller, kept: Kept | None) -> CallToolResult:
    """The answer as JSON, in short if it is told so, and as text: what a model can use at once where there is that,
    or else the same JSON.
    """
    fields = dict(answer) if kept is None else compact_results.told(kept, answer)
    texts = context_texts(answer, caller) if name in READY else [as_json(fields)]
    return CallToolResult(content=[TextContent(text=one) for one in texts], structured_content=fields)


def refused(problem: Problem) -> CallToolResult:
    """The problem, for a model to act on."""
    fields = problem.fields()
    return CallToolResult(content=[TextContent(text=as_json(fields))], structured_content=fields, is_error=True)


def context_texts(context: Mapping[str, Any], caller: Caller) -> list[str]:
    """What is recalled, and what to tell afterwards, if the caller can; a context without memories says why."""
    if not context["packed"]:
        return [compact_results.nothing(context)]
    if context["id"] is None or not caller.has(Right.WRITE):
        return [context["text"]]
    return [context["text"], f"{RATED}{context['id']}"]


def as_json(told: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(told, ensure_ascii=False)
