"""Measures ageing: a year of events is summed up, what has had its time leaves the indexes, and all of it comes back.

How long that takes is told in records a second, and in shares of what it took to observe the events, in the same
process.

scripts/bench ageing --events 100000
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from rollup import BEGAN, SCOPE, life

import recollect
from recollect.model.plan import Job, Run

LATER = BEGAN + timedelta(days=400)
"""When it is looked at: days of the first five weeks have had their time then, and events of ten months."""

KEPT: dict[str, Any] = {"event_retention_days": 60}
SETTINGS: dict[str, Any] = {"lifecycle": {"vector": KEPT, "bm25": KEPT}}

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


class Measured:
    """One store, and what is done with it beside the time to observe its events."""

    def __init__(self, engine: recollect.Engine) -> None:
        self._engine = engine
        self._observing = 0.0

    def observe(self, events: Iterable[Sequence[dict[str, Any]]]) -> None:
        kept, self._observing = timed(lambda: sum(len(self._engine.observe(some, scope=SCOPE)) for some in events))
        print(f"observed {kept:,} events in {self._observing:.1f} s, {kept / self._observing:,.0f} a second")

    def tell(self, what: str, work: Callable[[], T], count: Callable[[T], int]) -> T:
        """Do it, and say what it took."""
        done, seconds = timed(work)
        rows = count(done)
        rate = f"{rows:,} records, {rows / seconds:,.0f} a second" if rows else "nothing to do"
        print(f"{what}: {seconds:.2f} s, {seconds / self._observing:.1%} of the time to observe; {rate}")
        return done

    def age(self, job: Job) -> list[Run]:
        """Plan the job, do it, and find that nothing is left to do."""
        engine = self._engine
        self.tell(f"plan of {job.value}", lambda: engine.plan(job, scope=SCOPE), lambda plan: len(plan.steps))
        runs = self.tell(job.value, lambda: engine.admin.run(job, scope=SCOPE), _written)
        self.tell(f"{job.value} again", lambda: engine.admin.run(job, scope=SCOPE), _written)
        return runs

    def undo(self, runs: Sequence[Run]) -> None:
        """Take back these runs, the last one first."""
        self.tell("undo", lambda: [self._engine.undo(one) for one in reversed(runs)], lambda _: _written(runs))


def _written(runs: Sequence[Run]) -> int:
    return sum(len(one.ids) for one in runs)


def measure(count: int, folder: Path) -> None:
    """All of it over one file."""
    with recollect.open(folder / "life.db", embedder="hashing", clock=lambda: LATER, settings=SETTINGS) as engine:
        measured = Measured(engine)
        measured.observe(life(count, days=364))
        measured.tell("rollup", lambda: engine.timeline.rollup(scope=SCOPE), lambda rolled: rolled.changed)
        pruned = measured.age(Job.PRUNE_VECTORS)
        rebuilt = measured.age(Job.REBUILD_INDEX)
        measured.undo(rebuilt)
        measured.undo(pruned)


if __name__ == "__main__":
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--events", type=int, default=20_000, metavar="N", help="in the year")
    with tempfile.TemporaryDirectory() as made:
        measure(known.parse_args().events, Path(made))
