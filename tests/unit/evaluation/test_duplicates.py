"""Thresholds for near-duplicates are those that labelled pairs give, and no difference that carries meaning is lost."""

import json

import pytest

from recollect.admission.policy import DEFAULT_DUPLICATE_THRESHOLD, MEASURED_THRESHOLDS, DuplicatesPolicy
from recollect.cli.admin import calibration_table, describe_calibration
from recollect.errors import FieldError, InvalidInput
from recollect.evaluation import duplicates
from recollect.evaluation.duplicates import (
    THRESHOLDS,
    Calibration,
    ThresholdFigures,
    calibrate,
    read_pairs,
    shipped_pairs,
)
from recollect.providers import registry
from tests.tables import table


@table("model", sorted(MEASURED_THRESHOLDS))
def test_the_shipped_threshold_is_what_calibration_gives_and_it_makes_no_mistake(model: str) -> None:
    found = calibrate(registry.find_embedder(model), shipped_pairs())
    assert found.threshold == MEASURED_THRESHOLDS[model] == DuplicatesPolicy().threshold_for(model)
    (row,) = [row for row in found.rows if row.threshold == found.threshold]
    assert row.precision == 1.0
    assert row.recall >= 0.38
    alone = {row.threshold: row for row in found.by_similarity}
    assert (alone[DEFAULT_DUPLICATE_THRESHOLD].precision or 0.0) < 0.6  # which is why similarity alone decides nothing


@table("pair", [one for one in shipped_pairs() if one.label != "same"], ids=lambda one: one.id)
def test_no_update_and_no_other_matter_is_taken_for_the_same(pair: object) -> None:
    assert not getattr(pair, "has_same_key")  # noqa: B009


def test_a_threshold_is_the_models_the_settings_or_else_that_of_the_seeds() -> None:
    assert DuplicatesPolicy().threshold_for("somebody's") == DEFAULT_DUPLICATE_THRESHOLD
    assert DuplicatesPolicy(threshold=0.7).threshold_for("wordllama-256") == 0.7
    assert DuplicatesPolicy(threshold=0.7, by_embedder={"x": 0.6}).threshold_for("x") == 0.6


def test_the_highest_threshold_is_taken_that_keeps_nearly_all() -> None:
    def row(threshold: float, right: int) -> ThresholdFigures:
        return ThresholdFigures(threshold=threshold, taken=right, right=right, same=100)

    rows = (row(0.5, 100), row(0.6, 95), row(0.7, 94))
    assert Calibration(embedder="x", pairs=200, rows=rows, by_similarity=rows).threshold == 0.6


@table(
    ("line", "problem"),
    [
        ("{", "line 1"),
        ("[]", "line 1"),
        ('{"old": "a", "label": "same"}', "'new'.*missing"),
        ('{"old": "a", "new": "b", "label": "sames"}', "did you mean 'same'"),
        ('{"old": " ", "new": "b", "label": "same"}', "old"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        read_pairs([line])


def test_without_a_pair_that_is_the_same_there_is_nothing_to_measure() -> None:
    with pytest.raises(InvalidInput, match="'same'"):
        read_pairs([json.dumps({"old": "a", "new": "b", "label": "other"})])


def test_a_calibration_is_told_as_rows_and_as_fields() -> None:
    pairs = read_pairs(
        [
            json.dumps({"old": "Ana's cat is black.", "new": "Ana's cat is black!", "label": "same"}),
            json.dumps({"old": "The cat is 3", "new": "The cat is 4", "label": "update"}),
        ]
    )
    found = calibrate(registry.find_embedder("hashing"), pairs)
    told = duplicates.calibration_to_json(found)
    assert told["embedder"] == "hashing-256"
    assert [row["threshold"] for row in told["thresholds"]] == sorted(THRESHOLDS)
    assert told["thresholds"][0] == {
        "threshold": 0.5,
        "precision": 1.0,
        "recall": 1.0,
        "taken": 1,
        "right": 1,
        "same": 1,
    }
    assert calibration_table(found).rows[0][:3] == ("0.50", "1.000", "1.000")
    assert '"hashing-256" = ' in describe_calibration(found)
