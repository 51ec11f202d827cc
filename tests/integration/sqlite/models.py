"""A store on a real disk that goes over from one model to another, and what its file then has of them."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

import recollect
from recollect.protocols import Purpose
from recollect.providers.base import Vectors
from recollect.providers.hashing import HashingEmbedder
from tests.integration.sqlite.engines import NOW, SCOPE, Ticking

LATER = NOW + timedelta(days=365)
QUESTIONS = ("which seat on the train?", "who drinks tea in the morning", "invoice 17", "Berlin")

FORMER, NEW = HashingEmbedder(256), HashingEmbedder(64)


class Watched:
    """The new model, which does something before each time it embeds contents."""

    def __init__(self, before: Callable[[Sequence[str]], object]) -> None:
        self._before = before

    name = NEW.name
    dimensions = NEW.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if list(texts) != [self.name]:  # which only tries whether it embeds at all
            self._before(texts)
        return NEW.embed(texts, purpose)


def a_store(path: Path, embedder: HashingEmbedder = FORMER, *, size: int = 300) -> None:
    """A store with memories of two scopes, titles, versions and standings; the same whichever model embeds."""
    with recollect.open(path, embedder=embedder, clock=Ticking(timedelta(minutes=1))) as engine:
        engine.remember_all(
            {
                "id": f"note-{number:03}",
                "text": f"note {number}: the {('train', 'tea', 'invoice', 'seat')[number % 4]} of day {number % 31}",
                "title": "Berlin" if number % 5 == 0 else None,
                "scope": "acme" if number % 7 == 0 else SCOPE,
                "shared": number % 7 == 0,
            }
            for number in range(size)
        )
        for number in range(1, 30, 3):
            scope = "acme" if number % 7 == 0 else SCOPE
            engine.revise(f"note-{number:03}", f"note {number}: a seat in Berlin after all", scope=scope)
        engine.forget("note-002", scope=SCOPE)
        engine.pin("note-003", scope=SCOPE)


def answers(path: Path, embedder: HashingEmbedder) -> list[list[tuple[str, float]]]:
    """What a store answers to every question, now and as it was known along its history: ids and scores."""
    moments = [None, *(NOW + timedelta(minutes=minutes) for minutes in (2, 3, 7, 12, 14))]
    with recollect.open(path, embedder=embedder, clock=lambda: LATER) as engine:
        rankings = [
            engine.search(question, scope=SCOPE, limit=50, known_at=known_at, profile=profile)
            for question in QUESTIONS
            for known_at in moments
            for profile in ("default", "three-signal")
        ]
    return [[(scored.id, float(scored.score)) for scored in ranking] for ranking in rankings]


def models(path: Path) -> dict[str, int]:
    """Every model in the file, and how many vectors it has."""
    db = apsw.Connection(str(path))
    found: list[Any] = db.execute(
        """SELECT e.name, count(v.key) FROM encoders e LEFT JOIN vectors v ON v.key % 256 = e.number
           GROUP BY e.number ORDER BY e.number"""
    ).fetchall()
    db.close()
    return dict(found)


def present_number(path: Path) -> int:
    """The number of the present model."""
    db = apsw.Connection(str(path))
    number: int = db.execute("SELECT number FROM encoders WHERE present").get
    db.close()
    return number


def renumber(path: Path, number: int) -> None:
    """Give the present model another number, as if there had been many before it."""
    db = apsw.Connection(str(path))
    with db:
        db.execute("UPDATE vectors SET key = 256 * (key / 256) + ?", (number,))
        db.execute("UPDATE encoders SET number = ?", (number,))
    db.close()


def strays(path: Path) -> int:
    """How many contents lack a vector of the present model, and vectors belong to no content or no model."""
    db = apsw.Connection(str(path))
    count: int = db.execute(
        """SELECT (SELECT count(*) FROM contents WHERE 256 * number + (SELECT number FROM encoders WHERE present)
                   NOT IN (SELECT key FROM vectors))
                + (SELECT count(*) FROM vectors WHERE key / 256 NOT IN (SELECT number FROM contents)
                   OR key % 256 NOT IN (SELECT number FROM encoders))"""
    ).get
    db.close()
    return count
