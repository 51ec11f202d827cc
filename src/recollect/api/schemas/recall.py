"""Answers to questions: rankings, contexts, explanations and replays."""

from typing import Any, assert_never

from pydantic import Field

from recollect.api.schemas.base import AnswerSchema, Moment, ScopeText
from recollect.api.schemas.memories import Memory
from recollect.packing import pack
from recollect.ranking import result, why
from recollect.ranking.explanation import Explanation, ScoreFactor
from recollect.ranking.result import Scored


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

    @classmethod
    def read(cls, value: ScoreFactor) -> dict[str, Any]:
        return {**super().read(value), "name": value.factor}


def read_explanation(explanation: Explanation) -> dict[str, Any]:
    """Return the score of an explanation, and the parts and factors that give it."""
    return {"score": explanation.score, "parts": explanation.parts, "factors": explanation.scales}


class Found(Memory):
    """A memory with its score, and the parts and factors that give it."""

    score: float
    parts: list[Part]
    factors: list[Factor]

    @classmethod
    def read(cls, value: Scored) -> dict[str, Any]:
        return {**super().read(value.memory), **read_explanation(value.explanation)}


class ScoredCandidate(AnswerSchema):
    """A candidate with its score, and the parts and factors that give it; it may have no memory."""

    id: str
    kind: str | None
    score: float
    parts: list[Part]
    factors: list[Factor]

    @classmethod
    def read(cls, value: Scored) -> dict[str, Any]:
        return {"id": value.id, "kind": value.candidate.kind, **read_explanation(value.explanation)}


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
    at: Moment
    exact: bool
    proof: Proof
    excluded: dict[str, int] = Field(description="How many memories were not ranked, by reason.")
    results: list[Found]

    @classmethod
    def read(cls, value: result.Ranking) -> dict[str, Any]:
        return {**super().read(value), "results": value.scored}


class CandidateRanking(Ranking):
    """The same of candidates that may have no memory."""

    results: list[ScoredCandidate]  # type: ignore[assignment]


class Omitted(AnswerSchema):
    """What was considered and left out, and why."""

    id: str
    kind: str
    score: float
    reason: str
    cost: int
    room: int
    short: int

    @classmethod
    def read(cls, value: pack.Omitted) -> dict[str, Any]:
        return {
            "id": value.scored.id,
            "kind": value.scored.memory.kind,
            "score": value.scored.score,
            "reason": value.reason,
            "cost": value.cost,
            "room": value.room,
            "short": value.short,
        }


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
    at: Moment
    exact: bool
    proof: Proof
    excluded: dict[str, int]
    packed: list[Found]
    omitted: list[Omitted]

    @classmethod
    def read(cls, value: pack.Context) -> dict[str, Any]:
        return {**super().read(value.ranking), **super().read(value), "budget": value.budget.tokens}


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

    @classmethod
    def read(cls, value: why.Why) -> dict[str, Any]:
        return {**super().read(value), "fate": _read_fate(value), **read_explanation(value.explanation)}


def _read_fate(reason: why.Why) -> dict[str, Any]:
    """Return the step at which a memory stands or fell, with the figures of that step."""
    match reason.fate:
        case why.Barred(barrier, status):
            details = {"barrier": barrier.value, "status": status.value, "superseded_by": reason.superseded_by}
            return {"step": "eligibility", **details}
        case why.Gated(signal, value, at_least, otherwise):
            return {"step": "gate", "signal": signal, "value": value, "at_least": at_least, "or": dict(otherwise)}
        case why.BelowMinimum(min_score):
            return {"step": "min_score", "min_score": min_score}
        case why.Outranked(place, limit):
            return {"step": "limit", "place": place, "limit": limit}
        case why.Unpacked(cause, cost, room, budget, smallest):
            needed = {"budget": budget, "smallest": smallest}
            return {"step": "pack", "reason": cause, "cost": cost, "room": room, **needed}
        case why.Ranked(place):
            return {"step": "ranked", "place": place}
        case _ as unknown:
            assert_never(unknown)


class Noted(AnswerSchema):
    """What was said of a context, and which of its memories the answer quotes."""

    context: str
    scope: ScopeText
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

    @classmethod
    def read(cls, value: pack.Replay) -> dict[str, Any]:  # type: ignore[override]
        return {**super().read(value.context), "identical": value.identical, "differences": value.differences}
