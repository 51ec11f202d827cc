"""Plan: a job says what it would do, and later does exactly that, or nothing."""

from collections.abc import Callable, Mapping

from recollect.engine import consolidate
from recollect.engine.undo import undo as undone
from recollect.engine.world import World
from recollect.errors import Conflict, FieldError, show
from recollect.model.curation import Undone
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, Plan, Run, Step
from recollect.model.scope import Scope
from recollect.ports import Writing

PLANNED: Mapping[Job, Callable[[World, Scope], Plan]] = {Job.CONSOLIDATE: consolidate.planned}
"""What each job would do to a scope."""

DONE: Mapping[Job, Callable[[World, Writing, Plan, Mapping[MemoryId, Memory]], list[Memory]]] = {
    Job.CONSOLIDATE: consolidate.done
}
"""How what each job planned is done to memories that are what they were; all of it, in one transaction."""


def plan(world: World, job: Job, scope: Scope) -> Plan:
    """What the job would do to the scope's own memories; nothing is written."""
    return PLANNED[job](world, scope)


def apply(world: World, plan: Plan) -> Run:
    """Do exactly what the plan says, all of it in one transaction; refused, so that nothing is written, if any memory
    that is named in it is not what it was.
    """
    if not isinstance(plan, Plan):
        raise FieldError(f"{show(plan)} is no plan; give what `plan` gave, or Plan.read(…)", field="plan")
    if not plan.changes:
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=(), run=None)

    def change(writing: Writing) -> Run:
        found = [_as_planned(writing, plan.scope, step) for step in plan.steps]
        present = {one.id: one for one in found if one is not None}
        written = DONE[plan.job](world, writing, plan, present)
        memories = tuple(sorted(written, key=lambda one: one.id))
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=memories, run=writing.commit)

    return world.store.write(change)


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
