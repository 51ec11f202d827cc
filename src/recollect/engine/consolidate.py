"""Consolidate: of memories that say the same, one speaks for all; planned first, and then done just so."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

from recollect.admission.policy import AdmissionPolicy
from recollect.engine.active_memories import load_active_memories
from recollect.engine.dependencies import Dependencies
from recollect.engine.merge import Wording, build_merged
from recollect.engine.supersession import filter_overlapping, is_exclusive
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.consolidation import Consolidation, ConsolidationGroup, find_consolidation, raise_importance
from recollect.model.format import format_count, shorten
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.plan import Act, Job, Plan, RetentionOverrides, Step
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

_STORE_FIELDS = ("recorded_at", "commit")
"""What a store says of a version, and not who writes it."""


@dataclass(frozen=True, slots=True)
class _NearMemories:
    """The memories of a scope that are near another one, in the order of ids, and for each those near it, the nearest
    first; how many are active in all, and how many pairs were compared.
    """

    active_count: int
    memories: Sequence[Memory] = ()
    neighbors: Sequence[Sequence[int]] = ()
    compared_pairs: int = 0


def plan_consolidation(world: Dependencies, scope: Scope, _: RetentionOverrides) -> Plan:
    """What consolidating would do to the scope's own plain memories that hold now; nothing is written."""
    now, rules = world.now(), world.consolidation
    look = _find_near_memories(world, scope, now)
    made = _find_merge_results(world.store, scope, look.memories)

    rivals = _make_rival_check(world.policy)
    found = find_consolidation(look.memories, look.neighbors, least=rules.least, made=made, rivals=rivals)
    steps = tuple(_build_steps(found, made, world.policy))
    acts = {act.value: sum(one.act is act for one in steps) for act in Act}
    return Plan(
        job=Job.CONSOLIDATE,
        scope=scope,
        made_at=now,
        parameters={
            "embedder": world.encoder.name,
            "threshold": rules.threshold,
            "least": rules.least,
            "more_than": rules.more_than,
        },
        counts={"active": look.active_count, "near": len(look.memories), "compared": look.compared_pairs, **acts},
        steps=steps,
    )


def prepare_consolidation(
    world: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done; there is nothing to make ready."""
    return lambda writing, present: _apply_consolidation(world, writing, plan, present)


def _apply_consolidation(
    world: Dependencies, writing: WriteTransaction, plan: Plan, present: Mapping[MemoryId, Memory]
) -> list[Memory]:
    """Do what the plan says to memories that are still what they were; what it is to make must come out as planned.

    Those that are spoken for go first: the one that is made may say the same, and no two may. Nobody sees that, for all
    of it is one transaction: it is found as soon as they are not.
    """
    writing.adopt(world.encoder)
    sources: dict[MemoryId | None, list[Memory]] = defaultdict(list)
    for step in plan.of(Act.CONSOLIDATE):
        sources[step.by].append(_check_consolidation_source(present[step.memory]))
    made = _find_merge_results_in_transaction(writing, plan.scope, [one for some in sources.values() for one in some])
    written = list[Memory]()
    for step in plan.of(Act.CREATE):
        members = sources.pop(step.memory, [])
        lead = next((one for one in members if one.id == step.by), None)
        if lead is None:
            raise FieldError(f"{show(step.memory)} is made of none that has its words; plan again", field="steps")
        state = _build_successor(members, lead, step.memory, made, world.policy)
        if digest_memory(state) != step.state:
            raise Conflict(f"the memory {show(step.memory)} would be made otherwise by now; plan again")
        direction = writing.direction(lead)
        retired = [one.changed(status=Status.CONSOLIDATED, superseded_by=step.memory) for one in members]
        written += [writing.put(one, None) for one in retired]
        written.append(writing.put(state, direction))
    if sources:
        raise FieldError(f"{show(next(iter(sources)))} is not made, and others go for it; plan again", field="steps")
    return written


def _find_near_memories(world: Dependencies, scope: Scope, now: datetime) -> _NearMemories:
    """All that is near each other; nothing, where there are too few to be looked at."""
    import numpy as np

    from recollect.lifecycle.near_pairs import find_near_pairs

    here = load_active_memories(world, scope, now)
    vectors = here.vectors
    if here.active_count <= world.consolidation.more_than or not vectors.size:
        return _NearMemories(here.active_count)

    pairs = find_near_pairs(vectors, world.consolidation.threshold)
    places = np.union1d(pairs.first, pairs.second)
    memories = here.evidence.memories(here.rows[places].tolist())
    there = np.array([one is not None for one in memories], dtype=np.bool_)  # what was erased since is near nothing
    near = pairs.neighbors_among(places[there])
    return _NearMemories(here.active_count, [one for one in memories if one is not None], near, pairs.compared)


def _find_merge_results(store: Store, scope: Scope, memories: Sequence[Memory]) -> set[MemoryId]:
    """Those of the memories that others were put away for: a consolidation before, or a merge by hand."""
    origins = list(dict.fromkeys(MemoryId(id) for one in memories for id in one.derived_from))
    return _successor_ids(store.get(scope, origins) if origins else [])


def _find_merge_results_in_transaction(
    writing: WriteTransaction, scope: Scope, memories: Sequence[Memory]
) -> set[MemoryId]:
    """The same, within a transaction."""
    found = [writing.get(scope, MemoryId(id)) for one in memories for id in one.derived_from]
    return _successor_ids([one for one in found if one is not None])


def _successor_ids(origins: Sequence[Memory]) -> set[MemoryId]:
    put_away = (one for one in origins if one.status is Status.CONSOLIDATED)
    return {one.superseded_by for one in put_away if one.superseded_by is not None}


def _make_rival_check(policy: AdmissionPolicy) -> Callable[[Memory, Memory], bool]:
    """Whether two memories are of one subject, and cannot both be true."""

    def rivals(one: Memory, other: Memory) -> bool:
        alike = one.subject is not None and one.subject == other.subject
        return (
            alike
            and is_exclusive(one, policy)
            and is_exclusive(other, policy)
            and bool(filter_overlapping(one, [other]))
        )

    return rivals


def _build_steps(found: Consolidation, made: Collection[MemoryId], policy: AdmissionPolicy) -> Iterator[Step]:
    """What becomes of each memory: group by group, and then of those that are left."""
    for group in found.groups:
        yield from _build_group_steps(group, made, policy)
    for one in found.unmerged:
        memory = one.memory
        yield Step(
            memory=memory.id,
            commit=memory.commit,
            act=Act.KEEP,
            by=one.other.id,
            reason=one.reason,
            text=shorten(memory.text),
        )


def _build_group_steps(
    group: ConsolidationGroup, made: Collection[MemoryId], policy: AdmissionPolicy
) -> Iterator[Step]:
    id = _make_successor_id(group)
    state = _build_successor(group.members, group.lead, id, made, policy)
    of = format_count(len(group.members), "memory", "memories")
    judged = f"importance {state.importance:g}, trust {state.trust.value}"
    yield Step(
        memory=id,
        act=Act.CREATE,
        by=group.lead.id,
        reason=f"one for {of}, in the words of the one that says all of it; {judged}",
        text=shorten(state.text),
        state=digest_memory(state),
    )
    for one in group.members:
        itself = "it is the one whose words are kept" if one is group.lead else "all that it says is said by that one"
        yield Step(memory=one.id, commit=one.commit, act=Act.CONSOLIDATE, by=id, reason=itself, text=shorten(one.text))


def _build_successor(
    members: Sequence[Memory], lead: Memory, id: MemoryId, made: Collection[MemoryId], policy: AdmissionPolicy
) -> Memory:
    """The memory that speaks for all of them: what a merge makes of them, in the words of the one that leads."""
    one = build_merged(members, Wording(), id, policy, led_by=lead.id)
    return one.changed(importance=raise_importance(members, made))


def _make_successor_id(group: ConsolidationGroup) -> MemoryId:
    """An id that sorts by when the last of them was taken in, and is the same for the same versions of them alone."""
    named = [[one.id, one.commit] for one in group.members]
    digest = hashlib.sha256(json.dumps([str(group.lead.scope), named]).encode()).hexdigest()
    last = max(one.recorded_at or one.created_at for one in group.members)
    time = f"{max((last - EPOCH) // MILLISECOND, 0):012x}"
    return MemoryId(f"{time[:8]}-{time[8:]}-8{digest[:3]}-8{digest[3:6]}-{digest[6:18]}")


def digest_memory(memory: Memory) -> str:
    """What tells the memory from any other, but for what a store says of it."""
    told = {one.name: getattr(memory, one.name) for one in fields(Memory) if one.name not in _STORE_FIELDS}
    said = json.dumps({**told, "metadata": dict(memory.metadata)}, sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def _check_consolidation_source(memory: Memory) -> Memory:
    """The memory; whatever a plan protects is protected from a plan that says otherwise."""
    if memory.status is not Status.ACTIVE or memory.pinned or memory.level is not None or not memory.indexed:
        raise Conflict(f"the memory {show(memory.id)} is not active, or is pinned; only others are consolidated")
    return memory
