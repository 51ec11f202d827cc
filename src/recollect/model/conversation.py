"""Conversation: turns that were said."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.model import validation
from recollect.model.memory import MemoryId, require_choice
from recollect.model.trust import Provenance


class Role(StrEnum):
    """In which part somebody speaks in a conversation with a model."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


PROVENANCE_BY_ROLE: Mapping[Role, Provenance] = {
    Role.USER: Provenance.DIRECT_USER,
    Role.ASSISTANT: Provenance.MODEL_INFERENCE,
    Role.SYSTEM: Provenance.MODEL_INFERENCE,
    Role.TOOL: Provenance.TOOL_EXTERNAL,
}
"""Through whom words of the conversation came, by the part of who said them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """One turn of a conversation: what was said, by whom, when, and in which session; `id` if a memory keeps it."""

    text: str
    role: Role = Role.USER
    speaker: str | None = None
    at: datetime | None = None
    session: str | None = None
    id: MemoryId | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        require_choice("role", self.role, Role)
        for name in ("speaker", "session", "id"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.require_id(name, getattr(self, name)))
        if self.at is not None:
            object.__setattr__(self, "at", validation.require_moment("at", self.at))
