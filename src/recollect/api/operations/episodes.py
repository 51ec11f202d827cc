"""Operations that record tasks and their outcomes, and find similar ones."""

from contextlib import suppress
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from recollect.api import schemas
from recollect.api.auth import Caller, Right
from recollect.api.fields import (
    FRACTION_SCHEMA,
    PROVENANCE_HELP,
    Id,
    IdempotencyKey,
    JsonObject,
    Limit,
    Names,
    ProvenanceName,
    ScopePath,
    ShortText,
    Text,
    Texts,
    Timestamp,
    UnitFloat,
    choice_schema,
)
from recollect.api.operation import (
    Effect,
    Operation,
    OperationRequest,
    Toolset,
)
from recollect.api.operations.memories import redact_receipt, require_trust, resolve_provenance
from recollect.engine.engine import Engine
from recollect.engine.episodes import DEFAULT_FAILURE_MODES, DEFAULT_LISTED_EPISODES, DEFAULT_SIMILAR_EPISODES
from recollect.errors import Conflict, NotFound, show
from recollect.model.episode import Result
from recollect.model.scope import as_scope
from recollect.model.validation import require_outcome

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


def _start(engine: Engine, request: StartEpisode, caller: Caller) -> schemas.episodes.WholeEpisode:
    arguments = {**request.to_arguments("task"), "provenance": resolve_provenance(request.provenance, caller)}
    return schemas.episodes.WholeEpisode.of(engine.episodes.start(request.task, **arguments))


def _record(engine: Engine, request: RecordAction, caller: Caller) -> schemas.episodes.WholeEpisode:
    arguments = {**request.to_arguments("id", "type"), "provenance": resolve_provenance(request.provenance, caller)}
    return schemas.episodes.WholeEpisode.of(engine.episodes.record(request.id, request.type, **arguments))


def _complete(engine: Engine, request: CompleteEpisode, caller: Caller) -> schemas.episodes.CompletedEpisode:
    with suppress(NotFound):  # reported below, as a missing episode
        require_trust(engine.get(request.id, scope=request.scope), caller)
    arguments = {**request.to_arguments("id", "outcome"), "provenance": resolve_provenance(request.provenance, caller)}
    try:
        episode = engine.episodes.complete(request.id, request.outcome, **arguments)
    except Conflict as error:
        if caller.has_right(Right.READ, as_scope(request.scope)):
            raise
        raise Conflict(f"episode {show(request.id)} has already ended differently, or cannot be ended") from error
    return schemas.episodes.CompletedEpisode.of(episode)


_EMPTY_EPISODE: dict[str, Any] = {"task": None, "plan": [], "session": None, "contexts": [], "actions": []}
"""Fields of an episode without their content."""


def _redact_started(answer: schemas.episodes.WholeEpisode) -> schemas.episodes.WholeEpisode:
    """Keep the task, which the caller sent; remove what others have added since."""
    return answer.model_copy(update={"outcome": None, "value": None, "contexts": [], "actions": []})


def _redact_recorded(answer: schemas.episodes.WholeEpisode) -> schemas.episodes.WholeEpisode:
    """Keep whether the task is under way; remove all that others wrote."""
    return answer.model_copy(update={**_EMPTY_EPISODE, "outcome": None, "value": None})


def _redact_completed(answer: schemas.episodes.CompletedEpisode) -> schemas.episodes.CompletedEpisode:
    """Keep the outcome, which the caller sent; remove all that others wrote."""
    receipts = [redact_receipt(one) for one in answer.receipts]
    return answer.model_copy(update={**_EMPTY_EPISODE, "receipts": receipts})


def _similar(engine: Engine, request: SimilarTo, _: Caller) -> schemas.episodes.SimilarEpisodes:
    episodes = engine.episodes.similar(request.task, **request.to_arguments("task"))
    return schemas.episodes.SimilarEpisodes.of(scope=request.scope, episodes=episodes)


def _failure_modes(engine: Engine, request: FailureModes, _: Caller) -> schemas.episodes.FailureModes:
    failures = engine.episodes.failure_modes(request.task, **request.to_arguments("task"))
    return schemas.episodes.FailureModes.of(scope=request.scope, failure_modes=failures)


def _list(engine: Engine, request: ListEpisodes, _: Caller) -> schemas.episodes.Episodes:
    episodes = engine.episodes.list(**request.to_arguments())
    return schemas.episodes.Episodes.of(scope=request.scope, episodes=episodes)


def _show(engine: Engine, request: ShowEpisode, _: Caller) -> schemas.episodes.WholeEpisode:
    return schemas.episodes.WholeEpisode.of(engine.episodes.show(request.id, scope=request.scope))


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        name="start_episode",
        title="Begin a task",
        about="Begin a task that is worth learning from, with its plan; keep the id for what is done for it.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=False,
        request=StartEpisode,
        answer=schemas.episodes.WholeEpisode,
        run=_start,
        toolset=Toolset.EPISODES,
        redact=_redact_started,
    ),
    Operation(
        name="record_action",
        title="Record an action",
        about="Record what was done for a task that is under way, and whether it succeeded.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=False,
        request=RecordAction,
        answer=schemas.episodes.WholeEpisode,
        run=_record,
        toolset=Toolset.EPISODES,
        redact=_redact_recorded,
    ),
    Operation(
        name="complete_episode",
        title="End a task",
        about="End a task with how it went, from 0 to 1, what it taught and what went wrong; these become memories.",
        right=Right.WRITE,
        effect=Effect.ADDS,
        repeatable=True,
        request=CompleteEpisode,
        answer=schemas.episodes.CompletedEpisode,
        run=_complete,
        toolset=Toolset.EPISODES,
        redact=_redact_completed,
    ),
    Operation(
        name="get_similar_episodes",
        title="Find similar tasks",
        about="How similar tasks went before, and what they taught. Ask before you begin a task.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=SimilarTo,
        answer=schemas.episodes.SimilarEpisodes,
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
        answer=schemas.episodes.FailureModes,
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
        answer=schemas.episodes.Episodes,
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
        answer=schemas.episodes.WholeEpisode,
        run=_show,
        toolset=Toolset.EPISODES,
    ),
)
