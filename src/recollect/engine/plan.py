"""Plan: a job says what it would do, and later does exactly that, or nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from recollect.engine import consolidate, prune_episodes, prune_index
from recollect.engine.dependencies import Dependencies
from recollect.engine.undo import undo_commit
from recollect.errors import Conflict, FieldError, StoreBusy, show
from recollect.model.curation import UndoReport
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, Plan, RetentionOverrides, Run, Step, count_index_changes
from recollect.model.scope import Scope
from recollect.protocols import ProgressListener, WriteTransaction

PLANNERS: Mapping[Job, Callable[[Dependencies, Scope, RetentionOverrides], Plan]] = {
    Job.CONSOLIDATE: consolidate.plan_consolidation,
    Job.PRUNE_VECTORS: prune_index.plan_vector_pruning,
    Job.REBUILD_INDEX: prune_index.plan_index_rebuild,
    Job.PRUNE_EPISODES: prune_episodes.plan_episode_pruning,
}
"""What each job would do to a scope, if somebody wishes for it."""

ApplySteps = Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]

PREPARERS: Mapping[Job, Callable[[Dependencies, Plan], ApplySteps]] = {
    Job.CONSOLIDATE: consolidate.prepare_consolidation,
    Job.PRUNE_VECTORS: prune_index.prepare_index_changes,
    Job.REBUILD_INDEX: prune_index.prepare_index_changes,
    Job.PRUNE_EPISODES: prune_episodes.prepare_episode_pruning,
}
"""How what each job planned is done to memories that are what they were: what can be made ready is, and then all of it
is one transaction.
"""


STAGE_SPLITTERS: Mapping[Job, Callable[[Plan], list[Plan]]] = {
    Job.PRUNE_VECTORS: prune_index.split_stages,
    Job.REBUILD_INDEX: prune_index.split_stages,
    Job.PRUNE_EPISODES: lambda plan: [plan],
}
"""The jobs that may be done in parts, and in which stages: the steps of each do not need each other."""

MAX_STEPS_PER_TRANSACTION = 500
"""How many steps are done in one transaction where others may write in between."""

MAX_ATTEMPTS = 3
"""How often a job is planned anew because others changed what it is about."""


def make_plan(world: Dependencies, job: Job, scope: Scope, wish: RetentionOverrides) -> Plan:
    """What the job would do to the scope's own memories; nothing is written."""
    return PLANNERS[job](world, scope, wish.for_job(job))


def apply_plan(world: Dependencies, plan: Plan) -> Run:
    """Do exactly what the plan says, all of it in one transaction; refused, so that nothing is written, if any memory
    that is named in it is not what it was.
    """
    if not isinstance(plan, Plan):
        raise FieldError(f"{show(plan)} is no plan; give what `plan` gave, or Plan.read(…)", field="plan")
    if not plan.changes:
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=(), run=None)

    do = PREPARERS[plan.job](world, plan)

    def change(writing: WriteTransaction) -> Run:
        found = [_get_as_planned(writing, plan.scope, step) for step in plan.steps]
        present = {one.id: one for one in found if one is not None}
        written = do(writing, present)
        memories = tuple(sorted(written, key=lambda one: one.id))
        counts = count_index_changes((present[one.id], one) for one in memories if one.id in present)
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=memories, run=writing.commit, counts=counts)

    return world.store.write(change)


def run_job(
    world: Dependencies, job: Job, scope: Scope, wish: RetentionOverrides, progress: ProgressListener
) -> list[Run]:
    """Plan a job and do it, in parts that leave others room to write; what they changed meanwhile is planned anew."""
    runs, done = list[Run](), 0
    for _ in range(MAX_ATTEMPTS):
        parts, disturbed = _split_plan(make_plan(world, job, scope, wish)), False
        total = done + sum(len(part.steps) for part in parts)
        commits = dict[MemoryId, int | None]()
        for part in parts:
            try:
                found = apply_plan(world, _with_new_commits(part, commits))
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


def _split_plan(plan: Plan) -> list[Plan]:
    """The plan, or several that come to the same one after the other, where it may be done so."""
    if plan.job not in STAGE_SPLITTERS or len(plan.steps) <= MAX_STEPS_PER_TRANSACTION:
        return [plan]
    cuts = [
        (one, start)
        for one in STAGE_SPLITTERS[plan.job](plan)
        for start in range(0, len(one.steps), MAX_STEPS_PER_TRANSACTION)
    ]
    return [replace(one, steps=one.steps[start : start + MAX_STEPS_PER_TRANSACTION]) for one, start in cuts]


def _with_new_commits(part: Plan, commits: Mapping[MemoryId, int | None]) -> Plan:
    """The part, of memories as parts before it wrote them."""
    steps = (replace(one, commit=commits[one.memory]) if one.memory in commits else one for one in part.steps)
    return replace(part, steps=tuple(steps))


def undo_run(world: Dependencies, run: Run | int, scope: Scope | None) -> UndoReport:
    """Let every memory that the run wrote stand as it did before."""
    if isinstance(run, Run):
        if scope is not None and scope != run.scope:
            raise FieldError(f"{scope} is not the scope of the run, which is {run.scope}", field="scope")
        if run.run is None:
            raise FieldError("there was nothing to do in this run, so that nothing can be undone", field="run")
        return undo_commit(world, run.scope, run.run)
    if scope is None:
        raise FieldError("is not said, and the number of a run alone does not tell it; give scope=", field="scope")
    return undo_commit(world, scope, run)


def _get_as_planned(writing: WriteTransaction, scope: Scope, step: Step) -> Memory | None:
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
