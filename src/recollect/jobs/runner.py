"""Work: what each job does with an engine, one scope after the other."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from recollect.engine.engine import Engine
from recollect.errors import RecollectError
from recollect.model.format import counted
from recollect.model.memory import Status
from recollect.model.plan import Job, Run
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True)
class Did:
    """How much a job did to a scope, by name, and the runs in which it did; these can be undone."""

    counts: Mapping[str, int]
    runs: Sequence[Run] = ()


Work = Callable[[Engine, Scope], Mapping[str, int] | Did]
"""What a job does to one scope, and how much of it. Done again, it does what is left."""


def _rollup(engine: Engine, scope: Scope) -> Mapping[str, int]:
    rolled = engine.rollup(scope=scope)
    written = {"made": rolled.made, "revised": rolled.revised, "archived": rolled.archived}
    return {name: sum(levels.values()) for name, levels in written.items()}


def _extract(engine: Engine, scope: Scope) -> Mapping[str, int]:
    harvest = engine.extract_events(scope=scope)
    return {"events": harvest.events, "memories": sum(len(one.receipts) for one in harvest.extracted)}


def _topics(engine: Engine, scope: Scope) -> Mapping[str, int]:
    return {"topics": engine.refresh_topics(scope=scope).topics}


def _consolidate(engine: Engine, scope: Scope) -> Did:
    runs = engine.run(Job.CONSOLIDATE, scope=scope)
    written = [one for run in runs for one in run.memories]
    gone = sum(one.status is Status.CONSOLIDATED for one in written)
    return Did({"made": len(written) - gone, "consolidated": gone}, runs)


def _planned(job: Job, engine: Engine, scope: Scope) -> Did:
    runs = engine.run(job, scope=scope)
    return Did({"changed": sum(len(run.memories) for run in runs)}, runs)


JOBS: Mapping[str, Work] = {
    "rollup": _rollup,
    "extract": _extract,
    "topics": _topics,
    "prune-vectors": partial(_planned, Job.PRUNE_VECTORS),
    "prune-episodes": partial(_planned, Job.PRUNE_EPISODES),
    "rebuild-index": partial(_planned, Job.REBUILD_INDEX),
    "consolidate": _consolidate,
}
"""Every job by its name, in the order in which those are done that fall due together: what is summed up may leave."""


@dataclass(frozen=True, slots=True)
class Failure:
    """That a job failed, in a scope or altogether; or that nobody knows what is due, since the store failed."""

    job: str | None
    scope: Scope | None
    error: Exception


@dataclass(frozen=True, slots=True)
class Worked:
    """What a job did: how much, what went wrong in some scopes, whether it came to the last of them, and the runs."""

    counts: Mapping[str, int]
    problem: str | None
    whole: bool
    runs: tuple[tuple[Scope, int], ...] = ()


def worked(
    engine: Engine, work: Work, goes_on: Callable[[], bool], failed: Callable[[Scope, RecollectError], object]
) -> Worked:
    """Do the work in every scope, for as long as it goes on; what fails in one is told, and the others are done."""
    counts, errors, runs = Counter[str](), Counter[str](), list[tuple[Scope, int]]()
    scopes = engine.scopes()
    for number, scope in enumerate(scopes):
        if not goes_on():
            return Worked({"scopes": number, **counts}, _problem(errors), whole=False, runs=tuple(runs))
        try:
            found = work(engine, scope)
        except RecollectError as error:
            failed(scope, error)
            errors[type(error).__name__] += 1
            continue
        did = found if isinstance(found, Did) else Did(found)
        counts.update(did.counts)
        runs += [(scope, one.run) for one in did.runs if one.run is not None]
    return Worked({"scopes": len(scopes), **counts}, _problem(errors), whole=True, runs=tuple(runs))


def _problem(errors: Counter[str]) -> str | None:
    """What went wrong, without a word of what it was about: a message may quote a memory."""
    told = (f"{name} in {counted(count, 'scope')}" for name, count in sorted(errors.items()))
    return ", ".join(told) or None
