"""Maintenance jobs: move old records out of an index or back, and archive expired episodes.

Each job is planned first and applied exactly as planned. `find_coverage_gap` checks that every record stays findable.
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
    from recollect.retrieval.vectors import Vector


RECORD_LEVELS = tuple(level for level in TIMELINE_LEVELS if level is not Level.EVENT)


def plan_vector_pruning(deps: Dependencies, scope: Scope, overrides: RetentionOverrides) -> Plan:
    """Plan which records leave the vector index; nothing is written."""
    retention = retention_of(deps.lifecycle.vector)
    if overrides.level is not None:
        age = retention[overrides.level] if overrides.age_days is None else timedelta(days=overrides.age_days)
        retention = {overrides.level: age}
    text_rule = IndexRetention(Index.TEXT, {}, Level(deps.lifecycle.bm25.min_level_after_rollup))  # unchanged
    rules = [IndexRetention(Index.VECTOR, retention), text_rule]
    return _plan_index_changes(deps, scope, Job.PRUNE_VECTORS, overrides, rules)


def plan_index_rebuild(deps: Dependencies, scope: Scope, overrides: RetentionOverrides) -> Plan:
    """Plan which records leave or rejoin an index to match the settings; nothing is written."""
    policy = deps.lifecycle
    least = overrides.min_level or Level(policy.bm25.min_level_after_rollup)

    def make_rule(index: Index, retention: Mapping[Level, timedelta | None], coarse: Level) -> IndexRetention:
        if overrides.max_age_days is not None:
            finer = AGING_LEVELS[: AGING_LEVELS.index(coarse)] if coarse in AGING_LEVELS else AGING_LEVELS
            expiring = [level for level in finer if retention[level] is not None]  # levels that are kept forever stay
            retention = {**retention, **dict.fromkeys(expiring, timedelta(days=overrides.max_age_days))}
        return IndexRetention(index, retention, coarse, restores=True)

    rules = [
        make_rule(Index.VECTOR, retention_of(policy.vector), overrides.min_level or CALENDAR_LEVELS[0]),
        make_rule(Index.TEXT, retention_of(policy.bm25), least),
    ]
    return _plan_index_changes(deps, scope, Job.REBUILD_INDEX, overrides, rules)


def _plan_index_changes(
    deps: Dependencies, scope: Scope, job: Job, overrides: RetentionOverrides, rules: list[IndexRetention]
) -> Plan:
    now, store = deps.now(), deps.store
    records = store.timeline(scope, RECORD_LEVELS)
    needs_events = any(rule.restores or rule.retention.get(Level.EVENT) is not None for rule in rules)
    if needs_events or any(Level.EVENT in one.stands_for for one in records):
        records += store.timeline(scope, [Level.EVENT])
    result = age_records(records, rules, now)
    steps = tuple(_build_index_steps(result, rules))
    acts = {act.value: sum(one.act is act for one in steps) for act in Act}
    levels = {
        level.value: sum(one.leaves_an_index and one.memory.level is level for one in result.changed) for level in Level
    }
    counts = {**acts, **levels, UNSUMMARIZED: len(result.uncovered)}
    descriptions = {f"{rule.index.value} keeps": _describe_rule(rule) for rule in rules if rule.retention}
    override_texts = {name: None if value is None else str(value) for name, value in asdict(overrides).items()}
    return Plan(
        job=job,
        scope=scope,
        made_at=now,
        parameters={**override_texts, **descriptions},
        counts={"records": len(records), **{name: count for name, count in counts.items() if count}},
        steps=steps,
    )


def _describe_rule(rule: IndexRetention) -> str:
    """Describe how long each level stays in an index."""
    ages = {level.value: "ever" if age is None else f"{age.days} days" for level, age in rule.retention.items()}
    return f"{', '.join(f'{level} {age}' for level, age in ages.items())}, told by a {rule.min_level.value} at least"


def _build_index_steps(result: AgingResult, rules: list[IndexRetention]) -> Iterator[Step]:
    """Yield what happens to each record, the coarsest first."""
    for one in result.changed:
        act = Act.PRUNE if one.leaves_an_index else Act.RETURN if one.returns_to_an_index else Act.STAND_IN
        by = next((record for records in one.stand_ins.values() for record in records), None)
        state = _encode_states(
            _IndexState(one.memory.left, one.memory.stands_for), _IndexState(one.left, one.stands_for)
        )
        yield _make_step(one.memory, act, _describe_change(one, rules), by=by, state=state)
    for memory in result.pinned:
        yield _make_step(memory, Act.KEEP, "old enough to leave, but pinned")
    for memory in result.uncovered:
        yield _make_step(
            memory, Act.KEEP, "old enough to leave, but no coarser record covers it yet; run a rollup first"
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
    level, parts = aged.memory.level or Level.EVENT, list[str]()
    if aged.leaves_an_index:
        ages = [rule.retention.get(level) for rule in rules if rule.index in aged.stand_ins]
        days = min((age.days for age in ages if age is not None), default=0)
        by = " and ".join(dict.fromkeys(record.id for records in aged.stand_ins.values() for record in records))
        indexes = " and ".join(one.value for one in aged.left if one not in aged.memory.left)
        parts.append(f"{level.value} older than {days} days leaves {indexes}; {by} stands in")
    if aged.returns_to_an_index:
        indexes = " and ".join(one.value for one in aged.memory.left if one not in aged.left)
        parts.append(f"{level.value} belongs in {indexes}")
    if parts:
        return ", and ".join(parts)
    levels = " and ".join(one.value for one in aged.stands_for)
    return f"found for {levels} that have left" if levels else "no record that it covers is outside an index any more"


@dataclass(frozen=True, slots=True)
class _IndexState:
    """The index state of a record: the indexes it has left, and the levels it stands in for."""

    left: tuple[Index, ...]
    stands_for: tuple[Level, ...]

    def union(self, other: "_IndexState") -> "_IndexState":
        """Return the state in which the record is found wherever it is found in one of the two."""
        left = tuple(one for one in self.left if one in other.left)
        return _IndexState(left, tuple(one for one in Level if one in (*self.stands_for, *other.stands_for)))


def _encode_states(present: _IndexState, planned: _IndexState) -> str:
    """Encode a record's present and planned state."""
    return json.dumps([[one.left, one.stands_for] for one in (present, planned)])


def _parse_states(step: Step) -> tuple[_IndexState, _IndexState]:
    try:
        (left, levels), (planned_left, planned_levels) = json.loads(step.state or "")
        present = _IndexState(tuple(map(Index, left)), tuple(map(Level, levels)))
        planned = _IndexState(tuple(map(Index, planned_left)), tuple(map(Level, planned_levels)))
    except (ValueError, TypeError, RecursionError) as error:
        raise FieldError(f"{show(step.state)} is not an index state; plan again", field="state") from error
    return present, planned


def split_stages(plan: Plan) -> list[Plan]:
    """Split a plan in two stages that together have the same result.

    First come the records that rejoin an index or stand in for more levels, then those that leave one or stand in for
    fewer. Each stage may be applied in batches. However many batches are applied, or undone from the last one on, every
    record outside an index is still found there through a record that stands in for it.
    """
    gains, losses = list[Step](), list[Step]()
    for step in plan.steps:
        if step.act not in INDEX_ACTS:
            losses.append(step)
            continue
        present, planned = _parse_states(step)
        match present.union(planned):
            case union if union == present:
                losses.append(step)
            case union if union == planned:
                gains.append(step)
            case union:
                act = Act.RETURN if union.left != present.left else Act.STAND_IN
                gains.append(replace(step, act=act, by=None, state=_encode_states(present, union)))
                act = Act.PRUNE if union.left != planned.left else Act.STAND_IN
                losses.append(replace(step, act=act, state=_encode_states(union, planned)))
    return [replace(plan, steps=tuple(steps)) for steps in (gains, losses)]


def prepare_index_changes(
    deps: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """Embed the records that rejoin the vector index, and return the function that applies the plan."""
    states = {step.memory: _parse_states(step)[1] for step in plan.steps if step.act in INDEX_ACTS}
    indexed_ids = [id for id, state in states.items() if Index.VECTOR not in state.left]
    lacking = [one for one in deps.store.get(plan.scope, indexed_ids) if Index.VECTOR in one.left]
    embedded = deps.embed([one.embedded_text for one in lacking], "memory") if lacking else ()
    vectors: dict[MemoryId, Vector] = {one.id: vector for one, vector in zip(lacking, embedded, strict=True)}

    def apply_step(writing: WriteTransaction, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        changes = [(present[id], _apply_state(present[id], state)) for id, state in states.items()]
        uncovered = find_coverage_gap(writing, plan.scope, changes)
        if uncovered is not None:
            raise Conflict(f"record {show(uncovered.id)} would no longer be found in an index; plan again")
        return [writing.put(aged, vectors.get(aged.id)) for _, aged in changes]

    return apply_step


def _apply_state(memory: Memory, state: _IndexState) -> Memory:
    """Return the record in its planned state, or raise FieldError.

    A pinned record never leaves an index, an inactive one is not found at all, and only calendar records stand in for
    others.
    """
    if not is_findable_record(memory) or (state.stands_for and memory.level not in CALENDAR_LEVELS):
        raise FieldError(f"{show(memory.id)} cannot have this index state", field="steps")
    if memory.pinned and not set(state.left) <= set(memory.left):
        raise FieldError(f"{show(memory.id)} is pinned and cannot leave an index", field="steps")
    return memory.with_changes(left=state.left, stands_for=state.stands_for)


TIME_MARGIN = timedelta(days=1)
"""How far outside a record's time range its finer records can lie: a segment is within one day."""


def find_coverage_gap(
    writing: WriteTransaction, scope: Scope, changes: Sequence[tuple[Memory, Memory]]
) -> Memory | None:
    """Return a record that is findable now but would not be after these changes, or None.

    A record is findable itself or through one that stands in for it. If no record leaves an index or stands in for
    fewer levels, nothing is read. Otherwise all calendar records are read, finer ones only in the affected time range,
    and events and excerpts only where a record stood in for them.
    """
    losing = [(old, lost) for old, new in changes if (lost := _lost_levels(old, new)) is not None]
    if not losing:
        return None
    levels = {Level.SEGMENT, *CALENDAR_LEVELS}.union(*(lost for _, lost in losing))
    finer = [level for level in TIMELINE_LEVELS if level in levels and level not in CALENDAR_LEVELS]
    old_by_id = {old.id: old for old, _ in changes}
    new_by_id = {new.id: new for _, new in changes}
    uncovered = list[Memory]()
    for since, before in (_time_range([old for old, _ in losing]), (None, None)):  # read everything before refusing
        calendar = writing.timeline(scope, CALENDAR_LEVELS)
        records = [*calendar, *writing.timeline(scope, finer, since=since, before=before)]
        present = {one.id: one for one in records} | old_by_id
        uncovered = find_uncovered((present | new_by_id).values(), before=present.values())
        if not uncovered:
            return None
    return uncovered[0]


def _lost_levels(before: Memory, after: Memory) -> Collection[Level] | None:
    """Return the levels that may no longer be found through this record; None if none are."""
    if not is_findable_record(before):
        return None
    leaves = not set(after.left) <= set(before.left)
    if before.level in (Level.EVENT, Level.GRIP):
        return () if leaves else None
    if not is_findable_record(after) or not set(before.derived_from) <= set(after.derived_from):
        return TIMELINE_LEVELS
    lost = [level for level in before.stands_for if leaves or level not in after.stands_for]
    return lost if lost or leaves else None


def _time_range(records: Iterable[Memory]) -> tuple[datetime, datetime]:
    """Return the time range that the records cover, with a margin."""
    times = [(one.created_at, RollupRecord.of(one).first, RollupRecord.of(one).last) for one in records]
    first, last = min(map(min, times)), max(map(max, times))
    return max(first, validation.EARLIEST_DATETIME + TIME_MARGIN) - TIME_MARGIN, min(
        last, validation.LATEST_DATETIME - TIME_MARGIN
    ) + TIME_MARGIN


_PLAN_PARAMETERS = ("value", "midpoint_target", "value_threshold", "max_episodes")


def plan_episode_pruning(deps: Dependencies, scope: Scope, _: RetentionOverrides) -> Plan:
    """Plan which finished episodes of the scope are archived; nothing is written."""
    memories = {one.id: one for one in deps.store.timeline(scope, [Level.EPISODE])}
    episodes = [to_episode(deps, one) for one in memories.values()]
    steps = tuple(
        Step(
            memory=one.id,
            act=Act.ARCHIVE,
            reason=reason,
            text=shorten(one.task),
            commit=memories[one.id].commit,
        )
        for one, reason in select_expired(episodes, deps.episodic)
    )
    policy = asdict(deps.episodic)
    counts = {
        "episodes": len(episodes),
        "under way": sum(not one.finished for one in episodes),
        Act.ARCHIVE.value: len(steps),
    }
    return Plan(
        job=Job.PRUNE_EPISODES,
        scope=scope,
        made_at=deps.now(),
        parameters={name: policy[name] for name in _PLAN_PARAMETERS},
        counts=counts,
        steps=steps,
    )


def prepare_episode_pruning(
    _: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """Return the function that archives the planned episodes."""

    def apply_step(writing: WriteTransaction, present: Mapping[MemoryId, Memory]) -> list[Memory]:
        for one in present.values():
            _refuse_unprunable(one)
        archived = [
            present[step.memory].with_changes(status=Status.ARCHIVED, remark=step.reason) for step in plan.steps
        ]
        return [writing.put(one, None) for one in archived]

    return apply_step


def _refuse_unprunable(memory: Memory) -> None:
    """Raise FieldError unless the memory is a finished, unpinned, active episode.

    A plan edited by hand could name another memory.
    """
    finished = memory.level is Level.EPISODE and read_outcome(memory) is not None
    if not finished or memory.pinned or memory.status is not Status.ACTIVE:
        raise FieldError(f"{show(memory.id)} is not a finished, unpinned, active episode", field="steps")
