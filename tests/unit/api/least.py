"""The least that each operation can be asked with."""

from typing import Any

from recollect.api.operations import OPERATIONS

VALUES: dict[str, Any] = {
    **dict.fromkeys(("text", "id", "query", "context_id", "name_or_id", "task", "type"), "x"),
    **dict.fromkeys(("content", "title", "summary", "observation_id"), "x"),
    **dict.fromkeys(("scope", "user_id"), "acme"),
    "outcome": 0.5,
    "job": "consolidate",
    "run": 1,
    "source": "x",
    **{key: [{"content": "x"}] for key in ("events", "turns")},
    "drafts": [{"text": "x"}],
}
ALSO = {"recall": "query", "search": "query", "why": "query", "erase": "source"}
"""What is needed though no field alone is."""


def least(name: str) -> dict[str, Any]:
    """As little as an operation can be asked with."""
    needed = [one for one, field in OPERATIONS[name].request.model_fields.items() if field.is_required()]
    found = {one: VALUES[one] for one in (*needed, *filter(None, [ALSO.get(name)]))}
    return {**found, "type": "fact"} if name == "mem_save" else found
