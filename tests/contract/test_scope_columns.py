"""Shelves: what a SQLite store keeps in memory is what the reader's own transaction has, no more and no less."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from recollect.model.context import Use
from recollect.model.enums import Status
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.eligibility import View
from recollect.retrieval.scope_columns import NUMBER_FIELDS
from recollect.retrieval.snapshot import MergedColumns
from recollect.stores.sql.column_cache import ColumnCache
from recollect.stores.sqlite.store import SqliteStore
from recollect.stores.sqlite.transaction import SqliteTransaction
from recollect.testing import NOW
from recollect.testing.builders import (
    ENCODER,
    ManualClock,
    a_note,
    a_probe,
    candidates,
    count_uses,
    gather,
    ids,
    put,
    visible_ids,
)

SCOPE, TEAM = Scope.parse("acme/ana"), Scope.parse("acme")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memories.db", ManualClock())
    yield store
    store.close()


def view(store: SqliteStore, db: apsw.Connection, scope: Scope = SCOPE) -> MergedColumns:
    """All that the scope sees in this transaction."""
    found, _ = store._column_cache.read(SqliteTransaction(db), View(scope=scope, at=NOW), 1)
    return found


def recalled(view: MergedColumns) -> dict[MemoryId, tuple[float, float]]:
    """What may be recalled of it, each with its importance and how often it was served."""
    mask, _ = view.find_eligible(View(scope=SCOPE, at=NOW))
    rows = range(len(view.ids)) if mask is None else mask.nonzero()[0].tolist()
    return {view.ids[row]: (view.column("importance")[row], view.column("served")[row]) for row in rows}


def test_a_reader_that_began_earlier_sees_what_was_there_then_and_holds_nobody_back(store: SqliteStore) -> None:
    put(store, a_note("a", importance=0.25), a_note("team", scope=TEAM, shared=True, importance=0.25))
    with store._readers.borrow() as early:
        put(store, a_note("a", importance=0.75), a_note("b", importance=0.75))
        put(store, a_note("team", scope=TEAM, importance=0.5))
        store.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW, None))
        with store._readers.borrow() as now:
            newest = view(store, now)
            assert recalled(newest) == {"a": (0.75, 1.0), "b": (0.75, 0.0)}
            assert recalled(view(store, early)) == {"a": (0.25, 0.0), "team": (0.25, 0.0)}
            assert view(store, now).parts == newest.parts


def test_a_reader_that_began_before_uses_alone_were_counted_does_not_see_them(store: SqliteStore) -> None:
    put(store, a_note("a", importance=0.5))
    with store._readers.borrow() as early:
        store.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW, None))
        assert candidates(gather(store, a_probe()))[MemoryId("a")].served == 1
        assert recalled(view(store, early)) == {"a": (0.5, 0.0)}


def test_a_reader_that_began_before_an_erasure_still_sees_what_was_erased(store: SqliteStore) -> None:
    put(store, a_note("a", importance=0.5), a_note("b", importance=0.5))
    with store._readers.borrow() as early:
        store.write(lambda writing: writing.erase(SCOPE, ids("a")))
        put(store, a_note("c", importance=0.5))
        assert visible_ids(store, SCOPE) == ["b", "c"]
        assert sorted(recalled(view(store, early))) == ["a", "b"]
    assert visible_ids(store, SCOPE) == ["b", "c"]


def test_what_did_not_change_is_not_read_again(store: SqliteStore) -> None:
    put(store, a_note("a"), a_note("team", scope=TEAM, shared=True))
    with store._readers.borrow() as db:
        first = view(store, db)
    put(store, a_note("theirs", scope=Scope.parse("acme/ben")))
    with store._readers.borrow() as db:
        assert view(store, db) is first
    put(store, a_note("b"))
    with store._readers.borrow() as db:
        second = view(store, db)
    assert second.parts[0] is not first.parts[0]
    assert second.parts[1] is first.parts[1]


def test_what_a_reader_holds_stays_as_it_is_while_shelves_grow(store: SqliteStore) -> None:
    put(store, *(a_note(f"{number:03}", importance=0.5) for number in range(50)))
    with store._readers.borrow() as db:
        held = view(store, db)
    before, vectors = recalled(held), held.parts[0].matrix.copy()
    for number in range(50, 150):
        put(store, a_note(f"{number:03}"), a_note(f"{number - 50:03}", text=f"changed {number}", importance=0.75))
        gather(store, a_probe())
    assert recalled(held) == before
    assert (held.parts[0].matrix == vectors).all()
    assert len(visible_ids(store, SCOPE)) == 150


def test_a_shelf_of_which_most_is_dead_is_read_anew(store: SqliteStore) -> None:
    notes = [a_note(f"{number:04}") for number in range(1_100)]
    for step in range(6):
        put(store, *(one.with_changes(importance=step / 10) for one in notes))
        found = gather(store, a_probe("what 0007 says"))
        assert len(found.rows) == len(notes)
        assert {one.importance for one in candidates(found).values()} == {step / 10}
        assert len(found.table.ids) <= 3 * len(notes)


def test_memories_put_away_take_no_row_and_come_back_with_one(store: SqliteStore) -> None:
    put(store, a_note("a"), a_note("b", status=Status.FORGOTTEN))
    assert list(gather(store, a_probe()).table.ids) == ["a"]
    put(store, a_note("b"))
    assert visible_ids(store, SCOPE) == ["a", "b"]


def test_shelves_beyond_the_limit_are_let_go_of_the_longest_unused_first(store: SqliteStore) -> None:
    scopes = [Scope.parse(f"acme/{number}") for number in range(4)]
    for scope in scopes:
        put(store, *(a_note(f"{scope} {number}", scope=scope) for number in range(10)))
    with store._readers.borrow() as db:
        of_one = view_of(ColumnCache(), db, scopes[0]).parts[0].nbytes
    assert of_one > 10 * (ENCODER.dimensions * 4 + 8 * len(NUMBER_FIELDS)), "vectors alone are not all that it takes"
    library = ColumnCache(max_bytes=round(2.5 * of_one))
    for scope in [*scopes, scopes[2], scopes[0]]:
        with store._readers.borrow() as db:
            found, _ = library.read(SqliteTransaction(db), View(scope=scope, at=NOW), 1)
            assert len(found.ids) == 10
    assert len(library._columns) == 2
    with store._readers.borrow() as db:
        kept = [view_of(library, db, scope).parts[0] for scope in (scopes[2], scopes[0])]
        assert list(library._columns.values()) == kept


def view_of(library: ColumnCache, db: apsw.Connection, scope: Scope) -> MergedColumns:
    """All that the scope sees, from that library."""
    found, _ = library.read(SqliteTransaction(db), View(scope=scope, at=NOW), 1)
    return found


def test_a_former_state_is_read_apart_and_leaves_the_shelves_alone(tmp_path: Path) -> None:
    clock = ManualClock()
    store = SqliteStore(tmp_path / "memories.db", clock)
    try:
        put(store, a_note("a", importance=0.25))
        clock.move(timedelta(days=1))
        put(store, a_note("a", importance=0.75), a_note("b"))
        with store._readers.borrow() as db:
            present = view(store, db)
        assert visible_ids(store, SCOPE, known_at=NOW) == ["a"]
        with store._readers.borrow() as db:
            assert view(store, db) is present
    finally:
        store.close()
