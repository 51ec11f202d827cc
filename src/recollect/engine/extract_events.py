"""Harvest: what happened leaves memories behind, of the events that came since the last time."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.engine.dependencies import World
from recollect.engine.extract import Extracted, extract
from recollect.errors import InvalidInput, ProviderError, RecollectError, StoreBusy
from recollect.lifecycle.periods import Period
from recollect.lifecycle.segments import cut, sessions
from recollect.model.conversation import Role, Said
from recollect.model.level import Level
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.protocols import Progress, Writing

CHECKPOINT = "extraction"
"""Under which name it is noted which events of a scope were read."""

ATTEMPTS = 5
"""How often it begins anew because something was erased meanwhile."""

IN_VAIN = 3
"""After how many failures in a row nothing more is tried: it is hardly what was said."""

Stretch = tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """What the new events of a scope left behind, stretch by stretch of what was said in one go.

    `events` is how many were read, those said around new ones among them. `waiting` is how many stretches have events
    that have not come yet, by a clock that went back; they are read when they have.
    """

    scope: Scope
    events: int
    waiting: int
    extracted: tuple[Extracted, ...]


def extract_events(world: World, scope: Scope, progress: Progress) -> Harvest:
    """Remember what is worth it in the scope's events that came since the last time; each memory names its event.

    The same again changes nothing. What is interrupted, or fails, has done part of it, and the next one does the rest:
    what was read is not read again. If a stretch cannot be read, others are, and then the error is raised.
    """
    work = _Harvest(world, scope, world.now())
    for _ in range(ATTEMPTS):
        try:
            return work.harvested(progress)
        except _Erased:
            continue
    raise StoreBusy(f"memories of {scope} are being erased; extract from its events when that is done")


class _Erased(Exception):
    """Something of the scope was erased meanwhile, so nothing that was read may be written."""


@dataclass(frozen=True, slots=True)
class _Noted:
    """Up to which commit all events were read, and the stretches that were read of what came later.

    `token` tells what was noted since something was last erased from what was noted before.
    """

    token: str
    commit: int = 0
    done: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: str) -> "_Noted":
        noted = json.loads(text)
        return cls(noted["token"], noted["commit"], frozenset(noted["done"]))

    def text(self) -> str:
        return json.dumps({"token": self.token, "commit": self.commit, "done": sorted(self.done)})


@dataclass(slots=True)
class _Harvest:
    """One harvest of one scope; what was extracted is kept as it goes."""

    world: World
    scope: Scope
    now: datetime
    token: str = ""
    events: int = 0
    waiting: int = 0
    extracted: list[Extracted] = field(default_factory=list[Extracted])
    failed: list[RecollectError] = field(default_factory=list[RecollectError])
    in_vain: int = 0

    def harvested(self, progress: Progress) -> Harvest:
        """Read all that is new, day by day."""
        self.waiting, self.failed = 0, []
        noted = self._begun()
        moments, commit = self.world.store.touched(self.scope, Level.EVENT, noted.commit)
        days = sorted({Period.of(moment, Level.DAY, self.world.zone) for moment in moments}, key=lambda one: one.key)
        for done, day in enumerate(days, start=1):
            for stretch in self._unread(day, noted):
                self._read(stretch)
            progress(done, len(days))
        if self.failed:
            raise self.failed[0]
        if days and not self.waiting:
            self._note(lambda before: _Noted(before.token, max(commit, before.commit)))
        return Harvest(scope=self.scope, events=self.events, waiting=self.waiting, extracted=tuple(self.extracted))

    def _begun(self) -> _Noted:
        """What was read before. That there is a note is noted before anything is read: erasing takes it away."""
        store = self.world.store
        text = store.checkpoint(self.scope, CHECKPOINT)
        noted = _Noted(self.world.new_id(self.now)) if text is None else _Noted.read(text)
        if text is None and store.touched(self.scope, Level.EVENT, 0)[0]:
            store.write(lambda writing: writing.set_checkpoint(self.scope, CHECKPOINT, noted.text()))
        self.token = noted.token
        return noted

    def _unread(self, day: Period, noted: _Noted) -> Iterator[Stretch]:
        """The stretches of a day with anything in them that was not read, each whole: what was said around it tells
        what is meant.
        """
        zone, policy = self.world.zone, self.world.lifecycle
        events = self.world.store.timeline(self.scope, [Level.EVENT], since=day.begins(zone), before=day.ends(zone))
        for said in sessions(events):
            for stretch in cut(said, gap=policy.gap, most_tokens=policy.segment_tokens, count=self.world.count):
                if _key(stretch) not in noted.done and any(self._is_news(one, noted.commit) for one in stretch):
                    yield stretch

    def _is_news(self, event: Memory, commit: int) -> bool:
        """Whether it said something else at that commit, or was not there or put away; that it left an index since,
        because it is old, or came back to one, is no news.
        """
        if (event.commit or 0) <= commit:
            return False
        versions = self.world.store.history(self.scope, event.id) if commit else []
        before = [one for one in versions if (one.commit or 0) <= commit]
        return not before or (before[-1].status, before[-1].text) != (Status.ACTIVE, event.text)

    def _read(self, stretch: Stretch) -> None:
        """Extract from a stretch, and note that; what cannot be read is left, and so is all after too many failures."""
        if stretch[-1].created_at > self.now:
            self.waiting += 1
            return
        try:
            found = extract(self.world, list(map(_said, stretch)), self.scope, first=self._refuse_if_erased)
        except (ProviderError, InvalidInput) as error:
            self.failed.append(error)
            self.in_vain += 1
            if error.retryable or self.in_vain >= IN_VAIN:
                raise
            return
        self.in_vain = 0
        self.extracted.append(found)
        self.events += len(stretch)
        key = _key(stretch)
        self._note(lambda before: _Noted(before.token, before.commit, before.done | {key}))

    def _refuse_if_erased(self, writing: Writing) -> _Noted:
        text = writing.checkpoint(self.scope, CHECKPOINT)
        noted = None if text is None else _Noted.read(text)
        if noted is None or noted.token != self.token:
            raise _Erased
        return noted

    def _note(self, next_after: Callable[[_Noted], _Noted]) -> None:
        """Note more than what is noted by now, unless something was erased meanwhile."""

        def change(writing: Writing) -> None:
            noted = next_after(self._refuse_if_erased(writing))
            writing.set_checkpoint(self.scope, CHECKPOINT, noted.text())

        self.world.store.write(change)


def _key(stretch: Sequence[Memory]) -> str:
    """What tells a stretch from any other, and from the same with another event in it."""
    named = [[one.id, one.commit] for one in stretch]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]


def _said(event: Memory) -> Said:
    """An event as a turn of the conversation that it was said in; it is trusted no more than the event is."""
    return Said(
        text=event.text,
        role=next((one for one in Role if one.value == event.metadata.get("role")), Role.USER),
        speaker=event.speaker,
        at=event.created_at,
        session=event.session,
        id=event.id,
    )
