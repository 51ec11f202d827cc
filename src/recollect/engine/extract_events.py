"""Extract memories from the events of a scope that were stored since the last time."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.engine.dependencies import Dependencies
from recollect.engine.extract import ExtractionResult, extract
from recollect.errors import InvalidInput, ProviderError, RecollectError, StoreBusy
from recollect.lifecycle.periods import Period
from recollect.lifecycle.rollups import group_by_session, split_into_segments
from recollect.model.conversation import ConversationTurn, Role
from recollect.model.enums import Level, Status
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.protocols import ProgressListener, WriteTransaction

EXTRACTION_CHECKPOINT = "extraction"
"""The name of the checkpoint that says which events were read."""

MAX_ATTEMPTS = 5
"""How often an extraction starts over because data was erased meanwhile."""

MAX_CONSECUTIVE_FAILURES = 3
"""After this many failures in a row the extraction stops: the events are hardly the cause."""

EventSpan = tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventExtraction:
    """What the new events of a scope left behind, span by span.

    A span is a stretch of one session without a long gap. `events` counts the events read, with known ones around new
    ones. `waiting` counts spans with events dated in the future because the clock went back; they are read when their
    time comes.
    """

    scope: Scope
    events: int
    waiting: int
    extracted: tuple[ExtractionResult, ...]


def extract_events(world: Dependencies, scope: Scope, progress: ProgressListener) -> EventExtraction:
    """Extract memories from the scope's new events; each memory names its event.

    Repeating the call changes nothing. After an interruption the next call does the rest; spans that were read are not
    read again. If a span fails, the others are still read, and then the error is raised.
    """
    work = _EventExtractor(world, scope, world.now())
    for _ in range(MAX_ATTEMPTS):
        try:
            return work.run(progress)
        except _ErasedDuringExtraction:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; extract from its events when that is done")


class _ErasedDuringExtraction(Exception):
    """Raised when data of the scope was erased meanwhile, so that nothing read may be written."""


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
        noted = json.loads(text)
        return cls(noted["token"], noted["commit"], frozenset(noted["done"]))

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
        noted = self._load_checkpoint()
        moments, commit = self.deps.store.touched(self.scope, Level.EVENT, noted.commit)
        days = sorted(
            {Period.of(moment, Level.DAY, self.deps.time_zone) for moment in moments}, key=lambda one: one.key
        )
        for done, day in enumerate(days, start=1):
            for stretch in self._find_unread_spans(day, noted):
                self._extract_span(stretch)
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

        Erasing removes it, which is how an erasure during the run is noticed.
        """
        store = self.deps.store
        text = store.checkpoint(self.scope, EXTRACTION_CHECKPOINT)
        noted = _ExtractionCheckpoint(self.deps.new_id(self.now)) if text is None else _ExtractionCheckpoint.read(text)
        if text is None and store.touched(self.scope, Level.EVENT, 0)[0]:
            store.write(lambda writing: writing.set_checkpoint(self.scope, EXTRACTION_CHECKPOINT, noted.to_text()))
        self.token = noted.token
        return noted

    def _find_unread_spans(self, day: Period, noted: _ExtractionCheckpoint) -> Iterator[EventSpan]:
        """Yield the day's spans with unread events, each complete: the context shows what is meant."""
        zone, policy = self.deps.time_zone, self.deps.lifecycle
        events = self.deps.store.timeline(self.scope, [Level.EVENT], since=day.begins(zone), before=day.ends(zone))
        for said in group_by_session(events):
            for stretch in split_into_segments(
                said, gap=policy.gap, most_tokens=policy.segment_tokens, count=self.deps.count_tokens
            ):
                if _span_key(stretch) not in noted.done_keys and any(
                    self._is_news(one, noted.commit) for one in stretch
                ):
                    yield stretch

    def _is_news(self, event: Memory, commit: int) -> bool:
        """Return whether the event is new, reworded or restored since a commit.

        That it left or joined an index since does not count.
        """
        if (event.commit or 0) <= commit:
            return False
        versions = self.deps.store.history(self.scope, event.id) if commit else []
        before = [one for one in versions if (one.commit or 0) <= commit]
        return not before or (before[-1].status, before[-1].text) != (Status.ACTIVE, event.text)

    def _extract_span(self, stretch: EventSpan) -> None:
        """Extract from a span and save that; after a failure, skip it, or stop after too many."""
        if stretch[-1].created_at > self.now:
            self.waiting += 1
            return
        try:
            found = extract(self.deps, list(map(_to_turn, stretch)), self.scope, first=self._refuse_if_erased)
        except (ProviderError, InvalidInput) as error:
            self.errors.append(error)
            self.consecutive_failures += 1
            if error.retryable or self.consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
                raise
            return
        self.consecutive_failures = 0
        self.extracted.append(found)
        self.events += len(stretch)
        key = _span_key(stretch)
        self._save_checkpoint(
            lambda before: _ExtractionCheckpoint(before.token, before.commit, before.done_keys | {key})
        )

    def _refuse_if_erased(self, writing: WriteTransaction) -> _ExtractionCheckpoint:
        text = writing.checkpoint(self.scope, EXTRACTION_CHECKPOINT)
        noted = None if text is None else _ExtractionCheckpoint.read(text)
        if noted is None or noted.token != self.token:
            raise _ErasedDuringExtraction
        return noted

    def _save_checkpoint(self, next_after: Callable[[_ExtractionCheckpoint], _ExtractionCheckpoint]) -> None:
        """Update the checkpoint, unless data was erased meanwhile."""

        def change(writing: WriteTransaction) -> None:
            noted = next_after(self._refuse_if_erased(writing))
            writing.set_checkpoint(self.scope, EXTRACTION_CHECKPOINT, noted.to_text())

        self.deps.store.write(change)


def _span_key(stretch: Sequence[Memory]) -> str:
    """Return a key for a span that changes when any of its events does."""
    named = [[one.id, one.commit] for one in stretch]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]


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
