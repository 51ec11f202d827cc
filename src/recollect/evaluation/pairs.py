"""Pairs: how well it is told whether a text says the same as one that is known, on labelled pairs, for an embedder."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from recollect.engine.dependencies import embed
from recollect.errors import FieldError, InvalidInput, remedy, show
from recollect.model import validation
from recollect.model.memory import Kind
from recollect.protocols import Embedder
from recollect.text.paraphrase_key import likeness_of

LABELS = ("same", "update", "other")
"""The new text says what the old one does; it takes its place; or it is another matter."""

KEPT = 0.95
"""Which share of the pairs that mean the same a threshold must keep to be a good one for an embedder."""

STEPS = (*(round(0.5 + 0.05 * step, 2) for step in range(10)), 0.92)
"""The thresholds that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What was known, what came, and what the new text is to the old one."""

    id: str
    old: str
    new: str
    label: str
    category: str
    speaker: str | None = None

    def __post_init__(self) -> None:
        if self.label not in LABELS:
            raise FieldError(f"{show(self.label)} is no label; {remedy(str(self.label), LABELS)}", field="label")
        for name in ("old", "new"):
            validation.a_content(name, getattr(self, name))

    @property
    def alike(self) -> bool:
        """Whether both have the same canonical form."""
        return _likeness(self.old, self.speaker) == _likeness(self.new, self.speaker)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a threshold comes to: how many it takes for the same, how many of those are, and how many there are."""

    threshold: float
    taken: int
    right: int
    same: int

    @property
    def precision(self) -> float | None:
        return self.right / self.taken if self.taken else None

    @property
    def recall(self) -> float:
        return self.right / self.same


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What each threshold comes to with an embedder, and the one that suits it."""

    embedder: str
    pairs: int
    rows: tuple[Row, ...]
    by_similarity: tuple[Row, ...]
    """The same by similarity alone, to compare with."""

    @property
    def threshold(self) -> float:
        """The highest that still keeps nearly all that any threshold would take."""
        most = max(row.right for row in self.rows)
        return max((row.threshold for row in self.rows if row.right >= KEPT * most), default=STEPS[0])


def read_pairs(lines: Iterable[str]) -> list[Pair]:
    """The pairs of JSON lines with old, new and label."""
    found = [_pair(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
    if not any(one.label == "same" for one in found):
        raise InvalidInput("there is no pair with the label 'same', so there is nothing to measure by")
    return found


def shipped_pairs() -> list[Pair]:
    """Our own pairs."""
    text = files("recollect.evaluation").joinpath("pairs.jsonl").read_text("utf-8")
    return read_pairs(text.splitlines())


def calibrate(embedder: Embedder, pairs: Sequence[Pair]) -> Calibration:
    """What each threshold comes to with that embedder."""
    from recollect.retrieval.vectors import nearest

    old = embed(embedder, [one.old for one in pairs], "memory")
    new = embed(embedder, [one.new for one in pairs], "memory")
    near = [float(nearest(a[None, :], b[None, :])[0]) for a, b in zip(old, new, strict=True)]
    alike = [one.alike for one in pairs]
    steps = sorted(STEPS)
    return Calibration(
        embedder=embedder.name,
        pairs=len(pairs),
        rows=tuple(_row(step, [a and n > step for a, n in zip(alike, near, strict=True)], pairs) for step in steps),
        by_similarity=tuple(_row(step, [n > step for n in near], pairs) for step in steps),
    )


def _likeness(text: str, speaker: str | None) -> str:
    return likeness_of(text, speaker, Kind.OBSERVATION.value)


def _row(threshold: float, taken: Sequence[bool], pairs: Sequence[Pair]) -> Row:
    same = [one.label == "same" for one in pairs]
    right = sum(is_taken and is_same for is_taken, is_same in zip(taken, same, strict=True))
    return Row(threshold=threshold, taken=sum(taken), right=right, same=sum(same))


def _pair(line: str, number: int) -> Pair:
    try:
        given: Any = json.loads(line)
    except ValueError as error:
        raise FieldError(f"this is no JSON ({error})", line=number) from error
    if not isinstance(given, dict):
        raise FieldError(f"{show(given)} is no pair; give old, new and label", line=number)
    missing = next((name for name in ("old", "new", "label") if name not in given), None)
    if missing is not None:
        raise FieldError("is missing; a pair has old, new and label", field=missing, line=number)
    told: dict[str, Any] = {name: given.get(name) for name in ("old", "new", "label", "speaker")}
    try:
        return Pair(id=str(given.get("id", number)), category=str(given.get("category", "")), **told)
    except FieldError as error:
        raise error.at_line(number) from error
