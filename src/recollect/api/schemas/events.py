"""Answers with events, what was extracted from them, names and topics."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from recollect.api.schemas.base import AnswerSchema, Moment, ScopeText
from recollect.api.schemas.memories import Memory, Receipt
from recollect.model.conversation import Extraction, LlmUsage
from recollect.model.draft import Receipt as ReceiptValue
from recollect.model.timeline import EntityNeighbors

Extractions = Sequence[tuple[Sequence[ReceiptValue], Extraction]]
"""For each conversation, the receipts of its memories and the extraction itself."""


class Extract(Receipt):
    """What became of something that was understood, with the words it rests on."""

    quote: str
    turn: int


class Rejected(AnswerSchema):
    """What was not taken, and why."""

    text: str
    reason: str


class ExtractedMemories(AnswerSchema):
    """What conversations left behind, and what a model was asked for it."""

    sessions: int
    extracts: list[Extract]
    rejected: list[Rejected]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    cost: float | None

    @classmethod
    def read(cls, value: Extractions) -> dict[str, Any]:
        extractions = [extraction for _, extraction in value]
        usage = sum((one.usage for one in extractions), LlmUsage())
        return {
            "sessions": len(value),
            "extracts": [
                Extract.of(receipt, quote=extract.quote, turn=extract.turn)
                for receipts, extraction in value
                for receipt, extract in zip(receipts, extraction.extracts, strict=True)
            ],
            "rejected": [one for extraction in extractions for one in extraction.rejected],
            **asdict(usage),
            "cost": Extraction.total_cost(extractions),
        }


class Extracted(ExtractedMemories):
    """What a conversation left behind."""

    redacted: dict[str, int]


class Place(AnswerSchema):
    """A year, month, week, day, segment or grip."""

    level: str
    key: str
    title: str
    first: Moment
    last: Moment
    record: Memory | None


class Outlook(AnswerSchema):
    """A place in what happened, and what is below it."""

    place: Place | None
    parts: list[Place]
    grips: list[Place]


class Expansion(AnswerSchema):
    """The events that a grip or segment rests on, with those around them."""

    record: Memory
    before: list[Memory]
    events: list[Memory]
    after: list[Memory]
    gone: list[str]


class Entity(AnswerSchema):
    """A name, and how many memories mention it."""

    name: str
    memories: int


class Linked(AnswerSchema):
    """A memory, and the name that links it."""

    through: str
    memory: Memory


class Entities(AnswerSchema):
    """The names that the memories of a scope mention."""

    scope: ScopeText
    entities: list[Entity]


class Neighbours(AnswerSchema):
    """What is linked to a name or a memory."""

    name: str | None
    id: str | None
    entities: list[Entity]
    memories: list[Linked]

    @classmethod
    def read(cls, value: EntityNeighbors) -> dict[str, Any]:
        name, id = (value.of, None) if isinstance(value.of, str) else (None, value.of.id)
        return {**super().read(value), "name": name, "id": id}


class Topic(AnswerSchema):
    """What several memories are about together."""

    id: str
    scope: ScopeText
    label: str
    keywords: list[str]
    memories: list[str]
    created_at: Moment
    mentioned_at: Moment
    served: int
    importance: float
    pruned: bool


class Topics(AnswerSchema):
    """What the memories of a scope are about, the most important first."""

    scope: ScopeText
    topics: list[Topic]
