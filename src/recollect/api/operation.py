"""The Operation type, base classes of requests and answers, and redaction of answers.

An operation is the same on every transport. The redaction functions remove stored text from the answer for callers who
may run an operation but not read memories.
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
"""An answer in the one JSON shape that all transports share."""


class OperationRequest(BaseModel):
    """What is asked for: checked for its types here, and for its meaning by the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    scope_field: ClassVar[str | None] = "scope"
    """The field with the scope; None if the operation is not about a scope."""

    def to_arguments(self, *apart: str) -> dict[str, Any]:
        """Return the fields by name, except those in `apart`."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in apart}


class AnswerSchema(BaseModel):
    """How an answer looks; answers are made by `render`, and tests hold them to this."""

    model_config = ConfigDict(extra="forbid")


class Effect(StrEnum):
    """What an operation does to the store."""

    NONE = "none"
    """Only reads; memories that are returned for use count as served, nothing else changes."""

    ADDS = "adds"
    """Adds or changes something; the change can be undone, and earlier versions are kept."""

    REMOVES = "removes"
    """May delete something for good."""


class Toolset(StrEnum):
    """A group of operations that a server can offer to a model as tools."""

    CORE = "core"
    """For every model; kept small, since tool descriptions always fill its context."""

    EPISODES = "episodes"
    """For agents that learn from the outcome of their tasks."""

    OBSERVATIONS = "observations"
    """The eight methods of seed 003."""

    OPERATOR = "operator"
    """For the administration of a store."""


R = TypeVar("R", bound=OperationRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[R]):
    """One operation: the required right, its request, answer, effect and handler.

    `repeatable`: running it again changes nothing more, though a memory may count as said again. `about` teaches a
    model when to use it. `redact` shapes the answer for callers who may run it but not read.
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
        """Whether an idempotency key makes a retry harmless."""
        return self.effect is not Effect.NONE and "key" in self.request.model_fields

    def with_key(self, given: Mapping[str, Any], key: str | None, named: str) -> Mapping[str, Any]:
        """Return the arguments with the idempotency key that was sent in `named`, if any.

        An operation that takes no key ignores it if it is repeatable, else raises InvalidInput. Raise Conflict if the
        arguments have another key.
        """
        if key is None or (self.repeatable and not self.takes_key):  # a retry does no harm anyway
            return given
        if not self.takes_key:
            raise InvalidInput(f"{named} is not taken by {self.name}, whose retry would be done again; leave it out")
        if given.get("key") not in (None, key):
            raise Conflict(f"{named} and the field 'key' say two things; send one of them")
        return {**given, "key": key}


REFUSED_VERDICT = "refused"
"""The verdict whose reason is about the draft alone; any other reason may quote a memory."""


def keep_own_words(answer: Answer) -> Answer:
    """Return the answer unchanged: it repeats only what the caller sent."""
    return answer


def keep_names(answer: Answer) -> Answer:
    """Return the answer unchanged: it has names, ids and counts, but no text of a memory."""
    return answer


def redact_receipt(answer: Answer) -> Answer:
    """Remove the memory and the reason, which may quote another memory."""
    told = {**answer, "memory": None}
    return told if answer["verdict"] == REFUSED_VERDICT or "reason" not in answer else {**told, "reason": None}


def redact_receipts(answer: Answer) -> Answer:
    """Redact each receipt."""
    return {**answer, "receipts": [redact_receipt(one) for one in answer["receipts"]]}


def redact_extracts(answer: Answer) -> Answer:
    """Redact each extracted memory."""
    return {**answer, "extracts": [redact_receipt(one) for one in answer["extracts"]]}


def redact_saved_observation(answer: Answer) -> Answer:
    """Remove the reason, which may quote another memory."""
    return answer if answer["outcome"] == REFUSED_VERDICT else {**answer, "reason": None}


def redact_feedback(answer: Answer) -> Answer:
    """Remove the memories that the answer quotes: they would confirm a guess."""
    return {**answer, "quoted": []}


def redact_started_episode(answer: Answer) -> Answer:
    """Keep the task, which the caller sent; remove what others have added since."""
    return {**answer, "outcome": None, "value": None, "contexts": [], "actions": []}


def redact_recorded_action(answer: Answer) -> Answer:
    """Keep whether the task is under way; remove all that others wrote."""
    return {**answer, **_EMPTY_EPISODE, "outcome": None, "value": None}


def redact_completed_episode(answer: Answer) -> Answer:
    """Keep the outcome, which the caller sent; remove all that others wrote."""
    return {**redact_receipts(answer), **_EMPTY_EPISODE}


def redact_undo(answer: Answer) -> Answer:
    """Keep the number of the run; remove the memories that it wrote."""
    return {**answer, "memories": []}


def redact_plan(answer: Answer) -> Answer:
    """Keep which memories a job would change; remove texts, reasons, states and the hash.

    Reasons may quote memories, and digests would confirm a guess.
    """
    plan = answer["plan"]
    if plan is None:  # the job ran, and its runs name only ids
        return answer
    steps = [{**step, "text": None, "reason": None, "state": None} for step in plan["steps"]]
    return {**answer, "plan": {**plan, "hash": None, "steps": steps}}


_EMPTY_EPISODE: Answer = {"task": None, "plan": [], "session": None, "contexts": [], "actions": []}
"""Fields of an episode without their content."""
