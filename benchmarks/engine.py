"""The embedded engine against bare NumPy on the same vectors, in the same process.

Prints, for one scope of N memories: how fast they are written, the first search after opening, `search` and `recall`
warm beside one matrix-vector product with argpartition, a search just after a write, and the memory it takes.

A file with a million memories, of which one scope has a hundred thousand and ten thousand scopes the others:
`python benchmarks/engine.py --rows 100000 --others 900000 --scopes 10000 --dimensions 64 --processes 0`
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import recollect

AT = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = "acme/ana"
BATCH = 10_000
WORDS = 30_000
"""How many distinct words there are; how often each is said follows Zipf's law."""


class Given:
    """An embedder that gives the direction it was told to: embedding time is not what is measured."""

    name = "given"

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.next: NDArray[np.float32] = np.ones((1, dimensions), dtype=np.float32)

    def embed(self, texts: Sequence[str], purpose: str) -> NDArray[np.float32]:
        return np.repeat(self.next, len(texts), axis=0)


def texts(count: int, length: int, seed: int) -> list[str]:
    """Texts of words whose frequencies follow Zipf's law."""
    random = np.random.default_rng(seed)
    words = np.minimum(random.zipf(1.15, (count, length)), WORDS)
    return [" ".join(f"w{word:x}" for word in row) for row in words]


def timed(run: Callable[[], object], rounds: int) -> list[float]:
    """How long each of so many runs took, in milliseconds."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        found.append((time.perf_counter() - start) * 1000.0)
    return found


def line(what: str, spent: Sequence[float], bare: float | None = None) -> None:
    """One line: the median, the 95th percentile, and how many times the bare cost the median is."""
    p50, p95 = statistics.median(spent), float(np.quantile(spent, 0.95))
    ratio = "" if bare is None else f"{p50 / bare:8.2f} ×"
    print(f"{what:<44} p50 {p50:9.2f} ms   p95 {p95:9.2f} ms {ratio}", flush=True)


def peak() -> float:
    """The most memory this process ever had, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")  # getrusage would tell of the parent's too
    return next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM:")) / 1024.0


def taken(path: str, dimensions: int) -> None:
    """How much memory a process takes that searches the file, writes to it and searches again."""
    engine = recollect.open(path, embedder=Given(dimensions), clock=lambda: AT)
    engine.search("w1 w2", scope="nobody/here")
    before = peak()
    engine.search("w1 w2", scope=SCOPE)
    searched = peak() - before
    engine.remember("news of today", scope=SCOPE, vector=[1.0] * dimensions)
    engine.search("w1 w2", scope=SCOPE)
    print(f"{searched} {peak() - before}", flush=True)
    engine.close()


def memory(path: Path, matrix: NDArray[np.float32]) -> None:
    """The memory that searching takes, in a process of its own, beside the vectors alone."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import engine; engine.taken(sys.argv[2], int(sys.argv[3]))"
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(path), str(matrix.shape[1])]
    searched, written = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    vectors = matrix.nbytes / 2**20
    print(
        f"memory: {searched:.0f} MiB more at its peak after a search ({searched / vectors:.2f} ×), {written:.0f} MiB "
        f"after a write and another ({written / vectors:.2f} ×); vectors alone {vectors:.0f} MiB",
        flush=True,
    )


def small(number: int) -> str:
    """The scope of that number among those that are not measured by themselves."""
    return f"firm-{number}/agent"


def fill(path: Path, matrix: NDArray[np.float32], others: int, scopes: int) -> None:
    """A store with a memory for each row of the matrix, and so many others in turn in so many scopes.

    Every batch has its share of both, so that the last can be compared with the first.
    """
    total = len(matrix) + others
    random = np.random.default_rng(5)
    spent: list[tuple[int, float]] = []
    with recollect.open(path, embedder=Given(matrix.shape[1]), clock=lambda: AT) as engine:
        for first in range(0, total, BATCH):
            numbers = range(first, min(first + BATCH, total))
            said = texts(len(numbers), 20, seed=first + 1)
            vectors = random.normal(size=(len(numbers), matrix.shape[1]))
            drafts = []
            for number, text, vector in zip(numbers, said, vectors, strict=True):
                row = number * len(matrix) // total
                ours = row < (number + 1) * len(matrix) // total
                drafts.append(
                    {
                        "text": f"{text} {number}",
                        "scope": SCOPE if ours else small((number - row) % scopes),
                        "vector": (matrix[row] if ours else vector).tolist(),
                        "at": AT - timedelta(minutes=number % 10**6),
                        "importance": (number % 11) / 10.0 if number % 10 else None,
                    }
                )
            start = time.perf_counter()
            engine.remember_all(drafts)
            spent.append((len(drafts), time.perf_counter() - start))
        print(f"written: {engine.stats()!r}")
    part = max(len(spent) // 10, 1)
    print(
        f"remember_all in batches of {BATCH:,}: {rate(spent):,.0f} memories a second; "
        f"at the beginning {rate(spent[:part]):,.0f}, at the end {rate(spent[-part:]):,.0f}",
        flush=True,
    )


def rate(spent: Sequence[tuple[int, float]]) -> float:
    """How many a second, where each batch has its count and its seconds."""
    return sum(count for count, _ in spent) / sum(seconds for _, seconds in spent)


def opening(path: Path, dimensions: int) -> None:
    """How long a file that others may have been reading takes to be opened."""
    opened: list[recollect.Engine] = []
    line("opening", timed(lambda: opened.append(recollect.open(path, embedder=Given(dimensions))), 11))
    for engine in opened:
        engine.close()


def among_others(path: Path, dimensions: int, scopes: int) -> None:
    """Searches of small scopes in a file of many: of each for the first time, and again."""
    given = Given(dimensions)
    asked = np.random.default_rng(4).permutation(scopes)[:200].tolist()
    questions = texts(len(asked), 8, seed=6)
    with recollect.open(path, embedder=given, clock=lambda: AT) as engine:
        engine.search("w1 w2", scope="nobody/here")  # which loads what searching needs
        for what in ("first search of a small scope", "search of a small scope, default, best 10"):
            turn = iter(zip(asked, questions, strict=True))

            def ask(turn: Iterator[tuple[int, str]] = turn) -> None:
                number, question = next(turn)
                engine.search(question, scope=small(number))

            line(what, timed(ask, len(asked)))


def durable(path: Path, dimensions: int) -> None:
    """One durable `remember` at a time, and batches, in turn with a new file, since neighbours disturb both alike."""
    vector = [1.0] * dimensions
    numbers = iter(range(10**9))

    def one(engine: recollect.Engine) -> None:
        engine.remember(f"one more {next(numbers)}", scope="acme/one", vector=vector)

    def batch(engine: recollect.Engine) -> None:
        said = enumerate(texts(1_000, 20, seed=next(numbers)))
        engine.remember_all({"text": f"{text} {row}", "scope": small(row), "vector": vector} for row, text in said)

    ones: tuple[list[float], list[float]] = ([], [])
    batches: tuple[list[float], list[float]] = ([], [])
    with (
        recollect.open(path, embedder=Given(dimensions), clock=lambda: AT) as grown,
        recollect.open(path.with_name("new.db"), embedder=Given(dimensions), clock=lambda: AT) as new,
    ):
        for _ in range(10):
            for place, engine in enumerate((grown, new)):
                ones[place].extend(timed(partial(one, engine), 20))
                batches[place].extend(timed(partial(batch, engine), 1))
    for what, (here, there) in (("remember, durable, without embedding", ones), ("remember_all of 1,000", batches)):
        line(what, here, statistics.median(there))
        line("  in a new file", there)


def measure(path: Path, matrix: NDArray[np.float32], rounds: int) -> None:
    """Recall beside the bare cost."""
    dimensions = matrix.shape[1]
    random = np.random.default_rng(3)
    questions = [" ".join(text.split()[:8]) for text in texts(64, 12, seed=2)]
    near = matrix[random.integers(0, len(matrix), 64)] + random.normal(0.0, 0.05, (64, dimensions))
    vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)

    def bare() -> None:
        scores = matrix @ vectors[0]
        np.argpartition(scores, -10)[-10:]

    def beside_bare(what: str, act: Callable[[], object], times: int = rounds) -> None:
        """Both in turn, since neighbours disturb both alike."""
        bare_costs, costs = [], []
        for _ in range(times):
            bare_costs += timed(bare, 1)
            costs += timed(act, 1)
        line(what, costs, statistics.median(bare_costs))

    timed(bare, 5)
    given = Given(dimensions)
    engine = recollect.open(path, embedder=given, clock=lambda: AT)
    turn = iter(range(10**9))

    def ask(profile: str, limit: int) -> None:
        place = next(turn) % 64
        given.next = vectors[place : place + 1]
        engine.search(questions[place], scope=SCOPE, profile=profile, limit=limit)

    line(f"first search after opening, {len(matrix):,} memories", timed(lambda: ask("default", 10), 1))
    line("bare: matrix @ vector, argpartition", timed(bare, rounds))
    for profile in ("five-signal", "three-signal", "salience-hybrid", "default"):
        timed(partial(ask, profile, 10), 3)
        beside_bare(f"search, {profile}, best 10", partial(ask, profile, 10))
    beside_bare("search, default, best 200", partial(ask, "default", 200))

    def context() -> None:
        place = next(turn) % 64
        given.next = vectors[place : place + 1]
        engine.recall(questions[place], scope=SCOPE, tokens=1200)

    beside_bare("recall, default, 1,200 tokens", context)
    bare_costs, costs = [], []
    for _ in range(11):
        engine.remember(f"news {next(turn)}", scope=SCOPE, vector=[1.0] * dimensions)
        costs += timed(partial(ask, "default", 10), 1)
        bare_costs += timed(bare, 1)
    line("search just after a write", costs, statistics.median(bare_costs))
    engine.close()


def several(path: Path, dimensions: int, processes: int) -> None:
    """The memory of several processes that each searched the same file, as their own pages add up."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import engine as b, recollect; "
        "given = b.Given(int(sys.argv[3])); "
        "e = recollect.open(sys.argv[2], embedder=given, clock=lambda: b.AT); "
        "e.search('w1 w2', scope=b.SCOPE); print('ready', flush=True); sys.stdin.read()"
    )
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", code, here, str(path), str(dimensions)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for one in running:
        assert one.stdout is not None
        one.stdout.readline()
    total = sum(_proportional(one.pid) for one in running)
    print(f"memory of {processes} processes that searched it: {total:.0f} MiB together", flush=True)
    for one in running:
        one.communicate("")


def _proportional(pid: int) -> float:
    """The memory of a process in MiB, shared pages divided among those who share them."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(row.split()[1]) for row in text.splitlines() if row.startswith("Pss:")) / 1024.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    arguments.add_argument("--others", type=int, default=0, help="memories of other scopes in the same file")
    arguments.add_argument("--scopes", type=int, default=10_000, help="how many scopes those others have")
    arguments.add_argument("--dimensions", type=int, default=384)
    arguments.add_argument("--rounds", type=int, default=31)
    arguments.add_argument("--processes", type=int, default=10)
    arguments.add_argument("--folder", help="where to write, if not in the folder for temporary files")
    chosen = arguments.parse_args()
    for rows in chosen.rows:
        others = f" and {chosen.others:,} in other scopes" if chosen.others else ""
        print(f"\n{rows:,} memories{others}, {chosen.dimensions} dimensions", flush=True)
        matrix = np.random.default_rng(0).normal(size=(rows, chosen.dimensions)).astype(np.float32)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            path = Path(folder) / "bench.db"
            fill(path, matrix, chosen.others, chosen.scopes)
            print(f"file: {path.stat().st_size / 2**20:.0f} MiB", flush=True)
            opening(path, chosen.dimensions)
            if chosen.others:
                among_others(path, chosen.dimensions, min(chosen.scopes, chosen.others))
            measure(path, matrix, chosen.rounds)
            memory(path, matrix)
            durable(path, chosen.dimensions)
            if chosen.processes:
                several(path, chosen.dimensions, chosen.processes)


if __name__ == "__main__":
    main()
