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
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.model.table import CandidateTable, Rows, to_microseconds
from recollect.ranking.columns import ROUNDING_ERROR, SignalColumns, clock_dates, pick_rows
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.quantities import AgeClock, clock_date
from recollect.ranking.scorer import explain, rank_candidates
from recollect.ranking.selection import rank_table, score_evidence, select_best
from recollect.ranking.set_signals import all_rows, compute_set_signals, set_evidence
from recollect.ranking.signals import (
    Confidence,
    Frequency,
    Importance,
    KindPriority,
    Newest,
    Rarity,
    Recency,
    Relevance,
    Revisions,
    Salience,
    Signal,
    Similarity,
    signal_value,
)
from recollect.testing import NOW, a_candidate
from tests.evidence import evidence_of
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
    table = CandidateTable.of(pool)
    columns = SignalColumns(table, at)
    sets = compute_set_signals(columns, profile, all_rows(table))
    scores = columns.score(profile, {name: found.values for name, found in sets.items()})
    oracle = [explain(one, profile, at, set_evidence(sets, row)).score for row, one in enumerate(pool)]
    return float(np.abs(scores - oracle).max(initial=0.0))


@given(candidates(), profiles(), moments)
def test_a_column_score_is_within_rounding_of_the_oracles(
    pool: list[Candidate], profile: Profile, at: datetime
) -> None:
    assert apart(pool, profile, at) <= ROUNDING_ERROR


@table("name", sorted(BUILTIN_PROFILES))
def test_a_column_score_of_a_built_in_profile_is_within_rounding_of_the_oracles(name: str) -> None:
    assert apart(POOL, builtin_profile(name), NOW) <= ROUNDING_ERROR


@given(candidates(), signals, moments)
def test_a_signals_column_is_what_the_signal_says_and_to_the_bit_where_its_curve_is_exact(
    pool: list[Candidate], signal: Signal, at: datetime
) -> None:
    assert_heard(pool, signal, at)


@table("name", sorted(BUILTIN_PROFILES))
def test_the_signals_of_a_built_in_profile_are_what_they_say(name: str) -> None:
    for signal in builtin_profile(name).pointwise:
        assert_heard(POOL, signal, NOW)


def assert_heard(pool: Sequence[Candidate], signal: Signal, at: datetime) -> None:
    said = [signal_value(signal, one, at) for one in pool]
    column = SignalColumns(CandidateTable.of(pool), at).signal_column(signal)
    values = [np.nan] * len(pool) if column is None else column.tolist()
    heard = [None if np.isnan(value) else value for value in values]
    if signal.curve.exact:
        assert heard == said
    else:
        assert [one is None for one in heard] == [one is None for one in said]
        assert [one or 0.0 for one in heard] == pytest.approx([one or 0.0 for one in said], abs=ROUNDING_ERROR)


@table(
    "signal", [Rarity(1e300), Frequency(1e-300), Revisions(1e-300), Recency(rate_per_day=1e307)], ids=lambda s: s.name
)
def test_a_quantity_beyond_all_numbers_is_no_warning(signal: Signal) -> None:
    huge = [a_candidate("a", served=2**53, revisions=2**53, age=45_000 * DAY)]
    assert_heard(huge, signal, NOW)


def test_a_factor_keeps_its_floor_in_columns() -> None:
    factors = (Factor(Confidence(), 0.25, 0.5), Factor(Salience(), 0.75))
    profile = Profile(name="p", version="1", about="A test.", terms=(Term(Importance(), 1.0, 0.5),), factors=factors)
    assert apart(POOL, profile, NOW) <= ROUNDING_ERROR


def test_a_signal_is_computed_once_and_two_of_one_name_are_told_apart() -> None:
    columns = SignalColumns(CandidateTable.of(POOL), NOW)
    one, other = KindPriority({Kind.FACT: 1.0}), KindPriority({Kind.FACT: 0.0})
    assert columns.signal_column(one) is columns.signal_column(KindPriority({Kind.FACT: 1.0}))
    first, second = columns.signal_column(one), columns.signal_column(other)
    assert first is not None
    assert second is not None
    assert first.tolist() != second.tolist()


@table("clock", AgeClock)
def test_a_date_column_goes_by_the_dates_of_its_clock(clock: AgeClock) -> None:
    column = clock_dates(clock, SignalColumns(CandidateTable.of(POOL), NOW))
    assert column is not None
    assert column.tolist() == [to_microseconds(clock_date(one, clock) or NOW) for one in POOL]


@given(candidates(), profiles(), near | moments, st.randoms(use_true_random=False))
def test_columns_of_some_rows_are_the_columns_of_a_table_of_these(
    pool: list[Candidate], profile: Profile, at: datetime, chance: Random
) -> None:
    kept = np.array([row for row in range(len(pool)) if chance.random() < 0.5], dtype=np.intp)
    some, alone = (
        SignalColumns(CandidateTable.of(pool), at, kept),
        SignalColumns(CandidateTable.of([pool[row] for row in kept]), at),
    )
    assert len(some) == len(alone)
    assert some.questioned == alone.questioned
    for signal in profile.pointwise:
        assert np.array_equal(some.signal_values(signal), alone.signal_values(signal), equal_nan=True)
    sets, others = (compute_set_signals(columns, profile, all_rows(columns)) for columns in (some, alone))
    assert [set_evidence(sets, row) for row in range(len(some))] == [
        set_evidence(others, row) for row in range(len(some))
    ]
    first = kept[: len(kept) // 2]
    assert_narrowed(
        some, np.arange(len(first)), SignalColumns(CandidateTable.of([pool[row] for row in first]), at), profile
    )


def assert_narrowed(columns: SignalColumns, rows: Rows, expected: SignalColumns, profile: Profile) -> None:
    narrowed = columns.take_rows(rows)
    assert narrowed.ids(np.arange(len(rows))) == expected.table.ids
    assert narrowed.candidates(np.arange(len(rows))) == expected.candidates(np.arange(len(rows)))
    for signal in (*profile.pointwise, *builtin_profile("default").pointwise):
        assert np.array_equal(narrowed.signal_values(signal), expected.signal_values(signal), equal_nan=True)


def test_what_was_computed_stays_known_when_columns_are_narrowed() -> None:
    columns = SignalColumns(CandidateTable.of(POOL), NOW)
    recency = Recency(half_life=DAY)
    whole = columns.signal_values(recency)
    assert columns.take_rows(np.arange(len(POOL))) is columns
    narrowed = columns.take_rows(np.array([3, 5]))
    assert narrowed.signal_values(recency).tolist() == whole[[3, 5]].tolist()
    assert narrowed.take_rows(np.array([1])).ids(np.array([0])) == ["m005"]


def test_a_row_of_the_table_is_found_among_those_looked_at_and_one_more_is_put_in_its_place() -> None:
    whole, some = (
        SignalColumns(CandidateTable.of(POOL), NOW),
        SignalColumns(CandidateTable.of(POOL), NOW, np.array([3, 7, 9])),
    )
    assert (whole.has_row(7), whole.row_index(7)) == (True, 7)
    assert (some.has_row(7), some.row_index(7), some.has_row(8)) == (True, 1, False)
    beside = some.with_row(8)
    assert (beside.ids(np.arange(4)), beside.row_index(8)) == (["m003", "m007", "m008", "m009"], 2)


@table("arm", ["similarity", "lexical", "relevance"])
def test_a_question_shows_in_any_of_its_arms(arm: str) -> None:
    evidence: dict[str, Any] = {arm: 0.0}
    table = CandidateTable.of([a_candidate("a"), a_candidate("b", **evidence)])
    assert SignalColumns(table, NOW).questioned
    assert not SignalColumns(table, NOW, np.array([0])).questioned
    assert not SignalColumns(CandidateTable(ids=[MemoryId("a")]), NOW).questioned


@given(blurred(candidates()), signals, near | moments)
def test_what_the_oracle_reads_is_within_what_is_possible_and_settled_to_the_bit(
    known: Blurred, signal: Signal, at: datetime
) -> None:
    columns = SignalColumns(known.table, at, known.rows, known.evidence)
    rows = np.arange(len(known.rows))
    truth = np.array([signal_value(signal, one, at) for one in known.eligible], dtype=np.float64)
    heard = ~np.isnan(truth)
    least, most = columns.value_bounds(signal, rows)
    assert ((least <= truth) & (truth <= most))[heard].all()
    assert (np.abs(columns.signal_values(signal) - truth) <= columns.error_bound(signal))[heard].all()
    assert np.array_equal(
        columns.signal_values(signal)[~columns.needs_exact(signal, rows)],
        truth[~columns.needs_exact(signal, rows)],
        equal_nan=True,
    )
    assert np.array_equal(columns.exact_values(signal, rows), truth, equal_nan=True)


def test_an_error_of_similarities_that_are_not_there_is_none() -> None:
    table = CandidateTable(ids=[MemoryId("a")], numbers={"lexical": np.array([0.5])}, similarity_error=0.1)
    assert SignalColumns(table, NOW).error_bound(Relevance()) == 0.0
    assert SignalColumns(table, NOW).score_error_bound(builtin_profile("default")) == ROUNDING_ERROR


def test_what_is_worth_nothing_is_told_only_where_columns_are_exact() -> None:
    pool = [a_candidate("a", similarity=-0.5), a_candidate("b", similarity=0.5), a_candidate("c")]
    columns, rows = SignalColumns(CandidateTable.of(pool), NOW), np.arange(3)
    assert columns.zero_score_mask(builtin_profile("salience"), rows).tolist() == [True, False, True]
    assert columns.zero_score_mask(builtin_profile("three-signal"), rows).tolist() == [False] * 3
    terms = (Term(Newest(), 0.5, 0.0), Term(Similarity(), 0.5, 0.0), Term(Recency(half_life=DAY), 0.0, 0.0))
    sets = Profile(name="p", version="1", about="A test.", terms=terms)
    assert columns.zero_score_mask(sets, rows).tolist() == [False] * 3
    without = Profile(name="p", version="1", about="A test.", terms=(replace(terms[1], weight=1.0), *terms[2:]))
    assert columns.zero_score_mask(without, rows).tolist() == [True, False, True]
    silent = SignalColumns(CandidateTable(ids=[MemoryId("a")]), NOW)
    assert silent.zero_score_mask(without, np.array([0])).tolist() == [True]


def test_a_column_is_picked_at_rows_and_left_alone_at_all_of_them() -> None:
    column = np.array([1.0, 2.0, 3.0])
    assert pick_rows(column, np.array([0, 1, 2])) is column
    assert pick_rows(column, np.array([0, 2])).tolist() == [1.0, 3.0]


@table("name", sorted(BUILTIN_PROFILES))
@table("limit", [1, 7, 30])
def test_only_the_rows_that_will_be_shown_are_asked_of_the_oracle(name: str, limit: int) -> None:
    scored = score_evidence(evidence_of(POOL), builtin_profile(name), NOW)
    assert len(select_best(scored, limit)) == limit
    assert len(scored.columns._candidates) == limit


def test_a_table_may_lack_any_column() -> None:
    whole = CandidateTable.of(POOL)
    for lacking in (*whole.numbers, *whole.dates, "kind"):
        numbers = {name: column for name, column in whole.numbers.items() if name != lacking}
        dates = {name: column for name, column in whole.dates.items() if name != lacking}
        table = replace(whole, numbers=numbers, dates=dates, kinds=None if lacking == "kind" else whole.kinds)
        pool = [replace(table.candidate(row), vector=one.vector) for row, one in enumerate(POOL)]
        for name in ("default", "session", "assistant", "salience-hybrid"):
            found = rank_table(table, builtin_profile(name), NOW, limit=5, asked=name != "session")
            oracle = rank_candidates(pool, builtin_profile(name), NOW, limit=5, asked=name != "session")
            assert [(one.id, one.explanation) for one in found] == [(one.id, one.explanation) for one in oracle]
