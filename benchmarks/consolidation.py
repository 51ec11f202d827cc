"""Measures consolidation: how long it takes to plan, apply and undo, how many pairs are compared, and what is missed.

scripts/bench consolidation --rows 100000
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import recollect
from recollect.lifecycle import clustering
from recollect.retrieval.vectors import normalize_vectors

SCOPE = "bench/one"
DIMENSIONS = 256
TAILS = ("", "in the hall", "in the hall near the door", "in the hall near the door to the garden")
"""What the memories of a group say more and more of."""

SPREAD = 0.45
"""How far those of a group lie apart, in all: a cosine of about 0.83 between two of them."""

TOPICS = 200
"""Around how many directions all of them lie, as what people talk about does."""

T = TypeVar("T")


def material(count: int, seed: int = 1) -> tuple[list[str], NDArray[np.float32]]:
    """So many texts with directions: three of four memories are alone, the others in groups of four that agree."""
    dice = np.random.default_rng(seed)
    groups = [4 if one < 1 / 13 else 1 for one in dice.random(count)]
    whose = np.repeat(np.arange(count), groups)[:count]
    topics = dice.standard_normal((TOPICS, DIMENSIONS))
    centres = topics[dice.integers(TOPICS, size=count)] + dice.standard_normal((count, DIMENSIONS))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    apart = dice.standard_normal((count, DIMENSIONS)) * SPREAD / np.sqrt(DIMENSIONS)
    place = np.arange(count) - np.searchsorted(whose, whose)
    named = [f"w{one:x}q" for one in dice.permutation(count)]
    texts = [f"the {named[who]} stands {TAILS[turn]}".strip() for who, turn in zip(whose, place, strict=True)]
    return texts, normalize_vectors(centres[whose] + apart)


@contextmanager
def all_pairs(count: int) -> Iterator[None]:
    """Compare each with each up to that many."""
    before = clustering.MAX_EXACT_VECTORS
    clustering.MAX_EXACT_VECTORS = count
    try:
        yield
    finally:
        clustering.MAX_EXACT_VECTORS = before


def timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def in_store(count: int, folder: Path) -> None:
    """Plan, apply and undo over a file."""
    texts, vectors = material(count)
    settings = {"truth": {"derive_subject": False}}
    with recollect.open(folder / f"{count}.db", embedder="hashing", settings=settings) as engine:
        for start in range(0, count, 5_000):
            drafts: list[dict[str, Any]] = [
                {"text": text, "vector": vector.tolist()}
                for text, vector in zip(texts[start : start + 5_000], vectors[start : start + 5_000], strict=True)
            ]
            engine.remember_all(drafts, scope=SCOPE)
        engine.brief(scope=SCOPE)  # what is read once, is read before
        plan, planning = timed(lambda: engine.plan("consolidate", scope=SCOPE))
        run, applying = timed(lambda: engine.apply(plan))
        _, undoing = timed(lambda: engine.undo(run))
    share = plan.counts["compared"] / (count * (count - 1) / 2)
    print(
        f"{count:>9,} memories  plan {planning:6.2f} s  apply {applying:6.2f} s  undo {undoing:6.2f} s  "
        f"{plan.counts['compared']:>14,} pairs ({share:.1%} of all)  "
        f"{plan.counts['create']:,} made of {plan.counts['consolidate']:,}, {plan.counts['keep']:,} left"
    )


def missed(vectors: NDArray[np.float32], what: str, threshold: float = 0.8) -> None:
    """How many of all pairs that are near are found through cells."""
    with all_pairs(len(vectors)):
        whole, slow = timed(lambda: clustering.find_near_pairs(vectors, threshold))
    with all_pairs(0):
        found, fast = timed(lambda: clustering.find_near_pairs(vectors, threshold))
    share = len(found.first) / max(len(whole.first), 1)
    print(
        f"{what}: {len(vectors):,} directions, {len(whole.first):,} near pairs; through cells {share:.2%} of them, "
        f"{found.compared / max(whole.compared, 1):.1%} of the comparisons, {fast:.2f} s instead of {slow:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="up to how many memories")
    wanted = parser.parse_args().rows
    missed(material(min(wanted, 10_000))[1], "synthetic")
    with tempfile.TemporaryDirectory() as folder:
        for count in sorted({min(wanted, one) for one in (10_000, 30_000, wanted)}):
            in_store(count, Path(folder))


if __name__ == "__main__":
    main()
