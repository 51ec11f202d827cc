"""Seed 002: the composite score and its settings, under the framework's own names."""

import inspect
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.compat.assistant import SETTINGS, assistant_profile, compute_composite_score
from recollect.errors import InvalidInput, ProfileError
from recollect.ranking.profile import QuestionPolicy
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.quantities import AgeClock
from recollect.ranking.signals import Recency
from recollect.testing import NOW
from tests.tables import table

DAY = timedelta(days=1)
OTHERWISE = {"semantic": 0.5, "recency": 0.2, "importance": 0.3}


def recency_at(age: timedelta, **given: Any) -> float:
    """What recency alone is worth at that age."""
    alone = {"semantic": 0.0, "recency": 1.0, "importance": 0.0}
    return compute_composite_score(0.0, NOW - age, 0.0, weights=alone, now=NOW, **given)


@table(("days", "worth"), [(0, 1.0), (14, 1 / 2), (28, 1 / 4), (56, 1 / 16), (-14, 1.0)])
def test_recency_halves_every_fortnight_and_the_future_counts_as_new(days: int, worth: float) -> None:
    assert recency_at(days * DAY) == worth


@table("half_life", [1, 7.5, Decimal(30), 0.00001])
def test_the_half_life_can_be_set(half_life: Any) -> None:
    assert recency_at(timedelta(days=float(half_life)), half_life_days=half_life) == 0.5


def test_the_weights_and_defaults_are_those_of_the_document() -> None:
    assert compute_composite_score(1.0, NOW - 36_500 * DAY, 0.0, now=NOW) == pytest.approx(0.4)
    assert compute_composite_score(0.0, NOW, 0.0, now=NOW) == pytest.approx(0.3)
    assert compute_composite_score(0.0, NOW - 36_500 * DAY, 1.0, now=NOW) == pytest.approx(0.3)
    assert inspect.signature(compute_composite_score).parameters["half_life_days"].default == 14


SHARES = st.floats(0, 1)


@given(
    similarity=st.floats(-1, 1),
    age=st.floats(-100, 3650),
    importance=SHARES,
    cuts=st.tuples(SHARES, SHARES),
    half_life=st.floats(0.5, 3650),
)
def test_every_score_is_what_the_document_says(
    similarity: float, age: float, importance: float, cuts: tuple[float, float], half_life: float
) -> None:
    low, high = sorted(cuts)
    weights = {"semantic": low, "recency": high - low, "importance": 1.0 - high}
    created_at = NOW - timedelta(days=age)
    exact_age = (NOW - created_at) / DAY
    expected = (
        weights["semantic"] * max(similarity, 0.0)
        + weights["recency"] * 0.5 ** (max(exact_age, 0.0) / half_life)
        + weights["importance"] * importance
    )
    score = compute_composite_score(
        similarity, created_at, importance, weights=weights, half_life_days=half_life, now=NOW
    )
    assert score == pytest.approx(expected, abs=1e-9)
    assert 0.0 <= score <= 1.0


def test_what_is_unknown_is_worth_what_the_profile_says() -> None:
    missing = {term.signal.name: term.missing or 0.0 for term in builtin_profile("assistant").terms}
    assert missing == {"similarity": 0.0, "recency": 0.5, "importance": 0.5}
    assert compute_composite_score(None, None, None, now=NOW) == math.fsum([0.4 * 0.0, 0.3 * 0.5, 0.3 * 0.5])


@table(
    "written",
    [
        NOW - DAY,
        (NOW - DAY).replace(tzinfo=None),
        (NOW - DAY).astimezone(timezone(timedelta(hours=14))).isoformat(),
        (NOW - DAY).strftime("%Y-%m-%dT%H:%M:%SZ"),
        (NOW - DAY).strftime("%Y-%m-%d"),
    ],
    ids=str,
)
def test_a_date_is_the_same_age_however_it_is_written(written: Any) -> None:
    expected = compute_composite_score(0.5, NOW - DAY, 0.5, now=NOW)
    assert compute_composite_score(0.5, written, 0.5, now=NOW) == expected


def test_without_a_now_the_present_is_meant() -> None:
    before = datetime.now(UTC)
    given = (0.0, before - 14 * DAY, 0.0)
    present, last = compute_composite_score(*given), compute_composite_score(*given, now=datetime.now(UTC))
    assert last <= present <= compute_composite_score(*given, now=before) == pytest.approx(0.3 / 2)


@table(("similarity", "held"), [(-1.0, 0.0), (-0.1, 0.0), (1.5, 1.0), (1.0000001, 1.0)])
def test_a_similarity_is_held_within_its_range(similarity: float, held: float) -> None:
    at_range = compute_composite_score(held, NOW, 0.5, now=NOW)
    assert compute_composite_score(similarity, NOW, 0.5, now=NOW) == at_range


@table("argument", ["similarity", "importance"])
@table("value", [math.nan, math.inf, "0.5", True, []])
def test_what_is_no_finite_number_is_refused(argument: str, value: Any) -> None:
    arguments = {"similarity": 0.5, "created_at": NOW, "importance": 0.5, argument: value}
    with pytest.raises(InvalidInput, match=rf"^{argument} is .*; give a finite number$"):
        compute_composite_score(**arguments, now=NOW)


@table("importance", [-0.1, 1.1, 7])
def test_an_importance_on_another_scale_is_refused_for_a_plain_number_cannot_say_what_was_assumed(
    importance: float,
) -> None:
    with pytest.raises(InvalidInput, match=r"'importance'.* is not within 0\.\.1"):
        compute_composite_score(0.5, NOW, importance, now=NOW)


@table("created_at", ["", "yesterday", "9999-12-31", 1_700_000_000])
def test_an_unreadable_date_is_refused_for_the_same_reason(created_at: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^created_at is "):
        compute_composite_score(0.5, created_at, 0.5, now=NOW)


def test_weights_left_out_are_the_profiles_own() -> None:
    assert compute_composite_score(
        1.0, NOW, 0.0, weights={"semantic": 0.6, "recency": 0.1}, now=NOW
    ) == compute_composite_score(1.0, NOW, 0.0, weights={"semantic": 0.6, "recency": 0.1, "importance": 0.3}, now=NOW)


@table(
    "weights",
    [
        {"semantic": 0.5},
        {"semantic": 4, "recency": 3, "importance": 3},
        {"semantic": 0.0, "recency": 0.0, "importance": 0.0},
        {"semantic": 1.2, "recency": -0.1, "importance": -0.1},
        {"semantic": 0.4, "recency": 0.3, "importance": 0.3, "novelty": 0.0},
        {"relevance": 0.4},
    ],
)
def test_weights_that_make_no_sense_are_refused_and_not_scaled(weights: dict[str, float]) -> None:
    with pytest.raises(ProfileError):
        compute_composite_score(0.5, NOW, 0.5, weights=weights, now=NOW)


@table("half_life", [0, -14, 1e-12, 1e300])
def test_a_half_life_that_is_none_is_refused(half_life: float) -> None:
    with pytest.raises(ProfileError, match="half_life"):
        compute_composite_score(0.5, NOW, 0.5, half_life_days=half_life, now=NOW)


@table("half_life", [math.nan, math.inf, None, "14"])
def test_a_half_life_that_is_no_number_is_refused(half_life: Any) -> None:
    with pytest.raises(InvalidInput, match="half_life_days is"):
        compute_composite_score(0.5, NOW, 0.5, half_life_days=half_life, now=NOW)


def test_without_settings_it_is_the_built_in_profile() -> None:
    assert assistant_profile({}) is builtin_profile("assistant")
    spelled_out = {
        "weights": {"semantic": 0.4, "recency": 0.3, "importance": 0.3},
        "recencyHalfLifeDays": 14,
        "maxContextItems": 20,
        "minScore": 0.1,
    }
    assert assistant_profile(spelled_out) is builtin_profile("assistant")


def test_every_setting_reaches_the_profile() -> None:
    profile = assistant_profile(
        {"weights": OTHERWISE, "recencyHalfLifeDays": 3, "maxContextItems": 7, "minScore": Decimal("0.25")}
    )
    assert profile.weight("similarity") == OTHERWISE["semantic"]
    assert profile.weight("recency") == OTHERWISE["recency"]
    assert profile.weight("importance") == OTHERWISE["importance"]
    assert (profile.max_items, profile.min_score) == (7, 0.25)
    (recency,) = (term.signal for term in profile.terms if term.signal.name == "recency")
    assert recency == Recency(clock=AgeClock.REFERENCED, half_life=3 * DAY)
    assert profile.version != builtin_profile("assistant").version


def test_a_profile_without_a_weight_for_similarity_needs_no_question() -> None:
    by_date = assistant_profile({"weights": {"semantic": 0, "recency": 0.5, "importance": 0.5}})
    assert by_date.question is QuestionPolicy.OPTIONAL
    assert assistant_profile({"weights": OTHERWISE}).question is QuestionPolicy.NEEDED


def test_weights_may_be_a_table_or_keys_of_their_own() -> None:
    dotted = {f"weights.{name}": weight for name, weight in OTHERWISE.items()}
    assert assistant_profile(dotted) == assistant_profile({"weights": OTHERWISE})
    mixed = {"weights": {"semantic": 0.5, "recency": 0.2}, "weights.importance": 0.3}
    assert assistant_profile(mixed) == assistant_profile(dotted)


@table("config", [{"halfLife": 3}, {"weights": 3}, {"weights": {"x": 1}}, {"terms": {}}, {7: 1}])
def test_an_unknown_setting_is_refused_with_the_known_ones(config: Any) -> None:
    with pytest.raises(ProfileError, match="is not an assistant setting") as refused:
        assistant_profile(config)
    assert all(name in str(refused.value) for name in SETTINGS)


@table("config", [None, [], "weights"])
def test_settings_that_are_no_table_are_refused(config: Any) -> None:
    with pytest.raises(ProfileError, match=r"^the settings are .*; give a table of weights\.semantic"):
        assistant_profile(config)


def test_a_setting_given_twice_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"'weights\.semantic' is given twice"):
        assistant_profile({"weights": {"semantic": 0.4}, "weights.semantic": 0.4})


@table("name", list(SETTINGS))
@table("value", [None, math.nan, "1", True, {}])
def test_a_setting_that_is_no_number_is_refused_by_its_own_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^{name} is .*; give a finite number$"):
        assistant_profile({name: value})


@table("config", [{"maxContextItems": 0}, {"maxContextItems": 1.5}, {"minScore": 1.5}])
def test_a_setting_out_of_range_is_refused(config: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=r"max_?[Ii]tems|maxContextItems|min_score"):
        assistant_profile(config)
