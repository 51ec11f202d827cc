"""Seed 004: salience, usage, rank and value, as the functions of the proposal."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.compat.agent_memory import calculate_salience, calculate_value, rank_result, should_retain, usage_penalty
from recollect.errors import InvalidInput
from recollect.model.enums import Kind
from tests.tables import table

SHARES = st.floats(0, 1)


@dataclass
class AnEpisode:
    """An episode as others keep it."""

    value_score: float | None


@given(st.text(max_size=1200), st.sampled_from(Kind), st.booleans())
def test_salience_is_length_kind_and_pin_together(text: str, kind: Kind, pinned: bool) -> None:
    boosted = kind in ("preference", "procedure", "constraint", "definition")
    expected = min(len(text) / 500, 1.0) * 0.45 + (0.20 if boosted else 0.0) + (0.20 if pinned else 0.0)
    assert calculate_salience(text, kind, pinned) == pytest.approx(expected, abs=1e-12)
    assert calculate_salience(text, kind.value, pinned) == calculate_salience(text, kind, pinned)


@table("kind", ["Preference", "horoscope", "", None, 7, ["fact"]])
def test_a_kind_there_is_not_is_refused_with_those_there_are(kind: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^kind is .*; known are profile, preference, "):
        calculate_salience("text", kind, is_pinned=False)


@table("text", [None, b"bytes", 500])
def test_a_text_that_is_none_is_refused(text: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^text is .*; give a text$"):
        calculate_salience(text, Kind.FACT, is_pinned=False)


@table("count", [0, 1, 10, 1000])
def test_use_is_penalised_ever_more_slowly(count: int) -> None:
    assert usage_penalty(count) == 1 / (1 + 0.15 * count)


@given(similarity=st.floats(-2, 2), salience=SHARES, count=st.integers(0, 10**9))
def test_a_rank_is_what_the_proposal_says(similarity: float, salience: float, count: int) -> None:
    held = min(max(similarity, 0.0), 1.0)
    expected = held * (0.55 + 0.45 * salience) * (1 / (1 + 0.15 * count))
    assert rank_result(similarity, salience, count) == pytest.approx(expected, abs=1e-9)


def test_numbers_of_database_drivers_are_numbers() -> None:
    similarity: Any = Decimal("0.5")
    assert rank_result(similarity, 1, 0) == 0.5


@table("count", [-1, 0.5, math.nan, None, "3", True])
def test_a_count_that_counts_nothing_is_refused(count: Any) -> None:
    for penalise in (usage_penalty, lambda n: rank_result(0.5, 0.5, n)):
        with pytest.raises(InvalidInput, match="access_count"):
            penalise(count)


@table("value", [math.nan, math.inf, None, "0.5", True])
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="similarity"):
        rank_result(value, 0.5, 0)
    with pytest.raises(InvalidInput, match="salience"):
        rank_result(0.5, value, 0)
    with pytest.raises(InvalidInput, match="outcome_score"):
        calculate_value(value)
    with pytest.raises(InvalidInput, match="value_score"):
        should_retain(value)


@given(SHARES)
def test_a_value_is_highest_at_0_65(outcome: float) -> None:
    assert calculate_value(outcome) == max(1 - abs(outcome - 0.65), 0.0)


@given(SHARES)
def test_every_finished_episode_of_the_proposal_is_retained_for_its_threshold_cannot_fire(
    outcome: float,
) -> None:
    assert should_retain(calculate_value(outcome))


@table(("value", "kept"), [(0.0, False), (0.17, False), (0.18, True), (1.0, True)])
def test_an_episode_is_retained_from_its_threshold_on(value: float, kept: bool) -> None:
    assert should_retain(value) is kept
    assert should_retain(AnEpisode(value)) is kept


def test_an_unfinished_episode_has_no_value_yet_and_is_retained() -> None:
    assert should_retain(AnEpisode(None))


@table("value", [-0.1, 1.1])
def test_a_value_or_an_outcome_outside_0_to_1_is_refused(value: float) -> None:
    for judge in (calculate_value, should_retain, lambda v: should_retain(AnEpisode(v))):
        with pytest.raises(InvalidInput, match=r"is not within 0\.\.1"):
            judge(value)
