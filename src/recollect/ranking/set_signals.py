"""Compute the set signals once per ranking, over the columns of all rows that passed the gates.

`signals` defines their names and options. The compared rows are sorted by relevance and id, so the order of the
candidates does not change the result.
"""

import heapq
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import NO_LABEL, Floats, Rows
from recollect.ranking.columns import ROUNDING_ERROR, SignalColumns, clock_dates, nth_largest, pick_rows
from recollect.ranking.profile import Profile
from recollect.ranking.scorer import SetEvidence
from recollect.ranking.signals import RELEVANCE_STEPS, Newest, Relevance, SetSignal, SetSignalValue, Thread

# Pickles of earlier versions name `Newest` and `Thread` by this module.


@dataclass(frozen=True, slots=True)
class SetSignalColumn:
    """The result of one set signal: a value per row, NaN if unknown, and a note per row."""

    values: Floats
    note: Callable[[int], str | None]


DISTINCT_DIGITS = 9
"""How many digits of a result count: further digits depend on the order of the rows."""

SetSignalColumns = Mapping[str, SetSignalColumn]
"""The columns of a profile's set signals, by signal."""


def compute_set_signals(columns: SignalColumns, profile: Profile, rows: Rows) -> SetSignalColumns:
    """Compute the profile's set signals among these rows, a column for each."""
    return {signal.name: _compute_signal(signal, columns, profile, rows) for signal in profile.set_signals}


def all_rows(table: Sized) -> Rows:
    """Return all row numbers of a table or of its columns."""
    return np.arange(len(table))


def set_evidence(sets: SetSignalColumns, row: int) -> SetEvidence:
    """Return the values of the set signals for one row, as the reference takes them."""
    return {name: _read_value(column, row) for name, column in sets.items()}


def _read_value(column: SetSignalColumn, row: int) -> SetSignalValue:
    value = float(column.values[row])
    return SetSignalValue(None if np.isnan(value) else value, column.note(row))


def _compute_signal(signal: SetSignal, columns: SignalColumns, profile: Profile, rows: Rows) -> SetSignalColumn:
    match signal:
        case Newest():
            rivals = _find_most_relevant(columns, profile.relevance, rows, signal.among)
            return _compute_newest(signal, columns, rivals)
        case Thread():
            return _compute_thread(signal, columns, profile.relevance, rows)
        case _ as unknown:
            assert_never(unknown)


def _find_most_relevant(columns: SignalColumns, signal: Relevance, rows: Rows, count: int) -> Rows:
    """Return the most relevant of these rows, best first, ties by id.

    Rows without relevance are left out. Where relevance is inexact, all rows that may be among the best are computed
    exactly first.
    """
    relevance = columns.signal_column(signal)
    if relevance is None:
        return np.array([], dtype=np.intp)
    values = pick_rows(relevance, rows)
    missing = np.isnan(values)
    if missing.any():
        rows, values = rows[~missing], values[~missing]
    near = rows[values >= nth_largest(values, count) - 2.0 * columns.error_bound(signal)]
    lowest, highest = columns.value_bounds(signal, near)
    near = near[highest >= nth_largest(lowest, count)]
    exact = columns.exact_values(signal, near)
    keyed = zip((-exact).tolist(), columns.ids(near), near.tolist(), strict=True)
    return np.array([row for *_, row in heapq.nsmallest(count, keyed)], dtype=np.intp)


def _compute_newest(signal: Newest, columns: SignalColumns, rows: Rows) -> SetSignalColumn:
    values = np.ones(len(columns))
    notes: dict[int, str] = {}
    rivals = columns.table.take(columns.table_rows(rows))
    dates = clock_dates(signal.clock, SignalColumns(rivals, columns.at))
    if dates is None or rivals.vectors is None:
        values[rows] = np.nan
        return SetSignalColumn(values, _no_note)
    directions = _normalize(rivals.vectors.astype(np.float64))
    values[rows[np.isnan(dates) | ~directions.any(axis=1)]] = np.nan
    cosines = np.round(directions @ directions.T, DISTINCT_DIGITS)
    above = np.where(_share_voice(columns, rows), signal.same_voice_threshold, signal.above)
    newer = (cosines > above) & (dates[None, :] > dates[:, None])
    for i in np.flatnonzero(newer.any(axis=1)).tolist():
        twins: list[int] = np.flatnonzero(newer[i]).tolist()
        near = [(float(cosines[i, twin]), float(above[i, twin])) for twin in twins]
        differences = [(_dissimilarity(cosine, threshold, signal.same), -cosine) for cosine, threshold in near]
        nearest = differences.index(min(differences))
        values[rows[i]] = differences[nearest][0]
        others = f" and {len(twins) - 1} more" if len(twins) > 1 else ""
        notes[int(rows[i])] = (
            f"newer and nearly the same (cosine {near[nearest][0]:.2f}): {rivals.ids[twins[nearest]]}{others}"
        )
    return SetSignalColumn(values, notes.get)


def _share_voice(columns: SignalColumns, rows: Rows) -> NDArray[np.bool_]:
    """Return for each pair of rows whether they have the same session and speaker.

    Rows without a session share none. Within a session, rows without a speaker count as one speaker.
    """
    sessions, speakers = columns.label_codes("session", rows), columns.label_codes("speaker", rows)
    same_session = (sessions[:, None] == sessions[None, :]) & (sessions != NO_LABEL)[:, None]
    same_voice: NDArray[np.bool_] = same_session & (speakers[:, None] == speakers[None, :])
    return same_voice


def _dissimilarity(cosine: float, above: float, same: float | None) -> float:
    """Return 1 at the cosine `above`, falling to 0 at `same`; always 0 if `same` is None."""
    return 0.0 if same is None else max((same - cosine) / (same - above), 0.0)


def _compute_thread(signal: Thread, columns: SignalColumns, relevance: Relevance, rows: Rows) -> SetSignalColumn:
    values = np.full(len(columns), np.nan)
    dates = clock_dates(signal.clock, columns)
    relevances = columns.signal_column(relevance)
    if dates is None or relevances is None:
        return SetSignalColumn(values, _no_note)
    rows = rows[~(np.isnan(pick_rows(relevances, rows)) | np.isnan(pick_rows(dates, rows)))]
    steps = _relevance_steps(columns, relevance, rows)
    sessions = columns.label_codes("session", rows)
    session_steps = _session_maximum(steps, sessions)
    # the squares of steps are whole numbers, whose sums are exact in any order
    squares, moments = session_steps * session_steps, pick_rows(dates, rows)
    inside = squares * _count_newer_in_session(moments, sessions) / RELEVANCE_STEPS**2
    others = _weigh_newer(moments, squares) / RELEVANCE_STEPS**2 - inside
    share = session_steps / RELEVANCE_STEPS
    with np.errstate(over="ignore"):  # an extreme decay becomes 0 at once
        fading = np.exp2(-(others / signal.half + inside / signal.half_inside))
    values[rows] = np.round(share * fading, DISTINCT_DIGITS)

    def note(row: int) -> str | None:
        place = int(np.searchsorted(rows, row))
        if place == len(rows) or rows[place] != row:
            return None
        newer = others[place] + inside[place]
        owner = "" if sessions[place] == NO_LABEL else "its session is "
        since = f"{newer:.1f} relevant since" if newer >= 0.05 else "nothing relevant since"
        return f"{owner}{share[place]:.0%} as relevant as the best; {since}"

    return SetSignalColumn(values, note)


def _no_note(row: int) -> None:
    """Return no note."""


def _relevance_steps(columns: SignalColumns, relevance: Relevance, rows: Rows) -> Floats:
    """Return each row's relevance in steps of the best; the reference decides close values."""
    best = _find_most_relevant(columns, relevance, rows, 1)
    highest = float(columns.exact_values(relevance, best)[0]) if len(best) else 0.0
    if highest <= 0.0:
        return np.zeros(len(rows))
    near = pick_rows(columns.signal_values(relevance), rows)
    bound = columns.error_bound(relevance)
    with np.errstate(over="ignore"):  # relative to a tiny best value, an inexact value may be infinite
        steps = np.floor(RELEVANCE_STEPS * near / highest)
        if bound > 0.0:
            low, high = ((RELEVANCE_STEPS * (near + error) / highest) for error in (-bound, bound))
            close = np.flatnonzero(
                np.floor(low - RELEVANCE_STEPS * ROUNDING_ERROR) != np.floor(high + RELEVANCE_STEPS * ROUNDING_ERROR)
            )
            steps[close] = np.floor(RELEVANCE_STEPS * columns.exact_values(relevance, rows[close]) / highest)
    return np.minimum(steps, float(RELEVANCE_STEPS))


def _weigh_newer(moments: Floats, weights: Floats) -> Floats:
    """Return, for each row, the total weight of newer rows."""
    order = np.argsort(moments, kind="stable")
    until = np.concatenate([np.zeros(1), np.cumsum(weights[order])])
    newer: Floats = until[-1] - until[np.searchsorted(moments[order], moments, side="right")]
    return newer


def _count_newer_in_session(moments: Floats, sessions: NDArray[np.intp]) -> Floats:
    """Return, for each row, how many rows of its session are newer; 0 without a session."""
    newer = np.zeros(len(moments))
    rows = np.flatnonzero(sessions != NO_LABEL)
    if len(rows):
        order = rows[np.lexsort((moments[rows], sessions[rows]))]
        codes, times = sessions[order], moments[order]
        at_once = np.cumsum(np.append(True, (codes[1:] != codes[:-1]) | (times[1:] != times[:-1])))
        newer[order] = np.searchsorted(codes, codes, side="right") - np.searchsorted(at_once, at_once, side="right")
    return newer


def _session_maximum(steps: Floats, sessions: NDArray[np.intp]) -> Floats:
    """Return the maximum of each row's session; its own value without a session."""
    if not len(steps):
        return steps
    best = np.zeros(int(sessions.max()) + 2)
    np.maximum.at(best, sessions, steps)  # rows without a session share the last place
    return np.where(sessions == NO_LABEL, steps, best[sessions])


def _normalize(vectors: Floats) -> Floats:
    """Scale each vector to length 1; unknown and zero vectors become zero."""
    peaks = np.abs(vectors).max(axis=1, keepdims=True)
    directed = peaks > 0.0
    scaled = np.where(directed, vectors, 0.0) / np.where(directed, peaks, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(directed, lengths, 1.0)
