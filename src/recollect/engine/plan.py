"""Plan: a job says what it would do, and later does exactly that, or nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from recollect.engine import consolidate, prune_episodes, prune_index
from recollect.engine.dependencies import World
from recollect.engine.undo import undo as undone
from recollect.errors import Conflict, FieldError, StoreBusy, show
from recollect.model.curation import Undone
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, Plan, Run, Step, Wish, found_otherwise
from recollect.model.scope import Scope
from recollect.protocols import Progress, Writing

PLANNED: Mapping[Job, Callable[[World, Scope, Wish], Plan]] = {
    Job.CONSOLIDATE: consolidate.planned,
    Job.PRUNE_VECTORS: prune_index.planned_prune,
    Job.REBUILD_INDEX: prune_index.planned_rebuild,
    Job.PRUNE_EPISODES: prune_episodes.planned,
}
"""What each job would do to a scope, if somebody wishes for it."""

Doing = Callable[[Writing, Mapping[MemoryId, Memory]], list[Memory]]

DOING: Mapping[Job, Callable[[World, Plan], Doing]] = {
    Job.CONSOLIDATE: consolidate.doing,
    Job.PRUNE_VECTORS: prune_index.doing,
    Job.REBUILD_INDEX: prune_index.doing,
    Job.PRUNE_EPISODES: prune_episodes.doing,
}
"""How what each job planned is done to memories that are what they were: what can be made ready is, and then all of it
is one transaction.
"""


STAGES: Mapping[Job, Callable[[Plan], list[Plan]]] = {
    Job.PRUNE_VECTORS: prune_index.stages,
    Job.REBUILD_INDEX: prune_index.stages,
    Job.PRUNE_EPISODES: lambda plan: [plan],
}
"""The jobs that may be done in parts, and in which stages: the steps of each do not need each other."""

PART = 500
"""How many steps are done in one transaction where others may write in between."""

ATTEMPTS = 3
"""How often a job is planned anew because others changed what it is about."""


def plan(world: World, job: Job, scope: Scope, wish: Wish) -> Plan:
    """What the job would do to the scope's own memories; nothing is written."""
    return PLANNED[job](world, scope, wish.of(job))


def apply(world: World, plan: Plan) -> Run:
    """Do exactly what the plan says, all of it in one transaction; refused, so that nothing is written, if any memory
    that is named in it is not what it was.
    """
    if not isinstance(plan, Plan):
        raise FieldError(f"{show(plan)} is no plan; give what `plan` gave, or Plan.read(…)", field="plan")
    if not plan.changes:
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=(), run=None)

    do = DOING[plan.job](world, plan)

    def change(writing: Writing) -> Run:
        found = [_as_planned(writing, plan.scope, step) for step in plan.steps]
        present = {one.id: one for one in found if one is not None}
        written = do(writing, present)
        memories = tuple(sorted(written, key=lambda one: one.id))
        counts = found_otherwise((present[one.id], one) for one in memories if one.id in present)
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=memories, run=writing.commit, counts=counts)

    return world.store.write(change)


def run(world: World, job: Job, scope: Scope, wish: Wish, progress: Progress) -> list[Run]:
    """Plan a job and do it, in parts that leave others room to write; what they changed meanwhile is planned anew."""
    runs, done = list[Run](), 0
    for _ in range(ATTEMPTS):
        parts, disturbed = _parts(plan(world, job, scope, wish)), False
        total = done + sum(len(part.steps) for part in parts)
        commits = dict[MemoryId, int | None]()
        for part in parts:
            try:
                found = apply(world, _since(part, commits))
            except Conflict:
                disturbed = True
                break  # what comes later may need what this part was to do
            runs += [found] if found.run is not None else []
            commits |= {one.id: one.commit for one in found.memories}
            done += len(part.steps)
            progress(done, total)
        if not disturbed:
            return runs
    raise StoreBusy(f"memories of {scope} are being changed; {job.value} them when that is done")


def _parts(plan: Plan) -> list[Plan]:
    """The plan, or several that come to the same one after the other, where it may be done so."""
    if plan.job not in STAGES or len(plan.steps) <= PART:
        return [plan]
    cuts = [(one, start) for one in STAGES[plan.job](plan) for start in range(0, len(one.steps), PART)]
    return [replace(one, steps=one.steps[start : start + PART]) for one, start in cuts]


def _since(part: Plan, commits: Mapping[MemoryId, int | None]) -> Plan:
    """The part, of memories as parts before it wrote them."""
    steps = (replace(one, commit=commits[one.memory]) if one.memory in commits else one for one in part.steps)
    return replace(part, steps=tuple(steps))


def undo(world: World, run: Run | int, scope: Scope | None) -> Undone:
    """Let every memory that the run wrote stand as it did before."""
    if isinstance(run, Run):
        if scope is not None and scope != run.scope:
            raise FieldError(f"{scope} is not the scope of the run, which is {run.scope}", field="scope")
        if run.run is None:
            raise FieldError("there was nothing to do in this run, so that nothing can be undone", field="run")
        return undone(world, run.scope, run.run)
    if scope is None:
        raise FieldError("is not said, and the number of a run alone does not tell it; give scope=", field="scope")
    return undone(world, scope, run)


def _as_planned(writing: Writing, scope: Scope, step: Step) -> Memory | None:
    """The memory of a step, if it is what it was when that was planned."""
    memory = writing.get(scope, step.memory)
    if step.commit is None:
        if memory is not None:
            raise Conflict(f"the memory {show(step.memory)}, which is to be made, is there already; plan again")
        return None
    if memory is None:
        raise Conflict(f"the memory {show(step.memory)} is not there any more; plan again")
    if memory.commit != step.commit:
        raise Conflict(f"the memory {show(step.memory)} has changed since the plan was made; plan again")
    return memory
