"""Random histories of a store: what is written when, in which order, and what is asked in between."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from recollect.errors import RecollectError
from recollect.model.context import ContextRecord, Use
from recollect.model.draft import Created, IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Kind, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.retrieval.vectors import Vector, normalize_vector
from recollect.testing import NOW
from recollect.testing.builders import (
    ManualClock,
    Probe,
    a_context_record,
    a_vote,
    add_context,
    add_key,
    adopt,
    cast_votes,
    count_uses,
    ids,
    set_checkpoint,
)
from recollect.text.questions import QUESTION_END_CHARS

ENCODER = Encoder("test", 3)
ANA, TEAM, BELOW = map(Scope.parse, ("acme/ana", "acme", "acme/ana/x"))
IDS = [f"m{number:02}" for number in range(16)]
WORDS = ["deploy", "deploys", "friday", "monday", "the", "meeting", "部署", "ana", "Rio", "Ana Souza", "parse_line"]
PARTS: list[list[float]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1.01, 0], [-1, 0, 0.1], [0.3, 0.5, 0.8]]
WAYS = [normalize_vector(parts) for parts in PARTS]
"""Few directions, so that some are equal, and some nearly so."""

SESSIONS = ["s", "s", "1"]
"""The same in every scope, where each is another."""

ENDS = ["", "", "", "?", "? ", "？", "?" + " " * (QUESTION_END_CHARS - 1), "?" + " " * QUESTION_END_CHARS]
"""How texts end: some ask, and one asks so far from its end that nobody sees it."""

LEVELS = [Level.EVENT, Level.DAY]
"""Of what sorts records are; most memories are plain."""

LEFT: list[tuple[Index, ...]] = [(), (), (Index.TEXT,), (Index.VECTOR,), tuple(Index)]
STOOD_FOR: list[tuple[Level, ...]] = [(), (), (Level.EVENT,), (Level.EVENT, Level.SEGMENT)]
"""Which indexes records have left, and of which levels they tell what has."""

ASKED: list[frozenset[Level | None] | None] = [
    *(None, None, frozenset({None}), frozenset({None, Level.EVENT}), frozenset(LEVELS), frozenset()),
    frozenset({Level.SEGMENT}),
]
"""Of which levels somebody wants to know, if not of all."""

CHECKPOINTS = ["events", "days"]

Action = Callable[[WriteTransaction], object]


@dataclass(frozen=True)
class Land:
    """Whose memory histories are about: ana's, her team's and that below her, that of two strangers, and nobody's."""

    strangers: tuple[Scope, Scope]
    nobody: Scope

    @property
    def scopes(self) -> list[Scope]:
        return [ANA, TEAM, BELOW, *self.strangers]

    def home(self, id: str) -> Scope:
        """The scope that an id belongs to."""
        homes = [ANA, TEAM, ANA, TEAM, BELOW, ANA, TEAM, *self.strangers]
        return homes[IDS.index(id) % len(homes)]


TWO_ROOTS = Land((Scope.parse("acme-labs"), Scope.parse("acme/ben")), nobody=Scope.parse("nobody"))
ONE_ROOT = Land((Scope.parse("acme/an"), Scope.parse("acme/ben")), nobody=Scope.parse("acme/nobody"))


@dataclass(frozen=True)
class Write:
    """Some actions in one transaction, at a time relative to the last; `watched` if someone looks right afterwards."""

    land: Land
    step: timedelta
    actions: tuple[tuple[str, Any], ...]
    watched: bool = False

    def apply(self, store: Store, clock: ManualClock) -> object:
        """What comes of it, be it an error."""
        clock.move(self.step)
        try:
            return store.write(lambda writing: [self._act(writing, *action) for action in self.actions])
        except RecollectError as error:
            return type(error), str(error)

    def _act(self, writing: WriteTransaction, name: str, given: Any) -> object:
        match name, given:
            case "put", (memory, vector):
                if vector is not None:
                    adopt(writing, ENCODER)
                return writing.put(memory, vector)
            case "change", (id, changes):
                return self._change(writing, id, changes)
            case "erase", names:
                return writing.erase(self.land.home(names[0]), ids(*names))
            case "use", (scope, names, use, at, context):
                return count_uses(writing, scope, ids(*names), use, at, context)  # type: ignore[func-returns-value]
            case "vote", (scope, votes):
                return cast_votes(writing, scope, votes)  # type: ignore[func-returns-value]
            case "trace", trace:
                return add_context(writing, trace)  # type: ignore[func-returns-value]
            case "key", (id, at):
                return self._key(writing, id, at)  # type: ignore[func-returns-value]
            case "checkpoint", (scope, named, value):
                return set_checkpoint(writing, scope, named, value)  # type: ignore[func-returns-value]
            case _:
                raise AssertionError(name)

    def _change(self, writing: WriteTransaction, id: MemoryId, changes: dict[str, Any]) -> Memory | None:
        """A new version that differs in a few things from the last, where there is one."""
        known = next((one for one in (writing.get(scope, id) for scope in self.land.scopes) if one is not None), None)
        return None if known is None else writing.put(known.with_changes(**changes), None)

    def _key(self, writing: WriteTransaction, id: MemoryId, at: timedelta) -> None:
        scope = next((scope for scope in self.land.scopes if writing.get(scope, id) is not None), None)
        if scope is not None:
            add_key(
                writing, IdempotencyRecord(scope=scope, key="key", body=id, memory=id, verdict=Created(), at=NOW + at)
            )


@dataclass(frozen=True)
class Look:
    """What is asked: whose memory, as of when, known when or after which commit, and about what."""

    scope: Scope
    as_of: timedelta
    present: bool
    known: timedelta | None
    commit: int | None
    levels: frozenset[Level | None] | None
    terms: tuple[str, ...]
    names: tuple[str, ...]
    ways: tuple[int, ...]
    in_turns: bool

    def probe(self, clock: ManualClock) -> Probe:
        """The same, at the moment that the clock shows."""
        return Probe(
            scope=self.scope,
            at=clock.now + self.as_of,
            present=self.present,
            known_at=None if self.known is None else clock.now + self.known,
            commit=self.commit,
            levels=self.levels,
            terms=self.terms,
            names=self.names,
            vectors=np.array([WAYS[way] for way in self.ways]) if self.ways else None,
            in_turns=self.in_turns,
            encoder=ENCODER if self.ways else None,
        )

    @property
    def asks(self) -> bool:
        return bool(self.terms or self.ways)


days = st.integers(-3, 3).map(lambda number: timedelta(days=number)) | st.sampled_from(
    [timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(hours=5)]
)
moments = days.map(lambda step: NOW + step)
names = st.lists(st.sampled_from(IDS), min_size=1, max_size=4).map(tuple)


def scopes(land: Land) -> st.SearchStrategy[Scope]:
    """Scopes of the land, ana's more often than others."""
    return st.sampled_from([ANA, *land.scopes])


@st.composite
def memories(draw: st.DrawFn, land: Land) -> Memory:
    """Memories of few ids and few words, most of which may be recalled."""
    return a_random_memory(land, draw(st.sampled_from(IDS)), draw(st.randoms(use_true_random=False)))


def a_random_memory(land: Land, id: str, chance: Random) -> Memory:
    """A memory of whatever the dice give."""

    def moment(*steps: int | None) -> datetime | None:
        step = chance.choice(steps)
        return None if step is None else NOW + timedelta(days=step, microseconds=chance.choice([0, 0, 1]))

    def share() -> float | None:
        return chance.choice([None, 0.0, 0.5, 1.0, 1 / 3, chance.random(), chance.random()])

    begins, ends = moment(None, None, None, -5, 1), moment(None, None, None, 2, 0)
    level = chance.choice([None, None, None, None, *LEVELS])
    return Memory(
        id=MemoryId(id),
        scope=land.home(id) if chance.random() < 0.95 else ANA,
        text=" ".join([*chance.choices(WORDS, k=chance.randrange(1, 7)), chance.choice([id, id, id, "twin"])])
        + chance.choice(ENDS),
        title=chance.choice([None, None, "friday"]),
        kind=chance.choice([Kind.FACT, Kind.PREFERENCE, Kind.DECISION]),
        level=level,
        left=() if level is None else chance.choice(LEFT),
        stands_for=() if level is None else chance.choice(STOOD_FOR),
        created_at=NOW + timedelta(days=chance.choice([-9, -9, -5, -3, -3, -2, -1, 0, 1])),
        updated_at=moment(None, -1, -2),
        valid_from=begins if begins is None or ends is None else min(begins, ends),
        valid_until=ends if begins is None or ends is None else max(begins, ends),
        importance=share(),
        confidence=share(),
        salience=share(),
        topic_key=chance.choice([None, "topic"]),
        subject=chance.choice([None, None, "ana: deploys on"]),
        session=chance.choice([None, *SESSIONS]),
        speaker=chance.choice([None, "ana", "ben"]),
        shared=chance.random() < 0.6,
        pinned=chance.random() < 0.3,
        revisions=chance.randrange(1, 12),
        status=chance.choice([Status.ACTIVE] * 8 + [Status.SUPERSEDED, Status.FORGOTTEN]),
    )


vectors: st.SearchStrategy[Vector | None] = st.sampled_from([None, *WAYS])
changes = st.sampled_from(
    [
        *({"shared": shared} for shared in (True, False, False, False)),
        *({"status": status} for status in (Status.FORGOTTEN, Status.ACTIVE, Status.ACTIVE, Status.ARCHIVED)),
        *({"pinned": pinned} for pinned in (True, False)),
        {"text": "another deploy"},
        {"text": "another deploy?"},
        {"title": "friday"},
        {"title": None},
        *({"session": session} for session in (None, "s", "1")),
        {"speaker": "ben"},
        *({"level": level} for level in (None, *LEVELS)),
        *({"left": left} for left in LEFT),
        *({"stands_for": levels} for levels in STOOD_FOR),
    ]
)
uses = st.sampled_from([Use.SERVED, Use.SERVED, Use.ECHOED, Use.QUOTED, Use.FOLLOWED])
votes = st.builds(
    a_vote,
    st.sampled_from(IDS),
    st.sampled_from([Use.HELPED, Use.MISLED]),
    context=st.sampled_from("abcdefg"),
    by=st.sampled_from(["ana", "ben"]),
    at=moments,
)


def actions(land: Land) -> st.SearchStrategy[tuple[str, Any]]:
    """What is done in a transaction."""
    return st.one_of(
        *[st.tuples(st.just("put"), st.tuples(memories(land), vectors))] * 2,
        *[st.tuples(st.just("change"), st.tuples(st.sampled_from(IDS).map(MemoryId), changes))] * 2,
        st.tuples(st.just("use"), st.tuples(scopes(land), names, uses, moments, st.sampled_from("abc"))),
        st.tuples(st.just("vote"), st.tuples(scopes(land), st.lists(votes, min_size=1, max_size=7))),
        st.tuples(st.just("key"), st.tuples(st.sampled_from(IDS).map(MemoryId), days)),
        st.tuples(st.just("checkpoint"), st.tuples(scopes(land), st.sampled_from(CHECKPOINTS), st.sampled_from("123"))),
        st.tuples(st.just("erase"), names),
    )


steps = st.just(timedelta(0)) | days
NAMES = ("ana", "souza", "ana souza", "rio", "ben", "parse_line", "unheard")
questions = st.sampled_from([(), ("deploy",), ("friday", "deploy"), ("ana", "部署", "unheard"), ("unheard",)])


@cache
def looks(land: Land) -> st.SearchStrategy[Look]:
    """What somebody asks for."""
    return st.builds(
        Look,
        scope=st.sampled_from([*[ANA, BELOW] * 5, TEAM, *land.strangers, land.nobody]),
        as_of=st.just(timedelta(0)) | days,
        present=st.sampled_from([False, False, True]),
        known=st.none() | st.none() | days,
        commit=st.none() | st.none() | st.integers(0, 20),
        levels=st.sampled_from(ASKED),
        terms=questions,
        names=st.just(()) | st.lists(st.sampled_from(NAMES), max_size=3).map(tuple),
        ways=st.lists(st.integers(0, len(WAYS) - 1), max_size=2).map(tuple),
        in_turns=st.booleans(),
    )


@cache
def writes(land: Land) -> st.SearchStrategy[Write]:
    """What somebody writes."""
    done = st.lists(actions(land), min_size=1, max_size=4).map(tuple)
    return st.builds(Write, st.just(land), steps, done, st.booleans())


def traces(land: Land) -> st.SearchStrategy[ContextRecord]:
    """What contexts of the land were made of."""
    return st.builds(
        a_context_record, st.uuids().map(str), st.sampled_from(IDS), st.sampled_from(IDS), scope=scopes(land)
    )


@st.composite
def beginnings(draw: st.DrawFn, land: Land) -> list[Write]:
    """So many memories to begin with that there is something to find."""
    chance = draw(st.randoms(use_true_random=False))
    chosen = chance.sample(IDS, draw(st.integers(8, len(IDS))))
    puts = [("put", (a_random_memory(land, id, chance), chance.choice([None, *WAYS, *WAYS]))) for id in chosen]
    return [
        Write(land, draw(steps), tuple(puts[start : start + 3]), chance.random() < 0.5)
        for start in range(0, len(puts), 3)
    ]


@st.composite
def histories(draw: st.DrawFn, land: Land) -> Sequence[Write | Look]:
    """What happens to a store, the first thing first."""
    return [*draw(beginnings(land)), *draw(st.lists(writes(land) | looks(land), min_size=2, max_size=14))]


def tracing(land: Land, kept: Sequence[ContextRecord]) -> list[Write]:
    """The writes of these contexts, one for each."""
    return [Write(land, timedelta(0), (("trace", one),)) for one in kept]
