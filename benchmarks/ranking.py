"""How long exact ranking of 100,000 candidates and packing of 5,000 take beside a bare weighted sum.

The yardstick is what one would write without profiles, explanations, unknown values or promises: the same
arrays, a weighted sum and `argpartition`. Both run in turn in one process; compare the ratio, not the digits.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.table import CandidateTable, to_microseconds
from recollect.packing.budget import Budget
from recollect.packing.pack import pack
from recollect.packing.prompt import Prompt
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import BUILTIN_PROFILES
from recollect.ranking.result import Ranking
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.selection import rank_table

AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_table(rows: int, seed: int = 7) -> CandidateTable:
    """Random candidates of which everything is known, but for an importance in ten."""
    random = np.random.default_rng(seed)
    shares = ("similarity", "lexical", "importance", "usefulness", "confidence", "salience")
    numbers = {name: random.random(rows) for name in shares}
    numbers["importance"][random.random(rows) < 0.1] = np.nan
    numbers["served"] = random.integers(0, 80, rows).astype(np.float64)
    numbers["revisions"] = random.integers(1, 12, rows).astype(np.float64)
    created = np.asarray(to_microseconds(AT) - random.integers(0, 400 * 86_400, rows) * 1e6, dtype=np.float64)
    return CandidateTable(
        ids=[MemoryId(f"m{row:07}") for row in range(rows)],
        numbers=numbers,
        dates={"created_at": created},
        kinds=random.integers(0, 16, rows).astype(np.int8),
        vectors=random.standard_normal((rows, 64), dtype=np.float32),
    )


def bare(arrays: list[np.ndarray], weights: list[float], k: int) -> np.ndarray:
    """A weighted sum of the arrays, and its k largest."""
    score = weights[0] * arrays[0]
    for weight, array in zip(weights[1:], arrays[1:], strict=True):
        score += weight * array
    best = np.argpartition(score, -k)[-k:]
    return best[np.argsort(-score[best])]


def in_turn(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The median of each in milliseconds, run alternately so that both meet the same neighbours."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for kept, run in zip(times, (first, second), strict=True):
            start = time.perf_counter()
            run()
            kept.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def yardstick(profile: Profile, table: CandidateTable, k: int) -> Callable[[], object]:
    """The bare sum over as many arrays as the profile has terms."""
    weights = [term.weight for term in profile.terms if term.weight > 0.0]
    arrays = [*table.numbers.values(), *table.dates.values()][: len(weights)]
    return lambda: bare(arrays, weights, k)


def compare(name: str, ours: Callable[[], object], other: Callable[[], object], rounds: int) -> None:
    mine, theirs = in_turn(ours, other, rounds)
    print(f"{name:<20} {mine:>9.2f} ms {theirs:>9.2f} ms {mine / theirs:>8.2f} ×")


def a_long_ranking(rows: int) -> tuple[Ranking, CandidateTable]:
    """Memories of one to five sentences, ranked."""
    table = a_table(rows)
    candidates = []
    for row in range(rows):
        text = "The team agreed to ship the billing change after the review on Tuesday. " * (row % 5 + 1)
        memory = Memory(id=table.ids[row], scope=Scope.parse("acme/ana"), text=text, created_at=AT)
        candidates.append(replace(table.candidate(row), memory=memory))
    return rank_candidates(candidates, BUILTIN_PROFILES["five-signal"], AT), table


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=51)
    arguments.add_argument("--k", type=int, default=20)
    given = arguments.parse_args()
    table = a_table(given.rows)
    made = time.perf_counter()
    replace(table)  # checks every column again
    print(f"a table of {given.rows:,} is checked in {(time.perf_counter() - made) * 1e3:.1f} ms")
    print(f"ranking {given.rows:,} candidates, best {given.k} with explanations, median of {given.rounds}")
    print(f"{'profile':<20} {'exact':>12} {'bare sum':>12} {'ratio':>9}")
    for name, profile in BUILTIN_PROFILES.items():
        ours = partial(rank_table, table, profile, AT, limit=given.k)
        compare(name, ours, yardstick(profile, table, given.k), given.rounds)

    ranking, small = a_long_ranking(5_000)
    packing = partial(pack, ranking, Budget(8_000), Prompt("0123456789abcdef"))
    print(f"packing {len(ranking):,} ranked memories into 8,000 tokens, each rendered and counted")
    compare("five-signal", packing, yardstick(BUILTIN_PROFILES["five-signal"], small, given.k), given.rounds // 5)


if __name__ == "__main__":
    main()
