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
from recollect.model import changeset
from recollect.model.conversation import LlmUsage
from recollect.model.enums import CALENDAR_LEVELS, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import RollupReport
from recollect.protocols import ProgressListener, WriteTransaction

if TYPE_CHECKING:
    from recollect.retrieval.vectors import Vector

ROLLUP_CHECKPOINT = "rollup"
"""The name of the checkpoint that stores how far the rollup of a scope got."""

WATCHED_LEVELS = (Level.SEGMENT, Level.GRIP, *CALENDAR_LEVELS, Level.EVENT)
"""The levels whose changes make a period due: all of them.

If a user changes a record, coarser records become outdated, and a record that was restored may lack later events.
"""

FINEST_LEVELS = (Level.EVENT, Level.SEGMENT, Level.GRIP)
"""The levels that are not calendar periods."""

MAX_ATTEMPTS = 5
"""How often a rollup starts over because data was erased while it ran."""

RETOLD_REMARK = "what it told is gone, or another record tells it"
"""The remark on a record that is archived because it should no longer exist.

Stores keep it and it is compared later, so its words must not change.
"""


def rollup(deps: Dependencies, scope: Scope, *, unfinished: bool, progress: ProgressListener) -> RollupReport:
    """Update the scope's summaries of periods that are over from its events.

    `unfinished` adds running periods. Repeating the call changes nothing. After an interruption, the next call does the
    rest. Changes that other writers make during a rollup are left to the next one.
    """
    for _ in range(MAX_ATTEMPTS):
        try:
            return _roll_up(deps, scope, unfinished=unfinished, progress=progress)
        except _ErasedDuringRollup:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; try again when that is done")


def _roll_up(deps: Dependencies, scope: Scope, *, unfinished: bool, progress: ProgressListener) -> RollupReport:
    run = _Rollup(deps, scope, deps.now(), unfinished, deps.summarizer.spent)
    previous = _load_checkpoint(run)
    touched = {
        level: deps.store.changed_dates(scope, level, previous.commits.get(level, 0)) for level in WATCHED_LEVELS
    }
    run.commit = touched[Level.EVENT][1]
    due = _find_due_periods([moment for moments, _ in touched.values() for moment in moments], previous, run)

    total, done, unfinished_periods = sum(map(len, due.values())), 0, list[Period]()
    for level in CALENDAR_LEVELS:
        for period in sorted(due[level], key=lambda one: one.key):
            if not run.roll_up_period(period):
                unfinished_periods.append(period)
            done += 1
            progress(done, total)
    checkpoint = RollupCheckpoint(
        {level: commit for level, (_, commit) in touched.items()},
        run.rules_digest,
        tuple(unfinished_periods),
        run.token,
    )
    if total and checkpoint != previous:
        run.save_checkpoint(checkpoint)
    return run.report(len(unfinished_periods))


class _ErasedDuringRollup(Exception):
    """Raised when data of the scope was erased meanwhile, so that no summary may be written."""


def _load_checkpoint(run: "_Rollup") -> RollupCheckpoint:
    """Load the checkpoint, or write a new one before anything is read.

    Erasing data of the scope removes it, which reveals an erasure during the rollup.
    """
    store, scope = run.deps.store, run.scope
    text = store.checkpoint(scope, ROLLUP_CHECKPOINT)
    checkpoint = RollupCheckpoint.read(text, run.rules_digest) or RollupCheckpoint({}, "", (), run.deps.new_id(run.now))
    if text is None and (store.changed_dates(scope, Level.EVENT, 0)[0] or store.timeline(scope, CALENDAR_LEVELS)):
        saved = changeset.Checkpoint(scope, ROLLUP_CHECKPOINT, checkpoint.to_json())
        store.write(lambda writing: writing.apply(changeset.Changeset(checkpoints=(saved,))))
    run.token = checkpoint.token
    return checkpoint


def _find_due_periods(
    moments: Sequence[datetime], previous: RollupCheckpoint, run: "_Rollup"
) -> dict[Level, set[Period]]:
    """Return the periods of each level with new events or changes, and those still running."""
    zone, store = run.deps.time_zone, run.deps.store
    # existing records may be of other periods, if the rules were different
    existing = [] if previous.commits else store.timeline(run.scope, CALENDAR_LEVELS)
    due: dict[Level, set[Period]] = defaultdict(set)
    for period in (*previous.under_way, *filter(None, map(period_of, existing))):
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

    def save_checkpoint(self, checkpoint: RollupCheckpoint) -> None:
        """Save how far the rollup got, unless data was erased meanwhile."""

        def change(writing: WriteTransaction) -> None:
            self._refuse_if_erased(writing)
            saved = changeset.Checkpoint(self.scope, ROLLUP_CHECKPOINT, checkpoint.to_json())
            writing.apply(changeset.Changeset(checkpoints=(saved,)))

        self.deps.store.write(change)

    def _refuse_if_erased(self, writing: WriteTransaction) -> None:
        checkpoint = RollupCheckpoint.read(writing.checkpoint(self.scope, ROLLUP_CHECKPOINT), self.rules_digest)
        if checkpoint is None or checkpoint.token != self.token:
            raise _ErasedDuringRollup

    def roll_up_period(self, period: Period) -> bool:
        """Update the records of a period; return whether the period is over."""
        over = period.is_over_by(self.now, self.deps.time_zone)
        parts = self._update_segments(period, over=over) if period.level is Level.DAY else self._load_finer(period)
        id = make_period_id(self.scope, period)
        stored = self._load_known([id]).get(id)
        if over or self.unfinished or (stored is not None and stored.status is Status.ACTIVE):
            self._update_record(period, parts, stored)
        return over

    def _load_finer(self, period: Period) -> list[Memory]:
        """Return the records a period is made from: months for a year, days for all others."""
        finer = period.parts() if period.level is Level.YEAR else period.days()
        records = self.deps.store.get(self.scope, [make_period_id(self.scope, one) for one in finer])
        return [one for one in records if one.status is Status.ACTIVE and one.level is finer[0].level]

    def _update_record(self, period: Period, parts: Sequence[Memory], stored: Memory | None) -> None:
        target = period_target(self.scope, period, parts, by=self.rules_digest) if parts else None
        if target is None or not target.passages:  # there are no events, or a user removed all their records
            if stored is not None and stored.status is Status.ACTIVE and stored.level is period.level:
                self._write([], [_as_record_draft(stored)])
            return
        if self._is_current(target, stored):
            return
        summary = self.deps.summarizer.summarise(
            target.passages, level=period.level, most=MAX_POINTS_BY_LEVEL[period.level]
        )
        record = target.to_memory(summary, self.deps.summary_provenance)
        if stored is None:
            record = record.with_changes(stands_for=self._find_unindexed_levels(period))
        self._write([_RecordDraft(record, target.first, target.last, parts)], [])

    def _find_unindexed_levels(self, period: Period) -> tuple[Level, ...]:
        """Return the levels whose records of the period left an index and lack a finer summary.

        A record that was erased and is made again stands in for these levels at once.
        """
        unindexed, finer = self.unindexed_levels, CALENDAR_LEVELS[: CALENDAR_LEVELS.index(period.level)]
        if finer:
            read_timeline = self.deps.store.timeline
            begins, ends = period.begins(self.deps.time_zone), period.ends(self.deps.time_zone)
            unindexed = _unindexed_levels(read_timeline(self.scope, finer, since=begins, before=ends))
            if finer[-1] not in unindexed:
                return ()
            unindexed |= _unindexed_levels(read_timeline(self.scope, FINEST_LEVELS, since=begins, before=ends))
        return tuple(level for level in Level if level in unindexed)

    def _update_segments(self, day: Period, *, over: bool) -> list[Memory]:
        """Update the segments and grips of a day; return the active segments in order."""
        zone, store = self.deps.time_zone, self.deps.store
        begins, ends = day.begins(zone), day.ends(zone)
        events = store.timeline(self.scope, [Level.EVENT], since=begins, before=ends)
        suppressed = self._find_suppressed_events(begins, ends)
        events = [one for one in events if one.id not in suppressed]
        existing = store.timeline(self.scope, [Level.SEGMENT, Level.GRIP], since=begins, before=ends)
        self.unindexed_levels = _unindexed_levels([*events, *existing])
        targets = list(self._list_segment_targets(events, over=over))
        stored = self._load_known([one.id for one, _ in targets])

        current_ids: set[MemoryId] = set()
        for target, ended in targets:
            former = stored.get(target.id)
            if not ended and former is None:
                continue
            if self._is_current(target, former):
                if former is not None and former.status is Status.ACTIVE:
                    current_ids |= {former.id, *RollupRecord.of(former).cited_ids}  # the segment and its grips
            else:
                summary = self.deps.summarizer.summarise(
                    target.passages, level=Level.SEGMENT, most=MAX_POINTS_BY_LEVEL[Level.SEGMENT]
                )
                summary, grips = cite_grips(target, summary)
                records = [*grips, target.to_memory(summary, self.deps.summary_provenance)]
                # written at once, since a summary may have cost money
                self._write([_RecordDraft(one, target.first, target.last) for one in records], [])
                current_ids |= {one.id for one in records}

        self._write([], [_as_record_draft(one) for one in existing if one.id not in current_ids])
        updated = self._load_known([one.id for one, _ in targets])
        segments = (updated.get(target.id) for target, _ in targets)
        return [one for one in segments if one and one.level is Level.SEGMENT and one.status is Status.ACTIVE]

    def _find_suppressed_events(self, begins: datetime, ends: datetime) -> set[str]:
        """Return the events of grips that a user removed: forgetting a grip also hides its events."""
        inactive = [one for one in Status if one is not Status.ACTIVE]
        grips = self.deps.store.timeline(self.scope, [Level.GRIP], since=begins, before=ends, statuses=inactive)
        return {event for grip in grips if not _is_rollup_record(grip, Level.GRIP) for event in grip.derived_from}

    def _list_segment_targets(self, events: Sequence[Memory], *, over: bool) -> Iterable[tuple[RollupTarget, bool]]:
        """Return the segments that should exist, sorted by start, each with whether it has ended."""
        policy = self.deps.lifecycle
        targets = []
        for events_of_session in group_by_session(events):
            parts = split_into_segments(
                events_of_session, gap=policy.gap, most_tokens=policy.segment_tokens, count=self.deps.count_tokens
            )
            for number, part in enumerate(parts, start=1):
                ended = over or self.unfinished or is_segment_closed(part, number < len(parts), self.now, policy.gap)
                targets.append((segment_target(self.scope, part, by=self.rules_digest), ended))
        return sorted(targets, key=lambda one: (one[0].first, one[0].id))

    def _load_known(self, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        return {one.id: one for one in self.deps.store.get(self.scope, ids)} if ids else {}

    def _is_current(self, target: RollupTarget, stored: Memory | None) -> bool:
        """Return whether the record is up to date, or was removed by a user and so must not come back."""
        if stored is None or not _is_rollup_record(stored, target.level):
            self.unchanged[target.level] += stored is not None
            return stored is not None
        is_same = stored.status is Status.ACTIVE and read_inputs(stored.metadata) == target.inputs
        self.unchanged[target.level] += is_same
        return is_same

    def _write(self, records: Sequence[_RecordDraft], stale: Sequence[_RecordDraft]) -> None:
        """Write records and archive stale ones in one transaction; skip those whose inputs changed."""
        if not records and not stale:
            return
        drafts = [
            replace(one, memory=one.memory.with_changes(salience=self._compute_salience(one.memory))) for one in records
        ]
        vectors = self.deps.embed([one.memory.embedded_text for one in drafts], "memory")

        def change(writing: WriteTransaction) -> list[tuple[Counter[Level], Memory]]:
            self._refuse_if_erased(writing)
            writing.apply(changeset.Changeset(encoder=self.deps.encoder))
            later, _ = writing.changed_dates(self.scope, Level.EVENT, self.commit)
            written = [
                (self._put_record(writing, one.memory, vector), one.memory)
                for one, vector in zip(drafts, vectors, strict=True)
                if self._is_unchanged(writing, one, later)
            ]
            outdated = [one.memory for one in stale if self._is_unchanged(writing, one, later)]
            return written + [(self._archive_record(writing, one), one) for one in outdated]

        for counter, record in self.deps.store.write(change):
            counter[record.level or Level.EVENT] += 1

    def _is_unchanged(self, writing: WriteTransaction, draft: _RecordDraft, later: Sequence[datetime]) -> bool:
        """Return whether the record's inputs are unchanged: no new event nearby, no changed part."""
        gap = self.deps.lifecycle.gap
        if not draft.parts:
            return not any(draft.first - gap <= moment <= draft.last + gap for moment in later)
        present = (writing.get(self.scope, one.id) for one in draft.parts)
        pairs = zip(present, draft.parts, strict=True)
        return all(one is not None and one.commit == part.commit for one, part in pairs)

    def _compute_salience(self, record: Memory) -> float | None:
        return rate_salience(record.text, record.kind, pinned=False, policy=self.deps.policy.salience)

    def _put_record(self, writing: WriteTransaction, record: Memory, vector: "Vector") -> Counter[Level]:
        """Write a record unless another writer made it already; return the counter to increment."""
        stored = writing.get(self.scope, record.id)
        if stored is None:
            writing.put(record, vector)
            return self.made
        is_same = stored.status is Status.ACTIVE and read_inputs(stored.metadata) == read_inputs(record.metadata)
        if is_same or not _is_rollup_record(stored, record.level):
            return self.unchanged
        writing.put(_next_version(stored, record), vector)
        return self.revised

    def _archive_record(self, writing: WriteTransaction, record: Memory) -> Counter[Level]:
        stored = writing.get(self.scope, record.id)
        if stored is None or stored.status is not Status.ACTIVE:
            return self.unchanged
        writing.put(stored.with_changes(status=Status.ARCHIVED, remark=RETOLD_REMARK), None)
        return self.archived


def _unindexed_levels(records: Iterable[Memory]) -> set[Level]:
    """Return the levels of the records that have left an index."""
    return {one.level for one in records if one.left and one.level is not None}


def _as_record_draft(record: Memory) -> _RecordDraft:
    """Return the draft of a record with its time range."""
    rollup_record = RollupRecord.of(record)
    return _RecordDraft(record, rollup_record.first, rollup_record.last)


def _is_rollup_record(record: Memory, level: Level | None) -> bool:
    """Return whether this is a record of that level whose status a rollup set, not a user."""
    was_archived = record.status is Status.ARCHIVED and record.remark == RETOLD_REMARK
    return record.level is level and (record.status is Status.ACTIVE or was_archived)


def _next_version(former: Memory, record: Memory) -> Memory:
    """Return the new record with the fields that users set on the former one.

    Its creation time is the earlier of the two.
    """
    return record.with_changes(
        created_at=min(former.created_at, record.created_at),
        revisions=former.revisions + 1,
        pinned=former.pinned,
        shared=former.shared,
        tags=former.tags,
        importance=former.importance,
        confidence=former.confidence,
        stands_for=former.stands_for,
    )
