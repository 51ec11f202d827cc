"""Rank many candidates fast: the columns select the best few, and the reference scores them.

The reference also scores every row that is within the columns' error of a gate, of `min_score` or of the last rank, so
the result equals the reference ranking to the last bit. Gates are always decided exactly, because set signals compare
the rows that passed them.
"""

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking import scorer
from recollect.ranking.columns import SignalColumns, nth_largest
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Gate, Profile
from recollect.ranking.result import PRUNED, Proof, Ranking, Scheme, Scored, order_exclusions
from recollect.ranking.set_signals import SetSignalColumns, all_rows, compute_set_signals, set_evidence
from recollect.ranking.signals import SetSignal
from recollect.retrieval.eligibility import Barrier

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Evidence


def rank_evidence(
    evidence: "Evidence",
    profile: Profile,
    at: datetime,
    *,
    limit: int,
    always: Rows | None = None,
    proof: Proof | None = None,
) -> Ranking:
    """Return the best `limit` memories of the evidence, exactly as the reference ranks all of them.

    The rows of `always` are ranked too, even if a gate, the minimum or the limit would leave them out. `proof` says why
    these rows are enough, if others were pruned.
    """
    at = scorer.check_arguments(at, limit)
    scored = score_evidence(evidence, profile, at)
    ranking = select_best(scored, limit)
    if always is not None:
        ranking = _add_rows(ranking, scored, always)
    barred = {barrier.value: evidence.barred[barrier] for barrier in Barrier if evidence.barred.get(barrier)}
    excluded = {**barred, **ranking.excluded}
    if proof is not None and proof.eligible > proof.scanned:
        excluded[PRUNED] = proof.eligible - proof.scanned
    return replace(ranking, excluded=excluded, proof=proof or ranking.proof)


def rank_table(
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    limit: int,
    asked: bool = False,
    rows: Rows | None = None,
) -> Ranking:
    """Return the best `limit` rows of a table whose similarities are exact.

    With `rows`, sorted and distinct, only these are candidates.
    """
    at = scorer.check_arguments(at, limit)
    return select_best(score_table(table, profile, at, asked=asked, rows=rows), limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredColumns:
    """The rows that passed the gates, with scores within `error_bound` of the reference.

    `gated_out` counts the other rows by gate.
    """

    profile: Profile
    columns: SignalColumns
    sets: SetSignalColumns
    scores: Floats
    error_bound: float
    gated_out: Mapping[str, int]
    _explanations: dict[int, Explanation] = field(default_factory=dict[int, Explanation])

    def explain_rows_once(self, rows: Rows) -> list[Explanation]:
        """Return the reference explanations of these rows, each computed once."""
        new = np.array([row for row in rows.tolist() if row not in self._explanations], dtype=np.intp)
        for row, candidate in zip(new.tolist(), self.columns.candidates(new), strict=True):
            set_values = set_evidence(self.sets, row)
            self._explanations[row] = scorer.explain(candidate, self.profile, self.columns.at, set_values)
        return [self._explanations[row] for row in rows.tolist()]

    def exact_scores(self, rows: Rows) -> Floats:
        """Return the reference scores of these rows; rows with equal inputs are scored once."""
        keys = self._score_keys(rows)
        first = dict(zip(reversed(keys), reversed(rows.tolist()), strict=True))
        distinct = np.fromiter(first.values(), dtype=np.intp, count=len(first))
        scores = {key: one.score for key, one in zip(first, self.explain_rows_once(distinct), strict=True)}
        return np.array([scores[key] for key in keys], dtype=np.float64)

    def _score_keys(self, rows: Rows) -> list[bytes]:
        """Return a key for each row; rows with equal keys have equal inputs and equal scores.

        A row with an inexact similarity has a unique key. All rows whose score is 0 have the same key.
        """
        columns = self.columns
        inputs: list[Floats] = []
        unique = np.zeros(len(rows), dtype=np.bool_)
        for use in self.profile.uses:
            if isinstance(use.signal, SetSignal):
                inputs.append(self.sets[use.signal.name].values[rows])
            elif use.signal.curve.exact:
                inputs.append(columns.signal_values(use.signal)[rows])
                unique |= columns.needs_exact(use.signal, rows)
            else:
                inputs += columns.table.field_columns(columns.table_rows(rows), use.signal.quantity.fields)
        keys = np.column_stack([*inputs, np.where(unique, rows, -1.0)])
        keys[columns.zero_score_mask(self.profile, rows) & ~unique] = np.inf
        return [bytes(key) for key in keys.view(np.dtype((np.void, keys.itemsize * keys.shape[1]))).ravel().tolist()]

    def refuse_missing(self) -> None:
        """Raise the error of the reference for the first row that lacks required evidence."""
        missing = np.flatnonzero(np.isnan(self.scores))[:1]
        if len(missing):
            self.explain_rows_once(missing)  # raises, and names what is missing

    def find_contenders(self, limit: int) -> Rows:
        """Return the rows that the reference must score to find the best `limit`."""
        return find_contenders(self.scores, min_score=self.profile.min_score, limit=limit, error_bound=self.error_bound)

    def candidate(self, row: int) -> tuple[Candidate, scorer.SetEvidence]:
        """Return the candidate of a table row, and its set signals.

        A row that did not pass the gates is compared with those that did.
        """
        columns, sets = self.columns, self.sets
        if not columns.has_row(row):
            columns = columns.with_row(row)
            sets = compute_set_signals(columns, self.profile, all_rows(columns))
        index = columns.row_index(row)
        (candidate,) = columns.candidates(np.array([index]))
        return candidate, set_evidence(sets, index)

    def rank_of(self, row: int) -> int | None:
        """Return the rank of a table row, or None if it did not pass a gate or is below the minimum.

        The reference decides close scores.
        """
        if not self.columns.has_row(row):
            return None
        index = np.array([self.columns.row_index(row)])
        own = float(self.exact_scores(index)[0])
        if own < self.profile.min_score:
            return None
        ahead = self.scores > own + self.error_bound
        close = np.flatnonzero(~ahead & (self.scores >= own - self.error_bound))
        scores = self.exact_scores(close)
        (id,) = self.columns.ids(index)
        tied = self.columns.ids(close[scores == own])
        return 1 + int(np.count_nonzero(ahead)) + int(np.count_nonzero(scores > own)) + sum(one < id for one in tied)


def score_evidence(evidence: "Evidence", profile: Profile, at: datetime) -> ScoredColumns:
    """Score the rows of the evidence; raise what the reference raises for a row that lacks required evidence."""
    columns = SignalColumns(evidence.table, at, _check_rows(evidence.rows, evidence.table), evidence)
    scored = score_columns(columns, profile, asked=evidence.asked)
    scored.refuse_missing()
    return scored


def score_table(
    table: CandidateTable, profile: Profile, at: datetime, *, asked: bool, rows: Rows | None = None
) -> ScoredColumns:
    """Do the same for a table whose similarities are exact, or for some of its rows."""
    if table.similarity_error > 0.0:
        raise InvalidInput(
            f"similarities have an error of up to {table.similarity_error:g}; rank evidence that has exact ones"
        )
    scored = score_columns(SignalColumns(table, at, _check_rows(rows, table)), profile, asked=asked)
    scored.refuse_missing()
    return scored


def score_columns(columns: SignalColumns, profile: Profile, *, asked: bool) -> ScoredColumns:
    """Decide which rows pass every gate, count the others, and score those that pass.

    The score of a row that the reference refuses is NaN.
    """
    scorer.check_question(profile, asked=asked, found=asked or not len(columns) or columns.questioned)
    gated_out: Counter[str] = Counter()
    for gate in profile.gates:
        passes = np.logical_or.reduce([_passes_gate(columns, alternative) for alternative in gate.alternatives])
        passing = np.flatnonzero(passes)
        if len(passing) < len(columns):
            gated_out[f"gate:{gate.signal.name}"] = len(columns) - len(passing)
            columns = columns.take_rows(passing)
    sets = compute_set_signals(columns, profile, all_rows(columns))
    return ScoredColumns(
        profile=profile,
        columns=columns,
        sets=sets,
        scores=columns.score(profile, {name: column.values for name, column in sets.items()}),
        error_bound=columns.score_error_bound(profile),
        gated_out=gated_out,
    )


def find_doubtful_rows(columns: SignalColumns, profile: Profile) -> Rows:
    """Return the rows whose gates the columns cannot decide."""
    doubtful = np.zeros(len(columns), dtype=np.bool_)
    for gate in profile.gates:
        for alternative in gate.alternatives:
            doubtful[_rows_near_gate(columns, alternative)] = True
    return np.flatnonzero(doubtful)


def find_contenders(scores: Floats, *, min_score: float, limit: int, error_bound: float) -> Rows:
    """Return the rows that the reference must score: those near `min_score`, and the best few."""
    possible = scores >= min_score - error_bound
    last = nth_largest(scores, limit)
    if last <= min_score + error_bound:
        return np.flatnonzero(possible)
    chosen = scores >= last - 2.0 * error_bound
    if min_score > 0.0:
        chosen |= possible & (scores <= min_score + error_bound)
    return np.flatnonzero(chosen)


def select_best(scored: ScoredColumns, limit: int) -> Ranking:
    """Return the best `limit` of the scored rows."""
    profile, columns = scored.profile, scored.columns
    contenders = scored.find_contenders(limit)
    scores = scored.exact_scores(contenders)
    passes = scores >= profile.min_score
    best = _order_best(columns, contenders[passes], scores[passes], limit)

    below = int(np.count_nonzero(scored.scores < profile.min_score - scored.error_bound)) + int(np.sum(~passes))
    excluded = {**scored.gated_out, "min_score": below, "limit": len(columns) - below - len(best)}
    scheme = Scheme(profile, columns.at)
    pairs = zip(columns.candidates(best), scored.explain_rows_once(best), strict=True)
    return Ranking(
        scheme=scheme,
        scored=tuple(Scored.of(candidate, explanation, scheme) for candidate, explanation in pairs),
        proof=Proof.scan(len(columns) + sum(scored.gated_out.values())),
        excluded=order_exclusions(profile, excluded),
        rows=tuple(columns.table_rows(best).tolist()),
    )


def _order_best(columns: SignalColumns, rows: Rows, scores: Floats, limit: int) -> Rows:
    """Return the best of these rows, sorted by score, then id."""
    ordered = zip((-scores).tolist(), columns.ids(rows), rows.tolist(), strict=True)
    return np.array([row for *_, row in heapq.nsmallest(limit, ordered)], dtype=np.intp)


def _add_rows(ranking: Ranking, scored: ScoredColumns, rows: Rows) -> Ranking:
    """Return the ranking with these rows of the table, wherever they were left out."""
    profile, at = scored.profile, scored.columns.at
    excluded = Counter(ranking.excluded)
    pairs = list(zip(ranking.rows, ranking.scored, strict=True))
    for row in np.setdiff1d(rows, ranking.rows).tolist():
        candidate, set_values = scored.candidate(row)
        explanation = scorer.explain_despite_gates(candidate, profile, at, set_values)
        one = Scored.of(candidate, explanation, ranking.scheme)
        excluded[_exclusion_reason(one, profile, at)] -= 1
        pairs.append((row, one))
    pairs.sort(key=lambda pair: (-pair[1].score, pair[1].id))
    return replace(
        ranking,
        scored=tuple(one for _, one in pairs),
        rows=tuple(row for row, _ in pairs),
        excluded=order_exclusions(profile, excluded),
    )


def _exclusion_reason(scored: Scored, profile: Profile, at: datetime) -> str:
    """Return what leaves a memory out of the best."""
    gate = scorer.closed_gate(scored.candidate, profile, at)
    if gate is not None:
        return f"gate:{gate.signal.name}"
    return "min_score" if float(scored.score) < profile.min_score else "limit"


def _check_rows(rows: Rows | None, table: CandidateTable) -> Rows | None:
    """Return the rows to score, or `None` if they are all."""
    if rows is None:
        return None
    numbers = np.asarray(rows, dtype=np.intp)
    ordered = bool((numbers[1:] > numbers[:-1]).all())
    if not ordered or (len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(table)):
        raise InvalidInput(f"`rows` is not a sorted list of distinct rows of a table of {len(table)}")
    return None if len(numbers) == len(table) else numbers


def _passes_gate(columns: SignalColumns, alternative: Gate) -> NDArray[np.bool_]:
    """Return whether each row opens the gate; the reference decides rows within the error."""
    passes: NDArray[np.bool_] = columns.signal_values(alternative.signal) >= alternative.at_least
    close = _rows_near_gate(columns, alternative)
    if len(close):
        passes[close] = columns.exact_values(alternative.signal, close) >= alternative.at_least
    return passes


def _rows_near_gate(columns: SignalColumns, alternative: Gate) -> Rows:
    """Return the rows whose value is within the columns' error of the gate."""
    error = columns.error_bound(alternative.signal)
    if error == 0.0:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.abs(columns.signal_values(alternative.signal) - alternative.at_least) <= error)
