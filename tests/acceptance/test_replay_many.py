"""A thousand recorded contexts of every sort, ten thousand later writes, and each context comes back bit for bit."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import recollect
from recollect.model.plan import Job
from recollect.packing.budget import Budget
from recollect.testing.builders import ManualClock

from .stores import on_both_stores

ANA, TEAM, BELOW, BEN, STRANGER = "acme/ana", "acme", "acme/ana/x", "acme/ben", "globex/zoe"
ASKING = (ANA, ANA, ANA, BELOW)
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
COUNTS = {("sqlite", True): (1_000, 10_000), ("postgres", True): (300, 3_000)}
"""How many contexts are recorded, and how many writes come later, in a thorough run."""

FEW = 60, 600
"""How many contexts, and how many later writes; over a socket each of both takes three times as long."""


NAMES = ("Ana", "Ben", "Rio Souza", "Uji", "Zermatt", "parse_line")
WORDS = (
    "tea green breakfast ski trip guide office rent printer toner ferry pier gate zebra deploy friday monday " * 2
).split()
KINDS = ("fact", "preference", "decision", "procedure", "observation")
PROFILES = (
    *("default", "five-signal", "three-signal", "assistant", "search", "salience", "salience-hybrid", "graph"),
    *("default", "five-signal", "graph"),
)
OVERRIDES: tuple[dict[str, Any] | None, ...] = (None, None, None, {"min_score": 0.2}, {"max_items": 3})
LEVELS = (None, None, None, ["plain"], ["event"], ["segment", "grip"], ["day", "plain"], ["event", "segment", "week"])


@dataclass
class Life:
    """Somebody who remembers, asks and changes their mind at random; the same dice give the same life."""

    engine: recollect.Engine
    clock: ManualClock
    dice: Random
    made: int = 0
    known: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    contexts: dict[str, tuple[str, recollect.Context]] = field(default_factory=dict[str, tuple[str, recollect.Context]])

    def text(self) -> str:
        """What nobody said before, in words that many use."""
        self.made += 1
        words = self.dice.choices(WORDS, k=self.dice.randrange(3, 9))
        ask = self.dice.choice(["", "", "", "?"])
        return f"{self.dice.choice(NAMES)} {' '.join(words)} number {self.made}{ask}"

    def draft(self) -> dict[str, Any]:
        """A memory with all that a ranking may look at."""
        dice = self.dice
        day = timedelta(days=dice.randrange(0, 20))
        return {
            "text": self.text(),
            "kind": dice.choice(KINDS),
            "importance": dice.choice([None, 0.2, 0.9]),
            "confidence": dice.choice([None, 0.5, 1.0]),
            "pinned": dice.random() < 0.03,
            "shared": dice.random() < 0.5,
            "session": dice.choice([None, "s1", "s2", "s3"]),
            "speaker": dice.choice([None, "Ana", "Ben"]),
            "at": self.clock.now - day,
            "valid_until": dice.choice([None, None, None, self.clock.now + day + HOUR]),
        }

    def remember(self, scope: str, count: int) -> None:
        """Some memories in one commit."""
        receipts = self.engine.remember_all([self.draft() for _ in range(count)], scope=scope)
        self.known.setdefault(scope, []).extend(str(one.id) for one in receipts)

    def happen(self, scope: str, count: int) -> None:
        """Some events, which are summed up."""
        at = self.clock.now - 3 * DAY
        events = [{"text": self.text(), "at": at + step * HOUR, "session": "day"} for step in range(count)]
        self.engine.observe(events, scope=scope)
        self.engine.timeline.rollup(scope=scope)

    def one_of(self, scope: str) -> str:
        """A memory of the scope."""
        return self.dice.choice(self.known[scope])

    def ask(self) -> None:
        """A context of any sort."""
        dice, scope = self.dice, self.dice.choice(ASKING)
        tokens = dice.choice([120, 400, 1_200])
        budget = dice.choice(
            [
                *(tokens, tokens, Budget(tokens, items=4, pinned_share=0.6)),
                Budget(tokens, reserves={recollect.Kind.FACT: 60, recollect.Kind.PROCEDURE: 40}, pinned_share=0.0),
            ]
        )
        given: dict[str, Any] = {
            "scope": scope,
            "tokens": budget,
            "past": dice.random() < 0.2,
            "kinds": dice.choice([None, None, None, ["fact", "decision"]]),
            "levels": dice.choice(LEVELS),
            "depth": dice.choice([200, 200, 10]),
        }
        if dice.random() < 0.2:
            given["as_of"] = self.clock.now - dice.randrange(0, 30) * DAY
        if dice.random() < 0.2:
            given["known_at"] = self.clock.now
            given["as_of"] = min(given.get("as_of", self.clock.now), self.clock.now)
        if dice.random() < 0.15:
            context = self.engine.brief(**given)
        else:
            turns = [" ".join([dice.choice(NAMES), *dice.choices(WORDS, k=3)]) for _ in range(dice.choice([1, 1, 2]))]
            profile, overrides = dice.choice(PROFILES), dice.choice(OVERRIDES)
            context = self.engine.recall(turns, profile=profile, overrides=overrides, **given)
        assert context.id is not None
        self.contexts[context.id] = scope, context

    def vote(self) -> None:
        """Feedback on a context that handed anything over."""
        found = [one for one in self.contexts.items() if one[1][1].packed]
        if not found:
            return
        id, (scope, context) = self.dice.choice(found[-50:])
        helped, misled = (self.dice.sample([one.id for one in context.packed], 1) for _ in range(2))
        misled = [one for one in misled if one not in helped]
        self.engine.feedback(id, scope=scope, helped=helped, misled=misled, by=self.dice.choice(["u1", "u2", None]))

    def change(self, scope: str) -> None:
        """One memory of the scope becomes another, or stands otherwise."""
        id, engine = self.one_of(scope), self.engine
        acts: list[Callable[[], object]] = [
            lambda: engine.revise(id, self.text(), scope=scope),
            lambda: engine.revise(id, self.text(), scope=scope, importance=0.7),
            lambda: engine.forget(id, scope=scope),
            lambda: engine.pin(id, scope=scope),
            lambda: engine.unpin(id, scope=scope),
            lambda: engine.curator.supersede(id, self.one_of(scope), scope=scope),
        ]
        with suppress(recollect.RecollectError):  # it may not stand as it must for that
            self.dice.choice(acts)()

    def tick(self) -> None:
        """Time passes, most often forward."""
        self.clock.move(self.dice.choice([timedelta(0), HOUR, HOUR, 5 * HOUR, -HOUR]))


def recorded(life: Life, count: int) -> None:
    """So many contexts, with writes and votes in between."""
    for scope, many in ((TEAM, 12), (ANA, 40), (BELOW, 8), (BEN, 5), (STRANGER, 5)):
        life.remember(scope, many)
    life.happen(ANA, 12)
    while len(life.contexts) < count:
        life.tick()
        life.ask()
        if life.dice.random() < 0.25:
            life.vote()
        if life.dice.random() < 0.2:
            life.change(life.dice.choice([ANA, ANA, TEAM, BELOW]))
        if life.dice.random() < 0.05:
            life.remember(life.dice.choice([ANA, TEAM, BELOW, BEN]), 3)
    life.engine.admin.flush()


def lived_on(life: Life, count: int) -> None:
    """So many later writes of all sorts, to the same scopes and to others."""
    written, scopes = 0, (ANA, ANA, TEAM, BELOW, BEN, STRANGER)
    while written < count:
        life.tick()
        life.remember(life.dice.choice(scopes), 180)
        for _ in range(12):
            life.change(life.dice.choice(scopes))
        for _ in range(4):
            life.vote()
        life.ask()
        written += 180 + 12 + 4 + 1
    life.happen(ANA, 20)
    life.clock.move(60 * DAY)
    for scope in (ANA, TEAM):
        life.engine.admin.run(Job.PRUNE_VECTORS, scope=scope)
        life.engine.admin.run(Job.REBUILD_INDEX, scope=scope)
        life.engine.admin.run(Job.CONSOLIDATE, scope=scope)
    life.engine.admin.flush()


@on_both_stores
def test_all_recorded_contexts_come_back_identical_after_ten_times_as_many_later_writes(
    target: str, thorough: bool
) -> None:
    clock = ManualClock(BEGAN)
    backend = "postgres" if target.startswith("postgresql:") else "sqlite"
    contexts, later = COUNTS.get((backend, thorough), FEW)
    with recollect.open(target, embedder="hashing-64", clock=clock) as engine:
        life = Life(engine, clock, Random(7))
        recorded(life, contexts)
        then = dict(life.contexts)
        lived_on(life, later)
        left = [one for one in engine.memories(scope=ANA) if recollect.types.Index.VECTOR in one.left]
        usage = [engine.contexts.usage(id, scope=ANA) for id in life.known[ANA][:40]]
    assert left

    with recollect.open(target, clock=clock) as engine:
        differing = Counter[str]()
        for id, (scope, context) in then.items():
            again = engine.contexts.replay(id, scope=scope)
            differing.update(one.what.value for one in again.differences)
            made = again.context
            assert (made.text, made.packed, made.omitted, made.tokens, made.budget, made.marker) == (
                *(context.text, context.packed, context.omitted, context.tokens, context.budget, context.marker),
            )
            assert (made.id, made.ranking.excluded) == (id, context.ranking.excluded)
        assert (differing, len(then)) == (Counter(), contexts)
        assert [engine.contexts.usage(id, scope=ANA) for id in life.known[ANA][:40]] == usage
