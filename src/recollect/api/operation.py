"""Operation: one thing that callers can ask for, the same over HTTP, MCP and gRPC.

An operation is a name, a request, an answer and a handler, in one file of `operations/`:

    class Rename(OperationRequest):
        scope: ScopePath
        id: Id
        title: ShortText

    def _rename(engine: Engine, request: Rename, caller: Caller) -> Receipt:
        return Receipt.of(engine.rename(request.id, request.title, scope=request.scope))

    Operation(name="rename", request=Rename, answer=Receipt, run=_rename, right=Right.WRITE, …)

The dispatcher reads the request, checks the caller's right in its scope, calls `run` and sends the answer as JSON. The
OpenAPI document, the MCP tools, the gRPC messages and `--json` come from the same two classes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from recollect.api.auth import Caller, Right
from recollect.engine.engine import Engine
from recollect.errors import Conflict, InvalidInput

JsonAnswer = Mapping[str, Any]
"""An answer as JSON, as the transports send it."""


class OperationRequest(BaseModel):
    """Base class of requests: their types are checked here, their meaning by the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    scope_field: ClassVar[str | None] = "scope"
    """The field with the scope; None if the operation is not about a scope."""

    def to_arguments(self, *excluded: str) -> dict[str, Any]:
        """Return the fields by name, except those in `excluded`."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in excluded}


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
A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[R, A]):
    """One operation: its name and help, the right that it needs, its request and answer, and its handler."""

    name: str
    title: str
    about: str
    """What it does and when to use it, in words that a model understands."""

    right: Right
    """What the caller must be allowed to do in the scope of the request."""

    effect: Effect
    repeatable: bool
    """Whether a second run changes nothing more, though a memory may count as repeated."""

    request: type[R]
    answer: type[A]
    run: Callable[[Engine, R, Caller], A]
    toolset: Toolset
    redact: Callable[[A], A] | None = None
    """Removes stored text from the answer, for a caller with the right to run it but not to read; None if it needs
    the right to read anyway."""

    @property
    def call_name(self) -> str:
        """The name of its call over gRPC, such as GetMemory for get_memory."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def takes_key(self) -> bool:
        """Whether an idempotency key makes a retry harmless."""
        return self.effect is not Effect.NONE and "key" in self.request.model_fields

    def with_key(self, arguments: Mapping[str, Any], key: str | None, source: str) -> Mapping[str, Any]:
        """Return the arguments with the idempotency key that was sent in `source`, if any.

        An operation that takes no key ignores it if it is repeatable, else raises InvalidInput. Raise Conflict if the
        arguments have another key.
        """
        if key is None or (self.repeatable and not self.takes_key):  # a retry does no harm anyway
            return arguments
        if not self.takes_key:
            raise InvalidInput(f"{source} is not supported by {self.name}, whose retry would run again; leave it out")
        if arguments.get("key") not in (None, key):
            raise Conflict(f"{source} and the field 'key' differ; send only one of them")
        return {**arguments, "key": key}
