"""Short: what a model is told of an answer, unless it wants all of it; its context is what we are to spare."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from recollect.errors import FieldError, show
from recollect.model.format import format_count

EXPLAIN_ARGUMENT: Final = "explain"
"""The argument by which a model asks for all that is known of an answer."""

LEFT_OUT_FIELD: Final = "left_out"
"""What is told in place of each memory that was left out."""

FieldSelection = Mapping[str, "FieldSelection | None"]
"""The fields of an answer that are told; of one that has others below it, those of them that are."""


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
"""What is told of the answer of each tool that is told in short."""


def compact_answer(kept: FieldSelection, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer in short; of what was left out of it, how much by reason.

    A context without memories says why in its text: many a model sees nothing else.
    """
    few = {name: _keep_fields(answer[name], below) for name, below in kept.items() if answer.get(name) is not None}
    if answer.get("packed") == []:
        few["text"] = explain_empty_context(answer)
    if "excluded" not in answer:
        return few
    left_out = Counter(one["reason"] for one in answer.get("omitted", ()))
    left_out.update(answer["excluded"])
    return {**few, LEFT_OUT_FIELD: dict(left_out)}


def explain_empty_context(context: Mapping[str, Any]) -> str:
    """Why a context has no memories, and how many tokens the least of those would take that are left out of it."""
    omitted, budget = context["omitted"], context["budget"]
    if not omitted:
        return "Nothing is remembered that would help here."
    would = f"{format_count(len(omitted), 'memory', 'memories')} would help here"
    needed = budget + min(one["short"] for one in omitted)
    return f"{would}, and none fits into {budget} tokens; ask again with {needed} or more."


def _keep_fields(value: Any, kept: FieldSelection | None) -> Any:
    """What is kept of a value, or of each in a list."""
    if kept is None:
        return value
    if isinstance(value, list):
        return [_keep_fields(one, kept) for one in value]
    return {name: _keep_fields(value[name], below) for name, below in kept.items() if is_informative(value.get(name))}


def is_informative(value: object) -> bool:
    """Whether a field of one of several is worth a word: null, empty and false are not."""
    return value is not None and value is not False and value not in ([], {})


def split_explain(name: str, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], FieldSelection | None]:
    """What is given to a tool apart from how much is to be told, and what is told in short, if it is."""
    kept = COMPACT_FIELDS.get(name)
    if kept is None or EXPLAIN_ARGUMENT not in given:
        return given, kept
    if not isinstance(explain := given[EXPLAIN_ARGUMENT], bool):
        raise FieldError(f"{show(explain)} does not fit: input should be a valid boolean", field=EXPLAIN_ARGUMENT)
    return {key: value for key, value in given.items() if key != EXPLAIN_ARGUMENT}, None if explain else kept
