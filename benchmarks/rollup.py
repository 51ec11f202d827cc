"""Measures rollups: a year of events is observed, summed up, and summed up again after one day more.

How long that takes is told in seconds, and in shares of what it took to observe the events, in the same process.

scripts/bench rollup --events 100000
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import recollect

SCOPE = "bench/one"
BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
DAYS = 364
"""All days but the last one of the year, which comes later."""

SESSION = 25
"""How many events a session has."""

SUBJECTS = ("the garden", "Bruno", "the trip to Lisbon", "my sister", "the budget", "the new flat", "piano lessons")
DONE = ("needs a plan", "went well", "was put off", "costs too much", "made me happy", "is due", "has to be repaired")
WHEN = ("today", "on Friday", "next month", "before the summer", "since March", "after work", "at noon")

T = TypeVar("T")


def life(count: int, days: int, seed: int = 1) -> Iterator[list[dict[str, Any]]]:
    """So many events over so many days, session by session."""
    dice = random.Random(seed)
    sessions = max(count // SESSION, 1)
    for number in range(sessions):
        day, minute = number * days // sessions, dice.randrange(6 * 60, 22 * 60)
        begins = BEGAN + timedelta(days=day, minutes=minute)
        yield [_event(dice, begins + timedelta(seconds=40 * turn), number, turn) for turn in range(SESSION)]


def _event(dice: random.Random, at: datetime, session: int, turn: int) -> dict[str, Any]:
    said = f"{dice.choice(SUBJECTS)} {dice.choice(DONE)} {dice.choice(WHEN)}, number {dice.randrange(10_000)}"
    return {"text": said, "speaker": ("Ana", "Ben")[turn % 2], "at": at, "session": f"s{session}"}


def timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def measure(count: int, folder: Path) -> None:
    """All of it over one file."""
    later = BEGAN + timedelta(days=800)
    with recollect.open(folder / "life.db", embedder="hashing", clock=lambda: later) as engine:

        def observe(events: Iterator[list[dict[str, Any]]]) -> int:
            return sum(len(engine.observe(some, scope=SCOPE)) for some in events)

        kept, observing = timed(lambda: observe(life(count, DAYS)))
        print(f"observed {kept:,} events in {observing:.1f} s, {kept / observing:,.0f} a second")
        done, first = timed(lambda: engine.timeline.rollup(scope=SCOPE))
        _tell(f"first rollup, {done.changed:,} records", first, observing)
        _, idle = timed(lambda: engine.timeline.rollup(scope=SCOPE))
        _tell("again, with nothing to do but to look at what the first one wrote", idle, observing)
        _, idle = timed(lambda: engine.timeline.rollup(scope=SCOPE))
        _tell("and again", idle, observing)
        more = BEGAN + timedelta(days=DAYS, hours=9)
        engine.observe([{"text": "one more day", "at": more, "session": "last"}], scope=SCOPE)
        done, day = timed(lambda: engine.timeline.rollup(scope=SCOPE))
        _tell(f"after one day more, {done.changed:,} records", day, observing)
        for key in (None, "2025", "2025-06", "2025-06-03"):
            _, browsing = timed(lambda key=key: engine.timeline.browse(key, scope=SCOPE))  # type: ignore[misc]
            _tell(f"browsing {key or 'all years'}", browsing, observing)


def _tell(what: str, seconds: float, observing: float) -> None:
    print(f"{what}: {seconds:.2f} s, {seconds / observing:.2%} of the time to observe")


if __name__ == "__main__":
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("--events", type=int, default=20_000, metavar="N", help="in the year")
    with tempfile.TemporaryDirectory() as made:
        measure(known.parse_args().events, Path(made))
