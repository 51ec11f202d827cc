"""Many memories in one transaction become what they become one by one, however much of a scope is known by heart."""

from collections.abc import Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import Conflict
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql.duplicate_guard import LOOKUPS_BEFORE_PRELOAD, PRELOADED_MEMORIES_PER_LOOKUP
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import (
    ENCODER,
    NOW,
    ManualClock,
    a_note,
    a_vector,
    adopt,
    list_duplicates,
    list_same_subject,
    visible_ids,
)
from tests.tables import check_each

TEAM, ANA = "acme", "acme/ana"
MANY = 4 * LOOKUPS_BEFORE_PRELOAD
"""After so many a transaction knows a scope by heart that had nothing in it."""


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store is."""
    if request.param == "sqlite":
        return str(tmp_path / "agent.db")
    return str(request.getfixturevalue("postgres_store_url"))


def a_store(target: str) -> Store:
    return (
        PostgresStore(target, ManualClock()) if target.startswith("postgresql:") else SqliteStore(target, ManualClock())
    )


def drafts() -> list[dict[str, Any]]:
    """What is news, and all sorts of what is not: said before them, among them and above; at first, and late."""
    news = [{"text": f"seat {number} of the train is taken"} for number in range(MANY)]
    known = [
        {"text": "Ana prefers window seats"},
        {"text": "the office is closed on Mondays"},  # which the team shares
        {"text": news[0]["text"]},
        {"text": "Seat 1 of the train is taken."},
        {"text": "Ana lives in Rome", "subject": "ana: lives"},
        {"text": "Ana lives in Oslo", "subject": "ana: lives"},
        {"text": "the train is late", "topic_key": "train"},
        {"text": "the train is on time", "topic_key": "train"},
    ]
    return [*known, *news, *known, {"text": "Ana lives in Bonn", "subject": "ana: lives"}]


def what_became(engine: recollect.Engine, receipts: Sequence[recollect.Receipt]) -> list[object]:
    """The verdicts, and what the scope knows in the end, without the ids that are made up."""
    texts = {one.id: one.text for one in engine.memories(scope=ANA, statuses=list(recollect.Status))}
    verdicts = [(type(one.verdict).__name__, texts.get(one.id)) for one in receipts]
    known = sorted(
        (one.text, one.status.value, one.revisions, one.subject or "", engine.contexts.usage(one.id, scope=ANA).echoed)
        for one in engine.memories(scope=ANA, statuses=list(recollect.Status))
    )
    return [verdicts, known]


def test_at_once_they_become_what_they_become_one_by_one(target: str, tmp_path: Path) -> None:
    found = []
    for where, at_once in ((target, True), (str(tmp_path / "one by one.db"), False)):
        with recollect.open(where, embedder="hashing", clock=ManualClock()) as engine:
            engine.remember("the office is closed on Mondays", scope=TEAM, shared=True)
            engine.remember("Ana prefers window seats", scope=ANA)
            given = drafts()
            receipts = (
                engine.remember_all(given, scope=ANA)
                if at_once
                else [engine.remember(**one, scope=ANA) for one in given]
            )
            found.append(what_became(engine, receipts))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "before",
    [0, LOOKUPS_BEFORE_PRELOAD * PRELOADED_MEMORIES_PER_LOOKUP + 1],
    ids=["known by heart", "too many to know"],
)
def test_what_a_transaction_wrote_itself_is_known_to_it(target: str, before: int) -> None:
    scope = Scope.parse(ANA)

    def change(writing: WriteTransaction) -> list[list[str]]:
        adopt(writing, ENCODER)
        found = list[list[str]]()
        for number in range(MANY):
            memory = a_note(f"{number}", scope=scope, subject=f"subject {number}")
            assert list_duplicates(writing, memory) == list_same_subject(writing, memory, NOW) == []
            writing.put(memory, a_vector(memory.text))
            again = a_note("again", text=memory.text, scope=scope)
            below = a_note("below", text=memory.text, scope=Scope.parse(f"{ANA}/below"))
            above = a_note("above", text=memory.text, scope=Scope.parse(TEAM))
            about = list_same_subject(writing, memory, NOW)
            found.append([one.id for one in (*list_duplicates(writing, again), *about)])
            assert list_duplicates(writing, below) == list_duplicates(writing, above) == []
        return found

    with closing(a_store(target)) as store:
        store.write(lambda writing: put_many(writing, [f"before {number}" for number in range(before)]))
        assert store.write(change) == [[f"{number}"] * 2 for number in range(MANY)]


def put_one(writing: WriteTransaction, id: str, **given: Any) -> None:
    adopt(writing, ENCODER)
    memory = a_note(id, **{"scope": Scope.parse(ANA), **given})
    writing.put(memory, a_vector(memory.text))


def put_many(writing: WriteTransaction, ids: Sequence[str]) -> None:
    for id in ids:
        put_one(writing, id)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "twin": ({"id": "b", "text": "what a says"}, "the memory 'a' already has the same text"),
    "topic": ({"id": "b", "topic_key": "seats"}, "the topic 'seats' already has the memory 't'"),
    "id": ({"id": "a", "scope": Scope.parse(f"{TEAM}/ben")}, "the id 'a' is already taken"),
}


def test_of_many_none_is_kept_if_one_is_refused_and_it_is_said_which(target: str) -> None:
    with closing(a_store(target)) as store:
        store.write(lambda writing: put_one(writing, "a"))
        store.write(lambda writing: put_one(writing, "t", topic_key="seats"))

        def check(case: tuple[str, str]) -> None:
            what, when = case
            given, told = REFUSED[what]

            def change(writing: WriteTransaction) -> None:
                if when == "before others":
                    put_one(writing, **given)
                put_many(writing, [f"{number}" for number in range(MANY)])
                if when == "after others":
                    put_one(writing, **given)

            with pytest.raises(Conflict, match=told):
                store.write(change)
            assert visible_ids(store, ANA) == ["a", "t"]
            assert visible_ids(store, f"{TEAM}/ben") == []

        check_each(product(REFUSED, ["before others", "after others"]), check)


def test_what_was_refused_is_told_rather_than_what_went_wrong_after_it(target: str) -> None:
    def change(writing: WriteTransaction) -> None:
        put_one(writing, "b", text="what a says")
        raise LookupError("which came later")

    with closing(a_store(target)) as store:
        store.write(lambda writing: put_one(writing, "a"))
        with pytest.raises(Conflict, match="the memory 'a' already has the same text"):
            store.write(change)
        assert visible_ids(store, ANA) == ["a"]


def test_an_archive_that_has_a_memory_twice_is_taken_in_once(target: str, tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "other.db", ManualClock())) as other:
        other.write(lambda writing: put_many(writing, ["a", "b", "c"]))
        inventory, items = other.export(None)
        saved = list(items)
    with closing(a_store(target)) as store:
        loaded = store.write(lambda writing: writing.load([*saved, *saved], inventory.encoder))
        assert (loaded.memories, loaded.skipped) == (3, 3)
        again = store.write(lambda writing: writing.load(saved, inventory.encoder))
        assert (again.memories, again.skipped) == (0, 3)


def test_an_archive_with_a_twin_of_what_is_here_is_refused_and_it_is_said_which(target: str, tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "other.db", ManualClock())) as other:
        other.write(lambda writing: put_one(writing, "twin", text="what a says"))
        inventory, items = other.export(None)
        saved = list(items)
    with closing(a_store(target)) as store:
        store.write(lambda writing: put_one(writing, "a"))
        with pytest.raises(Conflict, match="the memory 'a' already has the same text"):
            store.write(lambda writing: writing.load(saved, inventory.encoder))
        assert visible_ids(store, ANA) == ["a"]
