"""Report: what was measured, a line as soon as it is known, and all of it as JSON."""

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(slots=True)
class Stretch:
    """How long something took, in seconds."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured so far."""

    figures: dict[str, Any] = field(default_factory=dict[str, Any])

    def say(self, text: str) -> None:
        """A line for whoever waits."""
        print(text, flush=True)

    def note(self, *names: str, **figures: Any) -> None:
        """Keep figures under these names, one inside the other."""
        place = self.figures
        for name in names:
            place = place.setdefault(name, {})
        place.update(figures)

    def rate(self, what: str, rows: int, seconds: float) -> None:
        """How many a second."""
        self.note("rates", **{what: {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds}})
        self.say(f"{what:<66} {rows / seconds:>10,.0f} rows/s   ({rows:,} in {seconds:.1f} s)")

    def write(self, path: Path) -> None:
        """All of it, for programs."""
        path.write_text(json.dumps(self.figures, indent=2) + "\n", encoding="utf-8")


@contextmanager
def stretch() -> Iterator[Stretch]:
    """How long what is inside takes."""
    found, start = Stretch(), time.perf_counter()
    yield found
    found.seconds = time.perf_counter() - start


def p50_p95(spent: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    return statistics.median(spent), float(np.quantile(spent, 0.95))
