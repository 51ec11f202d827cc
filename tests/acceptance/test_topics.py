"""What memories are about: they are grouped, told by what holds now, pruned by time and revived by a mention."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pytest

import recollect
from recollect.errors import NotFound, StoreBusy
from recollect.lifecycle.topics import MIN_IMPORTANCE
from recollect.model.timeline import Topic
from recollect.testing.builders import ManualClock

from .shell import Shell
from .stores import on_both_stores

ANA, BEN = "acme/ana", "acme/ben"
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
DIMENSIONS = 64

TEA = ("Ana drinks green tea at breakfast", "The green tea comes from Uji", "A pot of green tea costs 4 euros")
TRIP = ("The ski trip begins in Zermatt", "A guide leads the ski trip", "The ski trip is paid for by the firm")
ALONE = ("Parking is free behind the office", "The printer is out of toner")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGAN)


@pytest.fixture
def memory(target: str, clock: ManualClock) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder=f"hashing-{DIMENSIONS}", clock=clock) as engine:
        yield engine


def around(place: int, turn: int) -> list[float]:
    """A direction near all others of the same place, by 0.81, and far from those of another."""
    vector = [0.0] * DIMENSIONS
    vector[place], vector[8 + turn] = 0.9, math.sqrt(1 - 0.81)
    return vector


def fill(engine: recollect.Engine, texts: Any = TEA, place: int = 0, scope: str = ANA, **more: Any) -> list[str]:
    drafts = [{"text": text, "vector": around(place, 8 * place + turn), **more} for turn, text in enumerate(texts)]
    return [str(one.id) for one in engine.remember_all(drafts, scope=scope)]


def told(engine: recollect.Engine, **more: Any) -> dict[str, Topic]:
    return {one.label: one for one in engine.topics.list(scope=ANA, **more)}


@on_both_stores
def test_memories_that_lie_together_are_a_topic_and_others_are_not(memory: recollect.Engine) -> None:
    tea, trip = fill(memory), fill(memory, TRIP, 1)
    fill(memory, ALONE[:1], 2)
    fill(memory, ALONE[1:], 3)
    assert memory.topics.list(scope=ANA) == []

    done = memory.topics.refresh(scope=ANA)

    assert (done.memories, done.grouped, done.topics, done.new, done.gone) == (8, 6, 2, 2, 0)
    found = {one.memories: one for one in memory.topics.list(scope=ANA)}
    assert {frozenset(one) for one in found} == {frozenset(tea), frozenset(trip)}
    about_tea = next(one for one in found.values() if set(one.memories) == set(tea))
    assert "green tea" in about_tea.keywords
    assert about_tea.label.startswith("Green tea")
    assert (about_tea.created_at, about_tea.mentioned_at) == (BEGAN, BEGAN)
    assert (about_tea.served, about_tea.pruned) == (0, False)
    assert about_tea.importance == 2 * math.log(4)
    assert memory.topics.get(about_tea.id, scope=ANA) == about_tea


@on_both_stores
def test_the_same_again_changes_nothing_and_writes_nothing(memory: recollect.Engine) -> None:
    fill(memory)
    memory.topics.refresh(scope=ANA)
    before = memory.topics.list(scope=ANA)
    again = memory.topics.refresh(scope=ANA)
    assert (again.new, again.gone) == (0, 0)
    assert memory.topics.list(scope=ANA) == before


@on_both_stores
def test_another_scope_has_topics_of_its_own_and_those_above_are_not_its(memory: recollect.Engine) -> None:
    fill(memory, scope="acme", shared=True)
    fill(memory, TRIP, 1, scope=ANA)
    for scope in ("acme", ANA, BEN):
        memory.topics.refresh(scope=scope)
    assert [len(memory.topics.list(scope=scope)) for scope in ("acme", ANA, BEN)] == [1, 1, 0]
    (shared,), (own,) = memory.topics.list(scope="acme"), memory.topics.list(scope=ANA)
    assert (shared.scope, own.scope) == (recollect.Scope.parse("acme"), recollect.Scope.parse(ANA))
    with pytest.raises(NotFound, match="there is no topic"):
        memory.topics.get(shared.id, scope=ANA)


@on_both_stores
def test_events_are_no_topic_however_alike_they_are(memory: recollect.Engine) -> None:
    fill(memory, kind="event")
    memory.observe([{"text": f"thanks, take care {number}", "at": BEGAN} for number in range(6)], scope=ANA)
    assert memory.topics.refresh(scope=ANA).topics == 0


def test_it_matters_half_as_much_after_the_half_life_and_is_pruned_by_time_alone(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    fill(memory)
    memory.topics.refresh(scope=ANA)
    seen = list[Any]()
    for days in (30, 60, 30 - 90, 90 - 30, 1):
        clock.move(timedelta(days=days))
        seen += [(one.importance, one.pruned) for one in memory.topics.list(scope=ANA, pruned=True)]
    assert seen == [
        (pytest.approx(math.log(4) / 2), False),
        (pytest.approx(math.log(4) / 8), False),
        (pytest.approx(math.log(4) / 2), False),
        (pytest.approx(math.log(4) / 8), False),
        (pytest.approx(math.log(4) * 2 ** (-91 / 30)), True),
    ]
    assert memory.topics.list(scope=ANA) == []


def test_a_clock_that_went_back_makes_it_matter_as_if_it_were_new_and_no_more(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    fill(memory)
    memory.topics.refresh(scope=ANA)
    clock.move(-400 * DAY)
    (topic,) = memory.topics.list(scope=ANA)
    assert (topic.importance, topic.pruned) == (2 * math.log(4), False)


def test_what_is_pruned_comes_back_when_one_of_its_memories_is_said_again(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    fill(memory)
    memory.topics.refresh(scope=ANA)
    clock.move(400 * DAY)
    (old,) = memory.topics.list(scope=ANA, pruned=True)
    assert (old.pruned, old.importance) == (True, MIN_IMPORTANCE)

    again = memory.remember(TEA[1], scope=ANA, vector=around(0, 1))

    assert isinstance(again.verdict, recollect.types.Reinforced)
    (revived,) = memory.topics.list(scope=ANA)
    assert (revived.id, revived.pruned, revived.mentioned_at) == (old.id, False, clock.now)
    assert revived.importance == 2 * math.log(4)


def test_what_is_pruned_comes_back_when_a_new_memory_joins_it(memory: recollect.Engine, clock: ManualClock) -> None:
    fill(memory)
    memory.topics.refresh(scope=ANA)
    clock.move(400 * DAY)
    memory.remember("Ana wants green tea in the evening too", scope=ANA, vector=around(0, 5))
    memory.topics.refresh(scope=ANA)
    (revived,) = memory.topics.list(scope=ANA)
    assert (len(revived.memories), revived.created_at, revived.mentioned_at) == (4, BEGAN, clock.now)
    assert revived.importance == 2 * math.log(5)


@on_both_stores
def test_every_time_one_of_its_memories_is_served_counts(memory: recollect.Engine) -> None:
    fill(memory)
    memory.topics.refresh(scope=ANA)
    counts = []
    for _ in range(2):
        memory.recall("green tea", scope=ANA)
        counts += [one.served for one in memory.topics.list(scope=ANA)]
    assert counts == [3, 6]
    memory.search("green tea", scope=ANA)
    assert [one.served for one in memory.topics.list(scope=ANA)] == [6]


@on_both_stores
def test_what_is_put_away_is_not_counted_and_its_words_are_not_told_before_any_refresh(
    memory: recollect.Engine,
) -> None:
    ids = fill(memory, (*TEA, "The green tea of aunt Wilhelmina"))
    memory.topics.refresh(scope=ANA)
    assert any("Wilhelmina" in word for word in memory.topics.list(scope=ANA)[0].keywords)
    memory.forget(ids[3], scope=ANA)
    (topic,) = memory.topics.list(scope=ANA)
    assert topic.memories == tuple(ids[:3])
    assert not any("Wilhelmina" in word for word in (topic.label, *topic.keywords))
    memory.forget(ids[0], scope=ANA)
    assert memory.topics.list(scope=ANA) == []
    memory.restore(ids[0], scope=ANA)
    assert [one.id for one in memory.topics.list(scope=ANA)] == [topic.id]


@on_both_stores
def test_a_memory_that_is_over_is_not_counted(memory: recollect.Engine, clock: ManualClock) -> None:
    ids = fill(memory)
    memory.topics.refresh(scope=ANA)
    memory.revise(ids[0], TEA[0], scope=ANA, valid_until=BEGAN + DAY, vector=around(0, 0))
    assert len(memory.topics.list(scope=ANA)) == 1
    clock.move(2 * DAY)
    assert memory.topics.list(scope=ANA) == []


@on_both_stores
def test_a_memory_that_does_not_hold_yet_is_not_counted(memory: recollect.Engine, clock: ManualClock) -> None:
    ids = fill(memory)
    memory.topics.refresh(scope=ANA)
    memory.revise(ids[0], TEA[0], scope=ANA, valid_from=BEGAN + DAY, vector=around(0, 0))
    assert memory.topics.list(scope=ANA) == []
    clock.move(2 * DAY)
    assert [one.memories for one in memory.topics.list(scope=ANA)] == [tuple(ids)]


@on_both_stores
def test_the_most_important_come_first_and_no_more_than_asked(memory: recollect.Engine) -> None:
    fill(memory, (*TRIP, "The ski trip has room for nine"), 1)
    fill(memory)
    memory.topics.refresh(scope=ANA)
    first, second = memory.topics.list(scope=ANA)
    assert (len(first.memories), len(second.memories)) == (4, 3)
    assert memory.topics.list(scope=ANA, limit=1) == [first]


@on_both_stores
def test_it_keeps_its_id_while_most_of_its_memories_stay(memory: recollect.Engine, clock: ManualClock) -> None:
    ids = fill(memory)
    memory.topics.refresh(scope=ANA)
    (before,) = memory.topics.list(scope=ANA)
    clock.move(DAY)
    memory.remember("Ana wants green tea in the evening too", scope=ANA, vector=around(0, 5))
    memory.forget(ids[0], scope=ANA)
    done = memory.topics.refresh(scope=ANA)
    (after,) = memory.topics.list(scope=ANA)
    assert (after.id, done.new, done.gone) == (before.id, 0, 0)
    assert set(after.memories) & set(before.memories) == set(ids[1:])


class TestErasing:
    @on_both_stores
    def test_nothing_is_told_of_what_was_erased_and_the_next_refresh_finds_the_rest(
        self, memory: recollect.Engine
    ) -> None:
        ids = fill(memory, (*TEA, "The green tea of aunt Wilhelmina"))
        memory.topics.refresh(scope=ANA)
        (before,) = memory.topics.list(scope=ANA)

        assert list(memory.erase(scope=ANA, id=ids[3]).ids) == [ids[3]]

        assert memory.topics.list(scope=ANA) == []
        memory.topics.refresh(scope=ANA)
        (after,) = memory.topics.list(scope=ANA)
        assert (after.id, after.memories) == (before.id, tuple(ids[:3]))
        assert not any("Wilhelmina" in word for word in (after.label, *after.keywords))

    @on_both_stores
    def test_what_is_erased_while_it_is_looked_at_is_in_no_topic(self, target: str) -> None:
        erased = list[str]()

        class Erasing(ManualClock):
            """A clock that erases a memory when it is first looked at after it was told to."""

            waiting: str | None = None

            def __call__(self) -> datetime:
                id, self.waiting = self.waiting, None
                if id is not None:
                    other.erase(scope=ANA, id=id)
                    erased.append(id)
                return self.now

        clock = Erasing(BEGAN)
        with (
            recollect.open(target, embedder=f"hashing-{DIMENSIONS}", clock=ManualClock(BEGAN)) as other,
            recollect.open(target, embedder=f"hashing-{DIMENSIONS}", clock=clock) as memory,
        ):
            ids = fill(memory, (*TEA, "The green tea of aunt Wilhelmina"))
            memory.topics.refresh(scope=ANA)
            clock.waiting = ids[3]
            memory.topics.refresh(scope=ANA)
            assert erased == [ids[3]]
            (topic,) = memory.topics.list(scope=ANA)
        assert topic.memories == tuple(ids[:3])

    def test_who_is_overtaken_again_and_again_is_told_to_come_later(self, tmp_path: Path) -> None:
        class Overtaking(ManualClock):
            """A clock that has somebody else erase something whenever the one who refreshes looks at it."""

            active = False

            def __call__(self) -> datetime:
                if self.active and current_thread() is main_thread():
                    spare = other.remember(f"spare {len(gone)}", scope=ANA).id
                    gone.append(other.erase(scope=ANA, id=str(spare)).ids)
                return self.now

        gone = list[Any]()
        path, clock = tmp_path / "a.db", Overtaking(BEGAN)
        with (
            recollect.open(path, embedder=f"hashing-{DIMENSIONS}", clock=ManualClock(BEGAN)) as other,
            recollect.open(path, embedder=f"hashing-{DIMENSIONS}", clock=clock) as memory,
        ):
            fill(memory)
            clock.active = True
            with pytest.raises(StoreBusy, match="topics of acme/ana are being refreshed, or memories erased"):
                memory.topics.refresh(scope=ANA)
        assert gone


@on_both_stores
def test_many_who_refresh_at_once_come_to_the_same(memory: recollect.Engine) -> None:
    fill(memory)
    fill(memory, TRIP, 1)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: memory.topics.refresh(scope=ANA).topics, range(4)))
    assert done == [2] * 4
    assert len(memory.topics.list(scope=ANA)) == 2


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [(3, 2 * math.log(4), False)]),
        ({"threshold": 0.85}, []),
        ({"least": 4}, []),
        ({"half_life_days": 1.0}, [(3, 1.5 * math.log(4) / 2**4, False)]),
        ({"prune_days": 3.0}, [(3, 1.5 * math.log(4) * 2 ** (-4 / 30), True)]),
    ],
)
def test_every_setting_has_its_effect(settings: dict[str, Any], expected: list[Any], tmp_path: Path) -> None:
    clock = ManualClock(BEGAN)
    given = {"topics": settings}
    with recollect.open(tmp_path / "a.db", embedder=f"hashing-{DIMENSIONS}", clock=clock, settings=given) as memory:
        fill(memory)
        memory.topics.refresh(scope=ANA)
        clock.move(4 * DAY if settings else timedelta(0))
        told = memory.topics.list(scope=ANA, pruned=True)
        found: list[Any] = [(len(one.memories), one.importance, one.pruned) for one in told]
    assert found == [(count, pytest.approx(importance), pruned) for count, importance, pruned in expected]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("threshold", 0.0, "is not above 0"),
        ("threshold", 1.5, "threshold"),
        ("threshold", float("nan"), "threshold"),
        ("least", 1, r"1 is not within 2\.\.1000"),
        ("least", 1001, "is not within"),
        ("least", 2.5, "is not a whole number"),
        ("half_life_days", 0, "is not a number of days"),
        ("half_life_days", float("inf"), "half_life_days"),
        ("half_life_days", 36_501, "is not a number of days up to a century"),
        ("prune_days", -1, "is not a number of days"),
        ("prune_days", None, "prune_days"),
    ],
)
def test_what_no_setting_can_be_is_refused_by_its_name(name: str, value: object, problem: str, tmp_path: Path) -> None:
    with pytest.raises(recollect.errors.FieldError, match=problem) as caught:
        recollect.open(tmp_path / "a.db", embedder="hashing", settings={"topics": {name: value}})
    assert caught.value.field == f"topics.{name}"


def test_what_was_found_is_told_when_the_store_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with recollect.open(path, embedder=f"hashing-{DIMENSIONS}", clock=ManualClock(BEGAN)) as memory:
        fill(memory)
        memory.topics.refresh(scope=ANA)
        before = memory.topics.list(scope=ANA)
        assert len(before) == 1
    with recollect.open(path, embedder=f"hashing-{DIMENSIONS}", clock=ManualClock(BEGAN)) as memory:
        assert memory.topics.list(scope=ANA) == before


class TestCommand:
    @pytest.fixture
    def topic(self, shell: Shell) -> str:
        with recollect.open(shell.store, embedder="hashing") as memory:
            memory.remember_all(
                [{"text": text, "vector": [*around(0, turn), *[0.0] * 192]} for turn, text in enumerate(TEA)],
                scope=ANA,
            )
            memory.topics.refresh(scope=ANA)
            return memory.topics.list(scope=ANA)[0].id

    def test_topics_are_a_line_each_in_a_pipe(self, shell: Shell, topic: str) -> None:
        (line,) = shell("topics", "--scope", ANA).stdout.splitlines()
        importance, id, memories, served, _, marks, label = line.split("\t")
        assert (importance, id, memories, served, marks) == ("2.773", topic, "3", "0", "")
        assert label.startswith("Green tea")

    def test_one_shows_its_memories_and_what_is_known_of_it(self, shell: Shell, topic: str) -> None:
        shown = shell("topics", topic, "--scope", ANA)
        assert [line.split("\t")[-1] for line in shown.stdout.splitlines()] == list(TEA)
        assert "importance 2.773" in shown.stderr
        assert [one["text"] for one in shell.json("topics", topic, "--scope", ANA)["memories"]] == list(TEA)

    def test_json_has_all_of_it(self, shell: Shell, topic: str) -> None:
        found = shell.json("topics", "--scope", ANA, "--refresh")
        assert found["refreshed"] == {"scope": ANA, "memories": 3, "grouped": 3, "topics": 1, "new": 0, "gone": 0}
        (one,) = found["topics"]
        assert (one["id"], one["pruned"], one["served"], len(one["memories"])) == (topic, False, 0, 3)
        assert one["importance"] == pytest.approx(2 * math.log(4), rel=1e-3)
        assert json.dumps(found)

    def test_it_says_what_to_do_where_nothing_is_known_and_what_a_refresh_came_to(self, shell: Shell) -> None:
        shell("remember", "Ana likes tea", "--scope", ANA)
        assert "--refresh finds them" in shell("topics", "--scope", ANA).stderr
        for said in (("topics",), ("topics", "topic-x", "--refresh")):
            assert "Missing option '--scope'. Name the scope" in shell(*said, code=2).stderr
        assert "0 of 1 memory in 0 topics (unchanged)" in shell("topics", "--scope", ANA, "--refresh").stderr
        assert "there is no topic 'topic-x' in acme/ana" in shell("topics", "topic-x", "--scope", ANA, code=3).stderr

    def test_without_a_scope_a_refresh_goes_through_all_of_them(self, shell: Shell, topic: str) -> None:
        shell("remember", "Ben likes tea", "--scope", BEN)
        told = shell("topics", "--refresh").stdout.splitlines()
        assert told == [
            f"{ANA}: 3 of 3 memories in 1 topic (unchanged)",
            f"{BEN}: 0 of 1 memory in 0 topics (unchanged)",
        ]
        found = shell.json("topics", "--refresh")
        assert [(one["scope"], one["topics"]) for one in found["scopes"]] == [(ANA, 1), (BEN, 0)]
        assert topic in shell("topics", "--scope", ANA).stdout

    def test_a_narrow_terminal_says_what_the_numbers_are(self, shell: Shell, topic: str) -> None:
        names, row, label = shell.terminal("topics", "--scope", ANA, COLUMNS="60", NO_COLOR="1").splitlines()
        assert names.split() == ["importance", "id", "memories", "served", "mentioned", "marks"]
        assert row.split()[1] == topic
        assert label.startswith("  Green tea")

    def test_pruned_ones_are_shown_if_asked(self, shell: Shell, topic: str) -> None:
        pruning = ("--setting", "topics.prune_days=0.0000001", "topics", "--scope", ANA)
        assert shell(*pruning).stdout == ""
        assert f"\t{topic}\t" in shell(*pruning, "--pruned").stdout
        assert "\tpruned\t" in shell(*pruning, "--pruned").stdout
