"""Job and its outcome: what a driver is told to do and what it says of it, as JSON files."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

Measure = Literal["speed", "quality"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One thing to measure, with one peer, in one process."""

    measure: Measure
    material: str
    """The folder of the memories and questions."""

    store: str = "store"
    """A folder of the peer's own, empty at first."""

    variant: str = ""
    """Which of a driver's ways, where it has several."""

    rows: int | None = None
    """How many of the memories; all of them, if it is not said."""

    limit: int = 10
    seconds: float = 180.0
    """How long adding may take, and how long searching."""

    packages: tuple[str, ...] = ()
    """Whose versions the outcome tells."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The job in a file."""
        given = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**given, "packages": tuple(given["packages"])})

    def write(self, path: Path) -> None:
        """Leave it for a driver."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast a peer was with so many memories; milliseconds and MiB."""

    rows: int
    added: int
    finished: bool
    """Whether all memories were added in time; if not, nothing was searched."""

    bulk_rate: float
    """Memories a second, given a thousand at a time."""

    one_p50: float | None = None
    """One memory at a time."""

    one_p95: float | None = None
    first: float | None = None
    """The first search after the last write."""

    p50: float | None = None
    p95: float | None = None
    searches: int = 0
    memory: float | None = None
    """How much more memory the process had at its peak than with the material alone."""

    disk: float | None = None
    """What it left in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a driver says: one of both measures, and with which versions."""

    versions: dict[str, str]
    python: str
    speed: Speed | None = None
    found: dict[str, list[str]] | None = None
    """Of each question, the ids of the memories that were found, best first."""

    fingerprint: str | None = None
    """Which numbers a profile ranked with, if it was one of recollect's."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The outcome in a file."""
        given: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**given, "speed": given["speed"] and Speed(**given["speed"])})

    def write(self, path: Path) -> None:
        """Leave it for who gave the job."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
