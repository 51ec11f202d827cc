"""Results: an answer or a problem as a tool tells it."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import CallToolResult, TextContent

from recollect.api.auth import Caller, Right
from recollect.api.problems import Problem
from recollect.model.format import FEEDBACK_PREFIX
from recollect.server.mcp import compact_results
from recollect.server.mcp.compact_results import FieldSelection

TEXT_TOOLS: Final = frozenset({"recall", "brief"})
"""The tools whose answer has a text that is ready for a model."""


def tool_result(name: str, answer: Mapping[str, Any], caller: Caller, kept: FieldSelection | None) -> CallToolResult:
    """The answer as JSON, in short if it is told so, and as text: what a model can use at once where there is that,
    or else the same JSON.
    """
    fields = dict(answer) if kept is None else compact_results.compact_answer(kept, answer)
    texts = render_context(answer, caller) if name in TEXT_TOOLS else [to_json_line(fields)]
    return CallToolResult(content=[TextContent(text=one) for one in texts], structured_content=fields)


def tool_error(problem: Problem) -> CallToolResult:
    """The problem, for a model to act on."""
    fields = problem.fields()
    return CallToolResult(content=[TextContent(text=to_json_line(fields))], structured_content=fields, is_error=True)


def render_context(context: Mapping[str, Any], caller: Caller) -> list[str]:
    """What is recalled, and what to tell afterwards, if the caller can; a context without memories says why."""
    if not context["packed"]:
        return [compact_results.explain_empty_context(context)]
    if context["id"] is None or not caller.has_right_anywhere(Right.WRITE):
        return [context["text"]]
    return [context["text"], f"{FEEDBACK_PREFIX}{context['id']}"]


def to_json_line(told: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(told, ensure_ascii=False)
