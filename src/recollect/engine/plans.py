"""Plan: a job says what it would do, and later does exactly that, or nothing.

Undo: what a run wrote stands again as it did before.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.admission.decision import effective_from
from recollect.admission.policy import AdmissionPolicy
from recollect.engine import maintenance, merge
from recollect.engine.contexts import filter_known_contexts, record_success, retract_success
from recollect.engine.dependencies import Dependencies
from recollect.engine.episode_ops import load_actions
from recollect.engine.erase import find_descendants
from recollect.engine.maintenance import find_coverage_gap
from recollect.engine.supersession import filter_overlapping, find_rivals, is_exclusive
from recollect.errors import Conflict, FieldError, NotFound, StoreBusy, show
from recollect.lifecycle.episodes import collect_contexts, group_actions_by_episode, read_outcome
from recollect.model import validation
from recollect.model.enums import Index, Level, Provenance, Status, Trust, lowest_trust
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, Plan, RetentionOverrides, Run, Step, UndoReport, count_index_changes
from recollect.model.scope import Scope
from recollect.model.validation import copy_with
from recollect.protocols import ProgressListener, WriteTransaction

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector


PLANNERS: Mapping[Job, Callable[[Dependencies, Scope, RetentionOverrides], Plan]] = {
    Job.CONSOLIDATE: merge.plan_consolidation,
    Job.PRUNE_VECTORS: maintenance.plan_vector_pruning,
    Job.REBUILD_INDEX: maintenance.plan_index_rebuild,
    Job.PRUNE_EPISODES: maintenance.plan_episode_pruning,
}
"""What each job would do to a scope, if somebody wishes for it."""

ApplySteps = Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]

PREPARERS: Mapping[Job, Callable[[Dependencies, Plan], ApplySteps]] = {
    Job.CONSOLIDATE: merge.prepare_consolidation,
    Job.PRUNE_VECTORS: maintenance.prepare_index_changes,
    Job.REBUILD_INDEX: maintenance.prepare_index_changes,
    Job.PRUNE_EPISODES: maintenance.prepare_episode_pruning,
}
"""How what each job planned is done to memories that are what they were: what can be made ready is, and then all of it
is one transaction.
"""


STAGE_SPLITTERS: Mapping[Job, Callable[[Plan], list[Plan]]] = {
    Job.PRUNE_VECTORS: maintenance.split_stages,
    Job.REBUILD_INDEX: maintenance.split_stages,
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


UNDONE_REMARK = "undone"
"""What is remarked of a memory that was not there before the run."""


def undo_commit(world: Dependencies, scope: Scope, run: int) -> UndoReport:
    """Every memory of the scope that the run wrote gets its former version back, as a new one; all of them, or none.

    Refused if one of them has changed since, if another one holds of its subject or topic by now, or if a record of
    what happened would be found no more, nor anything in its place. What was made of a memory while it was trusted
    more, as one that somebody vouched for, is trusted no more than that one again; what scopes below made of it stays
    theirs to judge.
    """
    validation.require_count("run", run)

    vectors = _embed_returning(world, scope, run)

    def change(writing: WriteTransaction) -> UndoReport:
        states = [_load_former_state(writing, scope, id, run) for id in _list_written(writing, scope, run)]
        if not states and run >= writing.commit:
            raise NotFound(f"there was no run {run} yet; the last one here is {writing.commit - 1}")
        if not states:
            nothing = f"run {run} changed no memory of {scope}"
            raise NotFound(f"{nothing}, or none that was not erased since; what is erased never comes back")
        for one in states:
            _refuse_rival(writing, one, states, run, world.policy)
        _refuse_coverage_gap(writing, scope, states)
        fallen = {one.memory.id: one.memory.trust for one in states if one.memory.trust.less_than(one.present.trust)}
        # those that are put away go first: they may say what one of the others is to say again
        states.sort(key=lambda one: (one.memory.status is Status.ACTIVE, one.memory.id))
        memories = [writing.put(one.memory, vectors.get(one.memory.id, one.vector)) for one in states]
        memories += _lower_derived_trust(writing, scope, fallen, {one.id for one in memories}) if fallen else []
        for one in states:
            _update_success_signs(world, writing, one)
        in_order = tuple(sorted(memories, key=lambda one: one.id))
        return UndoReport(scope=scope, undone=run, memories=in_order, run=writing.commit)

    return world.store.write(change)


def _embed_returning(world: Dependencies, scope: Scope, run: int) -> "dict[MemoryId, Vector]":
    """Directions for the memories that come back into the index that has none of them any more: the same text has the
    same one. They are made before anybody has to wait.
    """

    def look(writing: WriteTransaction) -> list[Memory]:
        lacking = []
        for id in _list_written(writing, scope, run):
            present, found = writing.get(scope, id), writing.before(scope, id, run)
            if present is not None and found is not None and Index.VECTOR in present.left and found[1] is None:
                lacking += [found[0]] if Index.VECTOR not in found[0].left else []
        return lacking

    found = world.store.write(look)
    vectors = world.embed([one.embedded_text for one in found], "memory") if found else ()
    return {one.id: vector for one, vector in zip(found, vectors, strict=True)}


def _list_written(writing: WriteTransaction, scope: Scope, run: int) -> list[MemoryId]:
    """What the run wrote. A session is active with whatever is saved in it, and nobody takes that back."""
    found = [(id, writing.get(scope, id)) for id in writing.written_by(scope, run)]
    return [id for id, memory in found if memory is None or memory.level is not Level.SESSION]


@dataclass(frozen=True, slots=True)
class _FormerState:
    """A memory as it is to stand, its direction where that is another than now, and as it stands."""

    memory: Memory
    vector: "Vector | None"
    present: Memory


def _load_former_state(writing: WriteTransaction, scope: Scope, id: MemoryId, run: int) -> _FormerState:
    present, after = writing.get(scope, id), writing.before(scope, id, run + 1)
    found = writing.before(scope, id, run)
    if present is None or after is None or not _is_unchanged_since(present, after[0]):
        if (
            present is not None
            and after is not None
            and _is_unchanged_since(present, found[0] if found else _mark_undone(after[0]))
        ):
            raise Conflict(f"run {run} was undone by run {present.commit}; nothing of it is left to undo")
        remedy = "undo first what was done to it later, or change it by hand"
        raise Conflict(f"the memory {show(id)} has changed since run {run}; {remedy}")
    if found is None:
        return _FormerState(_mark_undone(present), None, present)
    memory, vector = found
    _refuse_missing_successor(writing, memory)
    kept = memory.reads_like(present) and _is_same_vector(vector, writing.direction(present))
    return _FormerState(memory, None if kept else vector, present)


def _update_success_signs(world: Dependencies, writing: WriteTransaction, state: _FormerState) -> None:
    """What a task was decided by was followed by its success only as long as it counts as ended so."""
    if state.memory.level is not Level.EPISODE:
        return
    was, now, scope = read_outcome(state.present), read_outcome(state.memory), state.memory.scope
    if was is not None and now is None:
        actions = group_actions_by_episode(writing.timeline(scope, [Level.ACTION], statuses=tuple(Status)))
        others = writing.timeline(scope, [Level.EPISODE], statuses=tuple(Status))
        said = {
            one
            for other in others
            if _has_succeeded(world, other)
            for one in collect_contexts(other, actions[other.id])
        }
        decided = collect_contexts(state.present, actions[state.present.id])
        retract_success(
            writing, scope, [one for one in filter_known_contexts(writing, scope, decided) if one not in said]
        )
    if was is None and now is not None:
        done = load_actions(writing, state.memory)
        if done and done[-1].created_at > now.at:
            raise Conflict(f"the episode {show(state.memory.id)} was worked on since it ended; end it anew")
        if _has_succeeded(world, state.memory):
            record_success(
                writing, scope, filter_known_contexts(writing, scope, collect_contexts(state.memory, done)), now.at
            )


def _has_succeeded(world: Dependencies, episode: Memory) -> bool:
    outcome = read_outcome(episode)
    return outcome is not None and outcome.score >= world.episodic.success


def _mark_undone(memory: Memory) -> Memory:
    """A memory that was not there before the run, once it is undone."""
    return memory.changed(status=Status.FORGOTTEN, remark=UNDONE_REMARK)


def _refuse_missing_successor(writing: WriteTransaction, memory: Memory) -> None:
    """What is put away behind another memory is recalled through that one, which must be there."""
    by = memory.superseded_by if memory.status is Status.CONSOLIDATED else None
    if by is not None and writing.get(memory.scope, by) is None:
        what = f"the memory {show(memory.id)} would be put away behind {show(by)}, which was erased"
        raise Conflict(f"{what}; forget it if it is not to be recalled")


def _refuse_coverage_gap(writing: WriteTransaction, scope: Scope, states: Sequence[_FormerState]) -> None:
    """Whoever stands in for what has left an index does so until that is back, and nothing leaves one again in which
    nothing is found in its place by now.
    """
    gone = find_coverage_gap(writing, scope, [(one.present, one.memory) for one in states])
    if gone is not None:
        away = f"the record {show(gone.id)} would be outside of an index in which nothing is found in its place"
        raise Conflict(f"{away}; undo the later runs first, the last one before the others")


def _refuse_rival(
    writing: WriteTransaction, state: _FormerState, states: Sequence[_FormerState], run: int, policy: AdmissionPolicy
) -> None:
    """Of a subject one thing holds at a time: what would hold again must not do so beside another one, unless that
    stood beside it before the run and is still what it was.
    """
    memory = state.memory
    if memory.status is not Status.ACTIVE or not is_exclusive(memory, policy) or _is_same_claim(memory, state.present):
        return
    undone = {one.memory.id: one.memory for one in states}
    here = [one for one in find_rivals(writing, memory, policy) if one.id not in undone and (one.commit or 0) > run]
    there = filter_overlapping(memory, (one for one in undone.values() if one.subject == memory.subject))
    other = next(iter([*here, *there]), None)
    if other is not None:
        holds = f"the memory {show(other.id)} holds of the subject {show(memory.subject)} by now"
        raise Conflict(f"{holds}, so that {show(memory.id)} cannot come back beside it; forget one of the two first")


def _is_same_claim(memory: Memory, present: Memory) -> bool:
    """Whether it is the truth about its subject already, for the same time."""
    names = ("status", "subject", "kind", "valid_until")
    same = all(getattr(memory, name) == getattr(present, name) for name in names)
    return same and effective_from(memory) == effective_from(present)


def _lower_derived_trust(
    writing: WriteTransaction, scope: Scope, fallen: dict[MemoryId, Trust], states: Set[MemoryId]
) -> list[Memory]:
    """What was made of memories that are trusted less again, trusted no more than these; whatever an operator vouched
    for by itself, or wrote anew, stays as it is.
    """
    trusts = dict(fallen)
    known = [writing.get(scope, id) for id in find_descendants(writing.lineage(scope), fallen) if id not in states]
    waiting = [one for one in known if one is not None and not _is_vouched_since(writing, one)]
    written: dict[MemoryId, Memory] = {}
    fell = True
    while fell:
        fell = False
        for one in waiting:
            origins = [trusts[MemoryId(id)] for id in one.derived_from if id in trusts]
            trust = lowest_trust([trusts.get(one.id, one.trust), *origins])
            if trust.less_than(trusts.get(one.id, one.trust)):
                trusts[one.id], fell = trust, True
                written[one.id] = one.changed(trust=trust)
    return [writing.put(one, None) for one in written.values()]


def _is_vouched_since(writing: WriteTransaction, memory: Memory) -> bool:
    """Whether it is vouched for since later than it is there."""
    one = memory
    while one.trust is Trust.VOUCHED:
        earlier = writing.before(one.scope, one.id, one.commit or 0)
        if earlier is None:
            return one.provenance is not Provenance.OPERATOR
        one, _ = earlier
    return one is not memory


def _is_unchanged_since(present: Memory, after: Memory) -> bool:
    """Whether the memory is what it was after the run, or is so again because all that came later was undone."""
    return copy_with(present, recorded_at=after.recorded_at, commit=after.commit) == after


def _is_same_vector(one: "Vector | None", other: "Vector | None") -> bool:
    if one is None or other is None:
        return one is other
    return one.tobytes() == other.tobytes()
