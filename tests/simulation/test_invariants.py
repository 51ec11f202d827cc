"""Whoever harms a store is found out: each invariant notices what it is for."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from .invariants import problems
from .ledger import Ledger
from .life import PEOPLE, SECRET, Day, Life
from .rows import look
from .year import Year

Harm = Callable[[str], list[str]]

GONE = f"{SECRET}gone"
"""A word that was erased."""

PLACES = {
    "ana": "scope = (SELECT number FROM scopes WHERE path = 'home/ana')",
    "away": "more ->> '$.left' LIKE '%vector%' AND status = 'active'",
    "here": "more ->> '$.left' IS NULL AND status = 'active'",
    "key": "256 * content + (SELECT number FROM encoders WHERE present = 1)",
    "pinned": "id = (SELECT min(id) FROM memories WHERE pinned = 1)",
    "gone": GONE,
}
"""What statements have in common."""


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Year:
    """A short life, after which an event is pinned."""
    year = Year(Life(1, events=60, days=20), str(tmp_path_factory.mktemp("life") / "life.db"))
    year.live()
    with year.open() as (engine, _):
        event = next(one for one in engine.memories(scope=PEOPLE[0]) if one.level == "event" and not one.left)
        engine.pin(event.id, scope=PEOPLE[0])
    year.ledger.pinned[event.id] = frozenset()
    year.ledger.erased.add(GONE)
    year.ledger.missed = set()
    return year


@pytest.fixture
def harm(lived: Year, tmp_path: Path) -> Harm:
    """Runs a statement on a copy of that life; gives what is found wrong then."""
    path = tmp_path / "life.db"
    shutil.copy(lived.target, path)

    def harmed(statement: str) -> list[str]:
        file = apsw.Connection(str(path))
        file.execute("PRAGMA foreign_keys = ON")
        file.execute(statement.format(**PLACES))
        assert file.changes(), "the statement did nothing"
        file.close()
        return problems(look(str(path)), lived.ledger, lived.life.zone)

    return harmed


def test_nothing_is_wrong_with_what_nobody_harmed(lived: Year) -> None:
    assert problems(look(lived.target), lived.ledger, lived.life.zone) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM vectors WHERE key = (SELECT {key} FROM memories WHERE {here})", "not left, and has no vector"),
        (
            "INSERT INTO vectors SELECT {key}, zeroblob(256) FROM memories WHERE {away} LIMIT 1",
            "has left, and has a vector",
        ),
        ("INSERT INTO vectors VALUES (256 * 1000000, zeroblob(256))", "1 vectors that belong to nobody"),
        (
            "INSERT INTO contents (text, hash, terms, analyser) VALUES ('', '', zeroblob(0), '')",
            "1 contents that belong to nobody",
        ),
        ("UPDATE versions SET until = until + 1 WHERE number = 1", "1 versions that do not follow each other"),
        ("DELETE FROM memories WHERE level = 'day' AND {ana}", f"{PEOPLE[0]} has no record of the day"),
        ("UPDATE memories SET status = 'archived' WHERE level = 'week' AND {ana}", "has no record of the week"),
        (
            "UPDATE memories SET more = json_remove(more, '$.derived_from[0]') WHERE level = 'week'",
            "is not made of its days",
        ),
        ("UPDATE memories SET status = 'archived' WHERE level = 'segment'", "is in 0 segments"),
        ("UPDATE memories SET status = 'archived' WHERE level = 'day'", "and nothing tells it there"),
        (
            "UPDATE memories SET more = json_remove(more, '$.stands_for') WHERE level IN ('day', 'week', 'month')",
            "and nothing is found there in its place",
        ),
        ("UPDATE memories SET pinned = 0 WHERE {pinned}", "was pinned and is lost"),
        ("UPDATE memories SET status = 'forgotten' WHERE {pinned}", "was pinned and is lost"),
        (
            "UPDATE memories SET more = json_set(more, '$.left', json('[\"text\"]')) WHERE {pinned}",
            "is pinned and left text",
        ),
        ("DELETE FROM memories WHERE level = 'event' AND {ana}", f"of {PEOPLE[0]} is lost"),
        ("UPDATE memories SET level = 'event' WHERE level IS NULL", "nobody told the event"),
        ("UPDATE contents SET text = text || ' {gone}' WHERE number = 1", f"{GONE} was erased, and is there"),
        ("UPDATE occurrences SET state = 'running' WHERE job = 'rollup'", "is running"),
    ],
)
def test_harm_is_found(harm: Harm, statement: str, told: str) -> None:
    found = harm(statement)
    assert any(told in one for one in found), found


def test_a_job_that_ran_twice_is_found(lived: Year) -> None:
    due = datetime(2026, 1, 1, 1, tzinfo=UTC)
    ledger: Ledger = replace(lived.ledger, ran={("rollup", due): 2})
    assert problems(look(lived.target), ledger, lived.life.zone) == [f"rollup of {due} was done 2 times"]


def test_a_canary_that_is_not_found_is_found_out(lived: Year, tmp_path: Path) -> None:
    day: Day = list(lived.life)[-1]
    harmed = replace(lived, target=str(tmp_path / "life.db"))
    harmed.clock.now = lived.clock.now
    shutil.copy(lived.target, harmed.target)
    file = apsw.Connection(harmed.target)
    file.execute("UPDATE contents SET terms = zeroblob(0) WHERE text LIKE '%canary%'")
    file.close()
    with harmed.open() as (engine, _):
        assert any("is found at" in one for one in harmed.wrong(engine, day))
    with lived.open() as (engine, _):
        assert lived.wrong(engine, day) == []
