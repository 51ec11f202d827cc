"""Driving: doing a job with one peer, in this process, and writing down how it went."""

import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import numpy as np

from peers import material
from peers.job import Job, Outcome, Speed
from peers.material import Asked, Material, Matrix, Said, Vector

BATCH = 1_000
ONES = 100
"""How many of the memories are added one at a time, after the others."""

WARM = 3
"""How many searches go before those that are measured; the first of them is told apart."""


class Driver(Protocol):
    """A peer with a store in a folder."""

    apart: bool
    """Whether it keeps memories in another process, so that the memory of this one says nothing."""

    def add(self, memories: Sequence[Said]) -> None:
        """Keep the memories, in one go if the peer can, durably if the peer can."""

    def search(self, question: Asked, limit: int) -> list[str]:
        """The ids of the best of the question's scope, best first, up to the question's moment if it has one."""

    def close(self) -> None:
        """Let go of the store."""


Opening = Callable[[Path, Material, str], Driver]
"""How a peer is opened: with an empty folder, the material whose vectors it may look up, and the variant."""


class Vectors:
    """The vectors of a material by text: embedding time is not what is measured."""

    def __init__(self, given: Material) -> None:
        self._known = {
            text.strip(): vector
            for said in (given.wordings, given.memories, given.questions)
            for text, vector in ((one.text, one.vector) for one in said)
        }

    def __call__(self, text: str) -> Vector:
        found = self._known.get(text.strip())  # some peers embed without the blanks at both ends
        if found is None:
            raise LookupError(f"the material has no vector of {text!r}")
        return found

    def rows(self, texts: Sequence[str]) -> Matrix:
        """A row for each text."""
        return np.stack([self(text) for text in texts])


def drive(opening: Opening, fingerprint: str | None = None) -> None:
    """Do the job in the file that is named first, and write the outcome to the one that is named second."""
    job, path = Job.read(Path(sys.argv[1])), Path(sys.argv[2])
    replace(do(job, opening), fingerprint=fingerprint).write(path)


def do(job: Job, opening: Opening) -> Outcome:
    """The outcome of a job."""
    given = material.read(Path(job.material), job.rows)
    versions = {name: version(name) for name in job.packages}
    if job.measure == "speed":
        return Outcome(versions=versions, python=platform.python_version(), speed=speed(job, given, opening))
    return Outcome(versions=versions, python=platform.python_version(), found=found(job, given, opening))


def found(job: Job, given: Material, opening: Opening) -> dict[str, list[str]]:
    """What is found for each question."""
    with closing(opening(Path(job.store), given, job.variant)) as driver:
        for batch in batches(given.memories):
            driver.add(batch)
        return {question.id: driver.search(question, job.limit) for question in given.questions}


def speed(job: Job, given: Material, opening: Opening) -> Speed:
    """How fast the memories are added and searched."""
    ones = given.memories[-min(ONES, len(given.memories) // 2) :]
    bulk = given.memories[: len(given.memories) - len(ones)]
    forget_peak()
    before = peak()
    with closing(opening(Path(job.store), given, job.variant)) as driver:
        added, spent = 0, 0.0
        for batch in batches(bulk):
            spent += timed(lambda batch=batch: driver.add(batch))  # type: ignore[misc]
            added += len(batch)
            if spent > job.seconds and added < len(bulk):
                return Speed(rows=len(given.memories), added=added, finished=False, bulk_rate=added / spent)
        singly = [1000.0 * timed(lambda one=one: driver.add([one])) for one in ones]  # type: ignore[misc]
        searches = list(searched(driver, given.questions, job))
        memory = None if driver.apart or before is None else (peak() or 0.0) - before
    warm = searches[min(WARM, len(searches) - 1) :]
    return Speed(
        rows=len(given.memories),
        added=added + len(ones),
        finished=True,
        bulk_rate=added / spent,
        one_p50=statistics.median(singly),
        one_p95=float(np.quantile(singly, 0.95)),
        first=searches[0],
        p50=statistics.median(warm),
        p95=float(np.quantile(warm, 0.95)),
        searches=len(warm),
        memory=memory,
        disk=size(Path(job.store)),
    )


def searched(driver: Driver, questions: Sequence[Asked], job: Job) -> Iterator[float]:
    """The milliseconds of each search, until the time is over; of a few at least."""
    spent = 0.0
    for place, question in enumerate(questions):
        seconds = timed(lambda question=question: driver.search(question, job.limit))  # type: ignore[misc]
        yield 1000.0 * seconds
        spent += seconds
        if spent > job.seconds / 3 and place > WARM:
            return


def batches(memories: Sequence[Said]) -> Iterator[Sequence[Said]]:
    """The memories, a thousand at a time."""
    for first in range(0, len(memories), BATCH):
        yield memories[first : first + BATCH]


def timed(act: Callable[[], object]) -> float:
    """How many seconds it took."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def peak() -> float | None:
    """The most memory this process ever had, in MiB, where the system tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = status.read_text(encoding="ascii").splitlines()  # getrusage would tell of the parent's too
    return next((int(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM:")), None)


def forget_peak() -> None:
    """Have the peak begin anew at what is taken now, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def size(folder: Path) -> float:
    """What the files of a folder take, in MiB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
