"""Operation: one thing that can be asked for from outside, the same through every face."""

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
