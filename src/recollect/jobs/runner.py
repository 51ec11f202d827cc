"""Work: what each job does with an engine, one scope after the other."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from recollect.engine.engine import Engine
from recollect.errors import RecollectError
from recollect.model.format import format_count
from recollect.model.memory import Status
from recollect.model.plan import Job, Run
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True)
class ScopeJobResult:
    """How much a job did to a scope, by name, and the runs in which it did; these can be undone."""

    counts: Mapping[str, int]
    runs: Sequence[Run] = ()


JobFunction = Callable[[Engine, Scope], Mapping[str, int] | ScopeJobResult]
"""What a job does to one scope, and how much of it. Done again, it does what is left."""


def _run_rollup(engine: Engine, scope: Scope) -> Mapping[str, int]:
    rolled = engine.rollup(scope=scope)
    written = {"made": rolled.made, "revised": rolled.revised, "archived": rolled.archived}
    return {name: sum(levels.values()) for name, levels in written.items()}


def _run_extract(engine: Engine, scope: Scope) -> Mapping[str, int]:
    harvest = engine.extract_events(scope=scope)
    return {"events": harvest.events, "memories": sum(len(one.receipts) for one in harvest.extracted)}


def _run_topics(engine: Engine, scope: Scope) -> Mapping[str, int]:
    return {"topics": engine.refresh_topics(scope=scope).topics}


def _run_consolidate(engine: Engine, scope: Scope) -> ScopeJobResult:
    runs = engine.run(Job.CONSOLIDATE, scope=scope)
    written = [one for run in runs for one in run.memories]
    gone = sum(one.status is Status.CONSOLIDATED for one in written)
    return ScopeJobResult({"made": len(written) - gone, "consolidated": gone}, runs)


def _run_planned_job(job: Job, engine: Engine, scope: Scope) -> ScopeJobResult:
    runs = engine.run(job, scope=scope)
    return ScopeJobResult({"changed": sum(len(run.memories) for run in runs)}, runs)


JOBS: Mapping[str, JobFunction] = {
    "rollup": _run_rollup,
    "extract": _run_extract,
    "topics": _run_topics,
    "prune-vectors": partial(_run_planned_job, Job.PRUNE_VECTORS),
    "prune-episodes": partial(_run_planned_job, Job.PRUNE_EPISODES),
    "rebuild-index": partial(_run_planned_job, Job.REBUILD_INDEX),
    "consolidate": _run_consolidate,
}
"""Every job by its name, in the order in which those are done that fall due together: what is summed up may leave."""


@dataclass(frozen=True, slots=True)
class JobFailure:
    """That a job failed, in a scope or altogether; or that nobody knows what is due, since the store failed."""

    job: str | None
    scope: Scope | None
    error: Exception


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job did: how much, what went wrong in some scopes, whether it came to the last of them, and the runs."""

    counts: Mapping[str, int]
    problem: str | None
    is_complete: bool
    runs: tuple[tuple[Scope, int], ...] = ()


def run_in_every_scope(
    engine: Engine, work: JobFunction, goes_on: Callable[[], bool], failed: Callable[[Scope, RecollectError], object]
) -> JobResult:
    """Do the work in every scope, for as long as it goes on; what fails in one is told, and the others are done."""
    counts, errors, runs = Counter[str](), Counter[str](), list[tuple[Scope, int]]()
    scopes = engine.scopes()
    for number, scope in enumerate(scopes):
        if not goes_on():
            return JobResult(
                {"scopes": number, **counts}, _describe_errors(errors), is_complete=False, runs=tuple(runs)
            )
        try:
            found = work(engine, scope)
        except RecollectError as error:
            failed(scope, error)
            errors[type(error).__name__] += 1
            continue
        did = found if isinstance(found, ScopeJobResult) else ScopeJobResult(found)
        counts.update(did.counts)
        runs += [(scope, one.run) for one in did.runs if one.run is not None]
    return JobResult({"scopes": len(scopes), **counts}, _describe_errors(errors), is_complete=True, runs=tuple(runs))


def _describe_errors(errors: Counter[str]) -> str | None:
    """What went wrong, without a word of what it was about: a message may quote a memory."""
    told = (f"{name} in {format_count(count, 'scope')}" for name, count in sorted(errors.items()))
    return ", ".join(told) or None
