"""Harvest: what happened leaves memories behind, of the events that came since the last time."""

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
"""Under which name it is noted which events of a scope were read."""

MAX_ATTEMPTS = 5
"""How often it begins anew because something was erased meanwhile."""

MAX_CONSECUTIVE_FAILURES = 3
"""After how many failures in a row nothing more is tried: it is hardly what was said."""

EventSpan = tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventExtraction:
    """What the new events of a scope left behind, stretch by stretch of what was said in one go.

    `events` is how many were read, those said around new ones among them. `waiting` is how many stretches have events
    that have not come yet, by a clock that went back; they are read when they have.
    """

    scope: Scope
    events: int
    waiting: int
    extracted: tuple[ExtractionResult, ...]


def extract_events(world: Dependencies, scope: Scope, progress: ProgressListener) -> EventExtraction:
    """Remember what is worth it in the scope's events that came since the last time; each memory names its event.

    The same again changes nothing. What is interrupted, or fails, has done part of it, and the next one does the rest:
    what was read is not read again. If a stretch cannot be read, others are, and then the error is raised.
    """
    work = _EventExtractor(world, scope, world.now())
    for _ in range(MAX_ATTEMPTS):
        try:
            return work.run(progress)
        except _ErasedDuringExtraction:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; extract from its events when that is done")


class _ErasedDuringExtraction(Exception):
    """Something of the scope was erased meanwhile, so nothing that was read may be written."""


@dataclass(frozen=True, slots=True)
class _ExtractionCheckpoint:
    """Up to which commit all events were read, and the stretches that were read of what came later.

    `token` tells what was noted since something was last erased from what was noted before.
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
    """One harvest of one scope; what was extracted is kept as it goes."""

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
        """Read all that is new, day by day."""
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
        """What was read before. That there is a note is noted before anything is read: erasing takes it away."""
        store = self.deps.store
        text = store.checkpoint(self.scope, EXTRACTION_CHECKPOINT)
        noted = _ExtractionCheckpoint(self.deps.new_id(self.now)) if text is None else _ExtractionCheckpoint.read(text)
        if text is None and store.touched(self.scope, Level.EVENT, 0)[0]:
            store.write(lambda writing: writing.set_checkpoint(self.scope, EXTRACTION_CHECKPOINT, noted.to_text()))
        self.token = noted.token
        return noted

    def _find_unread_spans(self, day: Period, noted: _ExtractionCheckpoint) -> Iterator[EventSpan]:
        """The stretches of a day with anything in them that was not read, each whole: what was said around it tells
        what is meant.
        """
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
        """Whether it said something else at that commit, or was not there or put away; that it left an index since,
        because it is old, or came back to one, is no news.
        """
        if (event.commit or 0) <= commit:
            return False
        versions = self.deps.store.history(self.scope, event.id) if commit else []
        before = [one for one in versions if (one.commit or 0) <= commit]
        return not before or (before[-1].status, before[-1].text) != (Status.ACTIVE, event.text)

    def _extract_span(self, stretch: EventSpan) -> None:
        """Extract from a stretch, and note that; what cannot be read is left, and so is all after too many failures."""
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
        """Note more than what is noted by now, unless something was erased meanwhile."""

        def change(writing: WriteTransaction) -> None:
            noted = next_after(self._refuse_if_erased(writing))
            writing.set_checkpoint(self.scope, EXTRACTION_CHECKPOINT, noted.to_text())

        self.deps.store.write(change)


def _span_key(stretch: Sequence[Memory]) -> str:
    """What tells a stretch from any other, and from the same with another event in it."""
    named = [[one.id, one.commit] for one in stretch]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]


def _to_turn(event: Memory) -> ConversationTurn:
    """An event as a turn of the conversation that it was said in; it is trusted no more than the event is."""
    return ConversationTurn(
        text=event.text,
        role=next((one for one in Role if one.value == event.metadata.get("role")), Role.USER),
        speaker=event.speaker,
        at=event.created_at,
        session=event.session,
        id=event.id,
    )
