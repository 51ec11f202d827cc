"""Columns say what the oracle says, to within rounding, and look no further than they must."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given

from recollect.model.candidate import Candidate
from recollect.model.memory import Kind
from recollect.ranking.columns import Columns, date_column, pick
from recollect.ranking.gathering import every_row, evidence, gather_sets
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.profiles import BUILT_IN, built_in
from recollect.ranking.quantities import Clock, date
from recollect.ranking.scorer import explain, rank
from recollect.ranking.selection import ROUNDING, rank_table
from recollect.ranking.signals import (
    Confidence,
    Frequency,
    Importance,
    KindPriority,
    Rarity,
    Recency,
    Revisions,
    Salience,
    Signal,
    read,
)
from recollect.ranking.table import Table, microseconds
from recollect.testing import NOW, a_candidate
from tests.unit.ranking.strategies import candidates, moments, profiles, signals

DAY = timedelta(days=1)
POOL = [
    a_candidate(
        f"m{n:03}",
        kind=list(Kind)[n % 16],
        similarity=(n * 37 % 101) / 101,
        lexical=(n * 53 % 97) / 97 if n % 5 else None,
        importance=(n * 71 % 89) / 89 if n % 3 else None,
        usefulness=(n * 29 % 83) / 83,
        confidence=(n * 61 % 79) / 79,
        salience=(n * 43 % 73) / 73,
        served=n % 61,
        revisions=n % 13,
        created_at=NOW - n * DAY,
        updated_at=NOW - n * DAY / 2 if n % 2 else None,
        last_accessed_at=NOW - n * DAY / 3 if n % 4 else None,
        vector=(1.0, float(n % 9)),
    )
    for n in range(400)
]
"""Four hundred candidates whose scores are all different."""


def apart(pool: Sequence[Candidate], profile: Profile, at: datetime) -> float:
    """The farthest a column score is from the oracle's."""
    table = Table.of(pool)
    columns = Columns(table, at)
    sets = gather_sets(columns, profile, every_row(table))
    scores = columns.score(profile, {name: found.values for name, found in sets.items()})
    oracle = [explain(one, profile, at, evidence(sets, row)).score for row, one in enumerate(pool)]
    return float(np.abs(scores - oracle).max(initial=0.0))


@given(candidates(), profiles(), moments)
def test_a_column_score_is_within_rounding_of_the_oracles(
    pool: list[Candidate], profile: Profile, at: datetime
) -> None:
    assert apart(pool, profile, at) <= ROUNDING


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_column_score_of_a_built_in_profile_is_within_rounding_of_the_oracles(name: str) -> None:
    assert apart(POOL, built_in(name), NOW) <= ROUNDING


@given(candidates(), signals, moments)
def test_a_signals_column_is_what_the_signal_says_and_to_the_bit_where_its_curve_is_exact(
    pool: list[Candidate], signal: Signal, at: datetime
) -> None:
    assert_heard(pool, signal, at)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_signals_of_a_built_in_profile_are_what_they_say(name: str) -> None:
    for signal in built_in(name).pointwise:
        assert_heard(POOL, signal, NOW)


def assert_heard(pool: Sequence[Candidate], signal: Signal, at: datetime) -> None:
    said = [read(signal, one, at) for one in pool]
    column = Columns(Table.of(pool), at).signal(signal)
    values = [np.nan] * len(pool) if column is None else column.tolist()
    heard = [None if np.isnan(value) else value for value in values]
    if signal.curve.exact:
        assert heard == said
    else:
        assert [one is None for one in heard] == [one is None for one in said]
        assert [one or 0.0 for one in heard] == pytest.approx([one or 0.0 for one in said], abs=ROUNDING)


@pytest.mark.parametrize(
    "signal", [Rarity(1e300), Frequency(1e-300), Revisions(1e-300), Recency(rate_per_day=1e307)], ids=lambda s: s.name
)
def test_a_quantity_beyond_all_numbers_is_no_warning(signal: Signal) -> None:
    huge = [a_candidate("a", served=2**53, revisions=2**53, age=45_000 * DAY)]
    assert_heard(huge, signal, NOW)


def test_a_factor_keeps_its_floor_in_columns() -> None:
    factors = (Factor(Confidence(), 0.25, 0.5), Factor(Salience(), 0.75))
    profile = Profile(name="p", version="1", about="A test.", terms=(Term(Importance(), 1.0, 0.5),), factors=factors)
    assert apart(POOL, profile, NOW) <= ROUNDING


def test_a_signal_is_computed_once_and_two_of_one_name_are_told_apart() -> None:
    columns = Columns(Table.of(POOL), NOW)
    one, other = KindPriority({Kind.FACT: 1.0}), KindPriority({Kind.FACT: 0.0})
    assert columns.signal(one) is columns.signal(KindPriority({Kind.FACT: 1.0}))
    first, second = columns.signal(one), columns.signal(other)
    assert first is not None
    assert second is not None
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("clock", Clock)
def test_a_date_column_goes_by_the_dates_of_its_clock(clock: Clock) -> None:
    column = date_column(clock, Table.of(POOL))
    assert column is not None
    assert column.tolist() == [microseconds(date(one, clock) or NOW) for one in POOL]


def test_a_column_is_picked_at_rows_and_left_alone_at_all_of_them() -> None:
    column = np.array([1.0, 2.0, 3.0])
    assert pick(column, np.array([0, 1, 2])) is column
    assert pick(column, np.array([0, 2])).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
@pytest.mark.parametrize("limit", [1, 7, 30])
def test_only_the_rows_that_will_be_shown_are_asked_of_the_oracle(name: str, limit: int) -> None:
    asked: list[int] = []

    def fetch(rows: Sequence[int]) -> list[Candidate]:
        asked.extend(rows)
        return [POOL[row] for row in rows]

    ranking = rank_table(Table.of(POOL), built_in(name), NOW, limit=limit, fetch=fetch)
    assert len(ranking) == limit
    assert len(asked) == limit


def test_a_table_may_lack_any_column() -> None:
    whole = Table.of(POOL)
    for lacking in (*whole.numbers, *whole.dates, "kind"):
        numbers = {name: column for name, column in whole.numbers.items() if name != lacking}
        dates = {name: column for name, column in whole.dates.items() if name != lacking}
        table = replace(whole, numbers=numbers, dates=dates, kinds=None if lacking == "kind" else whole.kinds)
        pool = [replace(table.candidate(row), vector=one.vector) for row, one in enumerate(POOL)]
        for name in ("default", "session", "assistant", "salience-hybrid"):
            found = rank_table(table, built_in(name), NOW, limit=5, asked=name != "session")
            oracle = rank(pool, built_in(name), NOW, limit=5, asked=name != "session")
            assert [(one.id, one.explanation) for one in found] == [(one.id, one.explanation) for one in oracle]
