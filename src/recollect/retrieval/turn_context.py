"""Match a turn together with the turns before it in its session.

A turn such as "Yes, on Friday" is about the turns before it. The previous turn lends its words and a share of its
similarity; the turn before that lends half the weight of its words. A long turn lends no more than a short one: each
of its words counts less.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import NO_LABEL, Floats, Labels, Rows
from recollect.retrieval.bm25 import K1, B, TermStatistics, weigh_terms

QUESTION_WEIGHT, STATEMENT_WEIGHT, EARLIER_TURN_WEIGHT = 1.25, 0.75, 0.5
"""Term weights: previous turn (a question), previous turn (a statement), the turn before that.

A question adds context to the answer that follows. These are sums of powers of 2, so lengths add up exactly in any
order.
"""

MAX_LENT_WORDS = 40.0
"""The most words that a turn lends."""

PREVIOUS_TURN_SHARE = 0.2
"""The weight of the previous turn's similarity; a memory's own has weight 1."""

TermCounts = Mapping[str, int]
"""How often each term is in a text."""

TermRows = Mapping[str, tuple[Rows, Floats]]
"""For each term, the eligible rows that have it themselves, in order, and how often."""


def find_previous_turns(said: Sequence[tuple[Hashable, datetime, str]]) -> list[int | None]:
    """Return, for each memory given as (session, moment, id), the previous turn of its session.

    The session key must be unique for the scope, such as its name and owner; `None` means no session.
    """
    found: list[int | None] = [None] * len(said)
    last: dict[Hashable, int] = {}
    for place in sorted(range(len(said)), key=lambda one: said[one][1:]):
        session = said[place][0]
        if session is not None:
            found[place] = last.get(session)
            last[session] = place
    return found


def count_with_context(own: TermCounts, earlier: Sequence[tuple[TermCounts, bool]]) -> tuple[dict[str, float], float]:
    """Count a turn's terms and its length, including what the turns before it lend.

    `earlier` has the term counts of each of these turns and whether it is a question, latest first.
    """
    times: dict[str, float] = {term: float(count) for term, count in own.items()}
    length = float(sum(own.values()))
    for place, (counts, asks) in enumerate(earlier[:2]):
        lent = EARLIER_TURN_WEIGHT if place else QUESTION_WEIGHT if asks else STATEMENT_WEIGHT
        words = float(sum(counts.values()))
        share = MAX_LENT_WORDS / words if words > MAX_LENT_WORDS else 1.0  # the weight of each lent word
        for term, count in counts.items():
            times[term] = times.get(term, 0.0) + lent * (count * share)
        length += lent * min(words, MAX_LENT_WORDS)
    return times, length


def lend_similarity(own: float | None, earlier: float | None) -> float | None:
    """Return a turn's similarity, including the share of the previous turn."""
    return (
        own if own is None or earlier is None else (own + PREVIOUS_TURN_SHARE * earlier) / (1.0 + PREVIOUS_TURN_SHARE)
    )


def lend_similarities(own: Floats, earlier: Floats) -> Floats:
    """Do the same for columns; NaN means no similarity."""
    return np.where(np.isnan(earlier), own, (own + PREVIOUS_TURN_SHARE * earlier) / (1.0 + PREVIOUS_TURN_SHARE))


@dataclass(frozen=True, eq=False)
class TurnColumns:
    """For every row, the previous row of the same session and the one before that.

    Both are `NO_LABEL` if there is none.
    """

    previous: Rows
    second_previous: Rows
    lent_weights: tuple[Floats, Floats]
    """For every row, the weight of the words it lends to the next row and to the one after that."""
    following: tuple[Rows, Rows]
    """The next row of the session, and the one after that."""

    @classmethod
    def of(
        cls, order: Rows, sessions: Labels, asks: NDArray[np.bool_], eligible: NDArray[np.bool_] | None
    ) -> "TurnColumns":
        """Link the turns among the eligible rows; `order` comes from `order_by_session`."""
        if eligible is not None:
            order = order[eligible[order]]
        previous = np.full(len(sessions), NO_LABEL, dtype=np.intp)
        codes = sessions.codes[order]
        same = codes[1:] == codes[:-1]
        previous[order[1:][same]] = order[:-1][same]
        second_previous = np.where(previous == NO_LABEL, NO_LABEL, previous[previous])
        lent = np.where(asks, QUESTION_WEIGHT, STATEMENT_WEIGHT), np.full(len(asks), EARLIER_TURN_WEIGHT)
        return cls(previous, second_previous, lent, (_invert_rows(previous), _invert_rows(second_previous)))

    def lengths(self, own: Floats) -> Floats:
        """Return the length of every row, including what is lent to it."""
        words = np.minimum(own, MAX_LENT_WORDS)
        total = own + _values_at(self.lent_weights[0] * words, self.previous)
        total += _values_at(self.lent_weights[1] * words, self.second_previous)
        return total

    def similarities(self, own: Floats) -> Floats:
        """Return each row's similarity with the previous row's share, as `lend_similarity` does."""
        return lend_similarities(own, np.where(self.previous == NO_LABEL, np.nan, own[self.previous]))


def order_by_session(sessions: Labels, created: Floats, ids: Sequence[str], alive: NDArray[np.bool_]) -> Rows:
    """Return the rows that have a session, grouped by session and sorted by moment, then id."""
    rows = np.flatnonzero((sessions.codes != NO_LABEL) & alive)
    rows = rows[np.lexsort((created[rows], sessions.codes[rows]))]
    codes, moments = sessions.codes[rows], created[rows]
    tied = np.flatnonzero((codes[1:] == codes[:-1]) & (moments[1:] == moments[:-1]))
    for start, end in _find_runs(tied):
        rows[start:end] = sorted(rows[start:end].tolist(), key=ids.__getitem__)
    return rows


def score_turns(
    postings: TermRows,
    terms: Sequence[str],
    turns: TurnColumns,
    lengths: Floats,
    statistics: TermStatistics,
) -> Floats:
    """Return the BM25 score of each row, including terms from earlier turns; NaN if nothing matches.

    This equals scoring `count_with_context`. The statistics count a term only in rows that have it themselves;
    lengths include the earlier turns.
    """
    weights = weigh_terms(terms, statistics)
    if not weights.terms:
        return np.full(len(lengths), np.nan)
    length_norm = turns.lengths(lengths)
    length_norm *= B
    length_norm /= statistics.total_length / statistics.count
    length_norm += 1.0 - B
    length_norm *= K1
    damping = np.divide(MAX_LENT_WORDS, lengths, out=np.ones_like(lengths), where=lengths > MAX_LENT_WORDS)
    totals, times = np.zeros(len(lengths)), np.zeros(len(lengths))
    for term, (rows, counts) in postings.items():
        times[rows] = counts
        scaled_counts, touched = counts * damping[rows], [rows]
        for lent, after in zip(turns.lent_weights, turns.following, strict=True):
            to = after[rows]
            known = to != NO_LABEL
            times[to[known]] += (lent[rows] * scaled_counts)[known]
            touched.append(to[known])
        touched_rows = np.concatenate(touched)  # some rows occur twice, with the same result
        context_counts = times[touched_rows]
        gains = weights.terms[term] * context_counts * (K1 + 1.0) / (context_counts + length_norm[touched_rows])
        totals[touched_rows] = totals[touched_rows] + gains
        times[touched_rows] = 0.0
    no_match = totals == 0.0
    totals /= weights.best
    np.minimum(totals, 1.0, out=totals)
    totals[no_match] = np.nan
    return totals


def score_sessions(
    postings: TermRows, terms: Sequence[str], sessions: Labels, lengths: Floats, eligible: NDArray[np.bool_]
) -> Floats:
    """Return `score_terms` of every row's session, taken as one text of its eligible rows.

    A row without a session is a session of its own. NaN without evidence, and for rows that are not eligible.
    """
    alone = len(sessions.names) + np.arange(len(sessions))
    codes = np.where(sessions.codes == NO_LABEL, alone, sessions.codes)
    codes = np.where(eligible, codes, NO_LABEL)
    inside = codes != NO_LABEL
    session_count = len(sessions.names) + len(sessions)
    length = np.bincount(codes[inside], weights=lengths[inside], minlength=session_count)
    nonempty = np.bincount(codes[inside], minlength=session_count) > 0
    found: dict[str, NDArray[np.float64]] = {}
    for term, (rows, counts) in postings.items():
        said = codes[rows] != NO_LABEL
        term_counts = np.bincount(codes[rows[said]], weights=counts[said], minlength=len(length))
        found[term] = term_counts.astype(np.float64)
    statistics = TermStatistics(
        count=int(np.count_nonzero(nonempty)),
        total_length=float(length.sum()),
        frequencies={term: int(np.count_nonzero(found[term])) if term in found else 0 for term in terms},
    )
    weights = weigh_terms(terms, statistics)
    if not weights.terms:
        return np.full(len(codes), np.nan)
    length_norm = K1 * (1.0 - B + B * length / (statistics.total_length / statistics.count))
    totals = np.zeros(len(length))
    for term, weight in weights.terms.items():
        times = found[term]
        np.add(totals, weight * times * (K1 + 1.0) / (times + length_norm), out=totals, where=times > 0.0)
    shares = np.where(totals > 0.0, np.minimum(totals / weights.best, 1.0), np.nan)
    return np.where(inside, shares[codes], np.nan)


def _invert_rows(rows: Rows) -> Rows:
    """Invert the mapping: for every row, the row that points to it."""
    found = np.full(len(rows), NO_LABEL, dtype=np.intp)
    known = np.flatnonzero(rows != NO_LABEL)
    found[rows[known]] = known
    return found


def _values_at(values: Floats, rows: Rows) -> Floats:
    """Return the values at these rows; 0 for none."""
    return np.where(rows == NO_LABEL, 0.0, values[rows])


def _find_runs(places: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return runs of adjacent positions as ranges; position p stands for the pair p, p + 1."""
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > 1) + 1
    return [(int(run[0]), int(run[-1]) + 2) for run in np.split(places, breaks)]
