"""A job plans, does exactly that, and can be undone: memories that say the same become one, and come apart again."""

import multiprocessing
import os
import random
import signal
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.errors import Conflict, FieldError, NotFound
from recollect.model.enums import Status
from recollect.model.memory import Memory
from recollect.model.plan import Act, Plan
from recollect.testing.builders import ManualClock
from tests.examples import at_most

from .stores import on_both_stores

ANA, BEN = "acme/ana", "acme/ben"
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
DIMENSIONS = 256

WORKS = "User works for Samsung", "User works for Samsung as a designer", "User works for Samsung as a chip designer"
TEA = "Breakfast smells of tea", "Breakfast smells of green tea", "Breakfast smells of green tea and honey"

CONTRADICTING = [
    ("The standup begins at 10", "The standup begins at 11"),
    ("The budget is 900 euros", "The budget is 900 dollars"),
    ("The rent is due on 3 May", "The rent is due on 5 May"),
    ("The office is in Argentina", "The office is in Armenia"),
    ("User eats meat", "User does not eat meat"),
    ("The flag new_checkout is on", "The flag new_checkout is off"),
]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGAN + 40 * DAY)


@pytest.fixture
def memory(target: str, clock: ManualClock) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing", clock=clock) as engine:
        yield engine


def around(place: int, turn: int) -> list[float]:
    """A direction near all others of the same place, and far from those of another; turns are all alike near it."""
    vector = np.zeros(DIMENSIONS)
    vector[place], vector[DIMENSIONS // 2 + turn] = 1.0, 0.3
    return list(map(float, vector))


def fill(engine: recollect.Engine, count: int = 18, scope: str = ANA) -> None:
    """So many memories that are near nothing."""
    drafts = [{"text": f"thing {number} is {number * 7919}", "vector": around(number, 0)} for number in range(count)]
    engine.remember_all(drafts, scope=scope)


def near(engine: recollect.Engine, texts: Sequence[str], place: int = 100, scope: str = ANA, **more: Any) -> list[str]:
    """Memories that are near each other; each is said a day after the one before."""
    drafts = [
        {"text": text, "vector": around(place, turn), "at": BEGAN + turn * DAY, **more}
        for turn, text in enumerate(texts)
    ]
    found: list[str] = [one.id for one in engine.remember_all(drafts, scope=scope)]
    assert len(set(found)) == len(texts)
    return found


def everything(engine: recollect.Engine, scope: str = ANA) -> dict[str, tuple[Memory, float]]:
    """All that stands, but for when the store took it in, with how near it is to a direction."""
    found = engine.memories(scope=scope, statuses=tuple(Status))
    ranking = engine.search("User works for Samsung as a designer", scope=scope, profile="salience", limit=1_000)
    scores = {one.memory.id: float(one.score) for one in ranking}
    return {one.id: (one.with_changes(recorded_at=None, commit=None), scores.get(one.id, 0.0)) for one in found}


def active(engine: recollect.Engine, scope: str = ANA) -> set[str]:
    return {one.text for one in engine.memories(scope=scope)}


class TestConsolidating:
    @on_both_stores
    def test_one_speaks_for_all_with_its_lineage_and_is_found_when_they_are_not(self, memory: recollect.Engine) -> None:
        fill(memory)
        ids = near(memory, WORKS, importance=0.4, tags=("work",))

        plan = memory.plan("consolidate", scope=ANA)
        run = memory.apply(plan)

        (made,) = [one for one in run.memories if one.status is Status.ACTIVE]
        assert (made.text, made.derived_from, made.tags) == (WORKS[2], tuple(ids), ("work",))
        assert made.importance == 0.4 + 0.1
        assert made.created_at == BEGAN
        olds = [memory.get(id, scope=ANA) for id in ids]
        assert {(one.status, one.superseded_by, one.importance) for one in olds} == {
            (Status.CONSOLIDATED, made.id, 0.4)
        }
        assert {one.commit for one in [*olds, made]} == {run.run}
        found = [one.memory.id for one in memory.search("where does the user work? Samsung", scope=ANA, limit=50)]
        assert made.id in found
        assert not {*ids} & {*found}
        assert (run.plan, run.scope) == (plan.hash, recollect.Scope.parse(ANA))

    def test_it_holds_from_when_the_first_of_them_did(self, memory: recollect.Engine) -> None:
        fill(memory)
        near(memory, WORKS[:1], valid_from=BEGAN - 9 * DAY)
        near(memory, WORKS[1:], place=100)
        run = memory.apply(memory.plan("consolidate", scope=ANA))
        (made,) = [one for one in run.memories if one.status is Status.ACTIVE]
        assert made.valid_from == BEGAN - 9 * DAY
        assert made.valid_until is None

    def test_a_scope_with_few_memories_is_left_alone(self, memory: recollect.Engine) -> None:
        fill(memory, 17)
        near(memory, WORKS)
        assert memory.plan("consolidate", scope=ANA).steps == ()
        memory.remember("one more", scope=ANA)
        assert len(memory.plan("consolidate", scope=ANA).of(Act.CONSOLIDATE)) == 3

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ({"threshold": 0.99}, 0),
            ({"least": 4}, 0),
            ({"more_than": 21}, 0),
            ({"more_than": 20, "least": 3, "threshold": 0.9}, 3),
        ],
    )
    def test_the_settings_decide(
        self, tmp_path: Path, clock: ManualClock, settings: dict[str, Any], expected: int
    ) -> None:
        given = {"consolidation": settings}
        with recollect.open(tmp_path / "set.db", embedder="hashing", clock=clock, settings=given) as engine:
            fill(engine)
            near(engine, WORKS)
            plan = engine.plan("consolidate", scope=ANA)
            assert len(plan.of(Act.CONSOLIDATE)) == expected
            assert settings.items() <= plan.parameters.items()

    def test_the_same_again_plans_nothing_and_more_of_the_same_raises_nothing(self, memory: recollect.Engine) -> None:
        fill(memory)
        near(memory, WORKS, importance=0.4)
        memory.apply(memory.plan("consolidate", scope=ANA))
        assert not memory.plan("consolidate", scope=ANA).changes

        for number in range(3):
            said = [f"{WORKS[0]} as a {word}" for word in ("chip", "designer")] if number == 0 else []
            for turn, text in enumerate(said):
                memory.remember(text, scope=ANA, vector=around(100, 20 + turn), importance=0.4)
            memory.apply(memory.plan("consolidate", scope=ANA))
            (made,) = [one for one in memory.memories(scope=ANA) if one.derived_from]
            assert (made.text, made.importance) == (WORKS[2], 0.4 + 0.1)

    @on_both_stores
    def test_other_scopes_pinned_memories_events_and_records_stay(self, memory: recollect.Engine) -> None:
        fill(memory)
        fill(memory, scope="acme")
        near(memory, WORKS[:2])
        near(memory, WORKS[2:], place=100, scope="acme", shared=True)
        pinned = near(memory, TEA, place=110, pinned=True)
        happened = near(memory, [f"the bell rang {'again ' * turn}" for turn in range(3)], place=111, kind="event")
        memory.observe([{"text": "hello there", "at": BEGAN + turn * DAY} for turn in range(3)], scope=ANA)
        before = everything(memory)

        plan = memory.plan("consolidate", scope=ANA)
        memory.apply(plan)

        assert not plan.changes
        assert {one.memory for one in plan.of(Act.KEEP)} == {*pinned}
        assert not {one.memory for one in plan.steps} & {*happened}
        assert everything(memory) == before

    def test_who_is_trusted_less_neither_changes_nor_replaces_what_is_trusted_more(
        self, memory: recollect.Engine
    ) -> None:
        fill(memory)
        near(memory, TEA[:2], provenance="direct_user")
        near(memory, TEA[2:], place=100, provenance="tool_external")
        plan = memory.plan("consolidate", scope=ANA)
        assert not plan.changes
        assert {one.text: one.reason for one in plan.of(Act.KEEP)}[TEA[2]] == "has another trust than what is near it"

    def test_those_trusted_little_become_one_that_is_trusted_as_little(self, memory: recollect.Engine) -> None:
        fill(memory)
        near(memory, TEA, provenance="tool_external")
        run = memory.apply(memory.plan("consolidate", scope=ANA))
        assert {one.trust.value for one in run.memories} == {"external"}

    @pytest.mark.parametrize(("one", "other"), CONTRADICTING)
    def test_what_contradicts_is_left_for_the_curator(
        self, tmp_path: Path, clock: ManualClock, one: str, other: str
    ) -> None:
        given = {"duplicates": {"enabled": False}, "truth": {"derive_subject": False}}
        with recollect.open(tmp_path / "odd.db", embedder="hashing", clock=clock, settings=given) as engine:
            fill(engine)
            near(engine, [one, f"{one} as everybody knows", f"{one} as everybody knows by heart", other])
            plan = engine.plan("consolidate", scope=ANA)
            for made in plan.of(Act.CREATE):
                texts = {step.text for step in plan.of(Act.CONSOLIDATE) if step.by == made.memory}
                assert other not in texts
            reasons = {step.text: step.reason for step in plan.of(Act.KEEP)}
            assert reasons[other].startswith("may contradict what is near it: ")
            engine.apply(plan)
            assert {one, other} <= active(engine)


class TestPlans:
    @on_both_stores
    def test_what_changed_since_is_named_and_nothing_is_written(self, memory: recollect.Engine) -> None:
        fill(memory)
        ids = near(memory, WORKS)
        near(memory, TEA, place=110)
        plan = memory.plan("consolidate", scope=ANA)
        memory.curator.weigh(ids[1], 0.9, scope=ANA)
        before = everything(memory)
        with pytest.raises(Conflict, match=f"{ids[1]}' has changed since the plan was made; plan again"):
            memory.apply(plan)
        assert everything(memory) == before
        again = memory.plan("consolidate", scope=ANA)
        assert again.hash != plan.hash
        assert memory.apply(again).run is not None

    @on_both_stores
    def test_one_that_was_erased_since_is_named(self, memory: recollect.Engine) -> None:
        fill(memory)
        ids = near(memory, WORKS)
        plan = memory.plan("consolidate", scope=ANA)
        memory.erase(scope=ANA, id=ids[0])
        with pytest.raises(Conflict, match="no longer exists; plan again"):
            memory.apply(plan)

    @on_both_stores
    def test_the_same_plan_is_applied_once(self, memory: recollect.Engine) -> None:
        fill(memory)
        near(memory, WORKS)
        plan = memory.plan("consolidate", scope=ANA)
        run = memory.apply(plan)
        with pytest.raises(Conflict):
            memory.apply(plan)
        memory.undo(run)
        with pytest.raises(Conflict):
            memory.apply(plan)

    def test_the_same_store_gives_the_same_plan_whenever_it_is_asked(
        self, memory: recollect.Engine, target: str, clock: ManualClock
    ) -> None:
        fill(memory)
        near(memory, WORKS)
        plan = memory.plan("consolidate", scope=ANA)
        clock.move(timedelta(hours=1))
        with recollect.open(target, embedder="hashing", clock=clock) as other:
            again = other.plan("consolidate", scope=ANA)
        assert (again.hash, again.steps) == (plan.hash, plan.steps)
        assert again.made_at == plan.made_at + timedelta(hours=1)

    def test_one_made_up_by_hand_changes_nothing_that_is_protected(self, memory: recollect.Engine) -> None:
        fill(memory)
        ids = near(memory, WORKS)
        plan = memory.plan("consolidate", scope=ANA)
        forged = [
            [one for one in plan.steps if one.act is not Act.CREATE],
            [one for one in plan.steps if one.memory != ids[2]],
            [one for one in plan.steps if one.memory != ids[0]],
        ]
        before = everything(memory)
        for steps in forged:
            with pytest.raises((Conflict, FieldError)):
                memory.apply(Plan.read({**(made := _plan(plan, steps)).to_json(), "hash": made.hash}))
        assert everything(memory) == before

    def test_nothing_to_do_is_no_run(self, memory: recollect.Engine) -> None:
        run = memory.apply(memory.plan("consolidate", scope=ANA))
        assert (run.run, run.memories) == (None, ())
        with pytest.raises(FieldError, match="nothing to undo"):
            memory.undo(run)

    def test_what_is_none_is_refused(self, memory: recollect.Engine) -> None:
        odd: list[Any] = [None, "plan", {}, 3]
        for one in odd:
            with pytest.raises(FieldError):
                memory.apply(one)
        with pytest.raises(FieldError, match="is not a valid job"):
            memory.plan("tidy", scope=ANA)
        with pytest.raises(FieldError, match="needs scope="):
            memory.undo(1)
        with pytest.raises(NotFound):
            memory.undo(99, scope=ANA)


def _plan(plan: Plan, steps: Sequence[Any]) -> Plan:
    """The plan with other steps, as somebody would write it who knows how a hash is made."""
    return Plan(
        job=plan.job,
        scope=plan.scope,
        made_at=plan.made_at,
        parameters=plan.parameters,
        counts=plan.counts,
        steps=tuple(steps),
    )


class TestUndoing:
    @on_both_stores
    def test_all_stands_as_it_did_also_if_others_wrote_elsewhere(
        self, memory: recollect.Engine, target: str, clock: ManualClock
    ) -> None:
        fill(memory)
        near(memory, WORKS, importance=0.4)
        near(memory, TEA, place=110)
        before = everything(memory)
        run = memory.apply(memory.plan("consolidate", scope=ANA))
        with recollect.open(target, embedder="hashing", clock=clock) as other:
            other.remember("Ben likes rain", scope=BEN)
            other.remember("Ana likes snow", scope=ANA, vector=around(120, 0))

        undone = memory.undo(run)

        made = {one.id for one in run.memories if one.status is Status.ACTIVE}
        after = everything(memory)
        assert {id: after[id] for id in before} == before
        assert {after[id][0].status for id in made} == {Status.FORGOTTEN}
        assert set(undone.ids) == set(run.ids)

    @on_both_stores
    def test_it_is_refused_once_anything_of_it_has_changed(self, memory: recollect.Engine) -> None:
        fill(memory)
        near(memory, WORKS)
        run = memory.apply(memory.plan("consolidate", scope=ANA))
        (made,) = [one for one in run.memories if one.status is Status.ACTIVE]
        memory.pin(made.id, scope=ANA)
        before = everything(memory)
        with pytest.raises(Conflict, match="has changed since"):
            memory.undo(run)
        assert everything(memory) == before

    def test_two_truths_that_stood_side_by_side_do_so_again(self, tmp_path: Path, clock: ManualClock) -> None:
        path = tmp_path / "two.db"
        with recollect.open(path, embedder="hashing", clock=clock, settings={"truth": {"supersede": False}}) as engine:
            fill(engine)
            near(engine, WORKS)
            engine.remember("User works for Nokia", scope=ANA, vector=around(115, 0))
        with recollect.open(path, embedder="hashing", clock=clock) as engine:
            before = everything(engine)
            run = engine.apply(engine.plan("consolidate", scope=ANA))
            assert len(run.memories) == 4
            engine.undo(run)
            after = everything(engine)
            assert {id: after[id] for id in before} == before


BASES = (TEA[0], "Supper smells of soup")
MORE = ("with milk", "and honey", "in blue cups", "on the table")
TURNS = ("not", "10", "11", "Lisbon", "when ill")


@st.composite
def stores(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Drafts that are near each other in two places, most of them saying more and more of the same, of all trusts, some
    of them pinned or of a topic.
    """
    drafts = []
    for turn in range(draw(st.integers(6, 14))):
        place = draw(st.integers(0, 1))
        words = [*MORE[: draw(st.integers(0, len(MORE)))], *draw(st.sampled_from([[]] * 40 + [[one] for one in TURNS]))]
        drafts.append(
            {
                "text": " ".join([BASES[place], *words]),
                "vector": around(100 + place, turn),
                "at": BEGAN + turn * DAY,
                "importance": draw(st.sampled_from([None, 0.0, 0.3, 0.95, 1.0])),
                "pinned": draw(st.sampled_from([False] * 19 + [True])),
                "provenance": draw(st.sampled_from(["model_inference"] * 20 + ["tool_external", "direct_user"])),
                "topic_key": draw(st.sampled_from([None] * 19 + ["tea"])),
            }
        )
    return drafts


@at_most(40)
@given(stores(), st.randoms(use_true_random=False))
def test_what_a_plan_protects_the_run_protects_and_undoing_leaves_no_trace(
    drafts: list[dict[str, Any]], dice: random.Random
) -> None:
    with recollect.open(":memory:", embedder="hashing", clock=ManualClock(BEGAN + 40 * DAY)) as engine:
        fill(engine)
        for draft in drafts:
            engine.remember(scope=ANA, **draft)
        before = everything(engine)
        plan = engine.plan("consolidate", scope=ANA)
        assert everything(engine) == before
        assert engine.plan("consolidate", scope=ANA) == plan

        run = engine.apply(plan)
        after = everything(engine)
        changed = {id for id in after if after[id][0] != before.get(id, (None,))[0]}
        assert changed == {one.memory for one in plan.steps if one.act is not Act.KEEP}
        for made in plan.of(Act.CREATE):
            one = after[made.memory][0]
            sources = [before[id][0] for id in one.derived_from]
            assert {step.memory for step in plan.steps if step.by == made.memory} - {made.memory} >= {*one.derived_from}
            assert one.text in [source.text for source in sources]
            assert {source.trust for source in sources} == {one.trust}
            assert one.importance == min(max(0.5 if s.importance is None else s.importance for s in sources) + 0.1, 1)
            assert not any(source.pinned or source.topic_key for source in sources)
            for word in TURNS:
                assert len({source.text.count(word) for source in sources}) == 1
        assert not engine.plan("consolidate", scope=ANA).changes
        if run.run is None:
            return
        with pytest.raises(Conflict):
            engine.apply(plan)
        if dice.random() < 0.5:
            engine.remember("something else", scope=ANA, vector=around(120, 1))
        engine.undo(run)
        restored = everything(engine)
        assert {id: restored[id][0] for id in before} == {id: one for id, (one, _) in before.items()}


def _apply(pipe: Connection, target: str, plan: dict[str, Any]) -> None:
    with recollect.open(target, embedder="hashing", clock=ManualClock(BEGAN + 40 * DAY)) as engine:
        pipe.send("ready")
        pipe.recv()
        try:
            pipe.send(engine.apply(Plan.read(plan)).run)
        except Conflict as error:
            pipe.send(str(error))


@pytest.mark.thorough
def test_of_two_processes_that_apply_the_same_plan_one_does_it_and_one_is_refused(
    target: str, clock: ManualClock
) -> None:
    with recollect.open(target, embedder="hashing", clock=clock) as engine:
        fill(engine)
        near(engine, WORKS)
        plan = engine.plan("consolidate", scope=ANA)
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(2):
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_apply, args=(theirs, target, plan.to_json()), daemon=True))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    assert [pipe.recv() for pipe in pipes] == ["ready"] * 2
    for pipe in pipes:
        pipe.send("go")
    heard = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join()
    assert sorted(isinstance(one, int) for one in heard) == [False, True]
    assert any("plan again" in str(one) for one in heard)
    with recollect.open(target, embedder="hashing", clock=clock) as engine:
        assert len([one for one in engine.memories(scope=ANA) if one.derived_from]) == 1


@pytest.mark.thorough
def test_whoever_is_killed_while_applying_has_done_all_of_it_or_nothing(tmp_path: Path, clock: ManualClock) -> None:
    path, dice = tmp_path / "agent.db", random.Random(7)
    with recollect.open(path, embedder="hashing", clock=clock) as engine:
        fill(engine)
        for place in range(20):
            near(engine, [f"{text} in house {place * 7919}" for text in TEA], place=100 + place)
        plan = engine.plan("consolidate", scope=ANA)
        everybody, makes = len(plan.of(Act.CONSOLIDATE)), len(plan.of(Act.CREATE))
        assert makes >= 10
    seen = set()
    context = multiprocessing.get_context("spawn")
    for _ in range(8):
        ours, theirs = context.Pipe()
        child = context.Process(target=_apply, args=(theirs, str(path), plan.to_json()), daemon=True)
        child.start()
        theirs.close()
        assert ours.recv() == "ready"
        ours.send("go")
        ours.poll(dice.random() * 0.02)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        with recollect.open(path, embedder="hashing", clock=clock) as engine:
            found = engine.memories(scope=ANA, statuses=tuple(Status))
            put_away = sum(one.status is Status.CONSOLIDATED for one in found)
            made = sum(bool(one.derived_from) and one.status is Status.ACTIVE for one in found)
            assert (put_away, made) in {(0, 0), (everybody, makes)}
            seen.add(made)
            if made:
                run = next(one.commit for one in found if one.derived_from and one.status is Status.ACTIVE)
                assert run is not None
                engine.undo(run, scope=ANA)
                plan = engine.plan("consolidate", scope=ANA)
    assert seen
    assert recollect.verify(path).ok
