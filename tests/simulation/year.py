"""Year: a life is lived day by day over a store that crashes and starts again, and is looked at after every day."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import recollect
from recollect.errors import NotFound
from recollect.jobs.scheduler import JobFailure
from recollect.model.plan import JobOccurrence, JobState
from recollect.testing.builders import ManualClock

from .crash import killed
from .invariants import expected, problems
from .ledger import Ledger
from .life import PEOPLE, RETENTION, Act, Day, Life, Told
from .rows import Rows, look

EVENING, MORNING = 23.9, 24.0 + 5.5
"""At which hours of a day its events are told, and all jobs of the night are due."""

LEASE = timedelta(minutes=16)
"""After how long a scheduler that was killed is given up."""

CALLS = 400_000
"""About how many calls of a function the work of a day takes at most."""

BY_WORDS = recollect.profile("search", {"terms": {"lexical": {"weight": 1.0}, "recency": None, "revisions": None}})
"""Ranks by words alone, so that whatever has the word comes first."""

LEVELS = (None, "segment", "grip", "day", "week", "month")


class Broken(AssertionError):
    """Something did not hold: by which seed, after which day, and how to see it again."""

    def __init__(self, life: Life, day: Day, found: Sequence[str]) -> None:
        shown = [*found[:20], *([f"and {len(found) - 20} more"] if len(found) > 20 else [])]
        again = f"scripts/simulate --seed {life.seed} --events {life.events} --days {life.days}"
        super().__init__("\n".join([f"seed {life.seed}, day {day.number} ({day.date}):", *shown, f"again: {again}"]))


@dataclass(slots=True)
class Year:
    """One life over one store."""

    life: Life
    target: str
    clock: ManualClock = field(init=False)
    ledger: Ledger = field(default_factory=Ledger)
    counts: Counter[str] = field(default_factory=Counter[str])
    rows: Rows | None = None
    """What the store had after the last day."""

    def __post_init__(self) -> None:
        self.clock = ManualClock(self.life.at(0, 6.0))

    def live(self, heard: Callable[[Day], object] = lambda _: None) -> None:
        """All days, one after the other; raises `Broken` after the first one that something is wrong with."""
        with self.open() as (_, schedulers):
            for one in schedulers:
                one.run_due()  # from now on, jobs fall due
        for day in self.life:
            self.pass_day(day)
            heard(day)

    def pass_day(self, day: Day) -> None:
        """A day and its night, and what is wrong after it."""
        with self.open() as (engine, schedulers):
            self._rise(engine, schedulers, day)
            found = [] if day.kills else self._sleep(engine, schedulers, day)
        for share in day.kills:
            was_killed = killed(lambda: self._work(day), after=1 + int(share**3 * CALLS))
            self.counts["killed" if was_killed else "survived"] += 1
        if day.kills:
            with self.open() as (engine, schedulers):
                found = self._sleep(engine, schedulers, day)
        if found:
            raise Broken(self.life, day, found)

    @contextmanager
    def open(self) -> Iterator[tuple[recollect.Engine, list[recollect.Scheduler]]]:
        """The store, and two schedulers of it."""
        given: dict[str, Any] = {"embedder": "hashing-64", "clock": self.clock, "settings": self.life.settings}
        with ExitStack() as opened:
            engine = opened.enter_context(recollect.open(self.target, **given))
            made = [recollect.scheduler(self.target, **given, heard=self._hear) for _ in range(2)]
            yield engine, [opened.enter_context(one) for one in made]

    def _work(self, day: Day) -> None:
        """What a process does that may be killed meanwhile."""
        with self.open() as (engine, schedulers):
            self.clock.now = self.life.at(day.number, EVENING)
            for told in day.told:
                engine.observe(told.turns, scope=told.scope)
            self.clock.now = self.life.at(day.number, MORNING)
            schedulers[0].run_due()

    def _rise(self, engine: recollect.Engine, schedulers: Sequence[recollect.Scheduler], day: Day) -> None:
        """Somebody may look what is due by a clock that went wrong for a while; and people do what they wish."""
        if day.goes_back:
            self.clock.now = self.life.at(day.number, MORNING) - day.goes_back
            schedulers[0].run_due()
            self.counts["clock went back"] += 1
        self.clock.now = self.life.at(day.number, EVENING)
        self._act(engine, day)

    def _tell(self, engine: recollect.Engine, told: Sequence[Told]) -> None:
        for one in told:
            for receipt, turn in zip(engine.observe(one.turns, scope=one.scope), one.turns, strict=True):
                assert receipt.id is not None
                self.ledger.events[receipt.id] = one.scope
                if turn["session"] == "secret":
                    self.ledger.secrets[turn["text"].split()[-1]] = receipt.id
                if turn["session"] == "canary":
                    self.ledger.canaries[turn["text"].split()[-1]] = self.clock.now.date()

    def _act(self, engine: recollect.Engine, day: Day) -> None:
        """What people do with what there was in the morning."""
        for scope, text in day.notes:
            engine.remember(text, scope=scope)
        for word in day.erased:
            id = self.ledger.secrets.pop(word)
            if id in self.ledger.pinned:
                engine.unpin(id, scope=PEOPLE[0])
            erasure = engine.erase(scope=PEOPLE[0], id=id)
            self.counts["erased"] += len(erasure.ids)
            for gone in (self.ledger.events, self.ledger.pinned):
                for one in erasure.ids:
                    gone.pop(one, None)
            self.ledger.put_away -= set(erasure.ids)
            self.ledger.erased.add(word)
        for wish in day.wishes if self.rows else ():
            self._do(engine, wish.act, wish.level, wish.dice)

    def _do(self, engine: recollect.Engine, act: Act, level: str, dice: float) -> None:
        """What somebody wishes, with one of the records that there are for it."""
        assert self.rows is not None
        ledger, scope = self.ledger, PEOPLE[0]
        kept = {*ledger.pinned, *ledger.secrets.values(), *(id for ids in self.rows.words.values() for id in ids)}
        match act:
            case Act.UNPIN:
                choice = sorted(ledger.pinned)
            case Act.RESTORE:
                choice = sorted(ledger.put_away)
            case Act.PIN:
                choice = [one.id for one in self.rows.of(scope, "event" if level in ("segment", "grip") else level)]
            case _:
                choice = [one.id for one in self.rows.of(scope, level) if one.id not in kept]
        if not choice:
            return
        id = choice[int(dice * len(choice))]
        try:
            self._done(engine, act, id)
        except NotFound:  # it was erased today, with what it was made of
            return
        self.counts[act.value] += 1

    def _done(self, engine: recollect.Engine, act: Act, id: str) -> None:
        ledger, scope = self.ledger, PEOPLE[0]
        assert self.rows is not None
        match act:
            case Act.PIN:
                engine.pin(id, scope=scope)
                ledger.pinned[id] = self.rows.memories[id].left
            case Act.UNPIN:
                engine.unpin(id, scope=scope)
                del ledger.pinned[id]
            case Act.FORGET:
                engine.forget(id, scope=scope)
                ledger.put_away.add(id)
                ledger.missed.add(id)
            case Act.RESTORE:
                engine.restore(id, scope=scope)
                ledger.put_away.remove(id)
            case Act.REVISE:
                engine.revise(id, f"- somebody says it otherwise, as {id}", scope=scope, provenance="operator")

    def _sleep(self, engine: recollect.Engine, schedulers: Sequence[recollect.Scheduler], day: Day) -> list[str]:
        """What is told in the evening, and the jobs of the night: two schedulers look what is due, and again when those
        are given up that were killed. Gives all that is wrong then.
        """
        self._tell(engine, day.told)
        self.ledger.night = []
        for moment in (self.life.at(day.number, MORNING), self.life.at(day.number, MORNING) + LEASE):
            self.clock.now = moment
            _look(schedulers[:: -1 if day.number % 2 else 1], together=day.together)
        self.ledger.reaches = day.date
        if self.ledger.was_rebuilt:
            self.ledger.rebuild()
        if day.undoes:
            for scope in PEOPLE:
                runs = engine.admin.run("prune-vectors", scope=scope, level="segment", age_days=5)
                for run in reversed(runs):
                    engine.undo(run)
                self.counts["undone"] += len(runs)
        return self.wrong(engine, day)

    def _hear(self, told: JobOccurrence | JobFailure) -> None:
        """What schedulers say of their jobs; a child that is killed takes it along."""
        if isinstance(told, JobFailure):
            self.ledger.failures.append(f"{told.job} failed in {told.scope}: {told.error!r}")
            return
        self.ledger.night.append((told.job, told.state.value))
        if told.state is JobState.DONE:
            self.counts[f"{told.job} done"] += 1
            key = told.job, told.due_at
            self.ledger.ran[key] = self.ledger.ran.get(key, 0) + 1

    def wrong(self, engine: recollect.Engine, day: Day) -> list[str]:
        """All that does not hold now."""
        self.rows = look(self.target)
        found = problems(self.rows, self.ledger, self.life.zone)
        found += self._silent(engine, day)
        for scope in PEOPLE:
            again = engine.timeline.rollup(scope=scope)
            if again.changed:
                found.append(f"another rollup of {scope} changes {again.changed} records: {again}")
        return found

    def _silent(self, engine: recollect.Engine, day: Day) -> Iterator[str]:
        """Canaries that are not found where they should be: each as one asks, and one of them at every level."""
        assert self.rows is not None
        day_kept = timedelta(
            days=self.life.keeps(RETENTION["day"])
        )  # what tells a day tells its canary; a week may not
        for number, word in enumerate(self.ledger.canaries):
            for level in LEVELS if number == day.number % len(self.ledger.canaries) else LEVELS[:1]:
                levels = None if level is None else [level]
                wanted, has = expected(self.rows, word, level), self.rows.words.get(word, ())
                ranking = engine.search(word, scope=PEOPLE[0], profile=BY_WORDS, levels=levels, limit=len(wanted) + 9)
                heard = {one.id for place, one in enumerate(ranking) if place < len(wanted) or one.id in has}
                if heard != wanted:
                    yield f"{word} is found at {level} in {sorted(heard)}, not in {sorted(wanted)}"
                if level is None and not wanted and day.date - self.ledger.canaries[word] < day_kept:
                    yield f"{word} is told by nothing any more"


def _look(schedulers: Sequence[recollect.Scheduler], *, together: bool) -> None:
    """All of them run what is due, at the same moment or one after the other."""
    threads = [threading.Thread(target=one.run_due) for one in schedulers]
    for one in threads:
        one.start()
        if not together:
            one.join()
    for one in threads:
        one.join()
