"""Rollup: events become segments with grips, and these the records of days, weeks, months and years."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.salience import salience_of
from recollect.engine.dependencies import World
from recollect.errors import StoreBusy
from recollect.lifecycle.periods import Period
from recollect.lifecycle.record import Record, made_of, period_id, period_of
from recollect.lifecycle.rollup_checkpoint import Reached
from recollect.lifecycle.rollup_targets import POINTS, Wanted, gripped, of_period, of_stretch
from recollect.lifecycle.segments import cut, has_ended, sessions
from recollect.model.level import NODES, Level
from recollect.model.llm_usage import Tally
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.rollup import Rolled
from recollect.model.scope import Scope
from recollect.protocols import Progress, Writing

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector

CHECKPOINT = "rollup"
"""Under which name it is noted how far the rollup of a scope got."""

WATCHED = (Level.SEGMENT, Level.GRIP, *NODES, Level.EVENT)
"""All of it: whoever changes a record by hand changes what coarser ones should tell; and one that comes back after it
was put away may tell less than happened meanwhile.
"""

FINEST = (Level.EVENT, Level.SEGMENT, Level.GRIP)
"""What is of no period of the calendar."""

ATTEMPTS = 5
"""How often it begins anew because something was erased meanwhile."""

RETOLD = "what it told is gone, or another record tells it"
"""What is remarked of a record that is put away because there should be none."""


def rollup(world: World, scope: Scope, *, unfinished: bool, progress: Progress) -> Rolled:
    """Bring the records of a scope up to what happened: of all that is over, or also of what is under way.

    The same again changes nothing. What is interrupted has done part of it, and the next one does the rest. Where
    others write meanwhile, what they changed is left to the next one.
    """
    for _ in range(ATTEMPTS):
        try:
            return _rolled_up(world, scope, unfinished=unfinished, progress=progress)
        except _Erased:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; sum them up when that is done")


def _rolled_up(world: World, scope: Scope, *, unfinished: bool, progress: Progress) -> Rolled:
    work = _Rollup(world, scope, world.now(), unfinished, world.summariser.spent)
    before = _begun(work)
    touched = {level: world.store.touched(scope, level, before.commits.get(level, 0)) for level in WATCHED}
    work.commit = touched[Level.EVENT][1]
    due = _due([moment for moments, _ in touched.values() for moment in moments], before, work)

    total, done, under_way = sum(map(len, due.values())), 0, list[Period]()
    for level in NODES:
        for period in sorted(due[level], key=lambda one: one.key):
            if not work.roll(period):
                under_way.append(period)
            done += 1
            progress(done, total)
    reached = Reached({level: commit for level, (_, commit) in touched.items()}, work.by, tuple(under_way), work.token)
    if total and reached != before:
        work.note(reached)
    return work.rolled(len(under_way))


class _Erased(Exception):
    """Something of the scope was erased meanwhile, so nothing that was read may be written."""


def _begun(work: "_Rollup") -> Reached:
    """How far the last rollup got. That there is one is noted before anything is read: erasing takes the note away."""
    store, scope = work.world.store, work.scope
    text = store.checkpoint(scope, CHECKPOINT)
    reached = Reached.read(text, work.by) or Reached({}, "", (), work.world.new_id(work.now))
    if text is None and (store.touched(scope, Level.EVENT, 0)[0] or store.timeline(scope, NODES)):
        store.write(lambda writing: writing.set_checkpoint(scope, CHECKPOINT, reached.text()))
    work.token = reached.token
    return reached


def _due(moments: Sequence[datetime], before: Reached, work: "_Rollup") -> dict[Level, set[Period]]:
    """The periods of each level in which anything happened that was not looked at, and those that were under way."""
    zone, store = work.world.zone, work.world.store
    there = [] if before.commits else store.timeline(work.scope, NODES)  # by other rules, maybe, of other periods
    due: dict[Level, set[Period]] = defaultdict(set)
    for period in (*before.under_way, *filter(None, map(period_of, there))):
        due[period.level].add(period)
    due[Level.DAY] |= {Period.of(moment, Level.DAY, zone) for moment in moments}
    for finer in NODES:
        for period in due[finer]:
            for coarser in period.within:
                due[coarser.level].add(coarser)
    return due


@dataclass(frozen=True, slots=True)
class _Made:
    """A record as it should be, or one that should not be, with what it was read from: events of a stretch of time, or
    finer records.
    """

    memory: Memory
    first: datetime
    last: datetime
    parts: Sequence[Memory] = ()


@dataclass(slots=True)
class _Rollup:
    """One rollup of one scope; what it does is counted as it goes."""

    world: World
    scope: Scope
    now: datetime
    unfinished: bool
    before: Tally
    """What had been asked of a model when it began."""
    token: str = ""
    commit: int = 0
    """The last commit whose events were looked at."""
    left: set[Level] = field(default_factory=set[Level])
    """The levels of which records of the day that was looked at last have left an index."""
    made: Counter[Level] = field(default_factory=Counter[Level])
    revised: Counter[Level] = field(default_factory=Counter[Level])
    archived: Counter[Level] = field(default_factory=Counter[Level])
    unchanged: Counter[Level] = field(default_factory=Counter[Level])

    @property
    def by(self) -> str:
        """A digest of all rules that records are made by."""
        policy = self.world.lifecycle
        rules = [policy.time_zone, policy.segment_gap_minutes, policy.segment_tokens, self.world.summariser.name]
        return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]

    def rolled(self, under_way: int) -> Rolled:
        """What was done."""
        spent = self.world.summariser.spent - self.before
        return Rolled(
            scope=self.scope,
            made=dict(+self.made),
            revised=dict(+self.revised),
            archived=dict(+self.archived),
            unchanged=dict(+self.unchanged),
            under_way=under_way,
            spent=spent,
            cost=self.world.summariser.cost(spent) if spent.calls else None,
        )

    def note(self, reached: Reached) -> None:
        """Note how far it got, unless something was erased meanwhile."""

        def change(writing: Writing) -> None:
            self._refuse_if_erased(writing)
            writing.set_checkpoint(self.scope, CHECKPOINT, reached.text())

        self.world.store.write(change)

    def _refuse_if_erased(self, writing: Writing) -> None:
        noted = Reached.read(writing.checkpoint(self.scope, CHECKPOINT), self.by)
        if noted is None or noted.token != self.token:
            raise _Erased

    def roll(self, period: Period) -> bool:
        """Bring the records of a period up to date; says whether it is over."""
        over = period.over_by(self.now, self.world.zone)
        parts = self._segments(period, over=over) if period.level is Level.DAY else self._finer(period)
        id = period_id(self.scope, period)
        known = self._known([id]).get(id)
        if over or self.unfinished or (known is not None and known.status is Status.ACTIVE):
            self._record(period, parts, known)
        return over

    def _finer(self, period: Period) -> list[Memory]:
        """The records that a period is made of: a year of its months, all else of its days."""
        finer = period.parts() if period.level is Level.YEAR else period.days()
        found = self.world.store.get(self.scope, [period_id(self.scope, one) for one in finer])
        return [one for one in found if one.status is Status.ACTIVE and one.level is finer[0].level]

    def _record(self, period: Period, parts: Sequence[Memory], known: Memory | None) -> None:
        wanted = of_period(self.scope, period, parts, by=self.by) if parts else None
        if wanted is None or not wanted.passages:  # nothing happened, or somebody left nothing of what tells it
            if known is not None and known.status is Status.ACTIVE and known.level is period.level:
                self._write([], [_whole(known)])
            return
        if self._stands(wanted, known):
            return
        summary = self.world.summariser.summarise(wanted.passages, level=period.level, most=POINTS[period.level])
        record = wanted.memory(summary, self.world.summarised_by)
        if known is None:
            record = record.changed(stands_for=self._outside(period))
        self._write([_Made(record, wanted.first, wanted.last, parts)], [])

    def _outside(self, period: Period) -> tuple[Level, ...]:
        """The levels of which records of the period have left an index where nothing finer than its own tells them: if
        that was erased, and is made anew, it stands in for them at once.
        """
        left, below = self.left, NODES[: NODES.index(period.level)]
        if below:
            begins, ends, read = period.begins(self.world.zone), period.ends(self.world.zone), self.world.store.timeline
            left = _levels_outside(read(self.scope, below, since=begins, before=ends))
            if below[-1] not in left:
                return ()
            left |= _levels_outside(read(self.scope, FINEST, since=begins, before=ends))
        return tuple(level for level in Level if level in left)

    def _segments(self, day: Period, *, over: bool) -> list[Memory]:
        """Bring the segments of a day up to date, with their grips; gives those that hold, in order."""
        zone, store = self.world.zone, self.world.store
        begins, ends = day.begins(zone), day.ends(zone)
        events = store.timeline(self.scope, [Level.EVENT], since=begins, before=ends)
        hushed = self._hushed(begins, ends)
        events = [one for one in events if one.id not in hushed]
        there = store.timeline(self.scope, [Level.SEGMENT, Level.GRIP], since=begins, before=ends)
        self.left = _levels_outside([*events, *there])
        stretches = list(self._stretches(events, over=over))
        known = self._known([one.id for one, _ in stretches])

        standing: set[MemoryId] = set()
        for wanted, ended in stretches:
            former = known.get(wanted.id)
            if not ended and former is None:
                continue
            if self._stands(wanted, former):
                standing |= _with_grips(former) if former is not None and former.status is Status.ACTIVE else set()
            else:
                summary = self.world.summariser.summarise(
                    wanted.passages, level=Level.SEGMENT, most=POINTS[Level.SEGMENT]
                )
                summary, grips = gripped(wanted, summary)
                told = [*grips, wanted.memory(summary, self.world.summarised_by)]
                self._write([_Made(one, wanted.first, wanted.last) for one in told], [])  # which may have cost money
                standing |= {one.id for one in told}

        self._write([], [_whole(one) for one in there if one.id not in standing])
        held = self._known([one.id for one, _ in stretches])
        found = (held.get(wanted.id) for wanted, _ in stretches)
        return [one for one in found if one and one.level is Level.SEGMENT and one.status is Status.ACTIVE]

    def _hushed(self, begins: datetime, ends: datetime) -> set[str]:
        """The events of grips that somebody put away: who forgets an excerpt wants it told no more."""
        away = [one for one in Status if one is not Status.ACTIVE]
        grips = self.world.store.timeline(self.scope, [Level.GRIP], since=begins, before=ends, statuses=away)
        return {event for grip in grips if not _is_ours(grip, Level.GRIP) for event in grip.derived_from}

    def _stretches(self, events: Sequence[Memory], *, over: bool) -> Iterable[tuple[Wanted, bool]]:
        """The segments that there should be, and whether each has ended, in the order in which they begin."""
        policy = self.world.lifecycle
        found = []
        for said in sessions(events):
            parts = cut(said, gap=policy.gap, most_tokens=policy.segment_tokens, count=self.world.count)
            for place, part in enumerate(parts, start=1):
                ended = over or self.unfinished or has_ended(part, place < len(parts), self.now, policy.gap)
                found.append((of_stretch(self.scope, part, by=self.by), ended))
        return sorted(found, key=lambda one: (one[0].first, one[0].id))

    def _known(self, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        return {one.id: one for one in self.world.store.get(self.scope, ids)} if ids else {}

    def _stands(self, wanted: Wanted, known: Memory | None) -> bool:
        """Whether the record is as it should be, or somebody put it away, which is not ours to change."""
        if known is None or not _is_ours(known, wanted.level):
            self.unchanged[wanted.level] += known is not None
            return known is not None
        same = known.status is Status.ACTIVE and made_of(known.metadata) == wanted.inputs
        self.unchanged[wanted.level] += same
        return same

    def _write(self, records: Sequence[_Made], stale: Sequence[_Made]) -> None:
        """Keep these records, and put those away, all in one transaction; but what was changed under it is left."""
        if not records and not stale:
            return
        judged = [replace(one, memory=one.memory.changed(salience=self._salience(one.memory))) for one in records]
        vectors = self.world.embed([one.memory.embedded_text for one in judged], "memory")

        def change(writing: Writing) -> list[tuple[Counter[Level], Memory]]:
            self._refuse_if_erased(writing)
            writing.adopt(self.world.encoder)
            later, _ = writing.touched(self.scope, Level.EVENT, self.commit)
            kept = [
                (self._kept(writing, one.memory, vector), one.memory)
                for one, vector in zip(judged, vectors, strict=True)
                if self._holds(writing, one, later)
            ]
            away = [one.memory for one in stale if self._holds(writing, one, later)]
            return kept + [(self._put_away(writing, one), one) for one in away]

        for counter, record in self.world.store.write(change):
            counter[record.level or Level.EVENT] += 1

    def _holds(self, writing: Writing, made: _Made, later: Sequence[datetime]) -> bool:
        """Whether what it was read from is as it was: no event came or changed there, and no finer record did."""
        gap = self.world.lifecycle.gap
        if not made.parts:
            return not any(made.first - gap <= moment <= made.last + gap for moment in later)
        now = (writing.get(self.scope, one.id) for one in made.parts)
        return all(one is not None and one.commit == part.commit for one, part in zip(now, made.parts, strict=True))

    def _salience(self, record: Memory) -> float | None:
        return salience_of(record.text, record.kind, pinned=False, policy=self.world.policy.salience)

    def _kept(self, writing: Writing, record: Memory, vector: "Vector") -> Counter[Level]:
        """Keep a record, unless somebody else has made it meanwhile; which counter it is for."""
        known = writing.get(self.scope, record.id)
        if known is None:
            writing.put(record, vector)
            return self.made
        same = known.status is Status.ACTIVE and made_of(known.metadata) == made_of(record.metadata)
        if same or not _is_ours(known, record.level):
            return self.unchanged
        writing.put(_next_version(known, record), vector)
        return self.revised

    def _put_away(self, writing: Writing, record: Memory) -> Counter[Level]:
        known = writing.get(self.scope, record.id)
        if known is None or known.status is not Status.ACTIVE:
            return self.unchanged
        writing.put(known.changed(status=Status.ARCHIVED, remark=RETOLD), None)
        return self.archived


def _levels_outside(records: Iterable[Memory]) -> set[Level]:
    """The levels of those that have left an index."""
    return {one.level for one in records if one.left and one.level is not None}


def _whole(record: Memory) -> _Made:
    """A record with the time that it tells of."""
    told = Record.of(record)
    return _Made(record, told.first, told.last)


def _is_ours(record: Memory, level: Level | None) -> bool:
    """Whether it is a record of that level that stands as rollups leave it: nobody forgot it, or put it away."""
    put_away = record.status is Status.ARCHIVED and record.remark == RETOLD
    return record.level is level and (record.status is Status.ACTIVE or put_away)


def _with_grips(segment: Memory | None) -> set[MemoryId]:
    """A segment and the grips that it cites."""
    return set() if segment is None else {segment.id, *Record.of(segment).cited}


def _next_version(known: Memory, record: Memory) -> Memory:
    """The record with what people said of the one it takes the place of; it was known no later than that one."""
    return record.changed(
        created_at=min(known.created_at, record.created_at),
        revisions=known.revisions + 1,
        pinned=known.pinned,
        shared=known.shared,
        tags=known.tags,
        importance=known.importance,
        confidence=known.confidence,
        stands_for=known.stands_for,
    )
