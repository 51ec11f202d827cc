"""Find the best rows of a table while fetching few similarities from the store.

A score never falls as the similarity rises. The score that a candidate would have with the highest possible
similarity is therefore an upper bound. If even that bound is below the last place, its similarity need not be
fetched.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking.columns import ROUNDING_ERROR, SignalColumns, nth_largest
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.result import Proof, StopReason
from recollect.retrieval.evidence import RemoteSimilarities

FIRST_BATCH_ROWS = 1_024
"""How many similarities the first request fetches; later ones fetch all that may still matter.

Each request is a round trip.
"""


@dataclass(frozen=True, slots=True, eq=False)
class PrunedTable:
    """The table with the fetched similarities, the rows to rank, and why these are enough."""

    table: CandidateTable
    rows: Rows
    proof: Proof


def can_prune(profile: Profile) -> bool:
    """Return whether bounds work here: similarity counts, and each memory is scored alone."""
    return not profile.set_signals and profile.hearing is Hearing.ALONE and "similarity" in profile.fields


def prune_rows(
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    limit: int,
    rows: Rows,
    nearby: RemoteSimilarities,
    trusting: bool,
) -> PrunedTable:
    """Return the rows that contain the best `limit`, with their similarities.

    With `trusting`, the index's ceiling is taken as the upper bound for all rows it did not return.
    """
    known = _PruningState(table, profile, at, limit, rows, nearby)
    nearest = nearby.nearest()
    known.add_similarities(nearest.rows, nearest.similarities)

    waiting = known.pending_rows
    utmost = known.upper_bounds(waiting, 1.0)
    possible = known.can_rank(utmost)
    asked, bounds = waiting[possible], utmost[possible]
    if trusting and nearest.ceiling < 1.0:
        bounds = known.upper_bounds(asked, nearest.ceiling + nearby.error)
    order = np.argsort(-bounds, kind="stable")
    asked, bounds = asked[order], bounds[order]

    for part in (slice(FIRST_BATCH_ROWS), slice(FIRST_BATCH_ROWS, None)):
        able = np.sort(asked[part][known.can_rank(bounds[part])])
        if len(able):
            known.add_similarities(able, nearby.similarities(able))

    unasked = known.is_pending(waiting)
    doubtful = known.can_rank(utmost) & unasked
    stopped = StopReason.INDEX if doubtful.any() else StopReason.BOUND if unasked.any() else StopReason.EVERY
    scanned = len(known.rows)
    return PrunedTable(known.table, known.rows, Proof(stopped, scanned, scanned + int(np.count_nonzero(unasked))))


class _PruningState:
    """The similarities fetched so far, and the lower bounds of the scores."""

    def __init__(
        self, table: CandidateTable, profile: Profile, at: datetime, limit: int, rows: Rows, nearby: RemoteSimilarities
    ) -> None:
        self._profile = profile
        self._at = at
        self._limit = limit
        self._plain = table
        known = table.numbers.get("similarity")
        self._similarities = np.full(len(table), np.nan) if known is None else known.copy()
        self._error = max(table.similarity_error, nearby.error)
        self._here = np.zeros(len(table), dtype=np.bool_)
        self._here[rows] = True
        self._waits = np.zeros(len(table), dtype=np.bool_)
        self._waits[nearby.rows] = self._here[nearby.rows]
        self._scores = self._lower_bounds(self.rows)

    @property
    def table(self) -> CandidateTable:
        """The table with the similarities fetched so far."""
        return self._plain.with_evidence(similarity=self._similarities, similarity_error=self._error)

    @property
    def rows(self) -> Rows:
        """The rows with known similarity."""
        return np.flatnonzero(self._here & ~self._waits)

    @property
    def pending_rows(self) -> Rows:
        """The rows whose similarity is not known yet."""
        return np.flatnonzero(self._waits)

    def is_pending(self, rows: Rows) -> NDArray[np.bool_]:
        """Return, for each row, whether its similarity is still unknown."""
        return self._waits[rows]

    def add_similarities(self, rows: Rows, similarities: Floats) -> None:
        """Add fetched similarities; NaN means the vector is gone, and the row is dropped."""
        wanted = self._waits[rows]
        rows, similarities = rows[wanted], similarities[wanted]
        self._similarities[rows] = similarities
        self._waits[rows] = False
        gone = np.isnan(similarities)
        self._here[rows[gone]] = False
        self._scores = np.concatenate([self._scores, self._lower_bounds(rows[~gone])])

    def can_rank(self, bounds: Floats) -> NDArray[np.bool_]:
        """Return whether each upper bound reaches the last place; NaN counts as yes."""
        last = max(nth_largest(self._scores, self._limit), self._profile.min_score)
        return ~(bounds < last)

    def upper_bounds(self, rows: Rows, ceiling: float) -> Floats:
        """Return the highest score of each row if its similarity is at most the ceiling.

        It is minus infinity where a gate is closed. A row that lacks evidence the profile requires is infinity: it
        must be ranked in order to be refused.
        """
        scores = self._score_with(rows, np.full(len(self._plain), min(ceiling, 1.0)), ROUNDING_ERROR)
        return np.where(np.isnan(scores), np.inf, scores)

    def _lower_bounds(self, rows: Rows) -> Floats:
        """Return the lowest score of each row, given its known similarity."""
        scores = self._score_with(rows, self._similarities - self._error, -ROUNDING_ERROR)
        return np.where(np.isnan(scores), -np.inf, scores)

    def _score_with(self, rows: Rows, similarity: Floats, slack: float) -> Floats:
        """Return the scores of these rows with other similarities."""
        columns = SignalColumns(self._plain.with_evidence(similarity=similarity), self._at, rows)
        scores = columns.score(self._profile, {}) + slack
        for gate in self._profile.gates:
            passes = [columns.signal_values(way.signal) >= way.at_least - slack for way in gate.alternatives]
            scores[~np.logical_or.reduce(passes)] = -np.inf
        return scores
