"""Question: what is asked, as a text or as the last turns of a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import FieldError, show
from recollect.model import validation

MAX_TURNS = 3
"""How many turns of a conversation are asked about: the present one, and what it refers to."""

QueryTurn = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """The turns that are asked about, the last one latest."""

    turns: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.turns)


def parse_query(query: str | Sequence[QueryTurn]) -> Query:
    """The question, from a text or from turns: texts, or messages of a chat with a `text` or `content`.

    Of a message only its text is asked about; one that has none, such as a call of a tool, is no turn.
    """
    turns = [query] if isinstance(query, str) else _turn_texts(query)
    said = [validation.require_clean_text("query", turn) for turn in turns if turn.strip()]
    if not said:
        raise FieldError("is empty; ask something, or use `brief`, which needs no question", field="query")
    return Query(tuple(validation.require_content("query", turn) for turn in said[-MAX_TURNS:]))


def _turn_texts(query: Sequence[QueryTurn]) -> list[str]:
    if isinstance(query, bytes | Mapping) or not isinstance(query, Sequence):
        raise FieldError(f"{show(query)} is neither a text nor a list of turns", field="query")
    return [turn if isinstance(turn, str) else _message_text(turn) for turn in query]


def _message_text(turn: Any) -> str:
    """What a message says; nothing if it has no text."""
    if not isinstance(turn, Mapping):
        raise FieldError(f"{show(turn)} is no turn; give a text, or a mapping with `content`", field="query")
    if not any(name in turn for name in ("text", "content", "role", "type")):
        raise FieldError(f"{show(turn)} has neither `text` nor `content`", field="query")
    content = turn.get("content") if turn.get("text") is None else turn["text"]
    match content:
        case None:
            return ""
        case list() | tuple():
            return "\n".join(text for part in content if (text := _part_text(part)))
        case _:
            return validation.require_text("query", content)


def _part_text(part: Any) -> str:
    """The text of a part of a message; nothing if it is something else, such as an image."""
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""
