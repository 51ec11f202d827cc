"""Ageing: which records have had their time in an index, and which coarser ones are found in their place.

A record leaves an index if it is older than that index keeps its level, nobody pinned it, and a coarser record that was
made of it stays there. The row stays, whatever happens.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.model.index import Index
from recollect.model.level import NODES, Level
from recollect.model.memory import Memory, MemoryId

COARSEST_FIRST = (*reversed(NODES), Level.SEGMENT, Level.GRIP, Level.EVENT)

THROUGH_PARTS = (Level.GRIP, Level.WEEK)
"""Of these nothing coarser is made: what tells them is made of what they are made of."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What an index keeps: how long the records of each level that is looked at (`None`: for ever), and how coarse a
    record must be to stand in for finer ones. With `returning`, what has left and should not have comes back.
    """

    index: Index
    retention: Mapping[Level, timedelta | None]
    least: Level = Level.DAY
    returning: bool = False


@dataclass(frozen=True, slots=True)
class Aged:
    """What is to become of a record: the indexes that it is outside of then, the levels that it stands in for, and who
    stand in for it in each that it leaves.
    """

    memory: Memory
    left: tuple[Index, ...]
    stands_for: tuple[Level, ...]
    tellers: Mapping[Index, tuple[Memory, ...]]

    @property
    def leaves(self) -> bool:
        return not set(self.left) <= set(self.memory.left)

    @property
    def returns(self) -> bool:
        return not set(self.memory.left) <= set(self.left)


@dataclass(frozen=True, slots=True)
class Ageing:
    """The records that change, the coarsest first; and those that are old enough to leave, and stay: because they are
    pinned, or because nothing that would stay tells what they tell.
    """

    changed: tuple[Aged, ...]
    pinned: tuple[Memory, ...]
    untold: tuple[Memory, ...]


def ageing(records: Sequence[Memory], keeping: Sequence[Keeping], now: datetime) -> Ageing:
    """What these rules come to for the active records of a scope."""
    lineage = _Lineage.of(records)
    in_order = sorted(lineage.records.values(), key=lambda one: (COARSEST_FIRST.index(_level(one)), one.id))
    outside = {one.id: set(one.left) for one in in_order}
    tellers: dict[MemoryId, dict[Index, tuple[Memory, ...]]] = defaultdict(dict)
    pinned, untold = dict[MemoryId, Memory](), dict[MemoryId, Memory]()
    for rule in keeping:
        for one in in_order:
            was_outside = rule.index in outside[one.id]
            old = _is_old(one, rule, now)
            told_by = lineage.tellers(one, rule, outside) if old and not one.pinned else ()
            if told_by:
                outside[one.id].add(rule.index)
                if rule.index not in one.left:
                    tellers[one.id][rule.index] = told_by
            elif was_outside and rule.returning:
                outside[one.id].discard(rule.index)
            elif old and not was_outside:
                (pinned if one.pinned else untold)[one.id] = one
    standing = _standing(in_order, lineage, keeping, outside)
    aged = [
        Aged(
            one,
            tuple(index for index in Index if index in outside[one.id]),
            tuple(level for level in Level if level in standing[one.id]),
            tellers[one.id],
        )
        for one in in_order
    ]
    changed = [one for one in aged if (one.left, one.stands_for) != (one.memory.left, one.memory.stands_for)]
    leaving = {one.memory.id for one in changed}  # of one index, and staying in the other

    def staying(found: Mapping[MemoryId, Memory]) -> tuple[Memory, ...]:
        return tuple(one for id, one in found.items() if id not in leaving)

    return Ageing(tuple(changed), staying(pinned), staying(untold))


def _is_old(record: Memory, rule: Keeping, now: datetime) -> bool:
    kept = rule.retention.get(_level(record))
    return kept is not None and now - record.created_at > kept


def _standing(
    in_order: Iterable[Memory],
    lineage: "_Lineage",
    keeping: Sequence[Keeping],
    outside: Mapping[MemoryId, set[Index]],
) -> dict[MemoryId, set[Level]]:
    """Which levels each record stands in for: those of the records that have left, of which it is the finest told."""
    found: dict[MemoryId, set[Level]] = defaultdict(set)
    least = {rule.index: rule.least for rule in keeping}
    for one in in_order:
        for index in outside[one.id]:
            rule = Keeping(index, {}, least.get(index, Level.DAY))
            for teller in lineage.tellers(one, rule, outside) or lineage.tellers(one, Keeping(index, {}), outside):
                found[teller.id].add(_level(one))
    return found


def unfound(records: Iterable[Memory]) -> list[Memory]:
    """Those that have left an index in which nothing that tells them stands in for them."""
    lineage = _Lineage.of(records)
    outside = {one.id: set(one.left) for one in lineage.records.values()}
    every = ((one, index) for one in lineage.records.values() for index in one.left)
    return [one for one, index in every if not _is_stood_for(one, lineage.above(one), index, outside)]


def _is_stood_for(
    record: Memory, above: Iterable[Memory], index: Index, outside: Mapping[MemoryId, set[Index]]
) -> bool:
    return any(record.level in one.stands_for and index not in outside[one.id] for one in above)


@dataclass(frozen=True, slots=True)
class _Lineage:
    """The active records by their ids, and those that are made of each."""

    records: Mapping[MemoryId, Memory]
    made_of: Mapping[str, Sequence[Memory]]

    @classmethod
    def of(cls, records: Iterable[Memory]) -> "_Lineage":
        known = {one.id: one for one in records if one.level is not None and one.indexed}
        made_of: dict[str, list[Memory]] = defaultdict(list)
        for one in sorted(known.values(), key=lambda one: (COARSEST_FIRST.index(_level(one)), one.id)):
            if one.level is not Level.GRIP:
                for part in one.derived_from:
                    made_of[part].append(one)
        return cls(known, made_of)

    def tellers(self, record: Memory, rule: Keeping, outside: Mapping[MemoryId, set[Index]]) -> tuple[Memory, ...]:
        """The finest records that stay in the index, are coarse enough, and tell all that this one does together."""
        level = _level(record)
        wanted = NODES[max(NODES.index(rule.least), NODES.index(level) + 1 if level in NODES else 0) :]
        parts = record.derived_from if level in THROUGH_PARTS else (record.id,)
        told = [self._finest(self._above(part, record), wanted, rule.index, outside) for part in parts]
        found = {one.id: one for one in told if one is not None}
        return tuple(found.values()) if all(told) else ()

    def above(self, record: Memory) -> list[Memory]:
        """All that tells what the record does, or some of it."""
        parts = record.derived_from if _level(record) in THROUGH_PARTS else (record.id,)
        return [one for part in parts for one in self._above(part, record)]

    def _above(self, id: str, record: Memory) -> list[Memory]:
        """All that is made of it, and what is made of that, but for the record itself."""
        found: dict[MemoryId, Memory] = {}
        waiting = [id]
        while waiting:
            new = [one for one in self.made_of.get(waiting.pop(), ()) if one.id not in found and one.id != record.id]
            found |= {one.id: one for one in new}
            waiting += [one.id for one in new]
        return list(found.values())

    def _finest(
        self, above: Iterable[Memory], levels: Sequence[Level], index: Index, outside: Mapping[MemoryId, set[Index]]
    ) -> Memory | None:
        there = [one for one in above if one.level in levels and index not in outside[one.id]]
        return min(there, key=lambda one: (levels.index(_level(one)), one.created_at, one.id), default=None)


def _level(record: Memory) -> Level:
    return record.level or Level.EVENT
