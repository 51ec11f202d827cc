"""Ways: each answers a question in its own way, with the ids of its best ten."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg

import recollect
from postgres import seed
from postgres.filling import admit
from postgres.material import AT, Material, Question, Told, Vectors

BEST = 10
PROFILES = ("three-signal", "five-signal", "salience")
CACHE_BYTES = 16 << 30
"""So that the columns of a scope stay in memory, whatever its size."""

NO_ROOM_BYTES = 1_000
"""For each memory: enough for all columns but the vectors."""

EXACT, PREFERRED, NO_ROOM = "ours, exact", "ours, exact preferred", "ours, exact, no room"
AS_WRITTEN, IN_FLOATS, RERANKED = "(a) the seed's SQL", "(a) in floats", "(b) nearest 100, re-ranked"
AUGMENTED: Mapping[int, str] = {100: "inner product, ef 100", 400: "inner product, ef 400"}

Ask = Callable[[Question, str], list[str]]
"""The ids of the best for a question by a profile."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way, for those profiles that it can answer by."""

    name: str
    ask: Ask
    profiles: tuple[str, ...] = PROFILES
    plan: Callable[[Question, str], str] | None = None
    """What the planner does with it, if it is SQL."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a ranking said of how it was found."""

    profile: str
    stopped: str
    scanned: int
    eligible: int


@dataclass(slots=True)
class Ours:
    """The engine; with `exact` preferred it may answer from the index of the scope."""

    engine: recollect.Engine
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    looked: list[Looked] = field(default_factory=list[Looked])

    def ask(self, question: Question, profile: str) -> list[str]:
        found = self.engine.search(question.text, scope=question.scope, profile=profile, limit=BEST, **self.options)
        self.looked.append(Looked(profile, found.proof.stopped.value, found.proof.scanned, found.proof.eligible))
        return [one.id for one in found]


@dataclass(frozen=True, slots=True)
class Sql:
    """A statement for each profile, on a connection of its own that has these settings."""

    db: "psycopg.Connection[tuple[Any, ...]]"
    statements: Mapping[str, LiteralString]
    vector: Callable[[Vectors], Vectors] = lambda vector: vector

    def ask(self, question: Question, profile: str) -> list[str]:
        found = self.db.execute(self.statements[profile], self._given(question)).fetchall()
        return [str(row[0]) for row in found]

    def plan(self, question: Question, profile: str) -> str:
        """How the rows are come by."""
        found = self.db.execute("EXPLAIN " + self.statements[profile], self._given(question)).fetchall()
        lines = [str(row[0]).strip(" ->").split("  ")[0] for row in found]
        return next(line for line in lines if " Scan " in f"{line} " and not line.startswith(("CTE", "Subquery")))

    def _given(self, question: Question) -> dict[str, object]:
        query = seed.direction(self.vector(question.vector))
        return {"query": query, "agent_id": str(question.scope), "now": AT, "top_k": BEST}


def open_engine(
    url: str, material: Material, questions: Sequence[Question], cache_bytes: int = CACHE_BYTES
) -> recollect.Engine:
    """The engine of the store, which is told the directions of the questions."""
    told = Told(material.dimensions, questions)
    return recollect.open(url, embedder=told, clock=lambda: AT, settings={"cache_bytes": cache_bytes})


def connected(stack: ExitStack, url: str, *settings: LiteralString) -> "psycopg.Connection[tuple[Any, ...]]":
    """A connection for as long as the stack; nothing is prepared on the server, as nothing of ours is."""
    db = stack.enter_context(psycopg.connect(url, autocommit=True, prepare_threshold=None))
    admit(db)
    for one in settings:
        db.execute(one)
    return db


def in_sql(stack: ExitStack, url: str, *, augmented: bool) -> list[Way]:
    """The seed's way, and those that go by an index, which are held to it whatever the planner thinks."""
    floats = {name: seed.in_floats(formula) for name, formula in seed.FORMULAS.items()}
    written = Sql(connected(stack, url), {name: seed.as_written(one) for name, one in seed.FORMULAS.items()})
    quicker = Sql(connected(stack, url), {name: seed.as_written(one) for name, one in floats.items()})
    by_index = connected(stack, url, "SET hnsw.ef_search = 100", "SET enable_sort = off")
    reranked = Sql(by_index, {name: seed.reranked(one) for name, one in floats.items()})
    ways = [
        Way(AS_WRITTEN, written.ask, plan=written.plan),
        Way(
            IN_FLOATS,
            quicker.ask,
            tuple(name for name in PROFILES if floats[name] != seed.FORMULAS[name]),
            quicker.plan,
        ),
        Way(RERANKED, reranked.ask, plan=reranked.plan),
    ]
    for width, name in AUGMENTED.items() if augmented else ():
        db = connected(stack, url, "SET enable_sort = off")
        db.execute("SELECT set_config('hnsw.ef_search', %s, false)", [str(width)])
        one = Sql(db, {"three-signal": seed.INNER_PRODUCT}, lambda vector: seed.asked_for(vector, AT))
        ways.append(Way(name, one.ask, ("three-signal",), one.plan))
    return ways
