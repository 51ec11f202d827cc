"""Age: records that have had their time leave an index, and others come back; planned first, and then done just so."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from recollect.engine.world import World
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.ageing import Aged, Ageing, Keeping, ageing
from recollect.lifecycle.policy import retention_of
from recollect.model.index import Index
from recollect.model.level import NODES, Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.plan import AGEING, AGEING_LEVELS, Act, Job, Plan, Step, Wish
from recollect.model.scope import Scope
from recollect.model.wording import shortened
from recollect.ports import Writing

if TYPE_CHECKING:
    from recollect.model.probe import Vector

RECORDS = tuple(level for level in Level if level is not Level.EVENT)


def planned_prune(world: World, scope: Scope, wish: Wish) -> Plan:
    """Which records would no longer be found by their direction; nothing is written."""
    kept = retention_of(world.lifecycle.vector)
    if wish.level is not None:
        age = kept[wish.level] if wish.age_days is None else timedelta(days=wish.age_days)
        kept = {wish.level: age}
    words = Keeping(Index.TEXT, {}, Level(world.lifecycle.bm25.min_level_after_rollup))  # which stays as it is
    return _planned(world, scope, Job.PRUNE_VECTORS, wish, [Keeping(Index.VECTOR, kept), words])


def planned_rebuild(world: World, scope: Scope, wish: Wish) -> Plan:
    """Which records would leave an index or come back, so that both have what the settings say; nothing is written."""
    policy = world.lifecycle
    least = wish.min_level or Level(policy.bm25.min_level_after_rollup)

    def keeping(index: Index, kept: Mapping[Level, timedelta | None], coarse: Level) -> Keeping:
        if wish.max_age_days is not None:
            fine = AGEING_LEVELS[: AGEING_LEVELS.index(coarse)] if coarse in AGEING_LEVELS else AGEING_LEVELS
            leaving = [level for level in fine if kept[level] is not None]  # what never leaves, stays
            kept = {**kept, **dict.fromkeys(leaving, timedelta(days=wish.max_age_days))}
        return Keeping(index, kept, coarse, returning=True)

    rules = [
        keeping(Index.VECTOR, retention_of(policy.vector), wish.min_level or NODES[0]),
        keeping(Index.TEXT, retention_of(policy.bm25), least),
    ]
    return _planned(world, scope, Job.REBUILD_INDEX, wish, rules)


def _planned(world: World, scope: Scope, job: Job, wish: Wish, rules: list[Keeping]) -> Plan:
    now, store = world.now(), world.store
    records = store.timeline(scope, RECORDS)
    leaving = any(rule.returning or rule.retention.get(Level.EVENT) is not None for rule in rules)
    if leaving or any(Level.EVENT in one.stands_for for one in records):
        records += store.timeline(scope, [Level.EVENT])
    found = ageing(records, rules, now)
    steps = tuple(_steps(found, rules))
    acts = {act.value: sum(one.act is act for one in steps) for act in Act}
    levels = {level.value: sum(one.leaves and one.memory.level is level for one in found.changed) for level in Level}
    given = {name: None if value is None else str(value) for name, value in asdict(wish).items()}
    return Plan(
        job=job,
        scope=scope,
        made_at=now,
        parameters={**given, **{f"{rule.index.value} keeps": _told(rule) for rule in rules if rule.retention}},
        counts={"records": len(records), **{name: count for name, count in (acts | levels).items() if count}},
        steps=steps,
    )


def _told(rule: Keeping) -> str:
    """How long each level is kept."""
    kept = {level.value: "ever" if age is None else f"{age.days} days" for level, age in rule.retention.items()}
    return f"{', '.join(f'{level} {age}' for level, age in kept.items())}, told by a {rule.least.value} at least"


def _steps(found: Ageing, rules: list[Keeping]) -> Iterator[Step]:
    """What is to become of each record, the coarsest first: those that stand in for others are there before."""
    for one in found.changed:
        act = Act.PRUNE if one.leaves else Act.RETURN if one.returns else Act.STAND_IN
        by = next((teller for some in one.tellers.values() for teller in some), None)
        yield _step(one.memory, act, _reason(one, rules), by=by, state=_state(one))
    for memory in found.pinned:
        yield _step(memory, Act.LEAVE, "old enough to leave, and pinned")
    for memory in found.untold:
        yield _step(memory, Act.LEAVE, "old enough to leave, and nothing coarser tells it yet: a rollup comes first")


def _step(memory: Memory, act: Act, reason: str, *, by: Memory | None = None, state: str | None = None) -> Step:
    return Step(
        memory=memory.id,
        act=act,
        reason=reason,
        text=shortened(memory.searched_text),
        commit=memory.commit,
        by=None if by is None or act is not Act.PRUNE else by.id,
        state=state,
    )


def _reason(aged: Aged, rules: list[Keeping]) -> str:
    level, told = aged.memory.level or Level.EVENT, list[str]()
    if aged.leaves:
        ages = [rule.retention.get(level) for rule in rules if rule.index in aged.tellers]
        days = min((age.days for age in ages if age is not None), default=0)
        by = " and ".join(dict.fromkeys(teller.id for some in aged.tellers.values() for teller in some))
        indexes = " and ".join(one.value for one in aged.left if one not in aged.memory.left)
        told.append(f"{level.value} older than {days} days leaves {indexes}; {by} stands in")
    if aged.returns:
        indexes = " and ".join(one.value for one in aged.memory.left if one not in aged.left)
        told.append(f"{level.value} belongs in {indexes}")
    if told:
        return ", and ".join(told)
    levels = " and ".join(one.value for one in aged.stands_for)
    return f"found for {levels} that have left" if levels else "nothing that it tells has left any more"


@dataclass(frozen=True, slots=True)
class _State:
    """How a record is found then: which indexes it has left, which levels it stands in for, and by whose ids it is told
    in each index that it leaves.
    """

    left: tuple[Index, ...]
    stands_for: tuple[Level, ...]
    tellers: Mapping[Index, tuple[MemoryId, ...]]


def _state(aged: Aged) -> str:
    tellers = {index.value: [one.id for one in some] for index, some in aged.tellers.items()}
    return json.dumps([list(aged.left), list(aged.stands_for), tellers], sort_keys=True)


def _read_state(step: Step) -> _State:
    try:
        left, levels, tellers = json.loads(step.state or "")
        return _State(
            tuple(map(Index, left)),
            tuple(map(Level, levels)),
            {Index(index): tuple(map(MemoryId, some)) for index, some in dict(tellers).items()},
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise FieldError(f"{show(step.state)} is not how a record is found; plan again", field="state") from error


def doing(world: World, plan: Plan) -> Callable[[Writing, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done; what comes back into the index of directions gets its own before."""
    states = {step.memory: _read_state(step) for step in plan.steps if step.act in AGEING}
    inside = [id for id, state in states.items() if Index.VECTOR not in state.left]
    lacking = [one for one in world.store.get(plan.scope, inside) if Index.VECTOR in one.left]
    found = world.embed([one.embedded_text for one in lacking], "memory") if lacking else ()
    vectors: dict[MemoryId, Vector] = {one.id: vector for one, vector in zip(lacking, found, strict=True)}

    def done(writing: Writing, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        written = list[Memory]()
        for id, state in states.items():
            memory = present[id]
            _refuse_loss(writing, plan.scope, memory, state)
            aged = memory.changed(left=state.left, stands_for=state.stands_for)
            written.append(writing.put(aged, vectors.get(id)))
        return written

    return done


def _refuse_loss(writing: Writing, scope: Scope, memory: Memory, state: _State) -> None:
    """What is pinned never leaves, and nothing leaves an index in which what tells it is not found in its place."""
    leaving = [index for index in state.left if index not in memory.left]
    if leaving and memory.pinned:
        raise FieldError(f"{show(memory.id)} is pinned, and does not leave an index", field="steps")
    for index in leaving:
        tellers = [writing.get(scope, id) for id in state.tellers.get(index, ())]
        if not tellers or not all(one is not None and _stands_in(one, memory, index) for one in tellers):
            raise Conflict(f"what was to be found in place of {show(memory.id)} is not, by now; plan again")


def _stands_in(record: Memory, memory: Memory, index: Index) -> bool:
    there = record.status is Status.ACTIVE and record.level in NODES and index not in record.left
    return there and memory.level in record.stands_for
