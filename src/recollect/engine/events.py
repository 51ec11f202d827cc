"""Events: store them, browse them from years down to single events, and extract memories from them.

In order: `observe`; `browse` and `expand`; `extract_events`.
"""

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID

from recollect.admission import changes
from recollect.admission.classify import rate_salience
from recollect.admission.decision import injection_reason
from recollect.admission.policy import QuarantinePolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.proposal import Proposal
from recollect.admission.screening import screen
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.edit import memory_not_found, require_memory_id
from recollect.engine.extract import ExtractionResult, extract
from recollect.engine.novelty import find_known_events
from recollect.errors import (
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    ProviderError,
    RecollectError,
    StoreBusy,
    show,
)
from recollect.lifecycle.periods import Period
from recollect.lifecycle.rollups import RollupRecord, group_by_session, make_period_id, split_into_segments
from recollect.model import changeset, validation
from recollect.model.conversation import PROVENANCE_BY_ROLE, ConversationTurn, Role
from recollect.model.draft import Created, Draft, Quarantined, Receipt, Refused, Unchanged, Verdict
from recollect.model.enums import CALENDAR_LEVELS, TRUST_BY_PROVENANCE, Kind, Level, Provenance, Status, Trust
from recollect.model.format import shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import GripExpansion, TimelineNode, TimelinePage
from recollect.protocols import ProgressListener, WriteTransaction
from recollect.text.index_entry import index_memory

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_STEP = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class EventOrigin:
    """Where events come from: their scope, provenance and source id."""

    scope: Scope
    provenance: Provenance | None = None
    source: str | None = None


def observe(deps: Dependencies, events: Sequence[ConversationTurn], origin: EventOrigin) -> list[Receipt]:
    """Store all of the events, or none; events already stored are skipped.

    An event is identified by speaker, role, text, session and time; the same event twice in a call is two events.
    Events of the same moment keep their order. An event without a date happened now.
    """
    now, scope = deps.now(), origin.scope
    counts = Counter[ConversationTurn]()
    proposals: list[Proposal | Refused] = []
    for event, at in zip(events, _assign_times(events, now), strict=True):
        proposals.append(_propose_event(deps, event, at, counts[event], origin))
        counts[event] += 1
    ids = [one.memory.id for one in proposals if not isinstance(one, Refused)]
    known = {one.id for one in deps.store.get(scope, ids)} if ids else set[MemoryId]()

    new = [one for one in proposals if not isinstance(one, Refused) and one.memory.id not in known]
    new = _separate_times(deps, new)
    vectors = deps.embed([one.memory.embedded_text for one in new], "memory")
    new = [replace(one, vector=vector) for one, vector in zip(new, vectors, strict=True)]
    prepared = iter(find_known_events(deps, new, now))
    proposals = [one if isinstance(one, Refused) or one.memory.id in known else next(prepared) for one in proposals]

    def change(writing: WriteTransaction) -> list[Receipt]:
        writing.apply(changeset.Changeset(encoder=deps.encoder))
        return [
            Receipt(None, one, None) if isinstance(one, Refused) else _put_event(writing, one, deps.policy.quarantine)
            for one in proposals
        ]

    return deps.store.write(change)


def _assign_times(events: Sequence[ConversationTurn], now: datetime) -> list[datetime]:
    """Return the time of each event; undated events get consecutive times up to now."""
    undated = sum(event.at is None for event in events)
    offsets = iter(range(undated - 1, -1, -1))
    return [
        now - next(offsets) * _TIME_STEP if one.at is None else require_not_future("at", one.at, now) for one in events
    ]


def _separate_times(deps: Dependencies, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the events with those of the same moment apart by a microsecond, so that they keep their order."""
    if not proposals:
        return []
    moments = [one.memory.created_at for one in proposals]
    until = max(moments) + len(proposals) * _TIME_STEP + _MILLISECOND
    scope = proposals[0].memory.scope
    stored = deps.store.timeline(scope, [Level.EVENT], since=min(moments), before=until, statuses=tuple(Status))
    taken, next_free = {one.created_at for one in stored}, dict[datetime, datetime]()
    separated = list[Proposal]()
    for one in proposals:
        at = one.memory.created_at
        unique = next_free.get(at, at)
        while unique in taken:
            unique += _TIME_STEP
        taken.add(unique)
        next_free[at] = unique + _TIME_STEP
        memory = one.memory
        if unique != at:
            memory = memory.with_changes(created_at=unique, observed_at=unique, updated_at=unique)
        separated.append(replace(one, memory=memory))
    return separated


def _propose_event(
    deps: Dependencies, event: ConversationTurn, at: datetime, repetition: int, origin: EventOrigin
) -> Proposal | Refused:
    """Build an event without private parts and secrets; `repetition` counts the equal events before it."""
    provenances = [PROVENANCE_BY_ROLE[event.role], *([] if origin.provenance is None else [origin.provenance])]
    draft = Draft(
        id=event.id,
        text=event.text,
        scope=origin.scope,
        kind=Kind.EVENT,
        session=event.session,
        speaker=event.speaker,
        at=at,
        provenance=min(provenances, key=lambda one: TRUST_BY_PROVENANCE[one].level),
        source=origin.source,
        metadata={"role": event.role.value},
    )
    screened = screen(draft, deps.policy.secrets)
    if isinstance(screened, Refused):
        return screened
    draft = screened.value
    memory = Memory(
        id=draft.id or make_event_id(draft, event.role, at, repetition),
        scope=draft.scope,
        text=draft.text,
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=Kind.EVENT,
        level=Level.EVENT,
        session=draft.session,
        speaker=draft.speaker,
        salience=rate_salience(draft.text, Kind.EVENT, pinned=False, policy=deps.policy.salience),
        provenance=draft.provenance,
        source=draft.source,
        metadata=draft.metadata or {},
    )
    injection = None
    if memory.trust.less_than(Trust.STATED):  # instructions may come from others than the user
        injection = find_injection(memory.text) or find_injection(memory.speaker or "")
    return Proposal(
        draft=draft, memory=memory, index=index_memory(memory), redacted=screened.redacted, injection=injection
    )


def make_event_id(draft: Draft, role: Role, at: datetime, repetition: int) -> MemoryId:
    """Return a UUID version 7 that sorts by time and is the same for the same event.

    Its other digits are a hash of scope, session, role, speaker, time, text and the number of equal events before it.
    """
    parts = (str(draft.scope), draft.session or "", role.value, draft.speaker or "")
    content = json.dumps([*parts, at.isoformat(), draft.text, repetition])
    digest = int.from_bytes(hashlib.sha256(content.encode()).digest()[:10])
    milliseconds = max((at - _EPOCH) // _MILLISECOND, 0)
    high = (milliseconds << 16) | 0x7000 | (digest >> 68)
    low = (0b10 << 62) | (digest & ((1 << 62) - 1))
    return MemoryId(str(UUID(int=(high << 64) | low)))


def _put_event(writing: WriteTransaction, proposal: Proposal, policy: QuarantinePolicy) -> Receipt:
    """Write one event, and return its receipt."""
    memory = proposal.memory
    known = writing.get(memory.scope, memory.id)
    if known is not None:
        if proposal.draft.id is not None and (known.level, known.text) != (memory.level, memory.text):
            raise Conflict(f"id {show(memory.id)} is already used by a different memory; use another id, or none")
        return Receipt(known.id, Unchanged(), known, proposal.redacted)
    state, verdict = memory, cast("Verdict", Created())
    if proposal.injection is not None and policy.enabled:
        remark = injection_reason(proposal.injection)
        state, verdict = memory.with_changes(status=Status.QUARANTINED, remark=remark), Quarantined(remark)
    elif proposal.similar_event is not None:
        state, verdict = memory.with_changes(indexed=False), changes.unindexed_verdict(*proposal.similar_event)
    stored = writing.put(state, proposal.vector, proposal.index)
    return Receipt(stored.id, verdict, stored, proposal.redacted)


MAX_AROUND_EVENTS = 100
"""How many events before and after a grip may be requested."""

KEY_HELP = (
    "a key is a year, month, week or day, such as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a segment or grip"
)
"""The hint in the error for an invalid key."""

_AROUND_WINDOW = timedelta(days=1)
"""How far from a grip to search for neighboring events."""


def browse(deps: Dependencies, scope: Scope, key: str | None) -> TimelinePage:
    """Return one node of the timeline with its parts, or all years."""
    if key is None:
        return TimelinePage(place=None, parts=_list_periods(deps, scope, None))
    period = _parse_period(validation.require_text("key", key))
    if period is not None:
        node = _node_of_period(deps, scope, period, _load_records(deps, scope, [period]))
        return TimelinePage(place=node, parts=_list_parts(deps, scope, period))
    try:
        memory = _get_record(deps, scope, key)
    except NotFound as error:
        raise NotFound(f"{error}; {KEY_HELP}") from None
    events = () if memory.level is Level.EVENT else _load_active(deps, scope, memory.derived_from)
    grips = _load_active(deps, scope, RollupRecord.of(memory).cited_ids if memory.level is Level.SEGMENT else ())
    return TimelinePage(
        place=_node_of_record(memory),
        parts=tuple(map(_node_of_record, events)),
        grips=tuple(_node_of_record(one) for one in grips if one.level is Level.GRIP),
    )


def expand(deps: Dependencies, scope: Scope, id: str, around: int) -> GripExpansion:
    """Return the events behind a grip or segment, with events around them of the same session."""
    if validation.require_count("around", around) > MAX_AROUND_EVENTS:
        raise FieldError(f"{around} is not within 0..{MAX_AROUND_EVENTS}", field="around")
    period = _parse_period(validation.require_text("id", id))
    if period is not None:
        kind = f"a {period.level.value}, which `browse` shows"
        raise InvalidInput(f"{show(id)} is {kind}; `expand` takes the id of a grip or a segment")
    record = _get_record(deps, scope, id)
    if record.level not in (Level.GRIP, Level.SEGMENT):
        raise InvalidInput(f"{show(id)} has the level {record.level}; browse from it to a segment or a grip")
    events = _load_active(deps, scope, record.derived_from)
    known = {one.id for one in events}
    missing = tuple(MemoryId(one) for one in record.derived_from if one not in known)
    before, after = _load_around(deps, scope, events, around) if events and around else ((), ())
    return GripExpansion(record=record, before=before, events=events, after=after, gone=missing)


def _load_around(
    deps: Dependencies, scope: Scope, events: Sequence[Memory], around: int
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Return the events of the same session just before and just after these."""
    first, last = events[0], events[-1]
    since, before = first.created_at - _AROUND_WINDOW, last.created_at + _AROUND_WINDOW
    nearby = deps.store.timeline(scope, [Level.EVENT], since=since, before=before)
    same_session = [one for one in nearby if one.session == first.session]
    earlier = [one for one in same_session if (one.created_at, one.id) < (first.created_at, first.id)]
    later = [one for one in same_session if (one.created_at, one.id) > (last.created_at, last.id)]
    return tuple(earlier[-around:]), tuple(later[:around])


def _parse_period(key: str) -> Period | None:
    """Return the period that a key names, or None."""
    for level in CALENDAR_LEVELS:
        try:
            return Period.parse(level, key)
        except FieldError:
            continue
    return None


def _get_record(deps: Dependencies, scope: Scope, id: str) -> Memory:
    """Return the scope's own active timeline record with this id."""
    memories = deps.store.get(scope, [require_memory_id(scope, id)])
    if not memories or memories[0].scope != scope or memories[0].status is not Status.ACTIVE:
        raise memory_not_found(scope, id)
    if memories[0].level is None:
        raise InvalidInput(f"{show(id)} is a plain memory and not on the timeline; show it instead")
    return memories[0]


def _load_active(deps: Dependencies, scope: Scope, ids: Sequence[str]) -> tuple[Memory, ...]:
    """Return those of these memories that are active, in order of time."""
    memories = deps.store.get(scope, [MemoryId(one) for one in ids]) if ids else []
    active = [one for one in memories if one.status is Status.ACTIVE]
    return tuple(sorted(active, key=lambda one: (one.created_at, one.id)))


def _list_parts(deps: Dependencies, scope: Scope, period: Period) -> tuple[TimelineNode, ...]:
    """Return the parts of a period: finer periods, or a day's segments and the events outside of them."""
    if period.level is not Level.DAY:
        return _list_periods(deps, scope, period)
    zone = deps.time_zone
    begins, ends = period.begins(zone), period.ends(zone)
    segments = deps.store.timeline(scope, [Level.SEGMENT], since=begins, before=ends)
    events = deps.store.timeline(scope, [Level.EVENT], since=begins, before=ends)
    in_segments = {id for one in segments for id in one.derived_from}
    loose = [one for one in events if one.id not in in_segments]
    nodes = [_node_of_record(one) for one in (*segments, *loose)]
    return tuple(sorted(nodes, key=lambda one: (one.first, one.key)))


def _list_periods(deps: Dependencies, scope: Scope, period: Period | None) -> tuple[TimelineNode, ...]:
    """Return the periods just below this one that have events, or all years."""
    zone = deps.time_zone
    moments, _ = deps.store.changed_dates(scope, Level.EVENT, 0)
    if period is None:
        periods = sorted({Period.of(moment, Level.YEAR, zone) for moment in moments}, key=lambda one: one.key)
    else:
        first, last = period.begins(zone), period.ends(zone)
        periods = [
            one
            for one in period.parts()
            if _has_time_between(
                moments, max(one.begins(zone), first), min(one.ends(zone), last)
            )  # a week may span two months
        ]
    records = _load_records(deps, scope, periods)
    with_events = [one for one in periods if make_period_id(scope, one) in records or _has_events(deps, scope, one)]
    return tuple(_node_of_period(deps, scope, one, records) for one in with_events)


def _has_events(deps: Dependencies, scope: Scope, period: Period) -> bool:
    """Return whether the period has an active event; all of them may have been forgotten."""
    begins, ends = period.begins(deps.time_zone), period.ends(deps.time_zone)
    return bool(deps.store.timeline(scope, [Level.EVENT], since=begins, before=ends))


def _has_time_between(moments: Sequence[datetime], since: datetime, before: datetime) -> bool:
    place = bisect_left(moments, since)
    return place < len(moments) and moments[place] < before


def _load_records(deps: Dependencies, scope: Scope, periods: Sequence[Period]) -> dict[MemoryId, Memory]:
    records = deps.store.get(scope, [make_period_id(scope, one) for one in periods]) if periods else []
    return {one.id: one for one in records if one.status is Status.ACTIVE}


def _node_of_period(
    deps: Dependencies, scope: Scope, period: Period, records: Mapping[MemoryId, Memory]
) -> TimelineNode:
    zone, record = deps.time_zone, records.get(make_period_id(scope, period))
    title = str(period) if record is None or record.title is None else record.title
    return TimelineNode(
        level=period.level,
        key=period.key,
        title=title,
        first=period.begins(zone),
        last=period.ends(zone),
        record=record,
    )


def _node_of_record(memory: Memory) -> TimelineNode:
    level = memory.level or Level.EVENT
    record = RollupRecord.of(memory) if level is not Level.EVENT else None
    line = shorten(memory.text if memory.speaker is None else f"{memory.speaker}: {memory.text}")
    return TimelineNode(
        level=level,
        key=memory.id,
        title=memory.title or line,
        first=memory.created_at if record is None else record.first,
        last=memory.created_at if record is None else record.last,
        record=memory,
    )


EXTRACTION_CHECKPOINT = "extraction"
"""The name of the checkpoint that stores which events were read."""

MAX_EXTRACTION_ATTEMPTS = 5
"""How often an extraction starts over because data was erased while it ran."""

MAX_CONSECUTIVE_FAILURES = 3
"""After this many failures in a row the extraction stops, since the events are unlikely to be the cause."""

_EventSpan = tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventExtraction:
    """What was extracted from the new events of a scope, span by span.

    A span is a part of one session without a long gap. `events` counts the events read, including known ones around
    new ones. `waiting` counts spans with events dated in the future because the clock went back; they are read when
    their time comes.
    """

    scope: Scope
    events: int
    waiting: int
    extracted: tuple[ExtractionResult, ...]


def extract_events(deps: Dependencies, scope: Scope, progress: ProgressListener) -> EventExtraction:
    """Extract memories from the scope's new events; each memory names its event.

    Repeating the call changes nothing. After an interruption, the next call reads the remaining spans. If a span fails,
    the others are still read, and then the error is raised.
    """
    extractor = _EventExtractor(deps, scope, deps.now())
    for _ in range(MAX_EXTRACTION_ATTEMPTS):
        try:
            return extractor.run(progress)
        except _ErasedDuringExtraction:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; try again when that is done")


class _ErasedDuringExtraction(Exception):
    """Raised when data of the scope was erased meanwhile, so that nothing extracted may be written."""


@dataclass(frozen=True, slots=True)
class _ExtractionCheckpoint:
    """The commit up to which all events were read, and the later spans that were read.

    Erasing removes the checkpoint; `token` distinguishes a new one from the one before.
    """

    token: str
    commit: int = 0
    done_keys: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: str) -> "_ExtractionCheckpoint":
        values = json.loads(text)
        return cls(values["token"], values["commit"], frozenset(values["done"]))

    def to_text(self) -> str:
        return json.dumps({"token": self.token, "commit": self.commit, "done": sorted(self.done_keys)})


@dataclass(slots=True)
class _EventExtractor:
    """One extraction run over a scope; results accumulate in it."""

    deps: Dependencies
    scope: Scope
    now: datetime
    token: str = ""
    events: int = 0
    waiting: int = 0
    extracted: list[ExtractionResult] = field(default_factory=list[ExtractionResult])
    errors: list[RecollectError] = field(default_factory=list[RecollectError])
    consecutive_failures: int = 0

    def run(self, progress: ProgressListener) -> EventExtraction:
        """Read all new events, day by day."""
        self.waiting, self.errors = 0, []
        checkpoint = self._load_checkpoint()
        moments, commit = self.deps.store.changed_dates(self.scope, Level.EVENT, checkpoint.commit)
        days = sorted(
            {Period.of(moment, Level.DAY, self.deps.time_zone) for moment in moments}, key=lambda one: one.key
        )
        for done, day in enumerate(days, start=1):
            for span in self._find_unread_spans(day, checkpoint):
                self._extract_span(span)
            progress(done, len(days))
        if self.errors:
            raise self.errors[0]
        if days and not self.waiting:
            self._save_checkpoint(lambda before: _ExtractionCheckpoint(before.token, max(commit, before.commit)))
        return EventExtraction(
            scope=self.scope, events=self.events, waiting=self.waiting, extracted=tuple(self.extracted)
        )

    def _load_checkpoint(self) -> _ExtractionCheckpoint:
        """Load the checkpoint, or write a new one before anything is read.

        Erasing data of the scope removes it, which reveals an erasure during the run.
        """
        store = self.deps.store
        text = store.checkpoint(self.scope, EXTRACTION_CHECKPOINT)
        if text is not None:
            checkpoint = _ExtractionCheckpoint.read(text)
        else:
            checkpoint = _ExtractionCheckpoint(self.deps.new_id(self.now))
        if text is None and store.changed_dates(self.scope, Level.EVENT, 0)[0]:
            saved = changeset.Checkpoint(self.scope, EXTRACTION_CHECKPOINT, checkpoint.to_text())
            store.write(lambda writing: writing.apply(changeset.Changeset(checkpoints=(saved,))))
        self.token = checkpoint.token
        return checkpoint

    def _find_unread_spans(self, day: Period, checkpoint: _ExtractionCheckpoint) -> Iterator[_EventSpan]:
        """Yield the day's spans with unread events; each is complete, since its events explain each other."""
        zone, policy = self.deps.time_zone, self.deps.lifecycle
        events = self.deps.store.timeline(self.scope, [Level.EVENT], since=day.begins(zone), before=day.ends(zone))
        for events_of_session in group_by_session(events):
            for span in split_into_segments(
                events_of_session, gap=policy.gap, most_tokens=policy.segment_tokens, count=self.deps.count_tokens
            ):
                if _span_key(span) not in checkpoint.done_keys and any(
                    self._is_news(event, checkpoint.commit) for event in span
                ):
                    yield span

    def _is_news(self, event: Memory, commit: int) -> bool:
        """Return whether the event is new, reworded or restored since a commit.

        Leaving or joining an index does not count.
        """
        if (event.commit or 0) <= commit:
            return False
        versions = self.deps.store.history(self.scope, event.id) if commit else []
        known = [one for one in versions if (one.commit or 0) <= commit]
        return not known or (known[-1].status, known[-1].text) != (Status.ACTIVE, event.text)

    def _extract_span(self, span: _EventSpan) -> None:
        """Extract from a span and save the checkpoint; after a failure, skip the span, or stop after too many."""
        if span[-1].created_at > self.now:
            self.waiting += 1
            return
        try:
            result = extract(self.deps, list(map(_to_turn, span)), self.scope, before_write=self._refuse_if_erased)
        except (ProviderError, InvalidInput) as error:
            self.errors.append(error)
            self.consecutive_failures += 1
            if error.retryable or self.consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
                raise
            return
        self.consecutive_failures = 0
        self.extracted.append(result)
        self.events += len(span)
        key = _span_key(span)
        self._save_checkpoint(
            lambda before: _ExtractionCheckpoint(before.token, before.commit, before.done_keys | {key})
        )

    def _refuse_if_erased(self, writing: WriteTransaction) -> _ExtractionCheckpoint:
        text = writing.checkpoint(self.scope, EXTRACTION_CHECKPOINT)
        checkpoint = None if text is None else _ExtractionCheckpoint.read(text)
        if checkpoint is None or checkpoint.token != self.token:
            raise _ErasedDuringExtraction
        return checkpoint

    def _save_checkpoint(self, update: Callable[[_ExtractionCheckpoint], _ExtractionCheckpoint]) -> None:
        """Update the checkpoint, unless data was erased meanwhile."""

        def change(writing: WriteTransaction) -> None:
            checkpoint = update(self._refuse_if_erased(writing))
            saved = changeset.Checkpoint(self.scope, EXTRACTION_CHECKPOINT, checkpoint.to_text())
            writing.apply(changeset.Changeset(checkpoints=(saved,)))

        self.deps.store.write(change)


def _span_key(span: Sequence[Memory]) -> str:
    """Return a key of a span, which changes when any of its events changes."""
    versions = [[one.id, one.commit] for one in span]
    return hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:16]


def _to_turn(event: Memory) -> ConversationTurn:
    """Convert an event to a turn of its conversation."""
    return ConversationTurn(
        text=event.text,
        role=next((one for one in Role if one.value == event.metadata.get("role")), Role.USER),
        speaker=event.speaker,
        at=event.created_at,
        session=event.session,
        id=event.id,
    )
