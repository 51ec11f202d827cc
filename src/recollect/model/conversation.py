"""Conversation: turns that were said, and what was understood from them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.errors import FieldError, show
from recollect.model import limits
from recollect.model.memory import Kind, MemoryId, a_choice, a_kind


class Role(StrEnum):
    """In which part somebody speaks in a conversation with a model."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn of a conversation: what was said, by whom, when, and in which session; `id` if a memory keeps it."""

    text: str
    role: Role = Role.USER
    speaker: str | None = None
    at: datetime | None = None
    session: str | None = None
    id: MemoryId | None = None

    def __post_init__(self) -> None:
        limits.a_content("text", self.text)
        a_choice("role", self.role, Role)
        for name in ("speaker", "session", "id"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, limits.an_id(name, getattr(self, name)))
        if self.at is not None:
            object.__setattr__(self, "at", limits.a_moment("at", self.at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What was understood from a turn: a memory to be, with the words it rests on.

    `turn` is the place of the turn in the conversation, from 0 on, and `quote` occurs in it, word for word. `subject`
    is what it is about, where only one thing of that can be true at a time.
    """

    text: str
    kind: Kind
    quote: str
    turn: int
    importance: float | None = None
    confidence: float | None = None
    subject: str | None = None

    def __post_init__(self) -> None:
        limits.a_content("text", self.text)
        limits.a_content("quote", self.quote)
        a_kind("kind", self.kind)
        for name in ("importance", "confidence"):
            if getattr(self, name) is not None:
                limits.a_share(name, getattr(self, name))
        if type(self.turn) is not int or self.turn < 0:
            raise FieldError(f"{show(self.turn)} is no place of a turn", field="turn")
