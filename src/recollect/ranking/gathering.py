"""Gathering: set signals computed once over the columns of all candidates that passed the gates.

The order of every sum and comparison is fixed by relevance and id, so that the same candidates in any order
give the same evidence.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

import numpy as np

from recollect.ranking.columns import date_column, signal_column
from recollect.ranking.profile import Profile
from recollect.ranking.scorer import SetEvidence
from recollect.ranking.set_signals import Given, Newest, SetSignal
from recollect.ranking.table import Floats, Rows, Table


@dataclass(frozen=True, slots=True)
class SetColumn:
    """What one set signal found: a value per row, NaN where there is no telling, and some reasons."""

    values: Floats
    notes: Mapping[int, str]


SetColumns = Mapping[str, SetColumn]
"""What every set signal of a profile found, by signal."""


def gather_sets(table: Table, profile: Profile, at: datetime, rows: Rows | None = None) -> SetColumns:
    """What the profile's set signals find among `rows` (all, if not given), a column for each."""
    if rows is None:
        rows = np.arange(len(table))
    return {signal.name: _compute(signal, table, profile, at, rows) for signal in profile.set_signals}


def evidence(sets: SetColumns, row: int) -> SetEvidence:
    """What the set signals found for one row, as the oracle takes it."""
    return {name: _given(column, row) for name, column in sets.items()}


def _given(column: SetColumn, row: int) -> Given:
    value = float(column.values[row])
    return Given(None if np.isnan(value) else value, column.notes.get(row))


def _compute(signal: SetSignal, table: Table, profile: Profile, at: datetime, rows: Rows) -> SetColumn:
    match signal:
        case Newest():
            return _newest(signal, table, _most_relevant(table, profile, at, rows, signal.among))
        case _ as unknown:
            assert_never(unknown)


def _most_relevant(table: Table, profile: Profile, at: datetime, rows: Rows, count: int) -> Rows:
    """The most relevant rows, best first, ties by id; rows without relevance are not among them."""
    column = signal_column(profile.relevance, table, at)
    if column is None:
        return np.array([], dtype=np.intp)
    relevance = column[rows]
    rows, relevance = rows[~np.isnan(relevance)], relevance[~np.isnan(relevance)]
    if len(rows) > count:
        least = np.partition(relevance, -count)[-count]
        rows, relevance = rows[relevance >= least], relevance[relevance >= least]
    best = heapq.nsmallest(
        count,
        zip((-relevance).tolist(), (table.ids[row] for row in rows), rows.tolist(), strict=True),
    )
    return np.array([row for *_, row in best], dtype=np.intp)


def _newest(signal: Newest, table: Table, rows: Rows) -> SetColumn:
    values = np.ones(len(table))
    notes: dict[int, str] = {}
    rivals = table.take(rows)
    dates = date_column(signal.clock, rivals)
    if dates is None or rivals.vectors is None:
        values[rows] = np.nan
        return SetColumn(values, notes)
    vectors = rivals.vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    directed = lengths > 0.0
    values[rows[np.isnat(dates) | ~directed]] = np.nan
    directions = np.where(directed[:, None], vectors, 0.0) / np.where(directed, lengths, 1.0)[:, None]
    cosines = directions @ directions.T
    newer = (cosines > signal.above) & (dates[None, :] > dates[:, None])
    for i in np.flatnonzero(newer.any(axis=1)).tolist():
        twins = np.flatnonzero(newer[i])
        nearest = twins[np.argmax(cosines[i, twins])]
        others = f" and {len(twins) - 1} more" if len(twins) > 1 else ""
        values[rows[i]] = 0.0
        notes[int(rows[i])] = (
            f"newer and nearly the same (cosine {cosines[i, nearest]:.2f}): {rivals.ids[nearest]}{others}"
        )
    return SetColumn(values, notes)
