"""What an episode is worth keeping, and why one of the two forms never lets one go."""

import math
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import InvalidInput
from recollect.lifecycle.episodes import (
    MIN_VALUE,
    TARGET_OUTCOME,
    EpisodicPolicy,
    compute_normalized_value,
    compute_value,
    is_retained,
    select_expired,
)
from recollect.model.episode import Episode, Outcome
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope

SHARES = st.floats(0, 1)


def test_the_numbers_are_those_of_the_document() -> None:
    assert (TARGET_OUTCOME, MIN_VALUE) == (0.65, 0.18)


@given(SHARES, SHARES)
def test_a_value_falls_with_the_distance_from_the_target(outcome: float, target: float) -> None:
    assert compute_value(target, target) == compute_normalized_value(target, target) == 1.0
    assert compute_value(outcome, target) == 1.0 - abs(outcome - target)
    assert compute_normalized_value(outcome, target) == 1.0 - abs(outcome - target) / max(target, 1.0 - target)


@given(SHARES)
def test_the_plain_value_is_never_so_low_that_the_threshold_fires(outcome: float) -> None:
    assert compute_value(outcome) >= compute_value(0.0) == 1.0 - TARGET_OUTCOME == pytest.approx(0.35)
    assert is_retained(compute_value(outcome))


@given(SHARES)
def test_the_threshold_bites_the_normalised_value_below_an_outcome_of_0_117(outcome: float) -> None:
    turning_point = TARGET_OUTCOME - (1.0 - MIN_VALUE) * max(TARGET_OUTCOME, 1.0 - TARGET_OUTCOME)
    assert turning_point == pytest.approx(0.117)
    if abs(outcome - turning_point) > 1e-12:
        assert is_retained(compute_normalized_value(outcome)) is (outcome > turning_point)


def test_the_normalised_value_uses_the_whole_range_and_a_flawless_task_keeps_some() -> None:
    assert compute_normalized_value(0.0) == 0.0
    assert compute_normalized_value(1.0) == 1.0 - (1.0 - TARGET_OUTCOME) / TARGET_OUTCOME


@given(SHARES, SHARES)
def test_values_are_within_0_to_1(outcome: float, target: float) -> None:
    assert 0.0 <= compute_normalized_value(outcome, target) <= compute_value(outcome, target) <= 1.0


@given(SHARES, SHARES)
def test_what_reaches_the_threshold_is_retained(worth: float, threshold: float) -> None:
    assert is_retained(worth, threshold) is (worth >= threshold)


@table("number", [-0.1, 1.1, math.nan, math.inf, -math.inf])
def test_what_is_not_within_0_to_1_is_refused_by_name(number: float) -> None:
    for judge in (compute_value, compute_normalized_value):
        with pytest.raises(InvalidInput, match="'outcome'"):
            judge(number)
        with pytest.raises(InvalidInput, match="'target'"):
            judge(0.5, number)
    with pytest.raises(InvalidInput, match="'value'"):
        is_retained(number)
    with pytest.raises(InvalidInput, match="'threshold'"):
        is_retained(0.5, number)


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_episode(number: int, score: float | None, policy: EpisodicPolicy, *, pinned: bool = False) -> Episode:
    outcome = None if score is None else Outcome(score=score, lessons=(), failure_modes=(), at=NOON)
    return Episode(
        id=MemoryId(f"e{number:03}"),
        scope=Scope.parse("acme"),
        task="sweep the yard",
        started_at=NOON + timedelta(minutes=number % 7),
        outcome=outcome,
        value=None if score is None else policy.value_of(score),
        pinned=pinned,
    )


def gone(episodes: list[Episode], policy: EpisodicPolicy) -> dict[str, str]:
    return {one.id: reason for one, reason in select_expired(episodes, policy)}


def test_each_form_of_a_value_is_the_one_that_is_set() -> None:
    assert EpisodicPolicy().value_of(0.0) == compute_value(0.0)
    assert EpisodicPolicy(value="normalised").value_of(0.0) == 0.0
    assert EpisodicPolicy(midpoint_target=0.5).value_of(0.5) == 1.0


def test_what_teaches_too_little_goes_only_where_the_form_can_tell() -> None:
    scores = (None, 0.0, 0.1, 0.2, 1.0)
    plain, whole = EpisodicPolicy(), EpisodicPolicy(value="normalised")
    assert gone([an_episode(number, one, plain) for number, one in enumerate(scores)], plain) == {}
    found = gone([an_episode(number, one, whole) for number, one in enumerate(scores)], whole)
    assert found == {"e001": "its value 0.000 is below 0.18", "e002": "its value 0.154 is below 0.18"}


def test_of_too_many_those_go_that_teach_least_and_of_these_the_oldest() -> None:
    policy = EpisodicPolicy(max_episodes=2)
    scores = (0.65, 0.0, None, 0.0, 0.9)
    found = gone([an_episode(number, one, policy) for number, one in enumerate(scores)], policy)
    assert list(found) == ["e001", "e003"]
    assert found["e001"] == "at most 2 are kept, and its value 0.350 is among the lowest"


EPISODES = st.lists(st.tuples(st.none() | SHARES, st.booleans()), max_size=12)


@given(EPISODES, st.integers(1, 6), st.sampled_from(["plain", "normalised"]), SHARES)
def test_none_goes_that_is_under_way_or_pinned_and_no_more_than_need_to(
    given: list[tuple[float | None, bool]], most: int, form: Literal["plain", "normalised"], threshold: float
) -> None:
    policy = EpisodicPolicy(max_episodes=most, value=form, value_threshold=threshold)
    episodes = [an_episode(number, score, policy, pinned=pinned) for number, (score, pinned) in enumerate(given)]
    found = gone(episodes, policy)
    left = [one for one in episodes if one.id not in found]
    assert all(one.finished and not one.pinned for one in episodes if one.id in found)
    free = [one for one in left if one.finished and not one.pinned]
    assert all(is_retained(one.value or 0.0, threshold) for one in free)
    finished = [one for one in left if one.finished]
    assert len(finished) <= most or not free
    enough = [one for one in episodes if one.id in found and is_retained(one.value or 0.0, threshold)]
    assert not enough or len(finished) >= min(most, len(finished) + len(enough))
    assert all((one.value or 0.0) <= (other.value or 0.0) for one in enough for other in free)


@table(
    ("name", "bad", "problem"),
    [
        ("enabled", 1, "enabled"),
        ("value_threshold", 1.1, "is not within"),
        ("midpoint_target", math.nan, "midpoint_target"),
        ("success", -0.1, "is not within"),
        ("max_episodes", 0, "is not within 1..1000000"),
        ("max_episodes", 10**7, "is not within"),
        ("max_episodes", 2.5, "max_episodes"),
        ("value", "normal", "did you mean 'normalised'"),
        ("prune_schedule", "often", "prune_schedule"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_name(name: str, bad: object, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        EpisodicPolicy(**{name: bad})  # type: ignore[arg-type]
    assert getattr(caught.value, "field", None) == name
