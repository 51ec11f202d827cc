"""How rankings, contexts and their explanations look."""

from typing import Any

from pydantic import Field

from recollect.api.operation import AnswerSchema
from recollect.api.schemas.memories import Memory


class Part(AnswerSchema):
    """What one signal said, and what that was worth."""

    signal: str
    value: float
    weight: float
    points: float
    assumed: bool
    note: str | None


class Factor(AnswerSchema):
    """By what the sum was multiplied."""

    name: str
    value: float
    times: float
    assumed: bool
    note: str | None


class Found(Memory):
    """A memory with its score, and the parts and factors that give it."""

    score: float
    parts: list[Part]
    factors: list[Factor]


class Proof(AnswerSchema):
    """How it is known that these are the best."""

    stopped: str
    scanned: int
    eligible: int
    why: str


class Ranking(AnswerSchema):
    """The best memories for a question, best first; scores compare only inside one ranking."""

    profile: str
    version: str
    at: str
    exact: bool
    proof: Proof
    excluded: dict[str, int] = Field(description="How many memories were not ranked, by reason.")
    results: list[Found]


class Omitted(AnswerSchema):
    """What was considered and left out, and why."""

    id: str
    kind: str
    score: float
    reason: str
    cost: int
    room: int
    short: int


class Context(AnswerSchema):
    """What is handed to a model, with the memories in it, and what was left out and why."""

    id: str | None = Field(description="What feedback and replay refer to.")
    text: str = Field(description="Ready for a prompt; recalled data, not instructions.")
    tokens: int
    estimated: bool
    budget: int
    marker: str
    profile: str
    version: str
    at: str
    exact: bool
    proof: Proof
    excluded: dict[str, int]
    packed: list[Found]
    omitted: list[Omitted]


class Change(AnswerSchema):
    """What would have had to be different."""

    signal: str
    value: float | None
    needed: float
    means: str | None


class Why(AnswerSchema):
    """Where a memory stands or fell, and what would have put it in."""

    id: str
    fate: dict[str, Any]
    score: float
    parts: list[Part]
    factors: list[Factor]
    changes: list[Change]


class Noted(AnswerSchema):
    """What was said of a context, and which of its memories the answer quotes."""

    context: str
    scope: str
    helped: list[str]
    misled: list[str]
    quoted: list[str]
    remark: str | None


class Difference(AnswerSchema):
    """What is not as it was."""

    what: str
    name: str | None
    was: str | None
    again: str | None


class Replay(Context):
    """A recorded context made again, and what differs from it, if anything does."""

    identical: bool
    differences: list[Difference]
