"""How long remembering holds the write lock of a SQLite store, and how much of that is language work.

Other writers wait while a transaction is open, so what can be done before it should be. `one by one` remembers each
text in a transaction of its own, `all at once` all of them in one; the texts are the judged memories and pairs of
statements of which the second often replaces the first. Language work is every call into `recollect.text` and into
the rules of `recollect.admission`. `hot subject` lets threads state the same fact in turn: each write must see all
before it.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from itertools import cycle, islice
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import recollect
from recollect.evaluation.judgments import read_judgments
from recollect.stores.sqlite.write_queue import SqliteWriter

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
JUDGMENTS = ROOT / "tests" / "gate" / "judgements"
PAIRS = ROOT / "tests" / "integration" / "unseen_pairs.jsonl"
LANGUAGE = ("recollect.text", "recollect.admission.classify", "recollect.admission.prompt_injection")
SCOPE = "acme/ana"


@dataclass(slots=True)
class Stopwatch:
    """The seconds inside write transactions and those of language work there, and how many writes there were."""

    inside: float = 0.0
    language: float = 0.0
    writes: int = 0
    in_transaction: bool = False
    in_language: bool = False

    def time_transaction(self, change: Callable[..., T]) -> Callable[..., T]:
        """Return the change with its time counted; it runs on the one thread that writes."""

        @wraps(change)
        def timed(*args: Any) -> T:
            begun, self.in_transaction = time.perf_counter(), True
            try:
                return change(*args)
            finally:
                self.in_transaction = False
                self.inside += time.perf_counter() - begun
                self.writes += 1

        return timed

    def time_language(self, function: Callable[..., T], thread: str = "recollect-writer") -> Callable[..., T]:
        """Return the function with its time counted inside a transaction, but not what it calls once more."""

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> T:
            if self.in_language or not self.in_transaction or threading.current_thread().name != thread:
                return function(*args, **kwargs)
            begun, self.in_language = time.perf_counter(), True
            try:
                return function(*args, **kwargs)
            finally:
                self.in_language = False
                self.language += time.perf_counter() - begun

        return timed


@contextmanager
def watch() -> Iterator[Stopwatch]:
    """Count the time of every write transaction, and of every call from other modules into those of language."""
    watch = Stopwatch()
    replaced: list[tuple[object, str, object]] = []
    timed: dict[FunctionType, Callable[..., object]] = {}
    modules = [module for name, module in sys.modules.items() if name.startswith("recollect")]
    for module in modules:
        for name, value in list(vars(module).items()):
            home = getattr(value, "__module__", "") or ""
            if isinstance(value, FunctionType) and home.startswith(LANGUAGE):
                timed.setdefault(value, watch.time_language(value))
                replaced.append((module, name, value))
                setattr(module, name, timed[value])
    enqueue = SqliteWriter._enqueue  # noqa: SLF001 — every write of every kind passes here

    def timed_enqueue(self: SqliteWriter, request: Any) -> Any:
        request.run = watch.time_transaction(request.run)
        return enqueue(self, request)

    SqliteWriter._enqueue = timed_enqueue  # type: ignore[method-assign]  # noqa: SLF001
    try:
        yield watch
    finally:
        SqliteWriter._enqueue = enqueue  # type: ignore[method-assign]  # noqa: SLF001
        for owner, name, value in replaced:
            setattr(owner, name, value)


def read_texts(count: int) -> list[str]:
    """Return so many texts: judged memories and statements with their updates, in a fixed random order."""
    judged = [one.text for one in read_judgments(JUDGMENTS).memories]
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    stated = [text for pair in pairs for text in (pair["old"], pair["new"])]
    random.Random(0).shuffle(judged)
    texts = [*stated, *judged]
    return list(islice(cycle(texts), count))


def report(name: str, count: int, watch: Stopwatch, total: float) -> None:
    """Print one line of the table."""
    share = watch.language / watch.inside if watch.inside else 0.0
    print(
        f"{name:28} {count:7} {total:8.2f} {watch.inside:8.3f} {1000 * watch.inside / count:9.3f}"
        f" {watch.language:9.3f} {share:8.1%}",
        flush=True,
    )


@contextmanager
def open_store() -> Iterator[recollect.Engine]:
    """Open a new store whose modules and word lists are loaded."""
    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(Path(folder) / "store.db", embedder="hashing") as store,
    ):
        store.remember("Ana lives in Rome.", scope="acme/first")
        store.remember("Ana lives in Oslo.", scope="acme/first")
        yield store


def measure_texts(texts: list[str]) -> None:
    """Remember the texts one by one, all at once, and once more as repetitions."""
    with open_store() as store, watch() as seen:
        begun = time.perf_counter()
        for text in texts:
            store.remember(text, scope=SCOPE, provenance="direct_user")
        report("one by one", len(texts), seen, time.perf_counter() - begun)
    with open_store() as store, watch() as seen:
        drafts = [{"text": text, "scope": SCOPE, "provenance": "direct_user"} for text in texts]
        begun = time.perf_counter()
        store.remember_all(drafts)
        report("all at once", len(texts), seen, time.perf_counter() - begun)


def measure_hot_subject(threads: int, writes: int) -> None:
    """Let threads state where Ana lives, each another town each time; print errors, and the slowest write."""
    towns = ["Rome", "Oslo", "Paris", "Lima", "Cairo", "Quito", "Delhi", "Turin", "Porto", "Lyon", "Bonn", "Kyiv"]
    errors: list[str] = []
    took: list[float] = []
    with open_store() as store, watch() as seen:

        def state(number: int) -> None:
            for turn in range(writes):
                begun = time.perf_counter()
                try:
                    text = f"Ana lives in {towns[(number + turn * threads) % len(towns)]}."
                    store.remember(text, scope=SCOPE, provenance="direct_user")
                except recollect.RecollectError as error:
                    errors.append(type(error).__name__)
                took.append(time.perf_counter() - begun)

        running = [threading.Thread(target=state, args=(number,)) for number in range(threads)]
        begun = time.perf_counter()
        for one in running:
            one.start()
        for one in running:
            one.join()
        report(f"hot subject, {threads} threads", threads * writes, seen, time.perf_counter() - begun)
    took.sort()
    slowest, middle = 1000 * took[-1], 1000 * took[len(took) // 2]
    print(f"{'':28} median {middle:.1f} ms, slowest {slowest:.1f} ms, {len(errors)} errors", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--hot", type=int, default=40, help="writes by each thread on the hot subject")
    given = parser.parse_args()
    print(f"{'':28} {'texts':>7} {'total s':>8} {'inside s':>8} {'ms each':>9} {'language':>9} {'share':>8}")
    measure_texts(read_texts(given.count))
    for threads in (1, 4, 16):
        measure_hot_subject(threads, given.hot)


if __name__ == "__main__":
    main()
