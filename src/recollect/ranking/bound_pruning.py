"""Bounded: the best of a table whose similarities must be asked for, few of them.

A score never falls as the similarity rises. So what a candidate would score if it were as near as it can be is a bound,
and whoever stays below the last place even so need not be asked about.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import Floats, Rows, Table
from recollect.ranking.columns import ROUNDING, Columns, largest
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.proof import Proof, Stopped
from recollect.retrieval.remote_similarity import Nearby

AT_FIRST = 1_024
"""How many similarities are asked for first; then all that may matter still, for each time is a round trip."""


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """The table with the similarities that were asked for, the rows to rank, and why no others need be."""

    table: Table
    rows: Rows
    proof: Proof


def boundable(profile: Profile) -> bool:
    """Whether bounds can replace looking at all: similarity matters, and each memory is scored by itself."""
    return not profile.set_signals and profile.hearing is Hearing.ALONE and "similarity" in profile.fields


def narrow(
    table: Table, profile: Profile, at: datetime, *, limit: int, rows: Rows, nearby: Nearby, trusting: bool
) -> Narrowed:
    """The rows of these among which the best `limit` are, with their similarities.

    With `trusting`, the index's word is taken for how near the others are at most.
    """
    known = _Known(table, profile, at, limit, rows, nearby)
    nearest = nearby.nearest()
    known.learn(nearest.rows, nearest.similarities)

    waiting = known.waiting
    utmost = known.most(waiting, 1.0)
    possible = known.able(utmost)
    asked, bounds = waiting[possible], utmost[possible]
    if trusting and nearest.ceiling < 1.0:
        bounds = known.most(asked, nearest.ceiling + nearby.error)
    order = np.argsort(-bounds, kind="stable")
    asked, bounds = asked[order], bounds[order]

    for part in (slice(AT_FIRST), slice(AT_FIRST, None)):
        able = np.sort(asked[part][known.able(bounds[part])])
        if len(able):
            known.learn(able, nearby.similarities(able))

    unasked = known.waits(waiting)
    doubtful = known.able(utmost) & unasked
    stopped = Stopped.INDEX if doubtful.any() else Stopped.BOUND if unasked.any() else Stopped.EVERY
    scanned = len(known.rows)
    return Narrowed(known.table, known.rows, Proof(stopped, scanned, scanned + int(np.count_nonzero(unasked))))


class _Known:
    """What is known so far: the similarities that came, and the score that has the last place."""

    def __init__(self, table: Table, profile: Profile, at: datetime, limit: int, rows: Rows, nearby: Nearby) -> None:
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
        self._scores = self._least(self.rows)

    @property
    def table(self) -> Table:
        """The table with all that came."""
        return self._plain.with_evidence(similarity=self._similarities, similarity_error=self._error)

    @property
    def rows(self) -> Rows:
        """Those of which all is known."""
        return np.flatnonzero(self._here & ~self._waits)

    @property
    def waiting(self) -> Rows:
        """Those whose similarity is not known."""
        return np.flatnonzero(self._waits)

    def waits(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether the similarity of each of these is not known."""
        return self._waits[rows]

    def learn(self, rows: Rows, similarities: Floats) -> None:
        """Take these similarities in; a row without one is gone."""
        wanted = self._waits[rows]
        rows, similarities = rows[wanted], similarities[wanted]
        self._similarities[rows] = similarities
        self._waits[rows] = False
        gone = np.isnan(similarities)
        self._here[rows[gone]] = False
        self._scores = np.concatenate([self._scores, self._least(rows[~gone])])

    def able(self, bounds: Floats) -> NDArray[np.bool_]:
        """Whether each that scores so much at most may be among the best; one without a number is not out of it."""
        last = max(largest(self._scores, self._limit), self._profile.min_score)
        return ~(bounds < last)

    def most(self, rows: Rows, ceiling: float) -> Floats:
        """What each scores at most, if it is no nearer than the ceiling; minus infinity where a gate is shut.

        One that lacks what the profile insists on counts as the best: it must be looked at to be refused.
        """
        scores = self._scored(rows, np.full(len(self._plain), min(ceiling, 1.0)), ROUNDING)
        return np.where(np.isnan(scores), np.inf, scores)

    def _least(self, rows: Rows) -> Floats:
        """What each scores at least, by the similarity that is known of it."""
        scores = self._scored(rows, self._similarities - self._error, -ROUNDING)
        return np.where(np.isnan(scores), -np.inf, scores)

    def _scored(self, rows: Rows, similarity: Floats, slack: float) -> Floats:
        """What these rows would score if the table's similarities were these."""
        columns = Columns(self._plain.with_evidence(similarity=similarity), self._at, rows)
        scores = columns.score(self._profile, {}) + slack
        for gate in self._profile.gates:
            passes = [columns.values(way.signal) >= way.at_least - slack for way in gate.ways]
            scores[~np.logical_or.reduce(passes)] = -np.inf
        return scores
