"""No run brings back what was erased: not one that is undone, not one that was planned before."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import recollect
from recollect.errors import Conflict, NotFound
from recollect.model.level import Level
from recollect.model.memory import Status
from recollect.testing.keeping import Clock

ANA = "acme/ana"
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
HONEY = "Breakfast smells of green tea and honey from the monastery"
OTHERS = "Breakfast smells of tea", "Breakfast smells of green tea"


@pytest.fixture
def memory(target: str) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing", clock=Clock(BEGAN + timedelta(days=40))) as engine:
        yield engine


def around(place: int, turn: int) -> list[float]:
    """A direction near all others of the same place, and far from those of another."""
    vector = np.zeros(256)
    vector[place], vector[128 + turn] = 1.0, 0.3
    return list(map(float, vector))


def told(engine: recollect.Engine) -> list[str]:
    """Memories that are near each other, the secret one last, among others that are near nothing."""
    engine.remember_all(
        [{"text": f"thing {number} is {number * 7919}", "vector": around(number, 0)} for number in range(18)], scope=ANA
    )
    drafts = [{"text": text, "vector": around(100, turn)} for turn, text in enumerate((*OTHERS, HONEY))]
    return [one.id for one in engine.remember_all(drafts, scope=ANA)]


def consolidated(engine: recollect.Engine, _: list[str]) -> int:
    run = engine.apply(engine.plan("consolidate", scope=ANA)).run
    assert run is not None
    return run


def merged(engine: recollect.Engine, ids: list[str]) -> int:
    return int(engine.curator.merge(ids, HONEY, scope=ANA).memory.commit or 0)


@pytest.mark.parametrize("together", [consolidated, merged])
def test_undoing_what_made_one_of_several_brings_back_those_that_were_not_erased(
    together: Callable[[recollect.Engine, list[str]], int], memory: recollect.Engine
) -> None:
    ids = told(memory)
    run = together(memory, ids)
    (made,) = [one for one in memory.memories(scope=ANA) if one.text == HONEY]

    erasure = memory.erase(scope=ANA, id=ids[-1])

    assert erasure.proven
    assert set(erasure.ids) == {ids[-1], made.id}  # what was made of it says it
    undone = memory.undo(run, scope=ANA)
    assert [one.id for one in undone.memories] == sorted(ids[:-1])
    every = memory.memories(scope=ANA, statuses=tuple(Status))
    assert not any(HONEY in one.text for one in every)
    assert {one.text for one in every if one.text.startswith("Breakfast")} == set(OTHERS)
    for gone in (ids[-1], made.id):
        with pytest.raises(NotFound):
            memory.history(gone, scope=ANA)
    assert not any("monastery" in line for line in memory.export(scope=ANA))


def test_a_run_of_which_all_was_erased_cannot_be_undone(memory: recollect.Engine) -> None:
    ids = told(memory)
    run = merged(memory, ids)
    for id in ids:
        memory.erase(scope=ANA, id=id)
    with pytest.raises(NotFound, match="what is erased never comes back"):
        memory.undo(run, scope=ANA)


def test_a_version_that_was_revised_away_does_not_come_back(memory: recollect.Engine) -> None:
    first = memory.remember(HONEY, scope=ANA)
    second = memory.revise(first.id, "Breakfast smells of nothing", scope=ANA)
    assert memory.erase(scope=ANA, id=first.id).versions == 2
    with pytest.raises(NotFound, match="what is erased never comes back"):
        memory.undo(int(second.memory.commit or 0), scope=ANA)


def test_undoing_a_rollup_brings_back_nothing_of_an_event_that_was_erased(memory: recollect.Engine) -> None:
    events = [{"text": f"Ben plants row {day} of the garden", "at": BEGAN + timedelta(days=day)} for day in range(4)]
    memory.observe(events, scope=ANA)
    (secret,) = memory.observe([{"text": HONEY, "at": BEGAN + timedelta(days=1, hours=1)}], scope=ANA)
    memory.rollup(scope=ANA)
    records = [one for one in memory.memories(scope=ANA) if one.level not in (None, Level.EVENT)]
    assert any("monastery" in one.text for one in records)
    runs = sorted({int(one.commit or 0) for one in records})

    assert memory.erase(scope=ANA, id=secret.id).proven

    for run in reversed(runs):
        try:
            memory.undo(run, scope=ANA)
        except (NotFound, Conflict):
            continue
    assert not any("monastery" in line for line in memory.export(scope=ANA))
    memory.rollup(scope=ANA)
    assert not any("monastery" in line for line in memory.export(scope=ANA))


def test_what_was_planned_before_is_refused_after(memory: recollect.Engine) -> None:
    ids = told(memory)
    plan = memory.plan("consolidate", scope=ANA)
    memory.erase(scope=ANA, id=ids[-1])
    before = memory.memories(scope=ANA, statuses=tuple(Status))
    with pytest.raises(Conflict, match="is not there any more; plan again"):
        memory.apply(plan)
    assert memory.memories(scope=ANA, statuses=tuple(Status)) == before
