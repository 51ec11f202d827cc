"""Results: what was measured of each peer, in one JSON file that a later run may change a part of."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from peers.job import Speed
from peers.machine import Machine
from peers.quality import Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """When, where and with what a figure was taken."""

    date: str
    command: str
    machine: Machine
    load: float
    """How many processes wanted a core at the end of it, this one among them."""

    python: str
    versions: Mapping[str, str]
    fingerprint: str | None = None
    """Of the profile that ranked, if it was one of recollect's."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one peer: its speed by how many memories there are, its quality by the folder's name."""

    speed: Mapping[int, Speed] = field(default_factory=dict)
    quality: Mapping[str, Quality] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)
    """By `speed` and the number, or `quality` and the folder."""

    problems: Mapping[str, str] = field(default_factory=dict)
    """What did not work, by the same names."""

    def with_speed(self, rows: int, speed: Speed, measured: Measured) -> Self:
        """The same with this figure in place of an earlier one."""
        known = self._noted(f"speed {rows}", measured)
        return replace(known, speed={**self.speed, rows: speed})

    def with_quality(self, name: str, quality: Quality, measured: Measured) -> Self:
        """The same with this figure in place of an earlier one."""
        known = self._noted(f"quality {name}", measured)
        return replace(known, quality={**self.quality, name: quality})

    def with_problem(self, what: str, problem: str) -> Self:
        """The same, where this was tried and did not work."""
        return replace(self, problems={**self.problems, what: problem})

    def _noted(self, what: str, measured: Measured) -> Self:
        problems = {name: problem for name, problem in self.problems.items() if name != what}
        return replace(self, measured={**self.measured, what: measured}, problems=problems)


Results = Mapping[str, Record]


def read(path: Path) -> dict[str, Record]:
    """The results in a file; none, if there is no file yet."""
    if not path.exists():
        return {}
    return {name: _record(given) for name, given in json.loads(path.read_text(encoding="utf-8")).items()}


def write(path: Path, results: Results) -> None:
    """Keep the results, numbers rounded to what can be told from them."""
    given = {name: _rounded(asdict(record)) for name, record in results.items()}
    path.write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")


def _record(given: Mapping[str, Any]) -> Record:
    return Record(
        {int(rows): Speed(**speed) for rows, speed in given["speed"].items()},
        {name: Quality(**quality) for name, quality in given["quality"].items()},
        {
            what: Measured(**{**measured, "machine": Machine(**measured["machine"])})
            for what, measured in given["measured"].items()
        },
        given["problems"],
    )


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, 4)
        case dict():
            return {str(name): _rounded(one) for name, one in value.items()}
        case _:
            return value
