"""What an episode is worth keeping, and why one of the two forms never lets one go."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.lifecycle.retention import TARGET, THRESHOLD, normalised_value, retained, value

SHARES = st.floats(0, 1)


def test_the_numbers_are_those_of_the_document() -> None:
    assert (TARGET, THRESHOLD) == (0.65, 0.18)


@given(SHARES, SHARES)
def test_a_value_falls_with_the_distance_from_the_target(outcome: float, target: float) -> None:
    assert value(target, target) == normalised_value(target, target) == 1.0
    assert value(outcome, target) == 1.0 - abs(outcome - target)
    assert normalised_value(outcome, target) == 1.0 - abs(outcome - target) / max(target, 1.0 - target)


@given(SHARES)
def test_the_plain_value_is_never_so_low_that_the_threshold_fires(outcome: float) -> None:
    assert value(outcome) >= value(0.0) == 1.0 - TARGET == pytest.approx(0.35)
    assert retained(value(outcome))


@given(SHARES)
def test_the_threshold_bites_the_normalised_value_below_an_outcome_of_0_117(outcome: float) -> None:
    turning_point = TARGET - (1.0 - THRESHOLD) * max(TARGET, 1.0 - TARGET)
    assert turning_point == pytest.approx(0.117)
    if abs(outcome - turning_point) > 1e-12:
        assert retained(normalised_value(outcome)) is (outcome > turning_point)


def test_the_normalised_value_uses_the_whole_range_and_a_flawless_task_keeps_some() -> None:
    assert normalised_value(0.0) == 0.0
    assert normalised_value(1.0) == 1.0 - (1.0 - TARGET) / TARGET


@given(SHARES, SHARES)
def test_values_are_within_0_to_1(outcome: float, target: float) -> None:
    assert 0.0 <= normalised_value(outcome, target) <= value(outcome, target) <= 1.0


@given(SHARES, SHARES)
def test_what_reaches_the_threshold_is_retained(worth: float, threshold: float) -> None:
    assert retained(worth, threshold) is (worth >= threshold)


@pytest.mark.parametrize("number", [-0.1, 1.1, math.nan, math.inf, -math.inf])
def test_what_is_not_within_0_to_1_is_refused_by_name(number: float) -> None:
    for judge in (value, normalised_value):
        with pytest.raises(InvalidInput, match="'outcome'"):
            judge(number)
        with pytest.raises(InvalidInput, match="'target'"):
            judge(0.5, number)
    with pytest.raises(InvalidInput, match="'value'"):
        retained(number)
    with pytest.raises(InvalidInput, match="'threshold'"):
        retained(0.5, number)
