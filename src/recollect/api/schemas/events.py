"""How what happened looks, and what it left behind."""

from recollect.api.operation import AnswerSchema
from recollect.api.schemas.memories import Memory, Receipt


class Extract(Receipt):
    """What became of something that was understood, with the words it rests on."""

    quote: str
    turn: int


class Rejected(AnswerSchema):
    """What was not taken, and why."""

    text: str
    reason: str


class Extracted(AnswerSchema):
    """What a conversation left behind."""

    sessions: int
    extracts: list[Extract]
    rejected: list[Rejected]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    cost: float | None
    redacted: dict[str, int]


class Place(AnswerSchema):
    """A year, month, week, day, segment or grip."""

    level: str
    key: str
    title: str
    first: str
    last: str
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

    scope: str
    entities: list[Entity]


class Neighbours(AnswerSchema):
    """What is linked to a name or a memory."""

    name: str | None
    id: str | None
    entities: list[Entity]
    memories: list[Linked]


class Topic(AnswerSchema):
    """What several memories are about together."""

    id: str
    scope: str
    label: str
    keywords: list[str]
    memories: list[str]
    created_at: str
    mentioned_at: str
    served: int
    importance: float
    pruned: bool


class Topics(AnswerSchema):
    """What the memories of a scope are about, the most important first."""

    scope: str
    topics: list[Topic]
