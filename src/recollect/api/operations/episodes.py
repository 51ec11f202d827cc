"""Operations that record tasks and their outcomes, and find similar ones."""

from contextlib import suppress
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from recollect.api import operation, schemas
from recollect.api.auth import Caller, Right
from recollect.api.operation import (
    FRACTION_SCHEMA,
    PROVENANCE_HELP,
    Answer,
    Effect,
    Id,
    IdempotencyKey,
    JsonObject,
    Limit,
    Names,
    Operation,
    OperationRequest,
    ProvenanceName,
    ScopePath,
    ShortText,
    Text,
    Texts,
    Timestamp,
    Toolset,
    UnitFloat,
    choice_schema,
)
from recollect.api.operations.memories import require_trust, resolve_provenance
from recollect.engine.engine import Engine
from recollect.engine.episodes import DEFAULT_FAILURE_MODES, DEFAULT_LISTED_EPISODES, DEFAULT_SIMILAR_EPISODES
from recollect.errors import Conflict, NotFound, show
from recollect.model.episode import Result
from recollect.model.scope import as_scope
from recollect.model.validation import require_outcome
from recollect.render import json_values

OutcomeScore = Annotated[float, BeforeValidator(lambda value: require_outcome("outcome", value)), FRACTION_SCHEMA]


class StartEpisode(OperationRequest):
    """A task that begins."""

    scope: ScopePath
    task: Text = Field(description="What is to be done, in a sentence.")
    plan: Texts = Field(default_factory=list[str], description="The steps, if they are known.")
    session: Id | None = None
    at: Timestamp | None = Field(None, description="When it began, if not now.")
    pinned: bool = Field(default=False, description="Keep it when old ones are let go.")
    shared: bool = Field(default=False, description="Let the scopes below learn from it too.")
    provenance: ProvenanceName | None = Field(None, description=PROVENANCE_HELP)
    source: Id | None = None
    key: IdempotencyKey | None = None


class RecordAction(OperationRequest):
    """What was done for a task that is under way."""

    scope: ScopePath
    id: Id = Field(description="The episode.")
    type: ShortText = Field(description="In a word, what was done.")
    input: str | JsonObject = Field("", description="With what it was done.")
    output: str | JsonObject = Field("", description="What it gave.")
    result: Annotated[str, choice_schema(Result)] = Field(Result.SUCCEEDED.value, description="Whether it succeeded.")
    at: Timestamp | None = Field(None, description="When it was done, if not now.")
    context: Id | None = Field(None, description="The context it was decided by.")
    provenance: ProvenanceName | None = Field(None, description=PROVENANCE_HELP)
    key: IdempotencyKey | None = None


class CompleteEpisode(OperationRequest):
    """How a task went, and what it taught."""

    scope: ScopePath
    id: Id = Field(description="The episode.")
    outcome: OutcomeScore = Field(description="From 0, it failed, to 1.")
    lessons: Texts = Field(default_factory=list[str], description="What to do the next time, a sentence each.")
    failure_modes: Texts = Field(default_factory=list[str], description="What went wrong, a sentence each.")
    contexts: Names = Field(default_factory=list[str], description="The contexts that it was done by.")
    at: Timestamp | None = Field(None, description="When it ended, if not now.")
    provenance: ProvenanceName | None = Field(None, description=PROVENANCE_HELP)


class SimilarTo(OperationRequest):
    """A task that is about to be done."""

    scope: ScopePath
    task: Text = Field(description="What is to be done, in a sentence.")
    limit: Limit = Field(DEFAULT_SIMILAR_EPISODES, description="How many at most.")
    min_score: UnitFloat = 0.0


class FailureModes(SimilarTo):
    """The same, to be warned."""

    limit: Limit = Field(DEFAULT_FAILURE_MODES, description="How many at most.")


class ListEpisodes(OperationRequest):
    """Whose tasks, and which of them."""

    scope: ScopePath
    finished: bool | None = Field(None, description="Only those that are finished, or only those under way.")
    limit: Limit = Field(DEFAULT_LISTED_EPISODES, description="How many at most.")


class ShowEpisode(OperationRequest):
    """An episode, by its id."""

    scope: ScopePath
    id: Id = Field(description="The episode.")


def _start(engine: Engine, request: StartEpisode, caller: Caller) -> Answer:
    arguments = {**request.to_arguments("task"), "provenance": resolve_provenance(request.provenance, caller)}
    return json_values.full_episode_fields(engine.episodes.start(request.task, **arguments))


def _record(engine: Engine, request: RecordAction, caller: Caller) -> Answer:
    arguments = {**request.to_arguments("id", "type"), "provenance": resolve_provenance(request.provenance, caller)}
    return json_values.full_episode_fields(engine.episodes.record(request.id, request.type, **arguments))


def _complete(engine: Engine, request: CompleteEpisode, caller: Caller) -> Answer:
    with suppress(NotFound):  # reported below, as a missing episode
        require_trust(engine.get(request.id, scope=request.scope), caller)
    arguments = {**request.to_arguments("id", "outcome"), "provenance": resolve_provenance(request.provenance, caller)}
    try:
        return json_values.completed_episode_fields(engine.episodes.complete(request.id, request.outcome, **arguments))
    except Conflict as error:
        if caller.has_right(Right.READ, as_scope(request.scope)):
            raise
        raise Conflict(f"episode {show(request.id)} has already ended differently, or cannot be ended") from error


def _similar(engine: Engine, request: SimilarTo, _: Caller) -> Answer:
    episodes = engine.episodes.similar(request.task, **request.to_arguments("task"))
    return {"scope": request.scope, "episodes": [json_values.similar_episode_fields(one) for one in episodes]}


def _failure_modes(engine: Engine, request: FailureModes, _: Caller) -> Answer:
    failures = engine.episodes.failure_modes(request.task, **request.to_arguments("task"))
    return {"scope": request.scope, "failure_modes": [json_values.failure_mode_fields(one) for one in failures]}


def _list(engine: Engine, request: ListEpisodes, _: Caller) -> Answer:
    return {
        "scope": request.scope,
        "episodes": [json_values.episode_fields(one) for one in engine.episodes.list(**request.to_arguments())],
    }


def _show(engine: Engine, request: ShowEpisode, _: Caller) -> Answer:
    return json_values.full_episode_fields(engine.episodes.show(request.id, scope=request.scope))


OPERATIONS: tuple[Operation[Any], ...] = (
    Operation(
        name="start_episode",
        title="Begin a task",
        about="Begin a task that is worth learning from, with its plan; keep the id for what is done for it.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=False,
        request=StartEpisode,
        answer=schemas.WholeEpisode,
        run=_start,
        toolset=Toolset.EPISODES,
        redact=operation.redact_started_episode,
    ),
    Operation(
        name="record_action",
        title="Record an action",
        about="Record what was done for a task that is under way, and whether it succeeded.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=False,
        request=RecordAction,
        answer=schemas.WholeEpisode,
        run=_record,
        toolset=Toolset.EPISODES,
        redact=operation.redact_recorded_action,
    ),
    Operation(
        name="complete_episode",
        title="End a task",
        about="End a task with how it went, from 0 to 1, what it taught and what went wrong; these become memories.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=CompleteEpisode,
        answer=schemas.CompletedEpisode,
        run=_complete,
        toolset=Toolset.EPISODES,
        redact=operation.redact_completed_episode,
    ),
    Operation(
        name="get_similar_episodes",
        title="Find similar tasks",
        about="How similar tasks went before, and what they taught. Ask before you begin a task.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=SimilarTo,
        answer=schemas.SimilarEpisodes,
        run=_similar,
        toolset=Toolset.EPISODES,
    ),
    Operation(
        name="get_failure_modes",
        title="Ask what went wrong before",
        about="What went wrong when similar tasks were tried, the most similar task first. Ask before risky steps.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=FailureModes,
        answer=schemas.FailureModes,
        run=_failure_modes,
        toolset=Toolset.EPISODES,
    ),
    Operation(
        name="list_episodes",
        title="List tasks",
        about="The tasks of a scope, the latest first.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=ListEpisodes,
        answer=schemas.Episodes,
        run=_list,
        toolset=Toolset.EPISODES,
    ),
    Operation(
        name="get_episode",
        title="Look at a task",
        about="One task with its plan, all that was done for it, and how it went.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=ShowEpisode,
        answer=schemas.WholeEpisode,
        run=_show,
        toolset=Toolset.EPISODES,
    ),
)
