"""Memory: one thing an agent knows, as it is shown to a reader."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from recollect.errors import FieldError, show
from recollect.model import limits

MemoryId = NewType("MemoryId", str)


class Kind(StrEnum):
    """The closed list of kinds of memory."""

    PROFILE = "profile"
    PREFERENCE = "preference"
    DECISION = "decision"
    PATTERN = "pattern"
    DISCOVERY = "discovery"
    SUMMARY = "summary"
    FACT = "fact"
    ENTITY = "entity"
    LEARNING = "learning"
    PROCEDURE = "procedure"
    CONSTRAINT = "constraint"
    DEFINITION = "definition"
    OBSERVATION = "observation"
    TASK = "task"
    CORRECTION = "correction"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a reader sees of a memory: its text, what kind it is, and when it was learned."""

    id: MemoryId
    text: str
    created_at: datetime
    kind: Kind = Kind.OBSERVATION
    title: str | None = None
    pinned: bool = False

    def __post_init__(self) -> None:
        limits.an_id("id", self.id)
        limits.a_text("text", self.text)
        limits.a_flag("pinned", self.pinned)
        if self.title is not None:
            limits.a_text("title", self.title)
        a_kind("kind", self.kind)
        object.__setattr__(self, "created_at", limits.a_moment("created_at", self.created_at))
        if not self.text.strip():
            raise FieldError(f"memory {self.id!r} has no text; a memory says something", field="text")


def a_kind(field: str, value: Kind) -> Kind:
    """The kind; refused if it is none, a text that names one among them."""
    if not isinstance(value, Kind):
        raise FieldError(f"{show(value)} is no kind; give one of recollect.Kind", field=field)
    return value
