"""Answers with episodes, their outcomes and what they taught."""

from typing import Any

from pydantic import Field

from recollect.api.schemas.base import AnswerSchema, Moment, ScopeText
from recollect.api.schemas.memories import Receipt
from recollect.api.schemas.recall import Factor, Part, read_explanation


class Outcome(AnswerSchema):
    """How a task went, and what it taught."""

    score: float
    lessons: list[str]
    failure_modes: list[str]
    at: Moment


class Action(AnswerSchema):
    """What was done for a task."""

    id: str
    type: str
    input: str
    output: str
    result: str
    at: Moment
    context: str | None


class Episode(AnswerSchema):
    """A task, without what was done for it."""

    id: str
    scope: ScopeText
    task: str | None = Field(description="None to whoever may write and not read; nor are others' words told there.")
    plan: list[str]
    session: str | None
    started_at: Moment
    status: str
    pinned: bool
    finished: bool
    outcome: Outcome | None
    value: float | None
    contexts: list[str]


class WholeEpisode(Episode):
    """A task with what was done for it."""

    actions: list[Action]


class CompletedEpisode(WholeEpisode):
    """A task that has ended, with what became of all that it taught."""

    receipts: list[Receipt]
    run: int | None
    again: bool


class SimilarEpisode(Episode):
    """A task like the one at hand, with what gives its score."""

    score: float
    parts: list[Part]
    factors: list[Factor]

    @classmethod
    def read(cls, value: Any) -> dict[str, Any]:
        return {**super().read(value.episode), **read_explanation(value.explanation)}


class Episodes(AnswerSchema):
    """Tasks, the latest first."""

    scope: ScopeText
    episodes: list[Episode]


class SimilarEpisodes(AnswerSchema):
    """Tasks like the one at hand, the best first."""

    scope: ScopeText
    episodes: list[SimilarEpisode]


class FailureMode(AnswerSchema):
    """What went wrong with similar tasks, and in which."""

    text: str
    episodes: list[str]
    score: float
    parts: list[Part]
    factors: list[Factor]

    @classmethod
    def read(cls, value: Any) -> dict[str, Any]:
        return {**super().read(value), **read_explanation(value.explanation)}


class FailureModes(AnswerSchema):
    """What went wrong with similar tasks, the most similar task first."""

    scope: ScopeText
    failure_modes: list[FailureMode]
