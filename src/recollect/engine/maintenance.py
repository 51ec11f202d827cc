"""Age: records that have had their time leave an index, and others come back; planned first, and then done just so.

Gaps: whether a change would leave a record outside of an index in which nothing is found in its place.

Retire: episodes that have had their day are put away; planned first, and then done just so.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from recollect.engine.dependencies import Dependencies
from recollect.engine.episodes import to_episode
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.episodes import read_outcome, select_expired
from recollect.lifecycle.index_retention import (
    AgedRecord,
    AgingResult,
    IndexRetention,
    age_records,
    find_uncovered,
    is_findable_record,
)
from recollect.lifecycle.policy import retention_of
from recollect.lifecycle.rollups import RollupRecord
from recollect.model import validation
from recollect.model.enums import CALENDAR_LEVELS, TIMELINE_LEVELS, Index, Level, Status
from recollect.model.format import shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import AGING_LEVELS, INDEX_ACTS, UNSUMMARIZED, Act, Job, Plan, RetentionOverrides, Step
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector


RECORD_LEVELS = tuple(level for level in TIMELINE_LEVELS if level is not Level.EVENT)


def plan_vector_pruning(world: Dependencies, scope: Scope, wish: RetentionOverrides) -> Plan:
    """Which records would no longer be found by their direction; nothing is written."""
    kept = retention_of(world.lifecycle.vector)
    if wish.level is not None:
        age = kept[wish.level] if wish.age_days is None else timedelta(days=wish.age_days)
        kept = {wish.level: age}
    words = IndexRetention(Index.TEXT, {}, Level(world.lifecycle.bm25.min_level_after_rollup))  # which stays as it is
    return _plan_index_changes(world, scope, Job.PRUNE_VECTORS, wish, [IndexRetention(Index.VECTOR, kept), words])


def plan_index_rebuild(world: Dependencies, scope: Scope, wish: RetentionOverrides) -> Plan:
    """Which records would leave an index or come back, so that both have what the settings say; nothing is written."""
    policy = world.lifecycle
    least = wish.min_level or Level(policy.bm25.min_level_after_rollup)

    def keeping(index: Index, kept: Mapping[Level, timedelta | None], coarse: Level) -> IndexRetention:
        if wish.max_age_days is not None:
            fine = AGING_LEVELS[: AGING_LEVELS.index(coarse)] if coarse in AGING_LEVELS else AGING_LEVELS
            leaving = [level for level in fine if kept[level] is not None]  # what never leaves, stays
            kept = {**kept, **dict.fromkeys(leaving, timedelta(days=wish.max_age_days))}
        return IndexRetention(index, kept, coarse, restores=True)

    rules = [
        keeping(Index.VECTOR, retention_of(policy.vector), wish.min_level or CALENDAR_LEVELS[0]),
        keeping(Index.TEXT, retention_of(policy.bm25), least),
    ]
    return _plan_index_changes(world, scope, Job.REBUILD_INDEX, wish, rules)


def _plan_index_changes(
    world: Dependencies, scope: Scope, job: Job, wish: RetentionOverrides, rules: list[IndexRetention]
) -> Plan:
    now, store = world.now(), world.store
    records = store.timeline(scope, RECORD_LEVELS)
    leaving = any(rule.restores or rule.retention.get(Level.EVENT) is not None for rule in rules)
    if leaving or any(Level.EVENT in one.stands_for for one in records):
        records += store.timeline(scope, [Level.EVENT])
    found = age_records(records, rules, now)
    steps = tuple(_build_index_steps(found, rules))
    acts = {act.value: sum(one.act is act for one in steps) for act in Act}
    levels = {
        level.value: sum(one.leaves_an_index and one.memory.level is level for one in found.changed) for level in Level
    }
    counted = {**acts, **levels, UNSUMMARIZED: len(found.uncovered)}
    given = {name: None if value is None else str(value) for name, value in asdict(wish).items()}
    return Plan(
        job=job,
        scope=scope,
        made_at=now,
        parameters={**given, **{f"{rule.index.value} keeps": _describe_rule(rule) for rule in rules if rule.retention}},
        counts={"records": len(records), **{name: count for name, count in counted.items() if count}},
        steps=steps,
    )


def _describe_rule(rule: IndexRetention) -> str:
    """How long each level is kept."""
    kept = {level.value: "ever" if age is None else f"{age.days} days" for level, age in rule.retention.items()}
    return f"{', '.join(f'{level} {age}' for level, age in kept.items())}, told by a {rule.min_level.value} at least"


def _build_index_steps(found: AgingResult, rules: list[IndexRetention]) -> Iterator[Step]:
    """What is to become of each record, the coarsest first."""
    for one in found.changed:
        act = Act.PRUNE if one.leaves_an_index else Act.RETURN if one.returns_to_an_index else Act.STAND_IN
        by = next((teller for some in one.stand_ins.values() for teller in some), None)
        state = _encode_states(
            _IndexState(one.memory.left, one.memory.stands_for), _IndexState(one.left, one.stands_for)
        )
        yield _make_step(one.memory, act, _describe_change(one, rules), by=by, state=state)
    for memory in found.pinned:
        yield _make_step(memory, Act.KEEP, "old enough to leave, and pinned")
    for memory in found.uncovered:
        yield _make_step(
            memory, Act.KEEP, "old enough to leave, and nothing coarser tells it yet: a rollup comes first"
        )


def _make_step(memory: Memory, act: Act, reason: str, *, by: Memory | None = None, state: str | None = None) -> Step:
    return Step(
        memory=memory.id,
        act=act,
        reason=reason,
        text=shorten(memory.searched_text),
        commit=memory.commit,
        by=None if by is None or act is not Act.PRUNE else by.id,
        state=state,
    )


def _describe_change(aged: AgedRecord, rules: list[IndexRetention]) -> str:
    level, told = aged.memory.level or Level.EVENT, list[str]()
    if aged.leaves_an_index:
        ages = [rule.retention.get(level) for rule in rules if rule.index in aged.stand_ins]
        days = min((age.days for age in ages if age is not None), default=0)
        by = " and ".join(dict.fromkeys(teller.id for some in aged.stand_ins.values() for teller in some))
        indexes = " and ".join(one.value for one in aged.left if one not in aged.memory.left)
        told.append(f"{level.value} older than {days} days leaves {indexes}; {by} stands in")
    if aged.returns_to_an_index:
        indexes = " and ".join(one.value for one in aged.memory.left if one not in aged.left)
        told.append(f"{level.value} belongs in {indexes}")
    if told:
        return ", and ".join(told)
    levels = " and ".join(one.value for one in aged.stands_for)
    return f"found for {levels} that have left" if levels else "nothing that it tells has left any more"


@dataclass(frozen=True, slots=True)
class _IndexState:
    """How a record is found: which indexes it has left, and which levels it stands in for."""

    left: tuple[Index, ...]
    stands_for: tuple[Level, ...]

    def union(self, other: "_IndexState") -> "_IndexState":
        """Found wherever one of the two is."""
        left = tuple(one for one in self.left if one in other.left)
        return _IndexState(left, tuple(one for one in Level if one in (*self.stands_for, *other.stands_for)))


def _encode_states(now: _IndexState, then: _IndexState) -> str:
    """How a record is found when it is looked at, and how it is to be."""
    return json.dumps([[one.left, one.stands_for] for one in (now, then)])


def _parse_states(step: Step) -> tuple[_IndexState, _IndexState]:
    try:
        (left, levels), (then_left, then_levels) = json.loads(step.state or "")
        now = _IndexState(tuple(map(Index, left)), tuple(map(Level, levels)))
        return now, _IndexState(tuple(map(Index, then_left)), tuple(map(Level, then_levels)))
    except (ValueError, TypeError, RecursionError) as error:
        raise FieldError(f"{show(step.state)} is not how a record is found; plan again", field="state") from error


def split_stages(plan: Plan) -> list[Plan]:
    """The plan as two that come to the same, each of which may be done in parts: all that comes back or stands in for
    more, and only then what leaves or stands in for less. However many parts are done, or taken back from the last one
    on, whatever is outside of an index is found there by what stood in for it before, or is to.
    """
    gains, losses = list[Step](), list[Step]()
    for step in plan.steps:
        if step.act not in INDEX_ACTS:
            losses.append(step)
            continue
        now, then = _parse_states(step)
        match now.union(then):
            case between if between == now:
                losses.append(step)
            case between if between == then:
                gains.append(step)
            case between:
                act = Act.RETURN if between.left != now.left else Act.STAND_IN
                gains.append(replace(step, act=act, by=None, state=_encode_states(now, between)))
                act = Act.PRUNE if between.left != then.left else Act.STAND_IN
                losses.append(replace(step, act=act, state=_encode_states(between, then)))
    return [replace(plan, steps=tuple(some)) for some in (gains, losses)]


def prepare_index_changes(
    world: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done; what comes back into the index of directions gets its own before."""
    states = {step.memory: _parse_states(step)[1] for step in plan.steps if step.act in INDEX_ACTS}
    inside = [id for id, state in states.items() if Index.VECTOR not in state.left]
    lacking = [one for one in world.store.get(plan.scope, inside) if Index.VECTOR in one.left]
    found = world.embed([one.embedded_text for one in lacking], "memory") if lacking else ()
    vectors: dict[MemoryId, Vector] = {one.id: vector for one, vector in zip(lacking, found, strict=True)}

    def done(writing: WriteTransaction, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        changes = [(present[id], _apply_state(present[id], state)) for id, state in states.items()]
        gone = find_coverage_gap(writing, plan.scope, changes)
        if gone is not None:
            raise Conflict(f"what was to be found in place of {show(gone.id)} is not, by now; plan again")
        return [writing.put(aged, vectors.get(aged.id)) for _, aged in changes]

    return done


def _apply_state(memory: Memory, state: _IndexState) -> Memory:
    """The record as it is to be found. What is pinned never leaves, what does not hold is found nowhere, and none but a
    record of the calendar stands in for others.
    """
    if not is_findable_record(memory) or (state.stands_for and memory.level not in CALENDAR_LEVELS):
        raise FieldError(f"{show(memory.id)} is no record that can be found so", field="steps")
    if memory.pinned and not set(state.left) <= set(memory.left):
        raise FieldError(f"{show(memory.id)} is pinned, and does not leave an index", field="steps")
    return memory.changed(left=state.left, stands_for=state.stands_for)


TIME_MARGIN = timedelta(days=1)
"""How far the moments of finer records lie outside of the time that a record tells of, or from each other's, at most: a
segment is of one day.
"""


def find_coverage_gap(
    writing: WriteTransaction, scope: Scope, changes: Sequence[tuple[Memory, Memory]]
) -> Memory | None:
    """A record of the scope that is found, itself or by what stands in for it, and would not be any more if each of
    these memories, as it stands, were what it is to be.

    Where nothing leaves an index and nothing stands in for less, nothing is read. Else all that is of the calendar is,
    and of what is finer only what may be concerned: of the time that the records tell of, and events and excerpts only
    where somebody stood in for them.
    """
    concerned = [(now, lost) for now, then in changes if (lost := _lost_levels(now, then)) is not None]
    if not concerned:
        return None
    levels = {Level.SEGMENT, *CALENDAR_LEVELS}.union(*(lost for _, lost in concerned))
    finer = [level for level in TIMELINE_LEVELS if level in levels and level not in CALENDAR_LEVELS]
    changed = {now.id: (now, then) for now, then in changes}
    gone = list[Memory]()
    for since, before in (_time_range([now for now, _ in concerned]), (None, None)):  # all, before anything is refused
        there = [*writing.timeline(scope, CALENDAR_LEVELS), *writing.timeline(scope, finer, since=since, before=before)]
        now = {one.id: one for one in there} | {id: both[0] for id, both in changed.items()}
        then = now | {id: both[1] for id, both in changed.items()}
        gone = find_uncovered(then.values(), before=now.values())
        if not gone:
            return None
    return gone[0]


def _lost_levels(now: Memory, then: Memory) -> Collection[Level] | None:
    """The levels whose records may not be found through it any more; `None` if it is of no concern to anybody."""
    if not is_findable_record(now):
        return None
    leaves = not set(then.left) <= set(now.left)
    if now.level in (Level.EVENT, Level.GRIP):
        return () if leaves else None
    if not is_findable_record(then) or not set(now.derived_from) <= set(then.derived_from):
        return TIMELINE_LEVELS
    lost = [level for level in now.stands_for if leaves or level not in then.stands_for]
    return lost if lost or leaves else None


def _time_range(records: Iterable[Memory]) -> tuple[datetime, datetime]:
    """From when to when the records tell of anything, and a bit more."""
    told = [(one.created_at, RollupRecord.of(one).first, RollupRecord.of(one).last) for one in records]
    first, last = min(map(min, told)), max(map(max, told))
    return max(first, validation.EARLIEST_DATETIME + TIME_MARGIN) - TIME_MARGIN, min(
        last, validation.LATEST_DATETIME - TIME_MARGIN
    ) + TIME_MARGIN


_PLAN_PARAMETERS = ("value", "midpoint_target", "value_threshold", "max_episodes")


def plan_episode_pruning(world: Dependencies, scope: Scope, _: RetentionOverrides) -> Plan:
    """Which of the scope's finished episodes would be put away; nothing is written."""
    memories = {one.id: one for one in world.store.timeline(scope, [Level.EPISODE])}
    episodes = [to_episode(world, one) for one in memories.values()]
    steps = tuple(
        Step(
            memory=one.id,
            act=Act.ARCHIVE,
            reason=reason,
            text=shorten(one.task),
            commit=memories[one.id].commit,
        )
        for one, reason in select_expired(episodes, world.episodic)
    )
    policy = asdict(world.episodic)
    counts = {
        "episodes": len(episodes),
        "under way": sum(not one.finished for one in episodes),
        Act.ARCHIVE.value: len(steps),
    }
    return Plan(
        job=Job.PRUNE_EPISODES,
        scope=scope,
        made_at=world.now(),
        parameters={name: policy[name] for name in _PLAN_PARAMETERS},
        counts=counts,
        steps=steps,
    )


def prepare_episode_pruning(
    _: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """How the plan is done to episodes that are what they were."""

    def done(writing: WriteTransaction, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        for one in present.values():
            _refuse_unprunable(one)
        gone = [present[step.memory].changed(status=Status.ARCHIVED, remark=step.reason) for step in plan.steps]
        return [writing.put(one, None) for one in gone]

    return done


def _refuse_unprunable(memory: Memory) -> None:
    """Nothing is put away but episodes that are finished and not pinned, whoever wrote the plan."""
    finished = memory.level is Level.EPISODE and read_outcome(memory) is not None
    if not finished or memory.pinned or memory.status is not Status.ACTIVE:
        what = "is no finished episode, or pinned, or put away already"
        raise FieldError(f"{show(memory.id)} {what}", field="steps")
