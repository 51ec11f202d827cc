"""What a search found and a face handed to an agent counts as served, and nothing waits for it to be written."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import apsw
import pytest

import recollect
from recollect.model.context import Usage
from recollect.testing.builders import ManualClock

from .stores import on_both_stores

ANA, BEN = "acme/ana", "acme/ben"
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.fixture
def engine(target: str) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing", clock=ManualClock(NOW)) as engine:
        yield engine


@on_both_stores
def test_a_ranking_that_was_handed_over_counts_as_served_and_one_that_was_looked_at_does_not(
    engine: recollect.Engine,
) -> None:
    ids = [engine.remember(text, scope=ANA).id for text in ("Ana prefers window seats", "Ben books aisle seats")]
    ranking = engine.search("which seats?", scope=ANA)
    assert [engine.contexts.usage(id, scope=ANA) for id in ids] == [Usage(), Usage()]
    engine.contexts.count_served(ranking, scope=ANA)
    assert [engine.contexts.usage(id, scope=ANA) for id in ids] == [Usage(served=1, last_served_at=NOW)] * 2
    engine.contexts.count_served(ranking[:1], scope=ANA)
    engine.contexts.count_served([ranking[0].id, ranking[0].id], scope=ANA)
    assert [engine.contexts.usage(one.id, scope=ANA).served for one in ranking] == [3, 1]


@on_both_stores
def test_what_the_scope_may_not_see_and_what_nobody_could_have_is_skipped(engine: recollect.Engine) -> None:
    mine, theirs = (engine.remember("Ana prefers window seats", scope=scope).id for scope in (ANA, BEN))
    team = engine.remember("Seats are booked on Mondays", scope="acme", shared=True).id
    engine.contexts.count_served([mine, theirs, team, "nobody", "", "a\x00b", "\ud800", "x" * 1_000_000], scope=ANA)
    served = [
        engine.contexts.usage(id, scope=scope).served for id, scope in ((mine, ANA), (theirs, BEN), (team, "acme"))
    ]
    assert served == [1, 0, 1]
    engine.contexts.count_served([], scope=ANA)


@pytest.mark.parametrize("handed", ["m-1", None, 7, [7], [None], {"m-1": 1}])
def test_what_is_no_list_of_memories_is_refused(engine: recollect.Engine, handed: Any) -> None:
    with pytest.raises(recollect.errors.FieldError, match="handed"):
        engine.contexts.count_served(handed, scope=ANA)


@pytest.mark.parametrize("target", ["sqlite"], indirect=True)
def test_nobody_waits_for_a_use_to_be_written(engine: recollect.Engine, target: str) -> None:
    id = engine.remember("Ana prefers window seats", scope=ANA).id
    with closing(apsw.Connection(target)) as other:
        other.execute("BEGIN IMMEDIATE")  # nobody else can write now, and whoever waits for it waits in vain
        engine.contexts.count_served([id], scope=ANA)
        assert [scored.id for scored in engine.search("seats", scope=ANA)] == [id]
        other.execute("ROLLBACK")
    assert engine.contexts.usage(id, scope=ANA).served == 1


@pytest.mark.parametrize("target", ["sqlite"], indirect=True)
def test_a_use_that_was_counted_is_still_known_after_a_restart(engine: recollect.Engine, target: str) -> None:
    id = engine.remember("Ana prefers window seats", scope=ANA).id
    engine.contexts.count_served([id], scope=ANA)
    engine.close()
    with recollect.open(target, clock=ManualClock(NOW)) as again:
        assert again.contexts.usage(id, scope=ANA).served == 1
