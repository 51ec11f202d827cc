"""Intervals and the paired test: the same each time, about right, and fair to both sides."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.evaluation.measures import SIGN_FLIPS, Interval, MeanDifference, bootstrap_intervals, compare_paired

values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)


def some(count: int, seed: int, chance: float = 0.5) -> list[float]:
    dice = random.Random(seed)
    return [float(dice.random() < chance) for _ in range(count)]


@given(values)
@settings(max_examples=20)
def test_an_interval_holds_the_mean_and_stays_among_the_values(values: list[float]) -> None:
    (found,) = bootstrap_intervals([[value] for value in values])
    assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12
    mean = sum(values) / len(values)
    assert len(values) < 10 or found.low - 1e-9 <= mean <= found.high + 1e-9


def test_values_that_are_all_the_same_leave_no_doubt() -> None:
    (found,) = bootstrap_intervals([[0.25]] * 40)
    assert [found.low, found.high] == pytest.approx([0.25, 0.25])


def test_the_same_values_give_the_same_intervals() -> None:
    rows = [[value, 1.0 - value] for value in some(50, seed=1)]
    assert bootstrap_intervals(rows) == bootstrap_intervals(rows)
    assert compare_paired(some(50, 1), some(50, 2)) == compare_paired(some(50, 1), some(50, 2))


def test_a_column_has_the_interval_that_it_has_alone() -> None:
    one, other = some(50, seed=1), some(50, seed=2)
    together = bootstrap_intervals([[a, b] for a, b in zip(one, other, strict=True)])
    alone = [*bootstrap_intervals([[a] for a in one]), *bootstrap_intervals([[b] for b in other])]
    for found, expected in zip(together, alone, strict=True):
        assert [found.low, found.high] == pytest.approx([expected.low, expected.high])


def test_more_queries_make_an_interval_narrower() -> None:
    few, many = (bootstrap_intervals([[value] for value in some(count, seed=3)])[0] for count in (25, 400))
    assert many.high - many.low < (few.high - few.low) / 2


def test_about_95_of_100_intervals_hold_what_the_values_were_drawn_from() -> None:
    chance = 0.4
    found = [bootstrap_intervals([[value] for value in some(60, seed, chance)])[0] for seed in range(200)]
    held = sum(interval.low <= chance <= interval.high for interval in found)
    assert 0.90 * len(found) <= held <= 0.99 * len(found)


def test_a_difference_that_is_never_there_is_chance() -> None:
    same = some(60, seed=4)
    assert compare_paired(same, same) == MeanDifference(
        mean=0.0, interval=Interval(0.0, 0.0), p=1.0, wins=0, losses=0, ties=60
    )


def test_a_clear_difference_is_no_chance_and_one_by_chance_is_no_difference() -> None:
    clear = compare_paired([0.0] * 60, [1.0] * 50 + [0.0] * 10)
    assert (clear.p, clear.wins, clear.losses, clear.ties) == (1 / (SIGN_FLIPS + 1), 50, 0, 10)
    assert clear.mean == pytest.approx(50 / 60)
    even = compare_paired([1.0, 0.0] * 30, [0.0, 1.0] * 30)
    assert (even.mean, even.p, even.wins, even.losses) == (0.0, 1.0, 30, 30)


@given(values, st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_who_is_first_changes_the_sign_and_nothing_else(values: list[float], dice: random.Random) -> None:
    others = [dice.random() for _ in values]
    there, back = compare_paired(values, others), compare_paired(others, values)
    assert back.mean == -there.mean
    assert back.p == there.p
    assert (back.wins, back.losses, back.ties) == (there.losses, there.wins, there.ties)


def test_the_chance_is_about_the_exact_one() -> None:
    gains = [0.5, 0.2, -0.1, 0.4, 0.3, -0.2, 0.6, 0.1]
    observed = abs(sum(gains))
    signs = list(itertools.product((-1, 1), repeat=len(gains)))
    larger = sum(abs(sum(s * g for s, g in zip(one, gains, strict=True))) >= observed - 1e-9 for one in signs)
    found = compare_paired([0.0] * len(gains), gains)
    assert found.p == pytest.approx(larger / len(signs), abs=0.02)


def test_the_chance_is_evenly_spread_where_there_is_no_difference() -> None:
    chances = [compare_paired(some(40, seed), some(40, seed + 1_000)).p for seed in range(100)]
    assert sum(p < 0.05 for p in chances) <= 12
    assert 0.35 < sum(chances) / len(chances) < 0.7
