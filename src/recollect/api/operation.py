"""Operation: one thing that can be asked for from outside, the same through every face.

Unread: what is left of an answer for whoever may ask for it and not read, so that nobody reads by the way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from recollect.api.auth import Caller, Right
from recollect.engine.engine import Engine
from recollect.errors import Conflict, InvalidInput

Answer = Mapping[str, Any]
"""What is answered, in the one JSON shape."""


class OperationRequest(BaseModel):
    """What is asked for: checked for its types here, and for its meaning by the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    scope_field: ClassVar[str | None] = "scope"
    """The field that says whose memories it is about; none if it is about nobody's."""

    def to_arguments(self, *apart: str) -> dict[str, Any]:
        """Its fields by name, but for some."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in apart}


class AnswerSchema(BaseModel):
    """How an answer looks; answers are made by `render`, and tests hold them to this."""

    model_config = ConfigDict(extra="forbid")


class Effect(StrEnum):
    """What asking does to a store."""

    NONE = "none"
    """It only looks; what it hands over to be acted by is counted as served, and nothing else changes."""

    ADDS = "adds"
    """It adds, or changes in a way that can be taken back; what was there can still be had."""

    REMOVES = "removes"
    """Something may be gone for good."""


class Toolset(StrEnum):
    """Which models are offered an operation as a tool."""

    CORE = "core"
    """Every one: few tools, since what is told of them is in its context all the while."""

    EPISODES = "episodes"
    """One that learns from how its tasks went."""

    OBSERVATIONS = "observations"
    """One that works with the eight methods of seed 003."""

    OPERATOR = "operator"
    """One that looks after a store."""


R = TypeVar("R", bound=OperationRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[R]):
    """One thing that can be asked for: who may, what it takes and gives, and what it does.

    `repeatable` is whether the same once more does nothing more, but that it may be counted as said again. `about`
    teaches a model when to use it. `redact` is what is left of the answer for whoever may do this and not read.
    """

    name: str
    title: str
    about: str
    right: Right
    effect: Effect
    repeatable: bool
    request: type[R]
    answer: type[BaseModel]
    run: Callable[[Engine, R, Caller], Answer]
    toolset: Toolset
    redact: Callable[[Answer], Answer] | None = None

    @property
    def takes_key(self) -> bool:
        """Whether a key makes a retry of it harmless."""
        return self.effect is not Effect.NONE and "key" in self.request.model_fields

    def with_key(self, given: Mapping[str, Any], key: str | None, named: str) -> Mapping[str, Any]:
        """What is given, with the key that was sent beside it by that name, where one is taken and none is given."""
        if key is None or (self.repeatable and not self.takes_key):  # a retry does no harm anyway
            return given
        if not self.takes_key:
            raise InvalidInput(f"{named} is not taken by {self.name}, whose retry would be done again; leave it out")
        if given.get("key") not in (None, key):
            raise Conflict(f"{named} and the field 'key' say two things; send one of them")
        return {**given, "key": key}


REFUSED_VERDICT = "refused"
"""The verdict whose reason is about the draft alone; any other may quote what is known."""


def keep_own_words(answer: Answer) -> Answer:
    """All of it: it says nothing that the caller has not said."""
    return answer


def keep_names(answer: Answer) -> Answer:
    """All of it: it has the names of scopes and memories, and how many there are, and nothing that a memory says."""
    return answer


def redact_receipt(answer: Answer) -> Answer:
    """What became of a draft or a memory, and neither what the memory says nor why, which may quote another."""
    told = {**answer, "memory": None}
    return told if answer["verdict"] == REFUSED_VERDICT or "reason" not in answer else {**told, "reason": None}


def redact_receipts(answer: Answer) -> Answer:
    """The same of several."""
    return {**answer, "receipts": [redact_receipt(one) for one in answer["receipts"]]}


def redact_extracts(answer: Answer) -> Answer:
    """The same of what a conversation left behind."""
    return {**answer, "extracts": [redact_receipt(one) for one in answer["extracts"]]}


def redact_saved_observation(answer: Answer) -> Answer:
    """What became of an observation, but not why, which may quote another."""
    return answer if answer["outcome"] == REFUSED_VERDICT else {**answer, "reason": None}


def redact_feedback(answer: Answer) -> Answer:
    """What the caller said of a context, and not which memories the answer quotes: that would confirm a guess."""
    return {**answer, "quoted": []}


def redact_started_episode(answer: Answer) -> Answer:
    """The task, which is the caller's own word, and nothing of what others did for it until it was sent again."""
    return {**answer, "outcome": None, "value": None, "contexts": [], "actions": []}


def redact_recorded_action(answer: Answer) -> Answer:
    """Whether a task is under way, and nothing of what others said or did for it."""
    return {**answer, **_EMPTY_EPISODE, "outcome": None, "value": None}


def redact_completed_episode(answer: Answer) -> Answer:
    """How a task ended, which is the caller's own word, and nothing of what others said or did for it."""
    return {**redact_receipts(answer), **_EMPTY_EPISODE}


def redact_undo(answer: Answer) -> Answer:
    """That a run was undone, and by which; not the memories that it wrote."""
    return {**answer, "memories": []}


def redact_plan(answer: Answer) -> Answer:
    """What a job would do to which memories, and none of their words: nor why, which may quote them, nor the digests,
    which would confirm a guess.
    """
    plan = answer["plan"]
    if plan is None:  # it was done, and the runs name memories by their ids
        return answer
    steps = [{**step, "text": None, "reason": None, "state": None} for step in plan["steps"]]
    return {**answer, "plan": {**plan, "hash": None, "steps": steps}}


_EMPTY_EPISODE: Answer = {"task": None, "plan": [], "session": None, "contexts": [], "actions": []}
"""A task without what it is."""
