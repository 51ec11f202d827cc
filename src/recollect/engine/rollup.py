"""Rollup: summarize events as segments with grips, then as days, weeks, months and years."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.classify import rate_salience
from recollect.engine.dependencies import Dependencies
from recollect.errors import StoreBusy
from recollect.lifecycle.periods import Period
from recollect.lifecycle.rollups import (
    MAX_POINTS_BY_LEVEL,
    RollupCheckpoint,
    RollupRecord,
    RollupTarget,
    cite_grips,
    group_by_session,
    is_segment_closed,
    make_period_id,
    period_of,
    period_target,
    read_inputs,
    segment_target,
    split_into_segments,
)
from recollect.model.conversation import LlmUsage
from recollect.model.enums import CALENDAR_LEVELS, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import RollupReport
from recollect.protocols import ProgressListener, WriteTransaction

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector

ROLLUP_CHECKPOINT = "rollup"
"""The name of the checkpoint that says how far the rollup of a scope got."""

WATCHED_LEVELS = (Level.SEGMENT, Level.GRIP, *CALENDAR_LEVELS, Level.EVENT)
"""The levels whose changes make a period due: all of them.

A record changed by hand changes what coarser ones should say, and a record that was restored may miss later events.
"""

FINEST_LEVELS = (Level.EVENT, Level.SEGMENT, Level.GRIP)
"""The levels that are not calendar periods."""

MAX_ATTEMPTS = 5
"""How often a rollup starts over because data was erased meanwhile."""

RETOLD_REMARK = "what it told is gone, or another record tells it"
"""The remark on a record that is archived because it should no longer exist."""


def rollup(deps: Dependencies, scope: Scope, *, unfinished: bool, progress: ProgressListener) -> RollupReport:
    """Update the scope's summaries from its events, of periods that are over.

    `unfinished` adds running periods. Repeating the call changes nothing. After an interruption the next call does the
    rest. What other writers change during a rollup is left to the next one.
    """
    for _ in range(MAX_ATTEMPTS):
        try:
            return _roll_up(deps, scope, unfinished=unfinished, progress=progress)
        except _ErasedDuringRollup:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; sum them up when that is done")


def _roll_up(deps: Dependencies, scope: Scope, *, unfinished: bool, progress: ProgressListener) -> RollupReport:
    work = _Rollup(deps, scope, deps.now(), unfinished, deps.summarizer.spent)
    before = _load_checkpoint(work)
    touched = {level: deps.store.touched(scope, level, before.commits.get(level, 0)) for level in WATCHED_LEVELS}
    work.commit = touched[Level.EVENT][1]
    due = _find_due_periods([moment for moments, _ in touched.values() for moment in moments], before, work)

    total, done, under_way = sum(map(len, due.values())), 0, list[Period]()
    for level in CALENDAR_LEVELS:
        for period in sorted(due[level], key=lambda one: one.key):
            if not work.roll_up_period(period):
                under_way.append(period)
            done += 1
            progress(done, total)
    reached = RollupCheckpoint(
        {level: commit for level, (_, commit) in touched.items()}, work.rules_digest, tuple(under_way), work.token
    )
    if total and reached != before:
        work.save_checkpoint(reached)
    return work.report(len(under_way))


class _ErasedDuringRollup(Exception):
    """Raised when data of the scope was erased meanwhile, so that nothing read may be written."""


def _load_checkpoint(work: "_Rollup") -> RollupCheckpoint:
    """Load the checkpoint, or write a new one before anything is read.

    Erasing removes it, which is how an erasure during the rollup is noticed.
    """
    store, scope = work.deps.store, work.scope
    text = store.checkpoint(scope, ROLLUP_CHECKPOINT)
    reached = RollupCheckpoint.read(text, work.rules_digest) or RollupCheckpoint({}, "", (), work.deps.new_id(work.now))
    if text is None and (store.touched(scope, Level.EVENT, 0)[0] or store.timeline(scope, CALENDAR_LEVELS)):
        store.write(lambda writing: writing.set_checkpoint(scope, ROLLUP_CHECKPOINT, reached.to_json()))
    work.token = reached.token
    return reached


def _find_due_periods(
    moments: Sequence[datetime], before: RollupCheckpoint, work: "_Rollup"
) -> dict[Level, set[Period]]:
    """Return the periods of each level with new events or changes, and those still running."""
    zone, store = work.deps.time_zone, work.deps.store
    there = (
        [] if before.commits else store.timeline(work.scope, CALENDAR_LEVELS)
    )  # they may be of other periods, by other rules
    due: dict[Level, set[Period]] = defaultdict(set)
    for period in (*before.under_way, *filter(None, map(period_of, there))):
        due[period.level].add(period)
    due[Level.DAY] |= {Period.of(moment, Level.DAY, zone) for moment in moments}
    for finer in CALENDAR_LEVELS:
        for period in due[finer]:
            for coarser in period.parents:
                due[coarser.level].add(coarser)
    return due


@dataclass(frozen=True, slots=True)
class _RecordDraft:
    """A record to write or archive, its time range, and the finer records it was made from.

    Without parts, it was made from the events of the time range.
    """

    memory: Memory
    first: datetime
    last: datetime
    parts: Sequence[Memory] = ()


@dataclass(slots=True)
class _Rollup:
    """One rollup of one scope; it counts what it does."""

    deps: Dependencies
    scope: Scope
    now: datetime
    unfinished: bool
    tally_before: LlmUsage
    """The model usage before the rollup."""
    token: str = ""
    commit: int = 0
    """The last commit whose events were read."""
    unindexed_levels: set[Level] = field(default_factory=set[Level])
    """Levels with records of the last processed day that have left an index."""
    made: Counter[Level] = field(default_factory=Counter[Level])
    revised: Counter[Level] = field(default_factory=Counter[Level])
    archived: Counter[Level] = field(default_factory=Counter[Level])
    unchanged: Counter[Level] = field(default_factory=Counter[Level])

    @property
    def rules_digest(self) -> str:
        """A digest of the rules that records are made by."""
        policy = self.deps.lifecycle
        rules = [policy.time_zone, policy.segment_gap_minutes, policy.segment_tokens, self.deps.summarizer.name]
        return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]

    def report(self, under_way: int) -> RollupReport:
        """Return the report of what was done."""
        spent = self.deps.summarizer.spent - self.tally_before
        return RollupReport(
            scope=self.scope,
            made=dict(+self.made),
            revised=dict(+self.revised),
            archived=dict(+self.archived),
            unchanged=dict(+self.unchanged),
            under_way=under_way,
            spent=spent,
            cost=self.deps.summarizer.cost(spent) if spent.calls else None,
        )

    def save_checkpoint(self, reached: RollupCheckpoint) -> None:
        """Save how far the rollup got, unless data was erased meanwhile."""

        def change(writing: WriteTransaction) -> None:
            self._refuse_if_erased(writing)
            writing.set_checkpoint(self.scope, ROLLUP_CHECKPOINT, reached.to_json())

        self.deps.store.write(change)

    def _refuse_if_erased(self, writing: WriteTransaction) -> None:
        noted = RollupCheckpoint.read(writing.checkpoint(self.scope, ROLLUP_CHECKPOINT), self.rules_digest)
        if noted is None or noted.token != self.token:
            raise _ErasedDuringRollup

    def roll_up_period(self, period: Period) -> bool:
        """Update the records of a period; return whether the period is over."""
        over = period.is_over_by(self.now, self.deps.time_zone)
        parts = self._update_segments(period, over=over) if period.level is Level.DAY else self._load_finer(period)
        id = make_period_id(self.scope, period)
        known = self._load_known([id]).get(id)
        if over or self.unfinished or (known is not None and known.status is Status.ACTIVE):
            self._update_record(period, parts, known)
        return over

    def _load_finer(self, period: Period) -> list[Memory]:
        """Return the records a period is made from: months for a year, days for all others."""
        finer = period.parts() if period.level is Level.YEAR else period.days()
        found = self.deps.store.get(self.scope, [make_period_id(self.scope, one) for one in finer])
        return [one for one in found if one.status is Status.ACTIVE and one.level is finer[0].level]

    def _update_record(self, period: Period, parts: Sequence[Memory], known: Memory | None) -> None:
        wanted = period_target(self.scope, period, parts, by=self.rules_digest) if parts else None
        if wanted is None or not wanted.passages:  # no events, or a user removed all records of them
            if known is not None and known.status is Status.ACTIVE and known.level is period.level:
                self._write([], [_as_record_draft(known)])
            return
        if self._is_current(wanted, known):
            return
        summary = self.deps.summarizer.summarise(
            wanted.passages, level=period.level, most=MAX_POINTS_BY_LEVEL[period.level]
        )
        record = wanted.to_memory(summary, self.deps.summary_provenance)
        if known is None:
            record = record.changed(stands_for=self._find_unindexed_levels(period))
        self._write([_RecordDraft(record, wanted.first, wanted.last, parts)], [])

    def _find_unindexed_levels(self, period: Period) -> tuple[Level, ...]:
        """Return levels with records of the period that left an index and lack a finer summary.

        A record that was erased and is made again stands in for them at once.
        """
        left, below = self.unindexed_levels, CALENDAR_LEVELS[: CALENDAR_LEVELS.index(period.level)]
        if below:
            begins, ends, read = (
                period.begins(self.deps.time_zone),
                period.ends(self.deps.time_zone),
                self.deps.store.timeline,
            )
            left = _unindexed_levels(read(self.scope, below, since=begins, before=ends))
            if below[-1] not in left:
                return ()
            left |= _unindexed_levels(read(self.scope, FINEST_LEVELS, since=begins, before=ends))
        return tuple(level for level in Level if level in left)

    def _update_segments(self, day: Period, *, over: bool) -> list[Memory]:
        """Update the segments and grips of a day; return the active segments in order."""
        zone, store = self.deps.time_zone, self.deps.store
        begins, ends = day.begins(zone), day.ends(zone)
        events = store.timeline(self.scope, [Level.EVENT], since=begins, before=ends)
        hushed = self._find_suppressed_events(begins, ends)
        events = [one for one in events if one.id not in hushed]
        there = store.timeline(self.scope, [Level.SEGMENT, Level.GRIP], since=begins, before=ends)
        self.unindexed_levels = _unindexed_levels([*events, *there])
        stretches = list(self._list_segment_targets(events, over=over))
        known = self._load_known([one.id for one, _ in stretches])

        standing: set[MemoryId] = set()
        for wanted, ended in stretches:
            former = known.get(wanted.id)
            if not ended and former is None:
                continue
            if self._is_current(wanted, former):
                standing |= (
                    _segment_and_grip_ids(former) if former is not None and former.status is Status.ACTIVE else set()
                )
            else:
                summary = self.deps.summarizer.summarise(
                    wanted.passages, level=Level.SEGMENT, most=MAX_POINTS_BY_LEVEL[Level.SEGMENT]
                )
                summary, grips = cite_grips(wanted, summary)
                told = [*grips, wanted.to_memory(summary, self.deps.summary_provenance)]
                self._write(
                    [_RecordDraft(one, wanted.first, wanted.last) for one in told], []
                )  # write at once: a summary may have cost money
                standing |= {one.id for one in told}

        self._write([], [_as_record_draft(one) for one in there if one.id not in standing])
        held = self._load_known([one.id for one, _ in stretches])
        found = (held.get(wanted.id) for wanted, _ in stretches)
        return [one for one in found if one and one.level is Level.SEGMENT and one.status is Status.ACTIVE]

    def _find_suppressed_events(self, begins: datetime, ends: datetime) -> set[str]:
        """Return the events of grips that a user removed: forgetting an excerpt hides its events."""
        away = [one for one in Status if one is not Status.ACTIVE]
        grips = self.deps.store.timeline(self.scope, [Level.GRIP], since=begins, before=ends, statuses=away)
        return {event for grip in grips if not _is_rollup_record(grip, Level.GRIP) for event in grip.derived_from}

    def _list_segment_targets(self, events: Sequence[Memory], *, over: bool) -> Iterable[tuple[RollupTarget, bool]]:
        """Return the segments that should exist, by start, each with whether it has ended."""
        policy = self.deps.lifecycle
        found = []
        for said in group_by_session(events):
            parts = split_into_segments(
                said, gap=policy.gap, most_tokens=policy.segment_tokens, count=self.deps.count_tokens
            )
            for place, part in enumerate(parts, start=1):
                ended = over or self.unfinished or is_segment_closed(part, place < len(parts), self.now, policy.gap)
                found.append((segment_target(self.scope, part, by=self.rules_digest), ended))
        return sorted(found, key=lambda one: (one[0].first, one[0].id))

    def _load_known(self, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        return {one.id: one for one in self.deps.store.get(self.scope, ids)} if ids else {}

    def _is_current(self, wanted: RollupTarget, known: Memory | None) -> bool:
        """Return whether the record is up to date, or was removed by a user and is not restored."""
        if known is None or not _is_rollup_record(known, wanted.level):
            self.unchanged[wanted.level] += known is not None
            return known is not None
        same = known.status is Status.ACTIVE and read_inputs(known.metadata) == wanted.inputs
        self.unchanged[wanted.level] += same
        return same

    def _write(self, records: Sequence[_RecordDraft], stale: Sequence[_RecordDraft]) -> None:
        """Write records and archive stale ones in one transaction; skip those whose inputs changed."""
        if not records and not stale:
            return
        judged = [
            replace(one, memory=one.memory.changed(salience=self._compute_salience(one.memory))) for one in records
        ]
        vectors = self.deps.embed([one.memory.embedded_text for one in judged], "memory")

        def change(writing: WriteTransaction) -> list[tuple[Counter[Level], Memory]]:
            self._refuse_if_erased(writing)
            writing.adopt(self.deps.encoder)
            later, _ = writing.touched(self.scope, Level.EVENT, self.commit)
            kept = [
                (self._put_record(writing, one.memory, vector), one.memory)
                for one, vector in zip(judged, vectors, strict=True)
                if self._is_unchanged(writing, one, later)
            ]
            away = [one.memory for one in stale if self._is_unchanged(writing, one, later)]
            return kept + [(self._archive_record(writing, one), one) for one in away]

        for counter, record in self.deps.store.write(change):
            counter[record.level or Level.EVENT] += 1

    def _is_unchanged(self, writing: WriteTransaction, made: _RecordDraft, later: Sequence[datetime]) -> bool:
        """Return whether the record's inputs are unchanged: no new event nearby, no changed part."""
        gap = self.deps.lifecycle.gap
        if not made.parts:
            return not any(made.first - gap <= moment <= made.last + gap for moment in later)
        now = (writing.get(self.scope, one.id) for one in made.parts)
        return all(one is not None and one.commit == part.commit for one, part in zip(now, made.parts, strict=True))

    def _compute_salience(self, record: Memory) -> float | None:
        return rate_salience(record.text, record.kind, pinned=False, policy=self.deps.policy.salience)

    def _put_record(self, writing: WriteTransaction, record: Memory, vector: "Vector") -> Counter[Level]:
        """Write a record unless another writer made it already; return the counter to increment."""
        known = writing.get(self.scope, record.id)
        if known is None:
            writing.put(record, vector)
            return self.made
        same = known.status is Status.ACTIVE and read_inputs(known.metadata) == read_inputs(record.metadata)
        if same or not _is_rollup_record(known, record.level):
            return self.unchanged
        writing.put(_next_version(known, record), vector)
        return self.revised

    def _archive_record(self, writing: WriteTransaction, record: Memory) -> Counter[Level]:
        known = writing.get(self.scope, record.id)
        if known is None or known.status is not Status.ACTIVE:
            return self.unchanged
        writing.put(known.changed(status=Status.ARCHIVED, remark=RETOLD_REMARK), None)
        return self.archived


def _unindexed_levels(records: Iterable[Memory]) -> set[Level]:
    """Return the levels of the records that have left an index."""
    return {one.level for one in records if one.left and one.level is not None}


def _as_record_draft(record: Memory) -> _RecordDraft:
    """Return a record with its time range."""
    told = RollupRecord.of(record)
    return _RecordDraft(record, told.first, told.last)


def _is_rollup_record(record: Memory, level: Level | None) -> bool:
    """Return whether this is a record of that level whose status a rollup set, not a user."""
    put_away = record.status is Status.ARCHIVED and record.remark == RETOLD_REMARK
    return record.level is level and (record.status is Status.ACTIVE or put_away)


def _segment_and_grip_ids(segment: Memory | None) -> set[MemoryId]:
    """Return the ids of a segment and the grips it cites."""
    return set() if segment is None else {segment.id, *RollupRecord.of(segment).cited_ids}


def _next_version(known: Memory, record: Memory) -> Memory:
    """Return the new record with what users set on the former one.

    Its creation time is the earlier of the two.
    """
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
