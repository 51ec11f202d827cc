"""Measures topics and the extraction from events: how long a look at all memories takes, a list of the best, a night.

scripts/bench topics --rows 50000
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import recollect
from recollect.retrieval.vectors import normalize_vectors

SCOPE = "bench/one"
DIMENSIONS = 256
SPREAD = 0.5
"""How far those of a topic lie apart, in all: a cosine of about 0.8 between two of them."""

LARGEST = 40
"""How many memories a topic has at most; half of all memories are alone."""

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
LINES = ("I prefer {} seats.", "What about {}?", "It rained all day in {}.", "I hate {} seats.", "We saw a {} there.")
SYLLABLES = ("ba", "co", "di", "fu", "ga", "li", "mo", "ne", "ri", "su")

T = TypeVar("T")


def material(count: int, seed: int = 1) -> tuple[list[str], NDArray[np.float32]]:
    """So many texts with directions, half of them alone and half around others of their topic."""
    dice = np.random.default_rng(seed)
    sizes = np.where(dice.random(count) < 1 / (LARGEST / 2 + 1), dice.integers(3, LARGEST, size=count), 1)
    whose = np.repeat(np.arange(count), sizes)[:count]
    centres = normalize_vectors(dice.standard_normal((count, DIMENSIONS)))
    apart = dice.standard_normal((count, DIMENSIONS)) * SPREAD / np.sqrt(DIMENSIONS)
    texts = [f"the w{who:x}q garden has a z{row:x}q, and the w{who:x}q gate too" for row, who in enumerate(whose)]
    return texts, normalize_vectors(centres[whose] + apart)


def spelled(number: int) -> str:
    """A word for a number."""
    return "".join(SYLLABLES[int(digit)] for digit in str(number))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def topics(count: int, folder: Path) -> None:
    """Refresh, the same again, and the best hundred."""
    texts, vectors = material(count)
    with recollect.open(
        folder / f"{count}.db", embedder="hashing", settings={"truth": {"derive_subject": False}}
    ) as engine:
        for start in range(0, count, 5_000):
            part = zip(texts[start : start + 5_000], vectors[start : start + 5_000], strict=True)
            engine.remember_all([{"text": text, "vector": vector.tolist()} for text, vector in part], scope=SCOPE)
        engine.brief(scope=SCOPE)  # what is read once, is read before
        done, first = timed(lambda: engine.topics.refresh(scope=SCOPE))
        _, again = timed(lambda: engine.topics.refresh(scope=SCOPE))
        found, listing = timed(lambda: engine.topics.list(scope=SCOPE))
    print(
        f"{count:>9,} memories  refresh {first:6.2f} s  again {again:6.2f} s  the best {len(found)} {listing:5.2f} s  "
        f"{done.grouped:,} of {done.memories:,} in {done.topics:,} topics"
    )


def events(count: int, folder: Path) -> None:
    """A first night with so many events, and one with a day more."""
    said = [
        {
            "text": LINES[place % len(LINES)].format(spelled(place)),
            "speaker": "Ana",
            "at": BEGAN + place * timedelta(minutes=2),
            "session": f"s{place // 50}",
        }
        for place in range(count + 100)
    ]
    with recollect.open(folder / f"events-{count}.db", embedder="hashing") as engine:
        for start in range(0, count, 5_000):
            engine.observe(said[start : min(start + 5_000, count)], scope=SCOPE)
        done, first = timed(lambda: engine.timeline.extract_events(scope=SCOPE))
        engine.observe(said[count:], scope=SCOPE)
        more, next_night = timed(lambda: engine.timeline.extract_events(scope=SCOPE))
    receipts = sum(len(one.receipts) for one in done.extracted)
    print(
        f"{done.events:>9,} events    extract {first:6.2f} s ({done.events / first:,.0f} a second), "
        f"{receipts:,} receipts  the next {more.events} {next_night:5.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="up to how many memories")
    parser.add_argument("--events", type=int, default=5_000, help="how many events")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        events(wanted.events, Path(folder))
        for count in sorted({min(wanted.rows, one) for one in (10_000, wanted.rows)}):
            topics(count, Path(folder))


if __name__ == "__main__":
    main()
