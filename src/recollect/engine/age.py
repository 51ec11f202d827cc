"""Age: records that have had their time leave an index, and others come back; planned first, and then done just so."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from recollect.engine.world import World
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.ageing import Aged, Ageing, Keeping, ageing
from recollect.lifecycle.policy import retention_of
from recollect.model.index import Index
from recollect.model.level import NODES, Level
from recollect.model.memory import Memory, MemoryId, Status, named
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
    return _planned(world, scope, Job.PRUNE_VECTORS, wish, [Keeping(Index.VECTOR, kept)])


def planned_rebuild(world: World, scope: Scope, wish: Wish) -> Plan:
    """Which records would leave an index or come back, so that both have what the settings say; nothing is written."""
    policy = world.lifecycle
    least = wish.min_level or Level(policy.bm25.min_level_after_rollup)

    def keeping(index: Index, kept: Mapping[Level, timedelta | None], coarse: Level) -> Keeping:
        if wish.max_age_days is not None:
            fine = AGEING_LEVELS[: AGEING_LEVELS.index(least)] if least in AGEING_LEVELS else AGEING_LEVELS
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
    leaving = any(rule.retention.get(Level.EVENT) is not None for rule in rules)
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
        parameters={**given, **{f"{rule.index.value} keeps": _told(rule) for rule in rules}},
        counts={"records": len(records), **{name: count for name, count in (acts | levels).items() if count}},
        steps=steps,
    )


def _told(rule: Keeping) -> str:
    """How long each level is kept."""
    kept = {level.value: "ever" if age is None else f"{age.days} days" for level, age in rule.retention.items()}
    return ", ".join(f"{level} {age}" for level, age in kept.items())


def _steps(found: Ageing, rules: list[Keeping]) -> Iterator[Step]:
    """What is to become of each record, the coarsest first: those that stand in for others are there before."""
    for one in found.changed:
        act = Act.PRUNE if one.leaves else Act.RETURN if one.returns else Act.STAND_IN
        yield _step(one.memory, act, _reason(one, rules), by=one.by, state=_state(one))
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
    level = aged.memory.level or Level.EVENT
    if aged.leaves:
        ages = [rule.retention.get(level) for rule in rules if rule.index in aged.left]
        days = min((age.days for age in ages if age is not None), default=0)
        indexes = " and ".join(one.value for one in aged.left if one not in aged.memory.left)
        told = "" if aged.by is None else f"; {aged.by.id} stands in"
        return f"{level.value} older than {days} days leaves {indexes}{told}"
    if aged.returns:
        return f"{level.value} belongs in {' and '.join(one.value for one in aged.memory.left if one not in aged.left)}"
    levels = " and ".join(one.value for one in aged.stands_for)
    return f"found for {levels} that have left" if levels else "nothing that it tells has left any more"


def _state(aged: Aged) -> str:
    """How the record is found then: which indexes it has left, and which levels it stands in for."""
    return ";".join(",".join(one.value for one in some) for some in (aged.left, aged.stands_for))


def _read_state(step: Step) -> tuple[tuple[Index, ...], tuple[Level, ...]]:
    left, found, levels = (step.state or "").partition(";")
    if not found:
        raise FieldError(f"{show(step.state)} is not how a record is found; plan again", field="state")
    return (
        tuple(named("state", one, Index) for one in left.split(",") if one),
        tuple(named("state", one, Level) for one in levels.split(",") if one),
    )


def doing(world: World, plan: Plan) -> Callable[[Writing, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done; what comes back into the index of directions gets its own before."""
    states = {step.memory: _read_state(step) for step in plan.steps if step.act in AGEING}
    back = [step.memory for step in plan.of(Act.RETURN) if Index.VECTOR not in states[step.memory][0]]
    lacking = [one for one in world.store.get(plan.scope, back) if Index.VECTOR in one.left]
    found = world.embed([one.embedded_text for one in lacking], "memory") if lacking else ()
    vectors: dict[MemoryId, Vector] = {one.id: vector for one, vector in zip(lacking, found, strict=True)}

    def done(writing: Writing, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        written = list[Memory]()
        for step in plan.steps:
            if step.act in AGEING:
                memory, (left, levels) = present[step.memory], states[step.memory]
                if step.act is Act.PRUNE:
                    _refuse_loss(writing, plan.scope, memory, step, left)
                written.append(writing.put(memory.changed(left=left, stands_for=levels), vectors.get(memory.id)))
        return written

    return done


def _refuse_loss(writing: Writing, scope: Scope, memory: Memory, step: Step, left: tuple[Index, ...]) -> None:
    """What is pinned never leaves, and nothing does unless what tells it is found where it is not."""
    if memory.pinned:
        raise FieldError(f"{show(memory.id)} is pinned, and does not leave an index", field="steps")
    by, new = writing.get(scope, step.by or memory.id), set(left) - set(memory.left)
    if by is None or by.status is not Status.ACTIVE or by.level not in NODES or new <= set(by.left):
        raise Conflict(f"the record {show(step.by)} is not found in place of {show(memory.id)} any more; plan again")
