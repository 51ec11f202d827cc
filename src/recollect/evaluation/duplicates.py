"""Calibration of duplicate detection: precision and recall by threshold, on labeled pairs.

It finds the similarity threshold that suits an embedder, and shows the result as a table and as JSON.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from recollect.engine.dependencies import embed
from recollect.errors import FieldError, InvalidInput, show, suggest
from recollect.model import validation
from recollect.model.enums import Kind
from recollect.protocols import Embedder
from recollect.text.paraphrase import paraphrase_key_of

PAIR_LABELS = ("same", "update", "other")
"""The new text means the same as the old one, replaces it, or is about something else."""

MIN_KEPT_SHARE = 0.95
"""The share of correctly detected duplicates that a good threshold must keep."""

THRESHOLDS = (*(round(0.5 + 0.05 * step, 2) for step in range(10)), 0.92)
"""The thresholds that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledPair:
    """An old text, a new text, and the label of the new one relative to the old one."""

    id: str
    old: str
    new: str
    label: str
    category: str
    speaker: str | None = None

    def __post_init__(self) -> None:
        if self.label not in PAIR_LABELS:
            raise FieldError(
                f"unknown label {show(self.label)}; {suggest(str(self.label), PAIR_LABELS)}", field="label"
            )
        for name in ("old", "new"):
            validation.require_content(name, getattr(self, name))

    @property
    def has_same_key(self) -> bool:
        """Return whether both texts have the same canonical form."""
        return _paraphrase_key(self.old, self.speaker) == _paraphrase_key(self.new, self.speaker)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdFigures:
    """Counts for one threshold: detected pairs, detected duplicates, and all duplicates."""

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
    """The figures of each threshold with an embedder, and the threshold that suits it."""

    embedder: str
    pairs: int
    rows: tuple[ThresholdFigures, ...]
    by_similarity: tuple[ThresholdFigures, ...]
    """The same figures by similarity alone, for comparison."""

    @property
    def threshold(self) -> float:
        """The highest threshold that keeps nearly all duplicates that any threshold finds."""
        most = max(row.right for row in self.rows)
        return max((row.threshold for row in self.rows if row.right >= MIN_KEPT_SHARE * most), default=THRESHOLDS[0])


def read_pairs(lines: Iterable[str]) -> list[LabeledPair]:
    """Read labeled pairs from JSON lines with old, new and label."""
    pairs = [_read_pair(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
    if not any(pair.label == "same" for pair in pairs):
        raise InvalidInput("no pair has the label 'same'; add at least one, or recall cannot be measured")
    return pairs


def shipped_pairs() -> list[LabeledPair]:
    """Return the labeled pairs shipped with recollect."""
    text = files("recollect.evaluation").joinpath("pairs.jsonl").read_text("utf-8")
    return read_pairs(text.splitlines())


def calibrate(embedder: Embedder, pairs: Sequence[LabeledPair]) -> Calibration:
    """Return the figures of each threshold with this embedder."""
    from recollect.retrieval.vectors import nearest_cosines

    old = embed(embedder, [one.old for one in pairs], "memory")
    new = embed(embedder, [one.new for one in pairs], "memory")
    near = [float(nearest_cosines(a[None, :], b[None, :])[0]) for a, b in zip(old, new, strict=True)]
    alike = [one.has_same_key for one in pairs]
    steps = sorted(THRESHOLDS)
    return Calibration(
        embedder=embedder.name,
        pairs=len(pairs),
        rows=tuple(
            _measure_threshold(step, [a and n > step for a, n in zip(alike, near, strict=True)], pairs)
            for step in steps
        ),
        by_similarity=tuple(_measure_threshold(step, [n > step for n in near], pairs) for step in steps),
    )


def _paraphrase_key(text: str, speaker: str | None) -> str:
    return paraphrase_key_of(text, speaker, Kind.OBSERVATION.value)


def _measure_threshold(threshold: float, taken: Sequence[bool], pairs: Sequence[LabeledPair]) -> ThresholdFigures:
    same = [one.label == "same" for one in pairs]
    right = sum(is_taken and is_same for is_taken, is_same in zip(taken, same, strict=True))
    return ThresholdFigures(threshold=threshold, taken=sum(taken), right=right, same=sum(same))


def _read_pair(line: str, number: int) -> LabeledPair:
    try:
        record: Any = json.loads(line)
    except ValueError as error:
        raise FieldError(f"invalid JSON ({error})", line=number) from error
    if not isinstance(record, dict):
        raise FieldError(f"{show(record)} is not a JSON object; give one with old, new and label", line=number)
    missing = next((name for name in ("old", "new", "label") if name not in record), None)
    if missing is not None:
        raise FieldError("is missing; a pair has old, new and label", field=missing, line=number)
    fields: dict[str, Any] = {name: record.get(name) for name in ("old", "new", "label", "speaker")}
    try:
        return LabeledPair(id=str(record.get("id", number)), category=str(record.get("category", "")), **fields)
    except FieldError as error:
        raise error.at_line(number) from error


def calibration_to_json(found: Calibration) -> dict[str, Any]:
    """Return the calibration as JSON."""
    return {
        "embedder": found.embedder,
        "pairs": found.pairs,
        "threshold": found.threshold,
        "thresholds": [_threshold_to_json(row) for row in found.rows],
        "by_similarity_alone": [_threshold_to_json(row) for row in found.by_similarity],
    }


def _threshold_to_json(row: ThresholdFigures) -> dict[str, Any]:
    counted = {"taken": row.taken, "right": row.right, "same": row.same}
    return {"threshold": row.threshold, "precision": row.precision, "recall": row.recall, **counted}
