"""Calibration, said: what thresholds come to on labelled pairs, for people and as JSON."""

from typing import Any

from recollect.evaluation.pairs import Calibration, ThresholdFigures
from recollect.render.table import TextTable


def calibration_table(found: Calibration) -> TextTable:
    """A row a threshold: precision and recall of the decision, and those of similarity alone."""
    rows = [
        (
            f"{row.threshold:.2f}",
            _format_share(row.precision),
            _format_share(row.recall),
            _format_share(alone.precision),
            _format_share(alone.recall),
        )
        for row, alone in zip(found.rows, found.by_similarity, strict=True)
    ]
    return TextTable(("threshold", "precision", "recall", "by similarity alone", "recall"), rows)


def describe_calibration(found: Calibration) -> str:
    """Which threshold suits the embedder, and where it goes."""
    setting = f'[duplicates] by_embedder = {{ "{found.embedder}" = {found.threshold:g} }}'
    return f"{found.embedder} on {found.pairs} pairs: {found.threshold:g} suits it; to use it, {setting}"


def calibration_to_json(found: Calibration) -> dict[str, Any]:
    """The same as JSON has it."""
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


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
