"""Consolidate: of memories that say the same, one speaks for all; planned first, and then done just so."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

from recollect.admission.policy import Policy
from recollect.engine.active_memories import plain
from recollect.engine.dependencies import World
from recollect.engine.merge import Wording, merged
from recollect.engine.supersession import is_a_truth, overlapping
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.consolidation import Consolidation, Group, consolidation, heightened
from recollect.model.format import counted, shortened
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.plan import Act, Job, Plan, Step, Wish
from recollect.model.scope import Scope
from recollect.protocols import Store, Writing

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

_THE_STORES = ("recorded_at", "commit")
"""What a store says of a version, and not who writes it."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The memories of a scope that are near another one, in the order of ids, and for each those near it, the nearest
    first; how many are active in all, and how many pairs were compared.
    """

    active: int
    memories: Sequence[Memory] = ()
    near: Sequence[Sequence[int]] = ()
    compared: int = 0


def planned(world: World, scope: Scope, _: Wish) -> Plan:
    """What consolidating would do to the scope's own plain memories that hold now; nothing is written."""
    now, rules = world.now(), world.consolidation
    look = _looked(world, scope, now)
    made = _made_of_others(world.store, scope, look.memories)

    rivals = _rivals(world.policy)
    found = consolidation(look.memories, look.near, least=rules.least, made=made, rivals=rivals)
    steps = tuple(_steps(found, made, world.policy))
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
        counts={"active": look.active, "near": len(look.memories), "compared": look.compared, **acts},
        steps=steps,
    )


def doing(world: World, plan: Plan) -> Callable[[Writing, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done; there is nothing to make ready."""
    return lambda writing, present: _done(world, writing, plan, present)


def _done(world: World, writing: Writing, plan: Plan, present: Mapping[MemoryId, Memory]) -> list[Memory]:
    """Do what the plan says to memories that are still what they were; what it is to make must come out as planned.

    Those that are spoken for go first: the one that is made may say the same, and no two may. Nobody sees that, for all
    of it is one transaction: it is found as soon as they are not.
    """
    writing.adopt(world.encoder)
    sources: dict[MemoryId | None, list[Memory]] = defaultdict(list)
    for step in plan.of(Act.CONSOLIDATE):
        sources[step.by].append(_a_source(present[step.memory]))
    made = _made_of_others_there(writing, plan.scope, [one for some in sources.values() for one in some])
    written = list[Memory]()
    for step in plan.of(Act.CREATE):
        members = sources.pop(step.memory, [])
        lead = next((one for one in members if one.id == step.by), None)
        if lead is None:
            raise FieldError(f"{show(step.memory)} is made of none that has its words; plan again", field="steps")
        state = _successor(members, lead, step.memory, made, world.policy)
        if digest_of(state) != step.state:
            raise Conflict(f"the memory {show(step.memory)} would be made otherwise by now; plan again")
        direction = writing.direction(lead)
        retired = [one.changed(status=Status.CONSOLIDATED, superseded_by=step.memory) for one in members]
        written += [writing.put(one, None) for one in retired]
        written.append(writing.put(state, direction))
    if sources:
        raise FieldError(f"{show(next(iter(sources)))} is not made, and others go for it; plan again", field="steps")
    return written


def _looked(world: World, scope: Scope, now: datetime) -> _Look:
    """All that is near each other; nothing, where there are too few to be looked at."""
    import numpy as np

    from recollect.lifecycle.near_pairs import near_pairs

    here = plain(world, scope, now)
    vectors = here.vectors
    if here.active <= world.consolidation.more_than or not vectors.size:
        return _Look(here.active)

    pairs = near_pairs(vectors, world.consolidation.threshold)
    places = np.union1d(pairs.first, pairs.second)
    memories = here.found.memories(here.rows[places].tolist())
    there = np.array([one is not None for one in memories], dtype=np.bool_)  # what was erased since is near nothing
    near = pairs.among(places[there])
    return _Look(here.active, [one for one in memories if one is not None], near, pairs.compared)


def _made_of_others(store: Store, scope: Scope, memories: Sequence[Memory]) -> set[MemoryId]:
    """Those of the memories that others were put away for: a consolidation before, or a merge by hand."""
    origins = list(dict.fromkeys(MemoryId(id) for one in memories for id in one.derived_from))
    return _followed(store.get(scope, origins) if origins else [])


def _made_of_others_there(writing: Writing, scope: Scope, memories: Sequence[Memory]) -> set[MemoryId]:
    """The same, within a transaction."""
    found = [writing.get(scope, MemoryId(id)) for one in memories for id in one.derived_from]
    return _followed([one for one in found if one is not None])


def _followed(origins: Sequence[Memory]) -> set[MemoryId]:
    put_away = (one for one in origins if one.status is Status.CONSOLIDATED)
    return {one.superseded_by for one in put_away if one.superseded_by is not None}


def _rivals(policy: Policy) -> Callable[[Memory, Memory], bool]:
    """Whether two memories are of one subject, and cannot both be true."""

    def rivals(one: Memory, other: Memory) -> bool:
        alike = one.subject is not None and one.subject == other.subject
        return alike and is_a_truth(one, policy) and is_a_truth(other, policy) and bool(overlapping(one, [other]))

    return rivals


def _steps(found: Consolidation, made: Collection[MemoryId], policy: Policy) -> Iterator[Step]:
    """What becomes of each memory: group by group, and then of those that are left."""
    for group in found.groups:
        yield from _group_steps(group, made, policy)
    for one in found.left:
        memory = one.memory
        yield Step(
            memory=memory.id,
            commit=memory.commit,
            act=Act.KEEP,
            by=one.other.id,
            reason=one.reason,
            text=shortened(memory.text),
        )


def _group_steps(group: Group, made: Collection[MemoryId], policy: Policy) -> Iterator[Step]:
    id = _id_of(group)
    state = _successor(group.members, group.lead, id, made, policy)
    of = counted(len(group.members), "memory", "memories")
    judged = f"importance {state.importance:g}, trust {state.trust.value}"
    yield Step(
        memory=id,
        act=Act.CREATE,
        by=group.lead.id,
        reason=f"one for {of}, in the words of the one that says all of it; {judged}",
        text=shortened(state.text),
        state=digest_of(state),
    )
    for one in group.members:
        itself = "it is the one whose words are kept" if one is group.lead else "all that it says is said by that one"
        yield Step(
            memory=one.id, commit=one.commit, act=Act.CONSOLIDATE, by=id, reason=itself, text=shortened(one.text)
        )


def _successor(
    members: Sequence[Memory], lead: Memory, id: MemoryId, made: Collection[MemoryId], policy: Policy
) -> Memory:
    """The memory that speaks for all of them: what a merge makes of them, in the words of the one that leads."""
    one = merged(members, Wording(), id, policy, led_by=lead.id)
    return one.changed(importance=heightened(members, made))


def _id_of(group: Group) -> MemoryId:
    """An id that sorts by when the last of them was taken in, and is the same for the same versions of them alone."""
    named = [[one.id, one.commit] for one in group.members]
    digest = hashlib.sha256(json.dumps([str(group.lead.scope), named]).encode()).hexdigest()
    last = max(one.recorded_at or one.created_at for one in group.members)
    time = f"{max((last - EPOCH) // MILLISECOND, 0):012x}"
    return MemoryId(f"{time[:8]}-{time[8:]}-8{digest[:3]}-8{digest[3:6]}-{digest[6:18]}")


def digest_of(memory: Memory) -> str:
    """What tells the memory from any other, but for what a store says of it."""
    told = {one.name: getattr(memory, one.name) for one in fields(Memory) if one.name not in _THE_STORES}
    said = json.dumps({**told, "metadata": dict(memory.metadata)}, sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def _a_source(memory: Memory) -> Memory:
    """The memory; whatever a plan protects is protected from a plan that says otherwise."""
    if memory.status is not Status.ACTIVE or memory.pinned or memory.level is not None or not memory.indexed:
        raise Conflict(f"the memory {show(memory.id)} is not active, or is pinned; only others are consolidated")
    return memory
