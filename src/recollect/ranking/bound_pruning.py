"""Find the best rows while fetching few similarities from a database that keeps the vectors.

A score never falls as the similarity rises. The score that a candidate would have with the highest possible
similarity is therefore an upper bound. If even that bound is below the last place, its similarity need not be
fetched.

`prune` decides which rows matter, and the caller fetches: it yields requests and is sent similarities.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking.columns import ROUNDING_ERROR, SignalColumns, nth_largest
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.result import Proof, StopReason
from recollect.ranking.selection import find_doubtful_rows, score_columns
from recollect.retrieval.evidence import Evidence, NearestRows

FIRST_BATCH_ROWS = 1_024
"""How many similarities the first request fetches; later ones fetch all that may still matter.

Each request is a round trip.
"""


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityRequest:
    """Rows whose similarities are needed: to the last bit if `exact`, else within the error of the evidence."""

    rows: Rows
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class PrunedEvidence:
    """The evidence with the fetched similarities, only the rows to rank, and the proof that these are enough."""

    evidence: Evidence
    proof: Proof


Pruning = Generator[SimilarityRequest, Floats, PrunedEvidence]
"""Yields what to fetch, is sent the similarities in the order of the rows, NaN where a vector is gone."""


def can_prune(profile: Profile) -> bool:
    """Return whether bounds can prune: the profile reads the similarity and scores each memory alone."""
    return not profile.set_signals and profile.hearing is Hearing.ALONE and "similarity" in profile.fields


def prune(
    evidence: Evidence, profile: Profile, at: datetime, *, limit: int, nearest: NearestRows, trusting: bool
) -> Pruning:
    """Return the rows that contain the best `limit`, with their similarities.

    `nearest` are the nearest rows by an index. With `trusting`, its ceiling is taken as the upper bound for all rows it
    did not return.
    """
    state = _PruningState(evidence, profile, at, limit)
    state.add_similarities(nearest.rows, nearest.similarities)

    pending = state.pending_rows
    highest = state.upper_bounds(pending, 1.0)
    possible = state.can_rank(highest)
    contenders, bounds = pending[possible], highest[possible]
    if trusting and nearest.ceiling < 1.0:
        bounds = state.upper_bounds(contenders, nearest.ceiling + evidence.table.similarity_error)
    order = np.argsort(-bounds, kind="stable")
    contenders, bounds = contenders[order], bounds[order]

    for batch in (slice(FIRST_BATCH_ROWS), slice(FIRST_BATCH_ROWS, None)):
        needed = np.sort(contenders[batch][state.can_rank(bounds[batch])])
        if len(needed):
            state.add_similarities(needed, (yield SimilarityRequest(needed, exact=False)))

    pruned = state.is_pending(pending)
    uncertain = state.can_rank(highest) & pruned
    stopped = StopReason.INDEX if uncertain.any() else StopReason.BOUND if pruned.any() else StopReason.EVERY
    scanned = len(state.rows)
    proof = Proof(stopped, scanned, scanned + int(np.count_nonzero(pruned)))
    known = replace(evidence, table=state.table, rows=state.rows)
    return PrunedEvidence((yield from _make_exact(known, profile, at, limit)), proof)


def _make_exact(
    evidence: Evidence, profile: Profile, at: datetime, limit: int
) -> Generator[SimilarityRequest, Floats, Evidence]:
    """Return the evidence with exact similarities for the rows that the reference will score.

    First for rows that may or may not pass a gate; then it is clear which rows pass, and which of these may be the
    best. A row without a score is one that the reference refuses, and then no other matters.
    """
    columns = SignalColumns(evidence.table, at, evidence.rows, evidence)
    evidence = yield from _fetch_exact(evidence, columns.table_rows(find_doubtful_rows(columns, profile)))
    scored = score_columns(replace(columns, evidence=evidence), profile, asked=evidence.asked)
    refused = np.flatnonzero(np.isnan(scored.scores))[:1]
    contenders = refused if len(refused) else scored.find_contenders(limit)
    return (yield from _fetch_exact(evidence, scored.columns.table_rows(contenders)))


def _fetch_exact(evidence: Evidence, rows: Rows) -> Generator[SimilarityRequest, Floats, Evidence]:
    """Return the evidence with exact similarities for those of the rows whose vectors stay in the database.

    Where a vector is gone meanwhile, the similarity that was fetched before counts.
    """
    needed = np.intersect1d(rows, np.setdiff1d(evidence.remote_rows, list(evidence.fetched)))
    if not len(needed):
        return evidence
    exact = yield SimilarityRequest(needed, exact=True)
    exact = np.where(np.isnan(exact), evidence.table.numbers["similarity"][needed], exact)
    fetched = dict(zip(needed.tolist(), exact.tolist(), strict=True))
    return replace(evidence, fetched={**evidence.fetched, **fetched})


class _PruningState:
    """The similarities fetched so far, and the lower bounds of the scores."""

    def __init__(self, evidence: Evidence, profile: Profile, at: datetime, limit: int) -> None:
        self._profile = profile
        self._at = at
        self._limit = limit
        self._given_table = evidence.table
        known = evidence.table.numbers.get("similarity")
        self._similarities = np.full(len(evidence.table), np.nan) if known is None else known.copy()
        self._error = evidence.table.similarity_error
        self._eligible = np.zeros(len(evidence.table), dtype=np.bool_)
        self._eligible[evidence.rows] = True
        self._pending = np.zeros(len(evidence.table), dtype=np.bool_)
        self._pending[evidence.remote_rows] = self._eligible[evidence.remote_rows]
        self._scores = self._lower_bounds(self.rows)

    @property
    def table(self) -> CandidateTable:
        """The table with the similarities fetched so far."""
        return self._given_table.with_evidence(similarity=self._similarities, similarity_error=self._error)

    @property
    def rows(self) -> Rows:
        """The rows with known similarity."""
        return np.flatnonzero(self._eligible & ~self._pending)

    @property
    def pending_rows(self) -> Rows:
        """The rows whose similarity is not known yet."""
        return np.flatnonzero(self._pending)

    def is_pending(self, rows: Rows) -> NDArray[np.bool_]:
        """Return, for each row, whether its similarity is still unknown."""
        return self._pending[rows]

    def add_similarities(self, rows: Rows, similarities: Floats) -> None:
        """Add fetched similarities; NaN means the vector is gone, and the row is dropped."""
        pending = self._pending[rows]
        rows, similarities = rows[pending], similarities[pending]
        self._similarities[rows] = similarities
        self._pending[rows] = False
        gone = np.isnan(similarities)
        self._eligible[rows[gone]] = False
        self._scores = np.concatenate([self._scores, self._lower_bounds(rows[~gone])])

    def can_rank(self, bounds: Floats) -> NDArray[np.bool_]:
        """Return whether each upper bound reaches the last place; NaN counts as yes."""
        last = max(nth_largest(self._scores, self._limit), self._profile.min_score)
        return ~(bounds < last)

    def upper_bounds(self, rows: Rows, ceiling: float) -> Floats:
        """Return the highest score of each row if its similarity is at most the ceiling.

        It is minus infinity where a gate is closed. It is infinity for a row that lacks required evidence, because the
        scorer must see that row to refuse it.
        """
        scores = self._score_with(rows, np.full(len(self._given_table), min(ceiling, 1.0)), ROUNDING_ERROR)
        return np.where(np.isnan(scores), np.inf, scores)

    def _lower_bounds(self, rows: Rows) -> Floats:
        """Return the lowest score of each row, given its known similarity."""
        scores = self._score_with(rows, self._similarities - self._error, -ROUNDING_ERROR)
        return np.where(np.isnan(scores), -np.inf, scores)

    def _score_with(self, rows: Rows, similarity: Floats, margin: float) -> Floats:
        """Return the scores of these rows with other similarities, moved by the margin of rounding."""
        columns = SignalColumns(self._given_table.with_evidence(similarity=similarity), self._at, rows)
        scores = columns.score(self._profile, {}) + margin
        for gate in self._profile.gates:
            passes = [columns.signal_values(way.signal) >= way.at_least - margin for way in gate.alternatives]
            scores[~np.logical_or.reduce(passes)] = -np.inf
        return scores
