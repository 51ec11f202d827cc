"""What has had its time leaves an index, and what tells it is found in its place; nothing is lost, and all of it can be
undone.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import Conflict, FieldError
from recollect.lifecycle.index_retention import find_uncovered
from recollect.model.enums import Index, Level
from recollect.model.memory import Memory
from recollect.model.plan import Act, Job, Step
from recollect.ranking.why import Barred
from recollect.retrieval.eligibility import Barrier
from recollect.testing.builders import ManualClock
from tests.tables import table

from .stores import on_both_stores

ANA, BEN = "acme/ana", "acme/ben"
BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""A Monday."""

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
DAYS = 20
BOTH = tuple(Index)
EVENTS_LEAVE: dict[str, Any] = {
    "lifecycle": {"vector": {"event_retention_days": 60}, "bm25": {"event_retention_days": 60}}
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGAN + 100 * DAY)


@pytest.fixture
def memory(target: str, clock: ManualClock) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing", clock=clock) as engine:
        lived(engine)
        yield engine


def lived(engine: recollect.Engine, scope: str = ANA) -> None:
    """Twenty days with a word of their own each, summed up."""
    turns = list[dict[str, Any]]()
    for day in range(DAYS):
        at = BEGAN + day * DAY
        said = [f"the codeword of the gate is zebra{day}", f"then the ferry number {day} leaves from the pier"]
        turns += [{"text": text, "at": at + place * MINUTE, "session": f"s{day}"} for place, text in enumerate(said)]
    engine.observe(turns, scope=scope)
    engine.timeline.rollup(scope=scope)


def records(engine: recollect.Engine, *levels: Level) -> list[Memory]:
    return [one for one in engine.memories(scope=ANA) if one.level in levels]


def states(engine: recollect.Engine) -> list[Memory]:
    """All that stands, but for when the store took it in."""
    every = engine.memories(scope=ANA, statuses=tuple(recollect.Status))
    return [one.with_changes(recorded_at=None, commit=None) for one in every]


def best(engine: recollect.Engine, question: str, **given: Any) -> Memory:
    return next(iter(engine.search(question, scope=ANA, limit=1, **given))).memory


class TestPruning:
    @on_both_stores
    def test_segments_and_grips_leave_the_vectors_and_days_stand_in_for_them(self, memory: recollect.Engine) -> None:
        before = memory.stats(scope=ANA)
        (run,) = memory.admin.run("prune-vectors", scope=ANA)

        fine = records(memory, Level.SEGMENT, Level.GRIP)
        assert len(fine) >= 2 * DAYS
        assert {one.left for one in fine} == {(Index.VECTOR,)}
        days = records(memory, Level.DAY)
        assert {(one.left, one.stands_for) for one in days} == {((), (Level.SEGMENT, Level.GRIP))}
        assert {one.left for one in records(memory, Level.EVENT, Level.WEEK, Level.MONTH)} == {()}
        assert set(run.ids) == {one.id for one in [*fine, *days]}
        after = memory.stats(scope=ANA)
        assert (after.memories, after.unembedded) == (before.memories, 0)
        assert memory.admin.run("prune-vectors", scope=ANA) == []

    @on_both_stores
    def test_what_left_the_vectors_is_found_by_its_words_until_it_leaves_these_too(
        self, memory: recollect.Engine
    ) -> None:
        memory.admin.run("prune-vectors", scope=ANA)
        asked: dict[str, Any] = {"scope": ANA, "levels": ["segment"], "profile": "search"}
        assert Level.SEGMENT in {one.memory.level for one in memory.search("zebra7", **asked)}

        memory.admin.run("rebuild-index", scope=ANA)
        assert {one.left for one in records(memory, Level.SEGMENT, Level.GRIP)} == {BOTH}
        assert {one.memory.level for one in memory.search("zebra7", **asked)} == {Level.DAY}
        told = best(memory, "what is the codeword zebra7?", levels=["segment"])
        assert (told.level, "zebra7" in told.text) == (Level.DAY, True)

    def test_what_was_recalled_without_a_level_is_found_as_before(self, memory: recollect.Engine) -> None:
        asked = [f"what is the codeword zebra{day}?" for day in range(DAYS)]
        before = [[one.id for one in memory.search(one, scope=ANA, limit=5)] for one in asked]
        memory.admin.run("rebuild-index", scope=ANA)
        assert [[one.id for one in memory.search(one, scope=ANA, limit=5)] for one in asked] == before

    @on_both_stores
    def test_events_leave_only_if_it_is_said_and_then_their_days_are_recalled(
        self, target: str, clock: ManualClock
    ) -> None:
        with recollect.open(target, embedder="hashing", clock=clock, settings=EVENTS_LEAVE) as engine:
            lived(engine)
            engine.admin.run("rebuild-index", scope=ANA)
            assert {one.left for one in records(engine, Level.EVENT)} == {BOTH}
            told = best(engine, "what is the codeword zebra3?")
            assert (told.level, "zebra3" in told.text) == (Level.DAY, True)
            assert "zebra3" in engine.recall("what is the codeword zebra3?", scope=ANA).text
            assert engine.brief(scope=ANA).packed == ()
            gone = records(engine, Level.EVENT)[0]
            reason = engine.why(gone.id, "what is the codeword?", scope=ANA)
            assert isinstance(reason.fate, Barred)
            assert reason.fate.barrier is Barrier.UNINDEXED
            left = [one for one in engine.memories(scope=ANA) if one.left == BOTH]
            assert engine.search("zebra3", scope=ANA).excluded["unindexed"] == len(left)

    def test_rows_stay_and_can_be_walked_to(self, memory: recollect.Engine) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        (grip, *_) = records(memory, Level.GRIP)
        assert [one.level for one in memory.timeline.expand(grip.id, scope=ANA).events] == [Level.EVENT] * len(
            grip.derived_from
        )
        assert memory.timeline.browse("2026-01-05", scope=ANA).parts

    def test_nothing_leaves_before_it_is_summed_up(self, memory: recollect.Engine) -> None:
        for one in records(memory, Level.DAY, Level.WEEK, Level.MONTH):
            memory.forget(one.id, scope=ANA)
        plan = memory.plan("prune-vectors", scope=ANA)
        assert not plan.changes
        assert {one.act for one in plan.steps} == {Act.KEEP}
        assert "run a rollup first" in plan.steps[0].reason
        assert memory.admin.run("prune-vectors", scope=ANA) == []

    def test_what_is_pinned_stays_and_comes_back(self, memory: recollect.Engine) -> None:
        first, second = records(memory, Level.SEGMENT)[:2]
        memory.pin(first.id, scope=ANA)
        memory.admin.run("rebuild-index", scope=ANA)
        assert [one.left for one in records(memory, Level.SEGMENT) if one.id in (first.id, second.id)] == [(), BOTH]
        memory.pin(second.id, scope=ANA)
        memory.admin.run("rebuild-index", scope=ANA)
        assert [one.left for one in records(memory, Level.SEGMENT) if one.id in (first.id, second.id)] == [(), ()]
        assert best(memory, second.text, levels=["segment"]).id == second.id

    def test_fresh_segments_survive_every_rebuild(self, memory: recollect.Engine, clock: ManualClock) -> None:
        turn = {"text": "the lighthouse is painted green today", "at": clock.now - timedelta(hours=3), "session": "new"}
        memory.observe([turn], scope=ANA)
        memory.timeline.rollup(scope=ANA, unfinished=True)
        for wish in ({}, {"min_level": "day"}, {"max_age_days": 1}, {"min_level": "year", "max_age_days": 1}):
            memory.admin.run("rebuild-index", scope=ANA, **wish)
            assert best(memory, "which colour has the lighthouse?", levels=["segment"]).level is Level.SEGMENT

    def test_a_level_and_an_age_may_be_said(self, memory: recollect.Engine) -> None:
        memory.admin.run("prune-vectors", scope=ANA, level="grip", age_days=95)
        gone = [one for one in records(memory, Level.GRIP, Level.SEGMENT) if one.left]
        assert {one.level for one in gone} == {Level.GRIP}
        assert {one.created_at.date() for one in gone} == {(BEGAN + day * DAY).date() for day in range(5)}
        memory.admin.run("rebuild-index", scope=ANA, min_level="month", max_age_days=90)
        weeks = records(memory, Level.WEEK)
        assert weeks[0].left == BOTH
        assert weeks[-1].left == ()

    def test_a_wish_for_another_job_is_refused(self, memory: recollect.Engine) -> None:
        with pytest.raises(FieldError, match="does not apply to consolidate"):
            memory.plan("consolidate", scope=ANA, level="day")
        with pytest.raises(FieldError, match="is the age for one level"):
            memory.admin.run("prune-vectors", scope=ANA, age_days=3)

    def test_settings_say_how_long(self, target: str, clock: ManualClock) -> None:
        kept: dict[str, Any] = {"lifecycle": {"vector": {"segment_retention_days": "never", "day_retention_days": 10}}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=kept) as engine:
            lived(engine)
            engine.admin.run("prune-vectors", scope=ANA)
            assert {one.left for one in records(engine, Level.SEGMENT)} == {()}
            assert {one.left for one in records(engine, Level.DAY)} == {(Index.VECTOR,)}
            weeks = records(engine, Level.WEEK)
            assert {one.stands_for for one in weeks} == {(Level.GRIP, Level.DAY)}

    def test_the_level_that_stands_in_is_the_one_that_is_said(self, target: str, clock: ManualClock) -> None:
        coarse: dict[str, Any] = {"lifecycle": {"bm25": {"min_level_after_rollup": "month"}}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=coarse) as engine:
            lived(engine)
            for one in records(engine, Level.MONTH):
                engine.forget(one.id, scope=ANA)
            engine.admin.run("rebuild-index", scope=ANA)
            assert {one.left for one in records(engine, Level.SEGMENT)} == {(Index.VECTOR,)}


class TestPlans:
    @on_both_stores
    def test_a_plan_is_applied_just_so_and_undone_to_the_bit(self, memory: recollect.Engine) -> None:
        before, asked = states(memory), "what is the codeword zebra4?"
        found = [(one.id, one.score) for one in memory.search(asked, scope=ANA, levels=["segment", "grip"])]
        plan = memory.plan(Job.REBUILD_INDEX, scope=ANA)
        again = recollect.Plan.read(plan.to_json())
        assert (again, again.hash) == (plan, plan.hash)
        run = memory.apply(again)
        assert {step.memory for step in plan.steps} == set(run.ids)
        assert memory.plan(Job.REBUILD_INDEX, scope=ANA).changes is False
        memory.undo(run)
        assert states(memory) == before
        assert [(one.id, one.score) for one in memory.search(asked, scope=ANA, levels=["segment", "grip"])] == found

    def test_a_plan_is_refused_if_what_was_to_stand_in_is_gone(self, memory: recollect.Engine) -> None:
        memory.admin.run("prune-vectors", scope=ANA)
        plan = memory.plan(Job.REBUILD_INDEX, scope=ANA)
        assert not plan.of(Act.STAND_IN)
        day = next(one.by for one in plan.of(Act.PRUNE))
        memory.forget(str(day), scope=ANA)
        before = states(memory)
        with pytest.raises(Conflict, match="would no longer be found in an index"):
            memory.apply(plan)
        assert states(memory) == before

    @on_both_stores
    def test_what_was_forgotten_lets_what_it_stood_for_come_back(self, memory: recollect.Engine) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        for one in records(memory, Level.DAY, Level.WEEK, Level.MONTH):
            memory.forget(one.id, scope=ANA)
        memory.admin.run("rebuild-index", scope=ANA)
        assert {one.left for one in records(memory, Level.SEGMENT, Level.GRIP)} == {()}
        assert "zebra9" in best(memory, "codeword zebra9", levels=["segment"], profile="five-signal").text

    def test_no_plan_takes_out_what_is_pinned(self, memory: recollect.Engine) -> None:
        plan = memory.plan(Job.PRUNE_VECTORS, scope=ANA)
        segment = next(step for step in plan.of(Act.PRUNE) if step.memory.startswith("segment"))
        memory.pin(segment.memory, scope=ANA)
        with pytest.raises(Conflict, match="has changed since"):
            memory.apply(plan)

    @on_both_stores
    def test_readers_and_writers_go_on_beside_it(self, memory: recollect.Engine) -> None:
        wrong: list[object] = []
        over = threading.Event()

        def reads() -> None:
            while not over.is_set():
                found = memory.search("what is the codeword zebra11?", scope=ANA, levels=["segment"], limit=1)
                wrong.extend(one.memory for one in found if "zebra11" not in one.memory.text)
                memory.remember(f"note {len(wrong)} of somebody", scope=BEN)

        thread = threading.Thread(target=reads)
        thread.start()
        try:
            told: list[tuple[int, int]] = []
            runs = memory.admin.run("rebuild-index", scope=ANA, progress=lambda done, total: told.append((done, total)))
        finally:
            over.set()
            thread.join()
        assert wrong == []
        assert runs
        assert told[-1][0] == told[-1][1] > 0

    @on_both_stores
    def test_an_index_may_be_left_while_the_other_is_entered_again(self, target: str, clock: ManualClock) -> None:
        with recollect.open(target, embedder="hashing", clock=clock) as engine:
            lived(engine)
            engine.admin.run("prune-vectors", scope=ANA)
        kept = {"segment_retention_days": "never", "grip_retention_days": "never"}
        swapped: dict[str, Any] = {"lifecycle": {"vector": kept}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=swapped) as engine:
            plan = engine.plan("rebuild-index", scope=ANA)
            assert "leaves text" in plan.of(Act.PRUNE)[0].reason
            assert "belongs in vector" in plan.of(Act.PRUNE)[0].reason
            engine.admin.run("rebuild-index", scope=ANA)
            assert {one.left for one in records(engine, Level.SEGMENT)} == {(Index.TEXT,)}
            assert engine.stats(scope=ANA).unembedded == 0
            found = engine.search(
                "the codeword is zebra5", scope=ANA, levels=["segment"], profile="five-signal", limit=1
            )
            assert "zebra5" in next(iter(found)).memory.text

    def test_events_that_left_by_hand_come_back_when_nothing_tells_them(self, memory: recollect.Engine) -> None:
        memory.admin.run("prune-vectors", scope=ANA, level="event", age_days=10)
        assert {one.left for one in records(memory, Level.EVENT)} == {(Index.VECTOR,)}
        for one in records(memory, Level.DAY, Level.WEEK, Level.MONTH):
            memory.forget(one.id, scope=ANA)
        memory.admin.run("rebuild-index", scope=ANA)
        assert {one.left for one in records(memory, Level.EVENT)} == {()}

    def test_part_of_a_plan_without_what_stands_in_is_refused(self, memory: recollect.Engine) -> None:
        plan = memory.plan(Job.REBUILD_INDEX, scope=ANA)
        before = states(memory)
        with pytest.raises(Conflict, match="would no longer be found in an index"):
            memory.apply(replace(plan, steps=plan.of(Act.PRUNE)))
        assert states(memory) == before

    def test_whoever_stands_in_is_not_undone_before_what_left(
        self, memory: recollect.Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = states(memory)
        monkeypatch.setattr("recollect.engine.plans.MAX_STEPS_PER_TRANSACTION", 20)
        first, *others = memory.admin.run("rebuild-index", scope=ANA)
        assert {one.level for one in first.memories} == {Level.DAY}
        with pytest.raises(Conflict, match="undo the later runs first"):
            memory.undo(first)
        for run in (*reversed(others), first):
            memory.undo(run)
        assert states(memory) == before

    def test_both_jobs_in_turn_change_nothing_more(self, target: str, clock: ManualClock) -> None:
        coarse: dict[str, Any] = {"lifecycle": {"bm25": {"min_level_after_rollup": "week"}}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=coarse) as engine:
            lived(engine)
            engine.admin.run("prune-vectors", scope=ANA)
            engine.admin.run("rebuild-index", scope=ANA)
            for job in (Job.PRUNE_VECTORS, Job.REBUILD_INDEX) * 2:
                assert engine.admin.run(job, scope=ANA) == []

    def test_what_is_said_of_words_is_not_said_of_vectors(self, target: str, clock: ManualClock) -> None:
        coarse: dict[str, Any] = {"lifecycle": {"bm25": {"min_level_after_rollup": "week"}}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=coarse) as engine:
            lived(engine)
            engine.admin.run("rebuild-index", scope=ANA, max_age_days=10)
            assert {one.left for one in records(engine, Level.DAY)} == {(Index.TEXT,)}


class TestGaps:
    """Nothing is outside of an index in which nothing is found in its place."""

    @pytest.fixture
    def leaving(self, target: str, clock: ManualClock) -> Iterator[recollect.Engine]:
        """One whose events leave, but for the first, which is pinned."""
        with recollect.open(target, embedder="hashing", clock=clock, settings=EVENTS_LEAVE) as engine:
            lived(engine)
            engine.pin(records(engine, Level.EVENT)[0].id, scope=ANA)
            engine.admin.run("rebuild-index", scope=ANA)
            yield engine

    def test_what_comes_back_in_parts_is_found_by_what_stands_in_until_it_is_there(
        self, leaving: recollect.Engine, target: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("recollect.engine.plans.MAX_STEPS_PER_TRANSACTION", 20)
        before, seen = states(leaving), list[Memory]()
        with recollect.open(target, embedder="hashing", clock=clock) as engine:

            def look(*_: int) -> None:
                assert find_uncovered(engine.memories(scope=ANA)) == []
                seen.append(best(engine, "what is the codeword zebra13?"))

            runs = engine.admin.run("rebuild-index", scope=ANA, progress=look)
            assert {"zebra13" in one.text for one in seen} == {True}
            assert [one.level for one in seen][-1] is Level.EVENT
            for run in reversed(runs):
                engine.undo(run)
                look()
            assert states(engine) == before

    def test_a_plan_is_refused_if_what_was_to_stand_in_does_not_tell_it_any_more(
        self, leaving: recollect.Engine
    ) -> None:
        event = next(one for one in records(leaving, Level.EVENT) if one.pinned)
        leaving.unpin(event.id, scope=ANA)
        plan = leaving.plan("rebuild-index", scope=ANA)
        assert [step.memory for step in plan.steps] == [event.id]
        for grip in records(leaving, Level.GRIP):
            if event.id in grip.derived_from:
                leaving.forget(grip.id, scope=ANA)
        leaving.timeline.rollup(scope=ANA)  # what was forgotten is told no more
        day = leaving.get(str(plan.steps[0].by), scope=ANA)
        assert (day.status, Level.EVENT in day.stands_for) == (recollect.Status.ACTIVE, True)
        with pytest.raises(Conflict, match="would no longer be found in an index"):
            leaving.apply(plan)
        assert leaving.get(event.id, scope=ANA).left == ()

    def test_a_plan_is_refused_if_it_takes_away_what_stands_in_for_others_by_now(
        self, leaving: recollect.Engine, clock: ManualClock
    ) -> None:
        event, *others = [one for one in records(leaving, Level.EVENT) if one.created_at < BEGAN + DAY]
        for one in others:
            leaving.pin(one.id, scope=ANA)
        leaving.unpin(event.id, scope=ANA)
        clock.move(-50 * DAY)  # by a clock that is behind it has not had its time
        plan = leaving.plan("rebuild-index", scope=ANA)
        assert event.id not in {step.memory for step in plan.steps}
        clock.move(50 * DAY)
        leaving.admin.run("prune-vectors", scope=ANA)
        assert leaving.get(event.id, scope=ANA).left == (Index.VECTOR,)
        before = states(leaving)
        with pytest.raises(Conflict, match="would no longer be found in an index"):
            leaving.apply(plan)
        assert states(leaving) == before

    def test_whoever_wrote_the_plan_nothing_leaves_that_is_not_told(self, leaving: recollect.Engine) -> None:
        event = next(one for one in records(leaving, Level.EVENT) if one.pinned)
        leaving.unpin(event.id, scope=ANA)
        plan = leaving.plan("rebuild-index", scope=ANA)
        new = {"text": "the canoe is green", "at": BEGAN + 30 * DAY}
        (canoe,) = leaving.observe([new], scope=ANA)
        wrong = replace(plan.steps[0], memory=canoe.id, commit=leaving.get(canoe.id, scope=ANA).commit)
        with pytest.raises(Conflict, match="would no longer be found in an index"):
            leaving.apply(replace(plan, steps=(wrong,)))
        assert best(leaving, "which colour has the canoe?").id == canoe.id

    def test_whoever_wrote_the_plan_nobody_stands_in_for_less_than_has_left(self, leaving: recollect.Engine) -> None:
        day = records(leaving, Level.DAY)[0]
        with pytest.raises(Conflict, match="would no longer be found in an index"):
            leaving.apply(_forged(leaving, day, '[[[], []], [[], ["segment"]]]'))
        assert leaving.get(day.id, scope=ANA) == day

    @pytest.mark.parametrize(
        ("level", "status", "state"),
        [
            (Level.DAY, recollect.Status.FORGOTTEN, '[[[], []], [[], ["event", "segment", "grip"]]]'),
            (Level.SEGMENT, recollect.Status.ACTIVE, '[[[], []], [[], ["event"]]]'),
        ],
    )
    def test_whoever_wrote_the_plan_only_a_record_of_the_calendar_that_holds_stands_in(
        self, leaving: recollect.Engine, level: Level, status: recollect.Status, state: str
    ) -> None:
        record = records(leaving, level)[0]
        if status is recollect.Status.FORGOTTEN:
            leaving.forget(record.id, scope=ANA)
        with pytest.raises(FieldError, match="cannot have this index state"):
            leaving.apply(_forged(leaving, leaving.get(record.id, scope=ANA), state))

    @table("state", ["", "[]", "[[[], []]]", '[[[], []], [["words"], []]]', "7", '{"a": 1, "b": 2}'])
    def test_a_state_that_is_none_is_refused(self, leaving: recollect.Engine, state: str) -> None:
        with pytest.raises(FieldError, match="is not an index state; plan again"):
            leaving.apply(_forged(leaving, records(leaving, Level.DAY)[0], state))

    @on_both_stores
    def test_undo_lets_nothing_leave_that_nothing_tells_by_now(self, leaving: recollect.Engine) -> None:
        event = next(one for one in records(leaving, Level.EVENT) if one.pinned)
        leaving.unpin(event.id, scope=ANA)
        (run,) = leaving.admin.run("rebuild-index", scope=ANA)
        assert run.ids == (event.id,)
        undone = leaving.undo(run)
        for one in records(leaving, Level.DAY, Level.WEEK, Level.MONTH):
            leaving.forget(one.id, scope=ANA)
        leaving.admin.run("rebuild-index", scope=ANA)
        before = states(leaving)
        with pytest.raises(Conflict, match="outside of an index without another record in its place"):
            leaving.undo(undone.run, scope=ANA)
        assert states(leaving) == before

    @on_both_stores
    def test_undo_takes_away_no_record_through_which_others_are_told(self, target: str, clock: ManualClock) -> None:
        kept = {"event_retention_days": 60, "segment_retention_days": "never", "grip_retention_days": "never"}
        settings: dict[str, Any] = {"lifecycle": {"vector": kept, "bm25": kept}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=settings) as engine:
            lived(engine)
            engine.admin.run("rebuild-index", scope=ANA)
            segment = records(engine, Level.SEGMENT)[0]
            assert {engine.get(id, scope=ANA).left for id in segment.derived_from} == {BOTH}
            with pytest.raises(Conflict, match="outside of an index without another record in its place"):
                engine.undo(segment.commit or 0, scope=ANA)  # the rollup that made it
            assert engine.get(segment.id, scope=ANA) == segment

    def test_a_record_has_the_vector_of_its_text_so_that_it_can_be_made_again(self, leaving: recollect.Engine) -> None:
        given = [1.0] + [0.0] * (leaving._deps.encoder.dimensions - 1)
        outside, inside = records(leaving, Level.EVENT)[1], records(leaving, Level.DAY)[0]
        for one in (outside, inside):
            for text in (one.text, f"{one.text} and so on"):
                with pytest.raises(FieldError, match="cannot be set on the timeline record") as caught:
                    leaving.revise(one.id, text, scope=ANA, vector=given)
                assert caught.value.field == "vector"
            assert leaving.get(one.id, scope=ANA) == one
        plain = leaving.remember("the lighthouse is white", scope=ANA)
        leaving.revise(plain.id, "the lighthouse is red", scope=ANA, vector=given)


def _forged(engine: recollect.Engine, record: Memory, state: str) -> recollect.Plan:
    """A plan that nobody planned."""
    step = Step(
        memory=record.id, act=Act.STAND_IN, reason="so I say", text=record.text, commit=record.commit, state=state
    )
    return replace(engine.plan(Job.REBUILD_INDEX, scope=ANA), steps=(step,))


class TestKeeping:
    @on_both_stores
    def test_it_is_given_away_and_taken_in_as_it_is(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path
    ) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        lines = list(memory.export())
        with recollect.open(tmp_path / "other.db", embedder="hashing", clock=clock) as other:
            other.import_(lines)
            assert states(other) == states(memory)
            assert other.stats(scope=ANA).unembedded == 0
            assert list(other.export())[1:-1] == lines[1:-1]

    def test_another_model_gives_no_vector_to_what_has_left(self, tmp_path: Path, clock: ManualClock) -> None:
        path = tmp_path / "agent.db"
        with recollect.open(path, embedder="hashing", clock=clock) as engine:
            lived(engine)
            engine.admin.run("rebuild-index", scope=ANA)
            contents = len(records(engine, *Level)) - len(records(engine, Level.SEGMENT, Level.GRIP))
        assert recollect.re_embed(path, embedder="wordllama").embedded == contents
        assert recollect.verify(path).problems == ()
        with recollect.open(path, clock=clock) as engine:
            assert engine.stats().unembedded == 0
            assert "zebra2" in best(engine, "codeword zebra2", levels=["segment"]).text

    def test_a_record_that_says_something_else_is_back(self, memory: recollect.Engine) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        segment = records(memory, Level.SEGMENT)[0]
        memory.revise(segment.id, "- the walrus sleeps on the jetty", scope=ANA, provenance="operator")
        assert best(memory, "where does the walrus sleep?", levels=["segment"]).id == segment.id

    def test_a_late_event_brings_its_day_back_and_what_it_stands_for_stays_told(
        self, memory: recollect.Engine, clock: ManualClock
    ) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        late = {"text": "the otter was late that day", "at": BEGAN + 2 * DAY + 5 * MINUTE, "session": "s2"}
        memory.observe([late], scope=ANA)
        memory.timeline.rollup(scope=ANA)
        day = next(one for one in records(memory, Level.DAY) if one.id.startswith("day-2026-01-07"))
        assert day.stands_for == (Level.SEGMENT, Level.GRIP)
        memory.admin.run("rebuild-index", scope=ANA)
        assert "otter" in best(memory, "who was late?", levels=["segment"]).text

    @pytest.mark.parametrize(("kept", "teller"), [(365, "day-2026-01-08-"), (10, "week-2026-W02-")])
    def test_what_is_made_anew_after_an_erasure_stands_in_at_once(
        self, target: str, clock: ManualClock, kept: int, teller: str
    ) -> None:
        keeping = {"event_retention_days": 60, "day_retention_days": kept}
        settings: dict[str, Any] = {"lifecycle": {"vector": keeping, "bm25": keeping}}
        with recollect.open(target, embedder="hashing", clock=clock, settings=settings) as engine:
            lived(engine)
            engine.admin.run("rebuild-index", scope=ANA)
            before = next(one for one in engine.memories(scope=ANA) if one.id.startswith(teller))
            ferry = next(one for one in records(engine, Level.EVENT) if "ferry number 3 " in one.text)
            engine.erase(scope=ANA, id=ferry.id)

            engine.timeline.rollup(scope=ANA)

            after = engine.get(before.id, scope=ANA)
            assert Level.EVENT in after.stands_for
            assert set(after.stands_for) >= set(before.stands_for) - {Level.SEGMENT}  # which is new as well
            assert "zebra3" in best(engine, "zebra3", profile="search").text

    @on_both_stores
    def test_a_week_whose_days_are_found_stands_in_for_nothing_after_an_erasure(self, memory: recollect.Engine) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        memory.erase(scope=ANA, id=records(memory, Level.EVENT)[0].id)
        memory.timeline.rollup(scope=ANA)
        assert {one.stands_for for one in records(memory, Level.WEEK, Level.MONTH)} == {()}

    @on_both_stores
    def test_erasing_takes_along_what_has_left(self, memory: recollect.Engine) -> None:
        memory.admin.run("rebuild-index", scope=ANA)
        event = records(memory, Level.EVENT)[0]
        memory.erase(scope=ANA, id=event.id)
        assert not [one for one in states(memory) if event.text in one.text]
        memory.timeline.rollup(scope=ANA)
        memory.admin.run("rebuild-index", scope=ANA)
        assert not memory.plan(Job.REBUILD_INDEX, scope=ANA).changes
