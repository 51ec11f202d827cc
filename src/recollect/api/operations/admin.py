"""Operations for administrators: statistics, scopes, profiles, jobs, undo and erase."""

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, Field, model_validator

from recollect.api import schemas
from recollect.api.auth import WHOLE_STORE, Caller, Right
from recollect.api.fields import (
    Id,
    ScopePath,
    choice_schema,
)
from recollect.api.operation import (
    Effect,
    Operation,
    OperationRequest,
    Toolset,
)
from recollect.engine.engine import Engine
from recollect.errors import Conflict, FieldError, NotFound
from recollect.model.enums import Level
from recollect.model.plan import Job
from recollect.model.scope import as_scope
from recollect.ranking.profiles import BUILTIN_PROFILES

AnswerT = TypeVar("AnswerT", bound=BaseModel)

DryRun = Annotated[bool, Field(description="Only tell what would be done. Say false to have it done.")]
Days = Annotated[int, Field(ge=1, le=1_000_000)]
RecordLevelName = Annotated[str, choice_schema(Level)]


class Part(OperationRequest):
    """A scope with those below it, or the whole store."""

    scope: ScopePath | None = Field(
        None, description="A path such as acme/ana, with the scopes below it; the whole store if none is named."
    )


class Unscoped(OperationRequest):
    """Nothing: what is asked for is of no scope."""

    scope_field: ClassVar[str | None] = None


class RunJob(OperationRequest):
    """A job, and what is wished other than the settings have it."""

    scope: ScopePath
    job: Annotated[str, choice_schema(Job)] = Field(description="Which job.")
    level: RecordLevelName | None = Field(None, description="Only records of this level.")
    age_days: Days | None = Field(None, description="Only what is older than so many days.")
    min_level: RecordLevelName | None = Field(None, description="What is finer may leave once this level tells it.")
    max_age_days: Days | None = Field(None, description="What is finer than min_level leaves after so many days.")
    dry_run: DryRun = True


class PruneVectorIndex(OperationRequest):
    """Which vectors to let go of, other than the settings have it."""

    scope: ScopePath
    level: RecordLevelName | None = Field(None, description="Only records of this level.")
    age_days: Days | None = Field(None, description="Only what is older than so many days.")
    dry_run: DryRun = True


class Undo(OperationRequest):
    """A run, by its number."""

    scope: ScopePath
    run: Annotated[int, Field(ge=1, le=2**53)] = Field(description="The number that the run gave.")


class Erase(OperationRequest):
    """What is to go for good: one memory, all that came from a source, or everything of exactly that scope."""

    scope: ScopePath
    id: Id | None = Field(None, description="One memory.")
    source: Id | None = Field(None, description="All that came from this document, tool or import.")
    everything: bool = Field(default=False, description="Everything of exactly that scope.")
    dry_run: DryRun = True

    @model_validator(mode="after")
    def _require_one_target(self) -> "Erase":
        if (self.id is not None) + (self.source is not None) + self.everything != 1:
            raise FieldError("give exactly one of id, source and everything", field="id")
        return self


def _stats(engine: Engine, request: Part, caller: Caller) -> schemas.admin.Stats:
    stats = engine.stats(scope=request.scope)
    size = stats.bytes if caller.has_right(Right.READ, WHOLE_STORE) else None  # it covers all scopes
    return schemas.admin.Stats.of(stats, scope=request.scope, bytes=size)


def _scopes(engine: Engine, request: Part, _: Caller) -> schemas.admin.Scopes:
    return schemas.admin.Scopes.of(scopes=engine.scopes(scope=request.scope))


def _profiles(_: Engine, __: Unscoped, ___: Caller) -> schemas.admin.Profiles:
    return schemas.admin.Profiles.of(profiles=list(BUILTIN_PROFILES.values()))


def _run_job(engine: Engine, request: RunJob, _: Caller) -> schemas.admin.Plan:
    options = request.to_arguments("job", "dry_run")
    if request.dry_run:
        return schemas.admin.Plan.of(dry_run=True, plan=engine.plan(request.job, **options).to_json(), runs=[])
    runs = [schemas.admin.summarize_run(one) for one in engine.admin.run(request.job, **options)]
    return schemas.admin.Plan.of(dry_run=False, plan=None, runs=runs)


def _redact_plan(answer: schemas.admin.Plan) -> schemas.admin.Plan:
    """Keep which memories a job would change; remove texts, reasons, states and the hash.

    Reasons may quote memories, and digests would confirm a guess.
    """
    if answer.plan is None:  # the job ran, and its runs name only ids
        return answer
    steps = [{**step, "text": None, "reason": None, "state": None} for step in answer.plan["steps"]]
    return answer.model_copy(update={"plan": {**answer.plan, "hash": None, "steps": steps}})


def _prune(engine: Engine, request: PruneVectorIndex, caller: Caller) -> schemas.admin.Plan:
    return _run_job(engine, RunJob(job=Job.PRUNE_VECTORS.value, **request.to_arguments()), caller)


def _redact_undo(answer: schemas.admin.Undone) -> schemas.admin.Undone:
    """Keep the number of the run; remove the memories that it wrote."""
    return answer.model_copy(update={"memories": []})


def _undo(engine: Engine, request: Undo, caller: Caller) -> schemas.admin.Undone:
    try:
        return schemas.admin.Undone.of(engine.undo(request.run, scope=request.scope))
    except Conflict as error:
        if caller.has_right(Right.READ, as_scope(request.scope)):
            raise
        # the engine's message quotes memories, which this caller may not read
        raise Conflict(f"run {request.run} cannot be undone: memories that it wrote have changed since") from error
    except NotFound as error:
        if caller.has_right(Right.ADMIN, WHOLE_STORE):
            raise
        # the engine's message tells of runs in other scopes
        raise NotFound(f"run {request.run} changed no memory of {request.scope}, or none that still exists") from error


def _erase(engine: Engine, request: Erase, caller: Caller) -> schemas.admin.Erasure:
    target = request.to_arguments("dry_run")
    if request.dry_run:
        ids = engine.admin.erasable(**target)
        return schemas.admin.Erasure.of(dry_run=True, scope=request.scope, ids=ids, memories=len(ids))
    receipt = engine.erase(**target)
    if caller.has_right(Right.ERASE, WHOLE_STORE):
        return schemas.admin.Erasure.of(receipt, dry_run=False)
    # the full search result tells where else in the store the same text is
    return schemas.admin.Erasure.of(receipt, dry_run=False, search={"proven": receipt.proven})


def _keep_names(answer: AnswerT) -> AnswerT:
    """Return the answer unchanged: it has names, ids and counts, but no text of a memory."""
    return answer


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        name="stats",
        title="Count what there is",
        about=(
            "How many memories there are by status and kind, of a scope with those below it or of the whole store. Use "
            "it when asked how much is known, not to find anything."
        ),
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Part,
        answer=schemas.admin.Stats,
        run=_stats,
        toolset=Toolset.CORE,
    ),
    Operation(
        name="list_scopes",
        title="List scopes",
        about="Every scope that has memories: of the whole store, or a scope and those below it.",
        right=Right.ADMIN,
        effect=Effect.NONE,
        repeatable=True,
        request=Part,
        answer=schemas.admin.Scopes,
        run=_scopes,
        toolset=Toolset.OPERATOR,
        redact=_keep_names,
    ),
    Operation(
        name="list_profiles",
        title="List profiles",
        about="The rank profiles that a question can name, and what each is for.",
        right=Right.READ,
        effect=Effect.NONE,
        repeatable=True,
        request=Unscoped,
        answer=schemas.admin.Profiles,
        run=_profiles,
        toolset=Toolset.OPERATOR,
    ),
    Operation(
        name="run_job",
        title="Run a job",
        about="What a job would do to a scope's memories, each with its reason; done only if dry_run is false.",
        right=Right.ADMIN,
        effect=Effect.REMOVES,
        repeatable=True,
        request=RunJob,
        answer=schemas.admin.Plan,
        run=_run_job,
        toolset=Toolset.OPERATOR,
        redact=_redact_plan,
    ),
    Operation(
        name="prune_vector_index",
        title="Prune vectors",
        about=(
            "Let go of the vectors of records that have had their time; the records stay. Done only if dry_run is "
            "false."
        ),
        right=Right.ADMIN,
        effect=Effect.REMOVES,
        repeatable=True,
        request=PruneVectorIndex,
        answer=schemas.admin.Plan,
        run=_prune,
        toolset=Toolset.OPERATOR,
        redact=_redact_plan,
    ),
    Operation(
        name="undo",
        title="Undo a run",
        about="Let every memory that a run wrote stand as it did before.",
        right=Right.ADMIN,
        effect=Effect.ADDS,
        repeatable=False,
        request=Undo,
        answer=schemas.admin.Undone,
        run=_undo,
        toolset=Toolset.OPERATOR,
        redact=_redact_undo,
    ),
    Operation(
        name="erase",
        title="Erase for good",
        about=(
            "Remove one memory, all that came from a source, or everything of a scope, for good and with proof. Only "
            "tells what would go unless dry_run is false; do that only when the user has confirmed it."
        ),
        right=Right.ERASE,
        effect=Effect.REMOVES,
        repeatable=True,
        request=Erase,
        answer=schemas.admin.Erasure,
        run=_erase,
        toolset=Toolset.OPERATOR,
        redact=_keep_names,
    ),
)
