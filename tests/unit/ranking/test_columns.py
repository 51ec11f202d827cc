"""Columns say what the oracle says, to within rounding, and look no further than they must."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.candidate import Candidate
from recollect.model.memory import Kind, MemoryId
from recollect.model.table import Rows, Table, microseconds
from recollect.ranking.columns import ROUNDING, Columns, date_column, pick
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.profiles import BUILT_IN, built_in
from recollect.ranking.quantities import Clock, date
from recollect.ranking.scorer import explain, rank
from recollect.ranking.selection import rank_table
from recollect.ranking.set_signal_columns import every_row, evidence, gather_sets
from recollect.ranking.set_signals import Newest
from recollect.ranking.signals import (
    Confidence,
    Frequency,
    Importance,
    KindPriority,
    Rarity,
    Recency,
    Relevance,
    Revisions,
    Salience,
    Signal,
    Similarity,
    read,
)
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.strategies import Blurred, blurred, candidates, moments, near, profiles, signals

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


@table("name", sorted(BUILT_IN))
def test_a_column_score_of_a_built_in_profile_is_within_rounding_of_the_oracles(name: str) -> None:
    assert apart(POOL, built_in(name), NOW) <= ROUNDING


@given(candidates(), signals, moments)
def test_a_signals_column_is_what_the_signal_says_and_to_the_bit_where_its_curve_is_exact(
    pool: list[Candidate], signal: Signal, at: datetime
) -> None:
    assert_heard(pool, signal, at)


@table("name", sorted(BUILT_IN))
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


@table(
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


@table("clock", Clock)
def test_a_date_column_goes_by_the_dates_of_its_clock(clock: Clock) -> None:
    column = date_column(clock, Columns(Table.of(POOL), NOW))
    assert column is not None
    assert column.tolist() == [microseconds(date(one, clock) or NOW) for one in POOL]


@given(candidates(), profiles(), near | moments, st.randoms(use_true_random=False))
def test_columns_of_some_rows_are_the_columns_of_a_table_of_these(
    pool: list[Candidate], profile: Profile, at: datetime, chance: Random
) -> None:
    kept = np.array([row for row in range(len(pool)) if chance.random() < 0.5], dtype=np.intp)
    some, alone = Columns(Table.of(pool), at, kept), Columns(Table.of([pool[row] for row in kept]), at)
    assert len(some) == len(alone)
    assert some.questioned == alone.questioned
    for signal in profile.pointwise:
        assert np.array_equal(some.values(signal), alone.values(signal), equal_nan=True)
    sets, others = (gather_sets(columns, profile, every_row(columns)) for columns in (some, alone))
    assert [evidence(sets, row) for row in range(len(some))] == [evidence(others, row) for row in range(len(some))]
    first = kept[: len(kept) // 2]
    assert_narrowed(some, np.arange(len(first)), Columns(Table.of([pool[row] for row in first]), at), profile)


def assert_narrowed(columns: Columns, rows: Rows, expected: Columns, profile: Profile) -> None:
    narrowed = columns.within(rows)
    assert narrowed.ids(np.arange(len(rows))) == expected.table.ids
    assert narrowed.candidates(np.arange(len(rows))) == expected.candidates(np.arange(len(rows)))
    for signal in (*profile.pointwise, *built_in("default").pointwise):
        assert np.array_equal(narrowed.values(signal), expected.values(signal), equal_nan=True)


def test_what_was_computed_stays_known_when_columns_are_narrowed() -> None:
    columns = Columns(Table.of(POOL), NOW)
    recency = Recency(half_life=DAY)
    whole = columns.values(recency)
    assert columns.within(np.arange(len(POOL))) is columns
    narrowed = columns.within(np.array([3, 5]))
    assert narrowed.values(recency).tolist() == whole[[3, 5]].tolist()
    assert narrowed.within(np.array([1])).ids(np.array([0])) == ["m005"]


def test_a_row_of_the_table_is_found_among_those_looked_at_and_one_more_is_put_in_its_place() -> None:
    whole, some = Columns(Table.of(POOL), NOW), Columns(Table.of(POOL), NOW, np.array([3, 7, 9]))
    assert (whole.has(7), whole.where(7)) == (True, 7)
    assert (some.has(7), some.where(7), some.has(8)) == (True, 1, False)
    beside = some.beside(8)
    assert (beside.ids(np.arange(4)), beside.where(8)) == (["m003", "m007", "m008", "m009"], 2)


@table("arm", ["similarity", "lexical", "relevance"])
def test_a_question_shows_in_any_of_its_arms(arm: str) -> None:
    evidence: dict[str, Any] = {arm: 0.0}
    table = Table.of([a_candidate("a"), a_candidate("b", **evidence)])
    assert Columns(table, NOW).questioned
    assert not Columns(table, NOW, np.array([0])).questioned
    assert not Columns(Table(ids=[MemoryId("a")]), NOW).questioned


@given(blurred(candidates()), signals, near | moments)
def test_what_the_oracle_reads_is_within_what_is_possible_and_settled_to_the_bit(
    known: Blurred, signal: Signal, at: datetime
) -> None:
    columns = Columns(known.table, at, known.rows, known.fetch)
    rows = np.arange(len(known.rows))
    truth = np.array([read(signal, one, at) for one in known.eligible], dtype=np.float64)
    heard = ~np.isnan(truth)
    least, most = columns.possible(signal, rows)
    assert ((least <= truth) & (truth <= most))[heard].all()
    assert (np.abs(columns.values(signal) - truth) <= columns.slack(signal))[heard].all()
    assert np.array_equal(
        columns.values(signal)[~columns.unsure(signal, rows)], truth[~columns.unsure(signal, rows)], equal_nan=True
    )
    assert np.array_equal(columns.settled(signal, rows), truth, equal_nan=True)


def test_an_error_of_similarities_that_are_not_there_is_none() -> None:
    table = Table(ids=[MemoryId("a")], numbers={"lexical": np.array([0.5])}, similarity_error=0.1)
    assert Columns(table, NOW).slack(Relevance()) == 0.0
    assert Columns(table, NOW).score_slack(built_in("default")) == ROUNDING


def test_what_is_worth_nothing_is_told_only_where_columns_are_exact() -> None:
    pool = [a_candidate("a", similarity=-0.5), a_candidate("b", similarity=0.5), a_candidate("c")]
    columns, rows = Columns(Table.of(pool), NOW), np.arange(3)
    assert columns.worthless(built_in("salience"), rows).tolist() == [True, False, True]
    assert columns.worthless(built_in("three-signal"), rows).tolist() == [False] * 3
    terms = (Term(Newest(), 0.5, 0.0), Term(Similarity(), 0.5, 0.0), Term(Recency(half_life=DAY), 0.0, 0.0))
    sets = Profile(name="p", version="1", about="A test.", terms=terms)
    assert columns.worthless(sets, rows).tolist() == [False] * 3
    without = Profile(name="p", version="1", about="A test.", terms=(replace(terms[1], weight=1.0), *terms[2:]))
    assert columns.worthless(without, rows).tolist() == [True, False, True]
    silent = Columns(Table(ids=[MemoryId("a")]), NOW)
    assert silent.worthless(without, np.array([0])).tolist() == [True]


def test_a_column_is_picked_at_rows_and_left_alone_at_all_of_them() -> None:
    column = np.array([1.0, 2.0, 3.0])
    assert pick(column, np.array([0, 1, 2])) is column
    assert pick(column, np.array([0, 2])).tolist() == [1.0, 3.0]


@table("name", sorted(BUILT_IN))
@table("limit", [1, 7, 30])
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
