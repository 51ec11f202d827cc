"""Answers made comparable: values that must differ between two stores are replaced, and nothing else."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.contract.clients import Refusal

ROOT = "acme"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MARKER = re.compile(r"\b\d{18}\b")
PRESENT = re.compile(r"(?!2026-03-0)\d{4}-\d\d-\d\dT[\d:.]+\+00:00")
"""A moment that is none of a story's."""

RUN = re.compile(r"\brun (\d+)")
LAST_RUN = re.compile(r"the last run is \d+")
NUMBERED = ("commit", "run", "undone")
"""Numbers that a store counts by: which of them come first is the same, and not from where it counts."""

OF_THE_PLACE = {
    "marker": "it is drawn by lot for each context",
    "search": "an erasure is proved by searching the files that a store has",
    "bytes": "a store is as large as all that is in it, of every scope",
    "plan.hash": "a plan is known by a digest of all that it names, which has the scope and the ids",
}
"""What differs from one store to another, by its name and that of what it is in, and why."""

ROUGHLY = {
    **dict.fromkeys(
        ("tokens", "cost", "room", "short"), (24.0, "the digits of markers and ids cost more tokens, or fewer")
    ),
    **dict.fromkeys(
        ("score.recency", "score.value"), (1e-3, "what is scored for the present is some seconds older on a slow face")
    ),
}
"""What is nearly the same: by how much it may differ, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearly:
    """A number that equals any other within so much."""

    number: float
    within: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nearly) and abs(self.number - other.number) <= self.within

    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True)
class ComparableAnswers:
    """The answers of one transport about the memories below one root."""

    root: str = ROOT
    apart: Mapping[str, str] = field(default_factory=dict[str, str])
    numbers: dict[str, str] = field(default_factory=dict[str, str])

    def comparable(self, answer: Any, within: str = "") -> Any:
        """The answer with ids and runs numbered in the order in which they come up, and NOW for the present."""
        match answer:
            case Refusal():
                return replace(answer, message=self._text(answer.message))
            case Mapping():
                named = sorted(answer.items())
                return {self._text(name): self._value(name, f"{within}.{name}", value) for name, value in named}
            case str():
                return self._text(answer)
            case Sequence():
                return [self.comparable(one, within) for one in answer]
            case _:
                return answer

    def _value(self, name: str, path: str, value: Any) -> Any:
        if {name, path} & {*OF_THE_PLACE, *self.apart}:
            return "…"
        if name in NUMBERED and isinstance(value, int):
            return self._run(value)
        nearly = ROUGHLY.get(name) or ROUGHLY.get(path)
        if nearly is not None and isinstance(value, int | float):
            return Nearly(value, nearly[0])
        return self.comparable(value, name)

    def _text(self, text: str) -> str:
        plain = PRESENT.sub("NOW", MARKER.sub("MARKER", text)).replace(f"{self.root}/", f"{ROOT}/")
        told = RUN.sub(lambda found: self._run(int(found[1])), LAST_RUN.sub("the last one is", plain))
        return ID.sub(lambda found: self.numbers.setdefault(found.group(), f"#{len(self.numbers)}"), told)

    def _run(self, number: int) -> str:
        return self.numbers.setdefault(f"run {number}", f"run #{len(self.numbers)}")
