"""Whatever leaves an index or comes back, in however many parts, and is taken back: no record that was found, itself or
by what stood in for it, is found no more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect.engine import plans
from recollect.errors import Conflict
from recollect.lifecycle.index_retention import find_uncovered
from recollect.lifecycle.policy import Bm25Policy, LifecyclePolicy, VectorPolicy
from recollect.model.enums import CALENDAR_LEVELS, Index, Level
from recollect.model.memory import Memory
from recollect.model.plan import AGING_LEVELS, Job
from recollect.testing.builders import ManualClock

LATER = datetime(2026, 11, 16, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Life:
    """Days with so many events each, what is kept at first and what later, what is pinned and forgotten in between, and
    how many steps are done at once.
    """

    days: dict[int, int]
    first: LifecyclePolicy
    later: LifecyclePolicy
    job: Job
    pinned: list[int]
    forgotten: list[int]
    part: int


kept = st.sampled_from(["never", 1, 40, 400, 2000])
retention = st.fixed_dictionaries({f"{level.value}_retention_days": kept for level in AGING_LEVELS})
policies = st.builds(
    lambda vector, bm25, least: LifecyclePolicy(
        vector=VectorPolicy(**vector), bm25=Bm25Policy(**bm25, min_level_after_rollup=least)
    ),
    retention,
    retention,
    st.sampled_from([one.value for one in CALENDAR_LEVELS]),
)
some = st.lists(st.integers(0, 20), max_size=3)
lives = st.builds(
    Life,
    days=st.dictionaries(st.integers(30, 2500), st.integers(1, 2), min_size=1, max_size=4),
    first=policies,
    later=policies,
    job=st.sampled_from([Job.PRUNE_VECTORS, Job.REBUILD_INDEX, Job.REBUILD_INDEX]),
    pinned=some,
    forgotten=st.just([]) | some,
    part=st.integers(1, 3),
)


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[recollect.Engine]:
    target = ":memory:" if request.param == "sqlite" else request.getfixturevalue("postgres_store_url")
    with recollect.open(target, embedder="hashing-16", clock=ManualClock(LATER)) as engine:
        yield engine


@contextmanager
def in_parts_of(steps: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "MAX_STEPS_PER_TRANSACTION", steps)
        yield


def keeping(engine: recollect.Engine, policy: LifecyclePolicy) -> recollect.Engine:
    """The same store by other settings."""
    return recollect.Engine(replace(engine._deps, lifecycle=policy))


def lived(engine: recollect.Engine, scope: str, days: dict[int, int]) -> None:
    for ago, times in days.items():
        turns: list[dict[str, Any]] = [
            {"text": f"the word of day {ago} is {time}", "at": LATER - ago * DAY + time * timedelta(hours=2)}
            for time in range(times)
        ]
        engine.observe(turns, scope=scope)
    engine.timeline.rollup(scope=scope)


def states(engine: recollect.Engine, scope: str) -> list[Memory]:
    return [one.with_changes(recorded_at=None, commit=None) for one in engine.memories(scope=scope)]


def chosen(records: Sequence[Memory], numbers: Sequence[int]) -> list[Memory]:
    return [records[number] for number in dict.fromkeys(numbers) if number < len(records)]


def test_no_part_of_a_run_and_none_that_is_undone_opens_a_gap(
    engine: recollect.Engine, request: pytest.FixtureRequest
) -> None:
    numbers, share = count(), 2 if "sqlite" in request.node.name else 20

    def holds(life: Life) -> None:
        with in_parts_of(life.part):
            _live(life, engine, f"acme/s{next(numbers)}")

    settings(max_examples=max(settings().max_examples // share, 1))(given(lives)(holds))()


def _live(life: Life, engine: recollect.Engine, scope: str) -> None:
    lived(engine, scope, life.days)
    keeping(engine, life.first).admin.run(Job.REBUILD_INDEX, scope=scope)
    seen = engine.memories(scope=scope)
    assert find_uncovered(seen) == []
    for one in chosen(seen, life.pinned):
        engine.pin(one.id, scope=scope)
    for one in chosen([one for one in seen if one.level in CALENDAR_LEVELS], life.forgotten):
        engine.forget(one.id, scope=scope)  # which leaves gaps, until the indexes are rebuilt
    begun = states(engine, scope)

    def is_no_worse(*_: int) -> None:
        nonlocal seen
        there = engine.memories(scope=scope)
        assert find_uncovered(there, before=seen) == []
        seen = there

    seen = engine.memories(scope=scope)
    later = keeping(engine, life.later)
    runs = later.admin.run(life.job, scope=scope, progress=is_no_worse)
    assert later.admin.run(life.job, scope=scope) == []
    assert life.job is Job.PRUNE_VECTORS or find_uncovered(seen) == []
    try:
        for run in reversed(runs):
            engine.undo(run)
            is_no_worse()
        assert states(engine, scope) == begun
    except Conflict:  # as something would leave an index in which nothing tells it by now
        is_no_worse()
        assert life.forgotten


def test_in_any_other_order_runs_are_undone_without_a_gap_or_not_at_all(engine: recollect.Engine) -> None:
    lived(engine, "acme/ana", {100: 2, 101: 2, 500: 2})
    kept = retaining(1)
    before = states(engine, "acme/ana")
    with in_parts_of(3):
        runs = keeping(engine, kept).admin.run(Job.REBUILD_INDEX, scope="acme/ana")
        left, refused = list(runs), 0
        while left:
            for run in list(left):  # the first one first
                try:
                    engine.undo(run)
                    left.remove(run)
                except Conflict:
                    refused += 1
                assert find_uncovered(engine.memories(scope="acme/ana")) == []
        assert states(engine, "acme/ana") == before
    assert refused


def test_what_is_made_of_it_tells_a_record_whatever_their_moments_are(engine: recollect.Engine) -> None:
    lived(engine, "acme/ana", {100: 2, 101: 2})
    segments = [one for one in engine.memories(scope="acme/ana") if one.level is Level.SEGMENT]
    late = [one.with_changes(created_at=one.created_at + 30 * DAY) for one in segments]  # as an archive may have it
    engine._deps.store.write(lambda writing: [writing.put(one, None) for one in late])

    runs = keeping(engine, retaining(80)).admin.run(Job.REBUILD_INDEX, scope="acme/ana")

    there = engine.memories(scope="acme/ana")
    assert runs
    assert {one.left for one in there if one.level is Level.EVENT} == {tuple(Index)}
    assert find_uncovered(there) == []
    for run in reversed(runs):
        engine.undo(run)
    assert not any(one.left for one in engine.memories(scope="acme/ana"))


def retaining(days: int) -> LifecyclePolicy:
    kept: dict[str, Any] = {f"{level.value}_retention_days": days for level in AGING_LEVELS[:3]}
    return LifecyclePolicy(vector=VectorPolicy(**kept), bm25=Bm25Policy(**kept))
