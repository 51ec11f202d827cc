"""Gathering: set signals computed once over the columns of all candidates that passed the gates.

The rows compared are in an order fixed by relevance and id, so that the same candidates in any order give the
same evidence.
"""

import heapq
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from recollect.model.table import Floats, Rows
from recollect.ranking.columns import Columns, date_column, largest, pick
from recollect.ranking.profile import Profile
from recollect.ranking.scorer import SetEvidence
from recollect.ranking.set_signals import Given, Newest, SetSignal
from recollect.ranking.signals import Relevance


@dataclass(frozen=True, slots=True)
class SetColumn:
    """What one set signal found: a value per row, NaN where there is no telling, and some reasons."""

    values: Floats
    notes: Mapping[int, str]


SetColumns = Mapping[str, SetColumn]
"""What every set signal of a profile found, by signal."""


def gather_sets(columns: Columns, profile: Profile, rows: Rows) -> SetColumns:
    """What the profile's set signals find among these rows, a column for each."""
    return {signal.name: _compute(signal, columns, profile, rows) for signal in profile.set_signals}


def every_row(of: Sized) -> Rows:
    """All rows of a table, or of its columns."""
    return np.arange(len(of))


def evidence(sets: SetColumns, row: int) -> SetEvidence:
    """What the set signals found for one row, as the oracle takes it."""
    return {name: _given(column, row) for name, column in sets.items()}


def _given(column: SetColumn, row: int) -> Given:
    value = float(column.values[row])
    return Given(None if np.isnan(value) else value, column.notes.get(row))


def _compute(signal: SetSignal, columns: Columns, profile: Profile, rows: Rows) -> SetColumn:
    match signal:
        case Newest():
            rivals = _most_relevant(columns, profile.relevance, rows, signal.among)
            return _newest(signal, columns, rivals)
        case _ as unknown:
            assert_never(unknown)


def _most_relevant(columns: Columns, signal: Relevance, rows: Rows, count: int) -> Rows:
    """The most relevant of these rows, best first, ties by id; those without relevance are not among them.

    Where relevance is only near the truth, all that may be among them are settled first.
    """
    relevance = columns.signal(signal)
    if relevance is None:
        return np.array([], dtype=np.intp)
    here = pick(relevance, rows)
    unheard = np.isnan(here)
    if unheard.any():
        rows, here = rows[~unheard], here[~unheard]
    near = rows[here >= largest(here, count) - 2.0 * columns.slack(signal)]
    least, most = columns.possible(signal, near)
    near = near[most >= largest(least, count)]
    true = columns.settled(signal, near)
    named = zip((-true).tolist(), columns.ids(near), near.tolist(), strict=True)
    return np.array([row for *_, row in heapq.nsmallest(count, named)], dtype=np.intp)


def _newest(signal: Newest, columns: Columns, rows: Rows) -> SetColumn:
    values = np.ones(len(columns))
    notes: dict[int, str] = {}
    rivals = columns.table.take(columns.in_table(rows))
    dates = date_column(signal.clock, Columns(rivals, columns.at))
    if dates is None or rivals.vectors is None:
        values[rows] = np.nan
        return SetColumn(values, notes)
    directions = _directions(rivals.vectors.astype(np.float64))
    values[rows[np.isnan(dates) | ~directions.any(axis=1)]] = np.nan
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


def _directions(vectors: Floats) -> Floats:
    """Each vector at length 1, whatever its size; one that is unknown or zero has none, and stays zero."""
    peaks = np.abs(vectors).max(axis=1, keepdims=True)
    directed = peaks > 0.0
    scaled = np.where(directed, vectors, 0.0) / np.where(directed, peaks, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(directed, lengths, 1.0)
