"""The eight methods of seed 003 as operations; a user is a scope."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, Field

from recollect.api.auth import Caller, Right
from recollect.api.fields import (
    Id,
    KindName,
    ScopePath,
    ShortText,
    Text,
)
from recollect.api.operation import (
    Effect,
    Operation,
    OperationRequest,
    Toolset,
)
from recollect.api.operations.memories import require_trust
from recollect.api.schemas.base import AnswerSchema
from recollect.compat.observation_memory import MAX_SEARCH_RESULTS, ObservationMemory
from recollect.compat.observations import (
    FoundObservation,
    MemoryStats,
    Observation,
    SaveResult,
    SessionRecord,
    SessionStart,
    Timeline,
)
from recollect.engine.engine import Engine
from recollect.engine.sessions import DEFAULT_AROUND_MEMORIES, MAX_AROUND_MEMORIES
from recollect.model.enums import Kind, Provenance
from recollect.model.scope import as_scope

MethodAnswer = TypeVar("MethodAnswer", bound=BaseModel)

Types = Annotated[list[KindName], Field(min_length=1, max_length=len(Kind))]
NeighborCount = Annotated[int, Field(ge=0, le=MAX_AROUND_MEMORIES)]


class OfUser(OperationRequest):
    """A user."""

    scope_field: ClassVar[str | None] = "user_id"

    user_id: ScopePath


class Summary(OfUser):
    """What a user's session came to."""

    summary: Text = Field(description="What it came to, in a few sentences that stand on their own.")


class Save(OfUser):
    """An observation."""

    content: Text = Field(description="What was observed, in a sentence that stands on its own.")
    type: KindName = Field(description="What sort of observation it is; summary is reserved for sessions.")
    title: ShortText = Field(description="What it is called, in a few words.")
    topic_key: Id | None = Field(None, description="What it is the present state of: the next one replaces it.")


class Search(OfUser):
    """What to look for."""

    query: Text = Field(description="Words that the observations have.")
    limit: Annotated[int, Field(ge=1, le=MAX_SEARCH_RESULTS)] = Field(10, description="How many at most.")
    types: Types | None = Field(None, description="Only these types.")
    types_exclude: Types | None = Field(None, description="All but these types; not together with types.")


class OfObservation(OfUser):
    """An observation, by its id."""

    observation_id: Id = Field(description="The observation.")


class Around(OfObservation):
    """The same with how many before and after it."""

    before: NeighborCount = Field(DEFAULT_AROUND_MEMORIES, description="How many before it.")
    after: NeighborCount = Field(DEFAULT_AROUND_MEMORIES, description="How many after it.")


class FoundObservations(AnswerSchema):
    """The observations that have words of a query, best first."""

    observations: list[FoundObservation]


def _make_handler(method: Callable[..., MethodAnswer]) -> Callable[[Engine, OfUser, Caller], MethodAnswer]:
    """Wrap a method of seed 003 as a handler of an operation."""

    def run(engine: Engine, request: OfUser, caller: Caller) -> MethodAnswer:
        return method(_open_memory(engine, caller), **request.to_arguments())

    return run


def _make_summary_handler(method: Callable[..., MethodAnswer]) -> Callable[[Engine, OfUser, Caller], MethodAnswer]:
    """Wrap a method that summarizes a session; check the caller's trust first.

    A caller who is trusted less than the writer of the session, or of its last summary, may not change it.
    """

    def run(engine: Engine, request: OfUser, caller: Caller) -> MethodAnswer:
        session = engine.sessions.current(scope=request.user_id)
        if session is not None:
            require_trust(engine.get(session.id, scope=request.user_id), caller)
        return _make_handler(method)(engine, request, caller)

    return run


def _start(engine: Engine, request: OfUser, caller: Caller) -> SessionStart:
    caller.require_right(Right.READ, as_scope(request.user_id))  # the answer contains stored memories
    return _make_handler(ObservationMemory.mem_session_start)(engine, request, caller)


def _open_memory(engine: Engine, caller: Caller) -> ObservationMemory:
    return ObservationMemory(engine, provenance=caller.cap_provenance(Provenance.MODEL_INFERENCE))


def _search(engine: Engine, request: Search, caller: Caller) -> FoundObservations:
    observations = _open_memory(engine, caller).mem_search(**request.to_arguments())
    return FoundObservations.of(observations=observations)


def _keep_own_words(answer: SessionRecord) -> SessionRecord:
    """Return the answer unchanged: it repeats only what the caller sent."""
    return answer


def _redact_saved(answer: SaveResult) -> SaveResult:
    """Remove the reason, which may quote another memory; that of a refusal is about the observation alone."""
    return answer if answer.outcome == "refused" else answer.model_copy(update={"reason": None})


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        name="mem_session_start",
        title="Start a session",
        about=(
            "Go on with the user's session, or begin one: the last sessions, and what matters most. Call it before "
            "anything else when a conversation begins."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=OfUser,
        answer=SessionStart,
        run=_start,
        toolset=Toolset.OBSERVATIONS,
    ),
    Operation(
        name="mem_session_end",
        title="End a session",
        about="End the user's session with a summary of what it came to. Call it when the conversation ends.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Summary,
        answer=SessionRecord,
        run=_make_summary_handler(ObservationMemory.mem_session_end),
        toolset=Toolset.OBSERVATIONS,
        redact=_keep_own_words,
    ),
    Operation(
        name="mem_session_summary",
        title="Sum up a session",
        about="Note what the user's session has come to until now; it goes on.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Summary,
        answer=SessionRecord,
        run=_make_summary_handler(ObservationMemory.mem_session_summary),
        toolset=Toolset.OBSERVATIONS,
        redact=_keep_own_words,
    ),
    Operation(
        name="mem_save",
        title="Save an observation",
        about=(
            "Save something worth knowing of the user in later sessions. With a topic_key it takes the place of what "
            "was saved under that key; the same again is not saved twice. Never give passwords or keys."
        ),
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=Save,
        answer=SaveResult,
        run=_make_handler(ObservationMemory.mem_save),
        toolset=Toolset.OBSERVATIONS,
        redact=_redact_saved,
    ),
    Operation(
        name="mem_search",
        title="Search observations",
        about="The user's observations that have words of the query, best first, in short; get one whole by its id.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Search,
        answer=FoundObservations,
        run=_search,
        toolset=Toolset.OBSERVATIONS,
    ),
    Operation(
        name="mem_get_observation",
        title="Look at an observation",
        about="All of one observation, by the id that a search gave, when its beginning is not enough.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=OfObservation,
        answer=Observation,
        run=_make_handler(ObservationMemory.mem_get_observation),
        toolset=Toolset.OBSERVATIONS,
    ),
    Operation(
        name="mem_timeline",
        title="Look around an observation",
        about=(
            "An observation with those that were made just before and just after it. Use it to see in what connection "
            "something was said."
        ),
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Around,
        answer=Timeline,
        run=_make_handler(ObservationMemory.mem_timeline),
        toolset=Toolset.OBSERVATIONS,
    ),
    Operation(
        name="mem_stats",
        title="Count observations",
        about="How many observations and sessions of the user there are, when asked how much is known.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=OfUser,
        answer=MemoryStats,
        run=_make_handler(ObservationMemory.mem_stats),
        toolset=Toolset.OBSERVATIONS,
    ),
)
