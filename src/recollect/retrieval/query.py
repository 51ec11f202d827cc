"""Question: what is asked, as a text or as the last turns of a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import FieldError, show
from recollect.model import validation

LAST_TURNS = 3
"""How many turns of a conversation are asked about: the present one, and what it refers to."""

Turn = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """The turns that are asked about, the last one latest."""

    turns: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.turns)


def read_question(query: str | Sequence[Turn]) -> Question:
    """The question, from a text or from turns: texts, or messages of a chat with a `text` or `content`.

    Of a message only its text is asked about; one that has none, such as a call of a tool, is no turn.
    """
    turns = [query] if isinstance(query, str) else _turns(query)
    said = [validation.a_clean_text("query", turn) for turn in turns if turn.strip()]
    if not said:
        raise FieldError("is empty; ask something, or use `brief`, which needs no question", field="query")
    return Question(tuple(validation.a_content("query", turn) for turn in said[-LAST_TURNS:]))


def _turns(query: Sequence[Turn]) -> list[str]:
    if isinstance(query, bytes | Mapping) or not isinstance(query, Sequence):
        raise FieldError(f"{show(query)} is neither a text nor a list of turns", field="query")
    return [turn if isinstance(turn, str) else _said(turn) for turn in query]


def _said(turn: Any) -> str:
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
            return "\n".join(text for part in content if (text := _text_of(part)))
        case _:
            return validation.a_text("query", content)


def _text_of(part: Any) -> str:
    """The text of a part of a message; nothing if it is something else, such as an image."""
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""
