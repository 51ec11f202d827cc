"""The arithmetic of signals, and the golden facts of the sources."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ProfileError
from recollect.ranking.curves import Clamp, Curve, ExponentialDecay, HalfLife, HyperbolicDecay, LinearSaturation
from tests.tables import table

quantities = st.floats(0.0, 1e9)


@table(("days", "value"), [(0, 1.0), (14, 1 / 2), (28, 1 / 4), (56, 1 / 16)])
def test_freshness_halves_with_every_half_life(days: float, value: float) -> None:
    assert HalfLife(14)(days) == value


@table(("days", "shown"), [(1, 0.951), (7, 0.705), (14, 0.497), (30, 0.223), (60, 0.050)])
def test_the_literal_rate_gives_the_table_of_its_source(days: float, shown: float) -> None:
    assert ExponentialDecay(0.05)(days) == math.exp(-0.05 * days)
    assert round(ExponentialDecay(0.05)(days), 3) == shown


def test_140_days_at_a_half_life_of_30_are_worth_a_twentyfifth_and_not_two_fifths() -> None:
    assert HalfLife(30)(140) == 2 ** (-140 / 30)
    assert round(HalfLife(30)(140), 3) == 0.039


@table(("count", "value"), [(0, 0.0), (5, 5 / 10), (10, 1.0), (50, 1.0)])
def test_a_saturating_count_is_full_at_its_cap(count: float, value: float) -> None:
    assert LinearSaturation(10)(count) == value


@table(("count", "value"), [(0, 1.0), (1, 1 / 1.15), (10, 1 / 2.5)])
def test_a_diminishing_count_falls_ever_more_slowly(count: float, value: float) -> None:
    assert HyperbolicDecay(0.15)(count) == value


@table(("number", "value"), [(-1.0, 0.0), (0.0, 0.0), (0.3, 0.3), (1.0, 1.0), (7.0, 1.0)])
def test_a_clamp_holds_a_number_within_0_and_1(number: float, value: float) -> None:
    assert Clamp()(number) == value


@given(
    st.sampled_from([Clamp(), HalfLife(3), ExponentialDecay(0.1), LinearSaturation(7), HyperbolicDecay(2)]), quantities
)
def test_every_curve_stays_within_0_and_1(curve: Curve, quantity: float) -> None:
    assert 0.0 <= curve(quantity) <= 1.0


@given(st.sampled_from([HalfLife(3), ExponentialDecay(0.1), HyperbolicDecay(2)]), quantities, quantities)
def test_a_falling_curve_never_rises(curve: Curve, one: float, other: float) -> None:
    assert curve(max(one, other)) <= curve(min(one, other))


@table("make", [HalfLife, ExponentialDecay, LinearSaturation, HyperbolicDecay])
@table("option", [0.0, -1.0, math.inf, math.nan])
def test_a_curve_without_a_sensible_option_is_refused(make: type[HalfLife], option: float) -> None:
    with pytest.raises(ProfileError, match="give a finite number above 0"):
        make(option)
