"""Plans: plan a maintenance job, apply exactly that plan or nothing, and undo a run."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.admission import supersession
from recollect.admission.decision import effective_from
from recollect.admission.policy import AdmissionPolicy
from recollect.engine import maintenance, merge
from recollect.engine.contexts import filter_known_contexts, record_success, retract_success
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import find_rivals, get_vector
from recollect.engine.episode_ops import load_actions
from recollect.engine.erase import find_descendants
from recollect.engine.maintenance import find_coverage_gap
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
    from recollect.retrieval.vectors import Vector


PLANNERS: Mapping[Job, Callable[[Dependencies, Scope, RetentionOverrides], Plan]] = {
    Job.CONSOLIDATE: merge.plan_consolidation,
    Job.PRUNE_VECTORS: maintenance.plan_vector_pruning,
    Job.REBUILD_INDEX: maintenance.plan_index_rebuild,
    Job.PRUNE_EPISODES: maintenance.plan_episode_pruning,
}
"""The planner of each job."""

ApplySteps = Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]

PREPARERS: Mapping[Job, Callable[[Dependencies, Plan], ApplySteps]] = {
    Job.CONSOLIDATE: merge.prepare_consolidation,
    Job.PRUNE_VECTORS: maintenance.prepare_index_changes,
    Job.REBUILD_INDEX: maintenance.prepare_index_changes,
    Job.PRUNE_EPISODES: maintenance.prepare_episode_pruning,
}
"""For each job, a function that prepares a plan and returns the function that applies it.

Preparing happens outside the transaction, applying in a single one.
"""


STAGE_SPLITTERS: Mapping[Job, Callable[[Plan], list[Plan]]] = {
    Job.PRUNE_VECTORS: maintenance.split_stages,
    Job.REBUILD_INDEX: maintenance.split_stages,
    Job.PRUNE_EPISODES: lambda plan: [plan],
}
"""The jobs that may be applied in batches, each with the function that splits a plan into stages.

Steps of one stage do not depend on each other.
"""

MAX_STEPS_PER_TRANSACTION = 500
"""How many steps one transaction applies, so that other writers get their turn in between."""

MAX_ATTEMPTS = 3
"""How often a job is planned again because other writers changed its memories."""


def make_plan(deps: Dependencies, job: Job, scope: Scope, overrides: RetentionOverrides) -> Plan:
    """Return what the job would do to the scope's own memories; nothing is written."""
    return PLANNERS[job](deps, scope, overrides.for_job(job))


def apply_plan(deps: Dependencies, plan: Plan) -> Run:
    """Apply a plan exactly, in one transaction.

    Raises Conflict and writes nothing if a memory named in it has changed.
    """
    if not isinstance(plan, Plan):
        raise FieldError(f"{show(plan)} is not a plan; pass what `plan` returned, or Plan.read(…)", field="plan")
    if not plan.changes:
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=(), run=None)

    apply_steps = PREPARERS[plan.job](deps, plan)

    def change(writing: WriteTransaction) -> Run:
        planned = [_get_as_planned(writing, plan.scope, step) for step in plan.steps]
        present = {one.id: one for one in planned if one is not None}
        written = apply_steps(writing, present)
        memories = tuple(sorted(written, key=lambda one: one.id))
        counts = count_index_changes((present[one.id], one) for one in memories if one.id in present)
        return Run(job=plan.job, scope=plan.scope, plan=plan.hash, memories=memories, run=writing.commit, counts=counts)

    return deps.store.write(change)


def run_job(
    deps: Dependencies, job: Job, scope: Scope, overrides: RetentionOverrides, progress: ProgressListener
) -> list[Run]:
    """Plan a job and apply it in batches; plan it again if other writers changed its memories meanwhile."""
    runs, done = list[Run](), 0
    for _ in range(MAX_ATTEMPTS):
        batches, conflicted = _split_plan(make_plan(deps, job, scope, overrides)), False
        total = done + sum(len(batch.steps) for batch in batches)
        commits = dict[MemoryId, int | None]()
        for batch in batches:
            try:
                run = apply_plan(deps, _with_new_commits(batch, commits))
            except Conflict:
                conflicted = True
                break  # later batches may depend on this one
            runs += [run] if run.run is not None else []
            commits |= {one.id: one.commit for one in run.memories}
            done += len(batch.steps)
            progress(done, total)
        if not conflicted:
            return runs
    raise StoreBusy(f"memories of {scope} keep changing; run {job.value} again later")


def _split_plan(plan: Plan) -> list[Plan]:
    """Return the plan, or several that give the same result in sequence."""
    if plan.job not in STAGE_SPLITTERS or len(plan.steps) <= MAX_STEPS_PER_TRANSACTION:
        return [plan]
    starts = [
        (one, start)
        for one in STAGE_SPLITTERS[plan.job](plan)
        for start in range(0, len(one.steps), MAX_STEPS_PER_TRANSACTION)
    ]
    return [replace(one, steps=one.steps[start : start + MAX_STEPS_PER_TRANSACTION]) for one, start in starts]


def _with_new_commits(batch: Plan, commits: Mapping[MemoryId, int | None]) -> Plan:
    """Return the batch with the commits that earlier batches gave its memories."""
    steps = (replace(one, commit=commits[one.memory]) if one.memory in commits else one for one in batch.steps)
    return replace(batch, steps=tuple(steps))


def undo_run(deps: Dependencies, run: Run | int, scope: Scope | None) -> UndoReport:
    """Undo a run: every memory it wrote gets its previous version back."""
    if isinstance(run, Run):
        if scope is not None and scope != run.scope:
            raise FieldError(f"{scope} is not the scope of the run, which is {run.scope}", field="scope")
        if run.run is None:
            raise FieldError("wrote nothing, so there is nothing to undo", field="run")
        return undo_commit(deps, run.scope, run.run)
    if scope is None:
        raise FieldError("is missing; a run given by its number needs scope=", field="scope")
    return undo_commit(deps, scope, run)


def _get_as_planned(writing: WriteTransaction, scope: Scope, step: Step) -> Memory | None:
    """Return the memory of a step; raise Conflict if it has changed since the plan was made."""
    memory = writing.get(scope, step.memory)
    if step.commit is None:
        if memory is not None:
            raise Conflict(f"memory {show(step.memory)}, which the plan creates, already exists; plan again")
        return None
    if memory is None:
        raise Conflict(f"memory {show(step.memory)} no longer exists; plan again")
    if memory.commit != step.commit:
        raise Conflict(f"memory {show(step.memory)} has changed since the plan was made; plan again")
    return memory


UNDONE_REMARK = "undone"
"""The remark on a memory that an undone run had created."""


def undo_commit(deps: Dependencies, scope: Scope, run: int) -> UndoReport:
    """Undo a run: write the previous version of every memory that it wrote, as a new version.

    All memories are restored, or none. Raises Conflict if one has changed since, if another memory is valid for its
    subject or topic now, or if a timeline record would no longer be findable. If a memory loses trust by the undo (for
    example because it was vouched for), memories derived from it lose trust too, except those of scopes below.
    """
    validation.require_count("run", run)

    vectors = _embed_returning(deps, scope, run)

    def change(writing: WriteTransaction) -> UndoReport:
        states = [_load_former_state(writing, scope, id, run) for id in _list_written(writing, scope, run)]
        if not states and run >= writing.commit:
            raise NotFound(f"run {run} does not exist; the last run is {writing.commit - 1}")
        if not states:
            problem = f"run {run} changed no memory of {scope}"
            raise NotFound(f"{problem}, or its memories were erased since; erased memories cannot be restored")
        for one in states:
            _refuse_rival(writing, one, states, run, deps.policy)
        _refuse_coverage_gap(writing, scope, states)
        lowered = {one.memory.id: one.memory.trust for one in states if one.memory.trust.less_than(one.present.trust)}
        # inactive ones first: they may have the text that another one gets back
        states.sort(key=lambda one: (one.memory.status is Status.ACTIVE, one.memory.id))
        memories = [writing.put(one.memory, vectors.get(one.memory.id, one.vector)) for one in states]
        memories += _lower_derived_trust(writing, scope, lowered, {one.id for one in memories}) if lowered else []
        for one in states:
            _update_success_signs(deps, writing, one)
        ordered = tuple(sorted(memories, key=lambda one: one.id))
        return UndoReport(scope=scope, undone=run, memories=ordered, run=writing.commit)

    return deps.store.write(change)


def _embed_returning(deps: Dependencies, scope: Scope, run: int) -> "dict[MemoryId, Vector]":
    """Embed memories that return to the vector index and whose vectors were removed.

    The same text has the same vector. This runs before the transaction, so that no writer has to wait for it.
    """

    def read(writing: WriteTransaction) -> list[Memory]:
        lacking = []
        for id in _list_written(writing, scope, run):
            present, before_run = writing.get(scope, id), writing.version(scope, id, before=run)
            if present is None or before_run is None or Index.VECTOR not in present.left:
                continue
            memory, vector = before_run
            if vector is None and Index.VECTOR not in memory.left:
                lacking.append(memory)
        return lacking

    returning = deps.store.write(read)
    vectors = deps.embed([one.embedded_text for one in returning], "memory") if returning else ()
    return {one.id: vector for one, vector in zip(returning, vectors, strict=True)}


def _list_written(writing: WriteTransaction, scope: Scope, run: int) -> list[MemoryId]:
    """Return the memories that the run wrote, without sessions.

    Every save updates its session, and an undo leaves that as it is.
    """
    written = [(id, writing.get(scope, id)) for id in writing.written_by(scope, run)]
    return [id for id, memory in written if memory is None or memory.level is not Level.SESSION]


@dataclass(frozen=True, slots=True)
class _FormerState:
    """A memory's former state, its present state, and the former vector if it differs."""

    memory: Memory
    vector: "Vector | None"
    present: Memory


def _load_former_state(writing: WriteTransaction, scope: Scope, id: MemoryId, run: int) -> _FormerState:
    present, after = writing.get(scope, id), writing.version(scope, id, before=run + 1)
    before_run = writing.version(scope, id, before=run)
    if present is None or after is None or not _is_unchanged_since(present, after[0]):
        if (
            present is not None
            and after is not None
            and _is_unchanged_since(present, before_run[0] if before_run else _mark_undone(after[0]))
        ):
            raise Conflict(f"run {run} was already undone by run {present.commit}")
        remedy = "undo the later changes first, or change it by hand"
        raise Conflict(f"memory {show(id)} has changed since run {run}; {remedy}")
    if before_run is None:
        return _FormerState(_mark_undone(present), None, present)
    memory, vector = before_run
    _refuse_missing_successor(writing, memory)
    same_vector = memory.reads_like(present) and _is_same_vector(vector, get_vector(writing, present))
    return _FormerState(memory, None if same_vector else vector, present)


def _update_success_signs(deps: Dependencies, writing: WriteTransaction, state: _FormerState) -> None:
    """Update whether success followed a task's contexts, when its outcome is undone or redone."""
    if state.memory.level is not Level.EPISODE:
        return
    old_outcome, new_outcome, scope = read_outcome(state.present), read_outcome(state.memory), state.memory.scope
    if old_outcome is not None and new_outcome is None:
        actions = group_actions_by_episode(writing.timeline(scope, [Level.ACTION], statuses=tuple(Status)))
        others = writing.timeline(scope, [Level.EPISODE], statuses=tuple(Status))
        other_contexts = {
            one for other in others if _has_succeeded(deps, other) for one in collect_contexts(other, actions[other.id])
        }
        contexts = filter_known_contexts(writing, scope, collect_contexts(state.present, actions[state.present.id]))
        retract_success(writing, scope, [one for one in contexts if one not in other_contexts])
    if old_outcome is None and new_outcome is not None:
        own_actions = load_actions(writing, state.memory)
        if own_actions and own_actions[-1].created_at > new_outcome.at:
            raise Conflict(f"episode {show(state.memory.id)} has new actions since it ended; end it again")
        if _has_succeeded(deps, state.memory):
            contexts = filter_known_contexts(writing, scope, collect_contexts(state.memory, own_actions))
            record_success(writing, scope, contexts, new_outcome.at)


def _has_succeeded(deps: Dependencies, episode: Memory) -> bool:
    outcome = read_outcome(episode)
    return outcome is not None and outcome.score >= deps.episodic.success


def _mark_undone(memory: Memory) -> Memory:
    """Return a memory created by the run as forgotten."""
    return memory.with_changes(status=Status.FORGOTTEN, remark=UNDONE_REMARK)


def _refuse_missing_successor(writing: WriteTransaction, memory: Memory) -> None:
    """Raise Conflict if the memory would be consolidated into one that was erased."""
    successor = memory.superseded_by if memory.status is Status.CONSOLIDATED else None
    if successor is not None and writing.get(memory.scope, successor) is None:
        problem = f"memory {show(memory.id)} would be consolidated into {show(successor)}, which was erased"
        raise Conflict(f"{problem}; forget it instead if it should not be recalled")


def _refuse_coverage_gap(writing: WriteTransaction, scope: Scope, states: Sequence[_FormerState]) -> None:
    """Raise Conflict if a record would be outside an index without a stand-in."""
    uncovered = find_coverage_gap(writing, scope, [(one.present, one.memory) for one in states])
    if uncovered is not None:
        problem = f"record {show(uncovered.id)} would be outside of an index without another record in its place"
        raise Conflict(f"{problem}; undo the later runs first, starting with the last")


def _refuse_rival(
    writing: WriteTransaction, state: _FormerState, states: Sequence[_FormerState], run: int, policy: AdmissionPolicy
) -> None:
    """Raise Conflict if a memory would be valid again at the same time as another one of its subject.

    Another memory that was already valid before the run, and is unchanged, does not count.
    """
    memory = state.memory
    if (
        memory.status is not Status.ACTIVE
        or not supersession.is_exclusive(memory, policy)
        or _is_same_claim(memory, state.present)
    ):
        return
    restored = {one.memory.id: one.memory for one in states}
    stored_rivals = [
        one for one in find_rivals(writing, memory, policy) if one.id not in restored and (one.commit or 0) > run
    ]
    restored_rivals = supersession.filter_overlapping(
        memory, (one for one in restored.values() if one.subject == memory.subject)
    )
    other = next(iter([*stored_rivals, *restored_rivals]), None)
    if other is not None:
        problem = f"memory {show(other.id)} of the same subject {show(memory.subject)} is valid now"
        raise Conflict(f"{problem}, so {show(memory.id)} cannot be restored; forget one of the two first")


def _is_same_claim(memory: Memory, present: Memory) -> bool:
    """Return whether the memory is already valid for its subject and the same time."""
    names = ("status", "subject", "kind", "valid_until")
    same = all(getattr(memory, name) == getattr(present, name) for name in names)
    return same and effective_from(memory) == effective_from(present)


def _lower_derived_trust(
    writing: WriteTransaction, scope: Scope, lowered: dict[MemoryId, Trust], excluded: Set[MemoryId]
) -> list[Memory]:
    """Lower the trust of memories derived from ones that lost trust.

    Memories that an operator vouched for or wrote stay unchanged.
    """
    trusts = dict(lowered)
    derived = [writing.get(scope, id) for id in find_descendants(writing.lineage(scope), lowered) if id not in excluded]
    waiting = [one for one in derived if one is not None and not _is_vouched_since(writing, one)]
    written: dict[MemoryId, Memory] = {}
    changed = True
    while changed:
        changed = False
        for one in waiting:
            origins = [trusts[MemoryId(id)] for id in one.derived_from if id in trusts]
            trust = lowest_trust([trusts.get(one.id, one.trust), *origins])
            if trust.less_than(trusts.get(one.id, one.trust)):
                trusts[one.id], changed = trust, True
                written[one.id] = one.with_changes(trust=trust)
    return [writing.put(one, None) for one in written.values()]


def _is_vouched_since(writing: WriteTransaction, memory: Memory) -> bool:
    """Return whether an operator vouched for the memory after it was created."""
    version = memory
    while version.trust is Trust.VOUCHED:
        earlier = writing.version(version.scope, version.id, before=version.commit or 0)
        if earlier is None:
            return version.provenance is not Provenance.OPERATOR
        version, _ = earlier
    return version is not memory


def _is_unchanged_since(present: Memory, after: Memory) -> bool:
    """Return whether the memory is as the run left it, perhaps because later undos restored that."""
    return copy_with(present, recorded_at=after.recorded_at, commit=after.commit) == after


def _is_same_vector(one: "Vector | None", other: "Vector | None") -> bool:
    if one is None or other is None:
        return one is other
    return one.tobytes() == other.tobytes()
