"""No run brings back what was erased, undone or planned before; and what was recalled through it holds again."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import recollect
from recollect.engine.dependencies import Dependencies
from recollect.errors import Conflict, NotFound
from recollect.model.enums import Level, Status
from recollect.testing.builders import ManualClock
from recollect.testing.reference_store import ReferenceStore

from .shell import Shell
from .stores import on_both_stores

ANA = "acme/ana"
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
HONEY = "Breakfast smells of green tea and honey from the monastery"
OTHERS = "Breakfast smells of tea", "Breakfast smells of green tea"


NOW = BEGAN + timedelta(days=40)


@pytest.fixture
def memory(target: str) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing", clock=ManualClock(NOW)) as engine:
        yield engine


@pytest.fixture(params=["sqlite", "postgres", "dictionary"])
def anywhere(request: pytest.FixtureRequest) -> Iterator[recollect.Engine]:
    """An engine on every sort of store, the plain one that all others are held to among them."""
    place = request.getfixturevalue("fresh_store_url") if request.param == "postgres" else ":memory:"
    with recollect.open(place, embedder="hashing", clock=ManualClock(NOW)) as engine:
        if request.param == "dictionary":
            deps = engine._deps
            parts = {one.name: getattr(deps, one.name) for one in fields(Dependencies)}
            yield recollect.Engine(Dependencies(**{**parts, "store": ReferenceStore(deps.clock)}))
        else:
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
def test_erasing_one_of_several_lets_those_hold_again_that_were_recalled_through_what_goes_with_it(
    together: Callable[[recollect.Engine, list[str]], int], anywhere: recollect.Engine
) -> None:
    ids = told(anywhere)
    before = [anywhere.get(id, scope=ANA) for id in ids[:-1]]
    run = together(anywhere, ids)
    (made,) = [one for one in anywhere.memories(scope=ANA) if one.text == HONEY]

    erasure = anywhere.erase(scope=ANA, id=ids[-1])

    assert erasure.proven
    assert set(erasure.ids) == {ids[-1], made.id}  # what was made of it says it
    assert (erasure.restored, erasure.made_of) == (tuple(sorted(ids[:-1])), ())
    for was in before:
        now = anywhere.get(was.id, scope=ANA)
        assert now.with_changes(commit=was.commit, recorded_at=was.recorded_at) == was
    assert {one.memory.text for one in anywhere.search("tea at breakfast", scope=ANA, limit=2)} == set(OTHERS)
    every = anywhere.memories(scope=ANA, statuses=tuple(Status))
    assert not any(HONEY in one.text for one in every)
    for gone in (ids[-1], made.id):
        with pytest.raises(NotFound):
            anywhere.history(gone, scope=ANA)
    assert not any("monastery" in line for line in anywhere.export(scope=ANA))
    with pytest.raises(Conflict, match="was already undone by run"):
        anywhere.undo(run, scope=ANA)


def test_all_that_is_behind_what_goes_holds_again_however_often_it_was_put_together(anywhere: recollect.Engine) -> None:
    curator = anywhere.curator
    one, two, three, four = (anywhere.remember(f"number {name}", scope=ANA).id for name in ("one", "two", "3", "4"))
    first = curator.merge([one, two], "one and two", scope=ANA).id
    second = curator.merge([first, three, four], "all four", scope=ANA).id
    erasure = anywhere.erase(scope=ANA, id=one)
    assert set(erasure.ids) == {one, first, second}
    assert erasure.restored == tuple(sorted([two, three, four]))


def test_what_was_put_together_holds_again_when_only_what_was_added_later_is_erased(anywhere: recollect.Engine) -> None:
    curator = anywhere.curator
    one, two, three = (anywhere.remember(f"number {name}", scope=ANA).id for name in ("one", "two", "three"))
    first = curator.merge([one, two], "one and two", scope=ANA).id
    curator.merge([first, three], "all three", scope=ANA)
    assert anywhere.erase(scope=ANA, id=three).restored == (first,)
    statuses = {one.id: one.status for one in anywhere.memories(scope=ANA, statuses=tuple(Status))}
    assert statuses == {one: Status.CONSOLIDATED, two: Status.CONSOLIDATED, first: Status.ACTIVE}


def test_a_source_that_is_erased_lets_hold_again_what_came_from_elsewhere(anywhere: recollect.Engine) -> None:
    letter = anywhere.remember("the letter says no", scope=ANA, source="letter-7").id
    mail = anywhere.remember("the mail says no", scope=ANA, source="mail-8").id
    anywhere.curator.merge([letter, mail], "all say no", scope=ANA)
    assert anywhere.erase(scope=ANA, source="letter-7").restored == (mail,)


@pytest.mark.parametrize("away", ["forget", "quarantine", "supersede"])
def test_what_somebody_put_away_since_does_not_come_back(away: str, anywhere: recollect.Engine) -> None:
    one, two = (anywhere.remember(f"number {name}", scope=ANA).id for name in ("one", "two"))
    other = anywhere.remember("something else", scope=ANA).id
    both = str(anywhere.curator.merge([one, two], "one and two", scope=ANA).id)
    match away:
        case "forget":
            anywhere.forget(both, scope=ANA)
        case "quarantine":
            anywhere.curator.quarantine(both, "a doubt", scope=ANA)
        case _:
            anywhere.curator.supersede(both, str(other), scope=ANA)
    assert anywhere.erase(scope=ANA, id=str(one)).restored == ()
    assert anywhere.get(str(two), scope=ANA).status is Status.CONSOLIDATED


def test_what_another_memory_says_or_holds_by_now_does_not_come_back_beside_it(anywhere: recollect.Engine) -> None:
    secret = anywhere.remember("Ana has a secret", scope=ANA, topic_key="secret", importance=1.0)
    drafts = [
        {"text": "Parking is free"},
        {"text": "the build is red", "topic_key": "build"},
        {"text": "Ana lives in Lisbon", "subject": "ana: lives in"},
        {"text": "Bo drinks tea"},
    ]
    parts = [one.id for one in anywhere.remember_all(drafts, scope=ANA)]
    anywhere.curator.merge([secret.id, *parts], "a lot", scope=ANA)
    parking = anywhere.remember("Parking costs 2 euros", scope=ANA)
    anywhere.revise(parking.id, "Parking is free", scope=ANA)
    anywhere.remember("the build is green", scope=ANA, topic_key="build")
    anywhere.remember("Ana lives in Porto", scope=ANA, subject="ana: lives in")
    assert anywhere.erase(scope=ANA, id=secret.id).restored == (parts[-1],)
    held = {"Parking is free", "the build is green", "Ana lives in Porto", "Bo drinks tea"}
    assert {one.text for one in anywhere.memories(scope=ANA)} == held


def test_what_was_put_right_since_does_not_come_back_as_it_was(anywhere: recollect.Engine) -> None:
    one, two = (anywhere.remember(f"number {name}", scope=ANA).id for name in ("one", "two"))
    both = anywhere.curator.merge([one, two], "one and two", scope=ANA)
    anywhere.revise(both.id, "neither one nor two", scope=ANA)
    assert anywhere.erase(scope=ANA, id=one).restored == ()


def test_what_was_only_said_again_since_comes_back(anywhere: recollect.Engine) -> None:
    one, two = (anywhere.remember(f"number {name}", scope=ANA).id for name in ("one", "two"))
    anywhere.curator.merge([one, two], "one and two", scope=ANA)
    again = anywhere.remember("one and two", scope=ANA, tags=["sum"])
    assert again.memory is not None
    assert again.memory.revisions == 2
    assert anywhere.erase(scope=ANA, id=one).restored == (two,)


def test_who_erases_what_speaks_for_others_is_told_that_these_still_say_it(anywhere: recollect.Engine) -> None:
    ids = told(anywhere)
    consolidated(anywhere, ids)
    (made,) = [one for one in anywhere.memories(scope=ANA) if one.text == HONEY]
    erasure = anywhere.erase(scope=ANA, id=made.id)
    assert (erasure.restored, erasure.made_of) == ((), tuple(ids))
    assert {anywhere.get(id, scope=ANA).status for id in ids} == {Status.CONSOLIDATED}


@on_both_stores
def test_who_erases_what_was_extracted_is_told_of_the_event_that_still_says_it(memory: recollect.Engine) -> None:
    memory.observe([{"text": "I prefer small places with a garden.", "at": BEGAN}], scope=ANA)
    (read,) = memory.timeline.extract_events(scope=ANA).extracted
    (event,) = [one for one in memory.memories(scope=ANA) if one.level is Level.EVENT]
    garden = str(read.receipts[0].id)
    assert memory.erase(scope=ANA, id=garden).made_of == (event.id,)
    (again,) = memory.timeline.extract_events(scope=ANA).extracted
    assert [one.memory.text for one in again.receipts] == ["I prefer small places with a garden."]
    assert memory.erase(scope=ANA, id=event.id).made_of == ()
    assert memory.memories(scope=ANA) == []


def test_a_receipt_says_on_the_command_line_who_holds_again_and_what_still_says_it(shell: Shell) -> None:
    one, two, three = (
        shell("remember", f"number {name}", "--scope", ANA).stdout.strip() for name in ("one", "two", "three")
    )
    shell("curate", "merge", one, two, "--text", "one and two", "--scope", ANA)
    erased = shell("erase", "--scope", ANA, "--id", one, "--yes").stdout
    assert f"\nrestored     {two}: the merged memory was erased\n" in erased
    assert "\nmade of " not in erased
    both = shell("curate", "merge", two, three, "--text", "two and three", "--scope", ANA).stdout.strip()
    told = shell.json("erase", "--scope", ANA, "--id", both, "--yes")
    assert (told["restored"], told["made_of"]) == ([], [two, three])
    shell("remember", "from it", "--scope", ANA, "--id", "child", "--derived-from", three)
    note = shell("erase", "--scope", ANA, "--id", "child", "--yes").stdout
    assert f"\nmade of      {three}, which may still say the same; erase it too\n" in note


def test_what_holds_again_is_not_put_away_behind_what_is_gone(anywhere: recollect.Engine) -> None:
    one, two = (anywhere.remember(f"number {name}", scope=ANA).id for name in ("one", "two"))
    anywhere.curator.merge([one, two], "one and two", scope=ANA)
    anywhere.erase(scope=ANA, id=one)
    last = anywhere.history(two, scope=ANA)[-1].commit
    with pytest.raises(Conflict, match="which was erased; forget it"):
        anywhere.undo(int(last or 0), scope=ANA)
    assert anywhere.get(two, scope=ANA).status is Status.ACTIVE


@on_both_stores
def test_a_run_of_which_all_was_erased_cannot_be_undone(memory: recollect.Engine) -> None:
    ids = told(memory)
    run = merged(memory, ids)
    for id in ids:
        memory.erase(scope=ANA, id=id)
    with pytest.raises(NotFound, match="erased memories cannot be restored"):
        memory.undo(run, scope=ANA)


@on_both_stores
def test_a_version_that_was_revised_away_does_not_come_back(memory: recollect.Engine) -> None:
    first = memory.remember(HONEY, scope=ANA)
    second = memory.revise(first.id, "Breakfast smells of nothing", scope=ANA)
    assert memory.erase(scope=ANA, id=first.id).versions == 2
    with pytest.raises(NotFound, match="erased memories cannot be restored"):
        memory.undo(int(second.memory.commit or 0), scope=ANA)


@on_both_stores
def test_undoing_a_rollup_brings_back_nothing_of_an_event_that_was_erased(memory: recollect.Engine) -> None:
    events = [{"text": f"Ben plants row {day} of the garden", "at": BEGAN + timedelta(days=day)} for day in range(4)]
    memory.observe(events, scope=ANA)
    (secret,) = memory.observe([{"text": HONEY, "at": BEGAN + timedelta(days=1, hours=1)}], scope=ANA)
    memory.timeline.rollup(scope=ANA)
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
    memory.timeline.rollup(scope=ANA)
    assert not any("monastery" in line for line in memory.export(scope=ANA))


def test_what_was_planned_before_is_refused_after(memory: recollect.Engine) -> None:
    ids = told(memory)
    plan = memory.plan("consolidate", scope=ANA)
    memory.erase(scope=ANA, id=ids[-1])
    before = memory.memories(scope=ANA, statuses=tuple(Status))
    with pytest.raises(Conflict, match="no longer exists; plan again"):
        memory.apply(plan)
    assert memory.memories(scope=ANA, statuses=tuple(Status)) == before
