"""The life of a memory in PostgreSQL: what happens to it, and what is answered, is what happens in a file."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect

from .shell import ENVIRONMENT

TEAM, ANA, BEN = "acme", "acme/ana", "acme/ben"
START, DAY = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)
QUESTION = "which seat should I book for Ana, and from which town?"

Open = Callable[[str | Path], recollect.Engine]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens stores that are closed in the end."""
    with ExitStack() as stack:
        yield lambda target: stack.enter_context(recollect.open(target, embedder="hashing", clock=Clock()))


def said(memory: recollect.Engine, text: str, *, scope: str, **more: object) -> recollect.Receipt:
    """The receipt of a draft that may have an id."""
    (receipt,) = memory.remember_all([{"text": text, **more}], scope=scope)
    return receipt


def ranked(scored: Iterable[recollect.Scored]) -> list[tuple[str, float, str]]:
    """Who came where, with which score down to the last bit, and why."""
    return [(one.id, float(one.score), str(one.explanation)) for one in scored]


def asked(memory: recollect.Engine, scope: str, **how: Any) -> object:
    """What a search found, and what it left out."""
    ranking = memory.search(QUESTION, scope=scope, **how)
    assert len(ranking) > 0
    return ranked(ranking), ranking.excluded


def story(memory: recollect.Engine, clock: Clock) -> list[object]:
    """Remember, restate, update, recall, look back, vote, forget and erase; gives all that was answered."""
    told: list[object] = [
        said(memory, "Flights are booked in economy", scope=TEAM, id="economy", shared=True, kind="constraint"),
        said(memory, "Ana prefers window seats", scope=ANA, id="seat", kind="preference", importance=0.7),
        said(memory, "Ana lives in Rome", scope=ANA, id="rome"),
        said(memory, "Ben wants an aisle seat", scope=BEN, id="aisle", tags=["seats"], metadata={"row": 7}),
        said(memory, "Ana is allergic to peanuts", scope=ANA, id="peanuts", pinned=True),
    ]

    clock.now = START + 10 * DAY
    told += [
        said(memory, "Ana prefers window seats", scope=ANA),
        said(memory, "Ana really prefers window seats!", scope=ANA),
        said(memory, "Trips of Ana: Oslo", scope=ANA, id="trips", topic_key="trips"),
        said(memory, "Trips of Ana: Oslo, Bergen", scope=ANA, topic_key="trips"),
        said(memory, "Ana lives in Lisbon", scope=ANA, id="lisbon"),
        said(memory, "Ana lives in Turin", scope=ANA, id="turin", provenance="tool_external"),
        memory.revise("economy", "Flights under four hours are booked in economy", scope=TEAM),
        asked(memory, ANA),
        asked(memory, BEN),
        asked(memory, ANA, past=True),
        asked(memory, ANA, as_of=START + 5 * DAY),
        memory.why("rome", QUESTION, scope=ANA),
        memory.why("trips", QUESTION, scope=ANA, tokens=120),
    ]

    clock.now = START + 20 * DAY
    context = memory.recall(QUESTION, scope=ANA, tokens=220)
    assert context.id is not None
    memory.feedback(context.id, scope=ANA, helped=["seat"], misled=[context.packed[-1].id])
    told += [
        ranked(context.packed),
        [(one.scored.id, one.reason) for one in context.omitted],
        asked(memory, ANA),
        memory.forget("peanuts", scope=ANA),
        asked(memory, ANA),
        memory.restore("peanuts", scope=ANA),
        memory.pin("seat", scope=ANA),
    ]

    clock.now = START + 30 * DAY
    told += [
        asked(memory, ANA, known_at=START + 10 * DAY),
        memory.history("rome", scope=ANA),
        memory.memories(scope=TEAM, below=True),
        [memory.contexts.usage(id, scope=ANA) for id in ("seat", "lisbon", "peanuts", "trips")],
    ]
    erased = memory.erase(scope=ANA, id="peanuts")
    told += [erased.ids, erased.versions, erased.contexts, asked(memory, ANA)]
    return [*told, replace(memory.stats(), bytes=0, schema=0)]


def test_a_story_comes_out_as_in_a_file_to_the_last_bit(tmp_path: Path, postgres_url: str) -> None:
    told = []
    for target in (postgres_url, tmp_path / "agent.db"):
        clock = Clock()
        with recollect.open(target, embedder="hashing", clock=clock) as memory:
            told.append(story(memory, clock))
    assert told[0] == told[1]


def test_what_was_known_then_is_answered_as_it_was_then(postgres_url: str) -> None:
    clock = Clock()
    with recollect.open(postgres_url, embedder="hashing", clock=clock) as memory:
        said(memory, "Ana prefers window seats", scope=ANA, id="seat")
        said(memory, "Ana lives in Rome", scope=ANA, id="rome")
        clock.now = START + DAY
        then = memory.search(QUESTION, scope=ANA)
        clock.now = START + 2 * DAY
        said(memory, "Ana lives in Lisbon", scope=ANA, id="lisbon")
        memory.revise("seat", "Ana prefers aisle seats", scope=ANA)
        memory.forget("rome", scope=ANA)
        assert ranked(memory.search(QUESTION, scope=ANA)) != ranked(then)
        again = memory.search(QUESTION, scope=ANA, as_of=START + DAY, known_at=START + DAY)
        assert ranked(again) == ranked(then)


def test_an_export_goes_to_a_file_and_back_without_a_change(
    tmp_path: Path, postgres_url: str, postgres_store_url: str
) -> None:
    clock = Clock()
    first, file, second = (
        recollect.open(target, embedder="hashing", clock=clock)
        for target in (postgres_url, tmp_path / "agent.db", postgres_store_url)
    )
    with first, file, second:
        story(first, clock)
        exported = list(first.export())
        file.import_(exported)
        assert list(file.export()) == exported
        imported = second.import_(file.export())
        assert (imported.memories, imported.skipped) == (7, 0)
        assert list(second.export()) == exported
        assert ranked(second.search(QUESTION, scope=ANA)) == ranked(first.search(QUESTION, scope=ANA))


def test_two_engines_on_one_database_see_what_the_other_wrote(postgres_store_url: str, opened: Open) -> None:
    one, other = opened(postgres_store_url), opened(postgres_store_url)
    assert len(other.search(QUESTION, scope=ANA)) == 0
    said(one, "Ana prefers window seats", scope=ANA, id="seat")
    assert [found.id for found in other.search(QUESTION, scope=ANA)] == ["seat"]
    other.revise("seat", "Ana prefers aisle seats", scope=ANA)
    assert [found.memory.text for found in one.search(QUESTION, scope=ANA)] == ["Ana prefers aisle seats"]
    context = one.recall(QUESTION, scope=ANA)
    one.admin.flush()
    assert context.id is not None
    other.feedback(context.id, scope=ANA, helped=["seat"])
    assert (one.contexts.usage("seat", scope=ANA).served, one.contexts.usage("seat", scope=ANA).helped) == (1, 1)
    assert ranked(one.search(QUESTION, scope=ANA)) == ranked(other.search(QUESTION, scope=ANA))
    other.erase(scope=ANA, id="seat")
    assert len(one.search(QUESTION, scope=ANA)) == 0
    with pytest.raises(recollect.NotFound):
        one.get("seat", scope=ANA)


def test_another_process_sees_what_was_written(postgres_store_url: str, opened: Open) -> None:
    memory = opened(postgres_store_url)
    said(memory, "Ana prefers window seats", scope=ANA, id="seat")
    command = [sys.executable, "-m", "recollect", "revise", "seat", "Ana prefers aisle seats", "--scope", ANA]
    there = {**os.environ, **ENVIRONMENT, "RECOLLECT_DB": postgres_store_url}
    subprocess.run(command, check=True, env=there, capture_output=True)
    assert [found.memory.text for found in memory.search(QUESTION, scope=ANA)] == ["Ana prefers aisle seats"]


def test_ids_and_commits_are_those_of_a_root(postgres_store_url: str, opened: Open) -> None:
    memory = opened(postgres_store_url)
    ours = said(memory, "Ana prefers window seats", scope="acme/ana", id="seat")
    theirs = said(memory, "Zoe prefers aisle seats", scope="globex/zoe", id="seat")
    assert (ours.memory.commit, theirs.memory.commit) == (1, 1)
    assert [memory.get("seat", scope=scope).text for scope in ("acme/ana", "globex/zoe")] == [
        "Ana prefers window seats",
        "Zoe prefers aisle seats",
    ]
    with pytest.raises(recollect.Conflict):
        said(memory, "Ben prefers none", scope="acme/ben", id="seat")


def test_an_erasure_is_proved_and_says_what_is_out_of_its_reach(postgres_store_url: str, opened: Open) -> None:
    memory = opened(postgres_store_url)
    said(memory, "Ana is allergic to peanuts", scope=ANA, id="peanuts")
    erasure = memory.erase(scope=ANA, id="peanuts")
    assert (erasure.ids, erasure.proven) == (("peanuts",), True)
    for named in ("backups", "write-ahead log", "replicas", "pg_stat_statements"):
        assert named in " ".join(erasure.out_of_reach)
    assert memory.memories(scope=ANA) == []


def test_an_engine_is_told_by_its_database_and_never_with_a_password(postgres_store_url: str) -> None:
    address = postgres_store_url.replace("recollect@", "recollect:hunter2@")
    with recollect.open(address, embedder="hashing") as memory:
        shown = f"{memory!r} {memory}"
        with pytest.raises(recollect.InvalidInput, match="use `export`"):
            memory.admin.backup("copy.db")
    assert "postgresql://recollect@" in shown
    assert "hunter2" not in shown
