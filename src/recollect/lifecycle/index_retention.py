"""Index retention: which records leave an index, and which coarser ones stand in for them.

A record leaves an index if it is older than the retention of its level, not pinned, and a coarser record made from it
stays in the index. The row itself always stays.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.model.enums import CALENDAR_LEVELS, TIMELINE_LEVELS, Index, Level, Status
from recollect.model.memory import Memory, MemoryId

LEVELS_COARSEST_FIRST = (*reversed(CALENDAR_LEVELS), Level.SEGMENT, Level.GRIP, Level.EVENT)

LEVELS_COVERED_BY_PARTS = (Level.GRIP, Level.WEEK)
"""Levels from which no coarser record is made: their parts are covered instead."""


@dataclass(frozen=True, slots=True)
class IndexRetention:
    """The retention of an index by level; `None` keeps records forever.

    `min_level` is the finest level that may stand in for others. With `restores`, records that should not have left
    are added again.
    """

    index: Index
    retention: Mapping[Level, timedelta | None]
    min_level: Level = Level.DAY
    restores: bool = False


@dataclass(frozen=True, slots=True)
class AgedRecord:
    """A record with its new state: the indexes it has left, and the levels it stands in for.

    `stand_ins` are the records that stand in for it in each index that it leaves.
    """

    memory: Memory
    left: tuple[Index, ...]
    stands_for: tuple[Level, ...]
    stand_ins: Mapping[Index, tuple[Memory, ...]]

    @property
    def leaves_an_index(self) -> bool:
        return not set(self.left) <= set(self.memory.left)

    @property
    def returns_to_an_index(self) -> bool:
        return not set(self.memory.left) <= set(self.left)


@dataclass(frozen=True, slots=True)
class AgingResult:
    """The records that change, coarsest first, and the old ones that stay.

    These stay because they are pinned, or because no record that stays covers them.
    """

    changed: tuple[AgedRecord, ...]
    pinned: tuple[Memory, ...]
    uncovered: tuple[Memory, ...]


def age_records(records: Sequence[Memory], keeping: Sequence[IndexRetention], now: datetime) -> AgingResult:
    """Apply the retention rules to the active records of a scope."""
    lineage = _RecordLineage.of(records)
    in_order = sorted(lineage.records.values(), key=_sort_key)
    outside = {one.id: set(one.left) for one in in_order}
    stand_ins: dict[MemoryId, dict[Index, tuple[Memory, ...]]] = defaultdict(dict)
    pinned, uncovered = dict[MemoryId, Memory](), dict[MemoryId, Memory]()
    for rule in keeping:
        for one in in_order:
            was_outside = rule.index in outside[one.id]
            retention = rule.retention.get(_level_of(one))
            old = retention is not None and now - one.created_at > retention
            covering = lineage.find_stand_ins(one, rule, outside) if old and not one.pinned else ()
            if covering:
                outside[one.id].add(rule.index)
                if rule.index not in one.left:
                    stand_ins[one.id][rule.index] = covering
            elif was_outside and rule.restores:
                outside[one.id].discard(rule.index)
            elif old and not was_outside:
                (pinned if one.pinned else uncovered)[one.id] = one
    stood_for = _find_stand_ins(in_order, lineage, keeping, outside)
    aged = [
        AgedRecord(
            one,
            tuple(index for index in Index if index in outside[one.id]),
            tuple(level for level in Level if level in stood_for[one.id]),
            stand_ins[one.id],
        )
        for one in in_order
    ]
    changed = [one for one in aged if (one.left, one.stands_for) != (one.memory.left, one.memory.stands_for)]
    leaving = {one.memory.id for one in changed}  # leaving one index and staying in the other

    def select_staying(found: Mapping[MemoryId, Memory]) -> tuple[Memory, ...]:
        return tuple(one for id, one in found.items() if id not in leaving)

    return AgingResult(tuple(changed), select_staying(pinned), select_staying(uncovered))


def _find_stand_ins(
    in_order: Iterable[Memory],
    lineage: "_RecordLineage",
    keeping: Sequence[IndexRetention],
    outside: Mapping[MemoryId, set[Index]],
) -> dict[MemoryId, set[Level]]:
    """Return the levels each record stands in for: those of which it is the finest cover.

    A record that is covered only in part is found in part.
    """
    levels: dict[MemoryId, set[Level]] = defaultdict(set)
    least = {rule.index: rule.min_level for rule in keeping}
    for one in in_order:
        for index in outside[one.id]:
            finest = lineage.find_finest(one, IndexRetention(index, {}, least.get(index, Level.DAY)), outside)
            possible = finest if all(finest) else lineage.find_finest(one, IndexRetention(index, {}), outside)
            for first, second in zip(finest, possible, strict=True):
                stand_in = first or second
                if stand_in is not None:
                    levels[stand_in.id].add(_level_of(one))
    return levels


def find_uncovered(records: Iterable[Memory], *, before: Iterable[Memory] | None = None) -> list[Memory]:
    """Return the records that left an index where no stand-in covers all of their parts.

    With `before`, the records of an earlier state, return only those that were covered then.
    """
    lineage = _RecordLineage.of(records)
    gaps = set(lineage.find_gaps())
    if gaps and before is not None:
        earlier = _RecordLineage.of(before)
        gaps = {gap for gap in gaps - set(earlier.find_gaps()) if gap[0] in earlier.records}
    ids = {id for id, _, _ in gaps}
    return [one for one in lineage.records.values() if one.id in ids]


@dataclass(frozen=True, slots=True)
class _RecordLineage:
    """The active records by id, and the records made from each."""

    records: Mapping[MemoryId, Memory]
    made_of: Mapping[str, Sequence[Memory]]

    @classmethod
    def of(cls, records: Iterable[Memory]) -> "_RecordLineage":
        known = {one.id: one for one in records if is_findable_record(one)}
        made_of: dict[str, list[Memory]] = defaultdict(list)
        for one in sorted(known.values(), key=_sort_key):
            if one.level is not Level.GRIP:
                for part in one.derived_from:
                    made_of[part].append(one)
        return cls(known, made_of)

    def find_stand_ins(
        self, record: Memory, rule: IndexRetention, outside: Mapping[MemoryId, set[Index]]
    ) -> tuple[Memory, ...]:
        """Return the finest records that stay and together cover this one; empty if they cannot."""
        finest = self.find_finest(record, rule, outside)
        by_id = {one.id: one for one in finest if one is not None}
        return tuple(by_id.values()) if all(finest) else ()

    def find_finest(
        self, record: Memory, rule: IndexRetention, outside: Mapping[MemoryId, set[Index]]
    ) -> list[Memory | None]:
        """Return the finest covering record for each part of this one, or `None` for a part without."""
        levels = [
            level
            for level in _coarser_levels(record)
            if CALENDAR_LEVELS.index(level) >= CALENDAR_LEVELS.index(rule.min_level)
        ]
        finest = list[Memory | None]()
        for part in _covered_parts(record):
            derived = (one for one in self._find_derived(part, record) if one.level in levels)
            staying = (one for one in derived if rule.index not in outside[one.id])
            finest.append(
                min(staying, key=lambda one: (levels.index(_level_of(one)), one.created_at, one.id), default=None)
            )
        return finest

    def find_gaps(self) -> Iterator[tuple[MemoryId, Index, str]]:
        """Yield each record that left an index, the index, and each part no stand-in covers there."""
        for one in self.records.values():
            for part in _covered_parts(one) if one.left else ():
                coarser = (other for other in self._find_derived(part, one) if other.level in _coarser_levels(one))
                stand_ins = [other for other in coarser if one.level in other.stands_for]
                yield from (
                    (one.id, index, part) for index in one.left if all(index in stand_in.left for stand_in in stand_ins)
                )

    def _find_derived(self, id: str, record: Memory) -> list[Memory]:
        """Return all records made from it, directly or not, except the record itself."""
        derived: dict[MemoryId, Memory] = {}
        waiting = [id]
        while waiting:
            unseen = [
                one for one in self.made_of.get(waiting.pop(), ()) if one.id not in derived and one.id != record.id
            ]
            derived |= {one.id: one for one in unseen}
            waiting += [one.id for one in unseen]
        return list(derived.values())


def is_findable_record(record: Memory) -> bool:
    """Return whether it is an active, indexed record of the timeline."""
    return record.level in TIMELINE_LEVELS and record.status is Status.ACTIVE and record.indexed


def _covered_parts(record: Memory) -> Sequence[str]:
    """Return what a stand-in must cover: the record, or its parts if no record is made from it."""
    return (record.level in LEVELS_COVERED_BY_PARTS and record.derived_from) or (record.id,)


def _coarser_levels(record: Memory) -> Sequence[Level]:
    """Return the levels that may stand in for the record, finest first."""
    return (
        CALENDAR_LEVELS[CALENDAR_LEVELS.index(record.level) + 1 :]
        if record.level in CALENDAR_LEVELS
        else CALENDAR_LEVELS
    )


def _sort_key(record: Memory) -> tuple[int, datetime, MemoryId]:
    """The order of records: a coarse record is decided before the finer ones it may cover."""
    return LEVELS_COARSEST_FIRST.index(_level_of(record)), record.created_at, record.id


def _level_of(record: Memory) -> Level:
    return record.level or Level.EVENT
