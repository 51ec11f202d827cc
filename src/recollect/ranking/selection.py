"""Rank many candidates fast: the columns select the best few, and the reference scores them.

The reference also scores every row that is within the columns' error of a gate, of `min_score` or of the last rank, so
the result equals the reference ranking to the last bit. Gates are always decided exactly, because set signals compare
the rows that passed them. `why_in_table` explains the rank of one row without scoring all others.
"""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking import scorer
from recollect.ranking.columns import FetchCandidates, SignalColumns, nth_largest
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Gate, Profile
from recollect.ranking.result import Proof, Ranking, Scheme, Scored, order_exclusions
from recollect.ranking.set_signals import SetSignalColumns, all_rows, compute_set_signals, set_evidence
from recollect.ranking.signals import SetSignal
from recollect.ranking.why import (
    CandidatePosition,
    Why,
    candidate_not_found,
    explain_candidate,
    explain_position,
    find_rival,
)


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


def score_columns(
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    asked: bool,
    fetch: FetchCandidates | None,
    rows: Rows | None,
) -> ScoredColumns:
    """Score the table, or only these rows of it, by columns."""
    if table.similarity_error > 0.0 and fetch is None:
        raise InvalidInput(
            f"similarities have an error of up to {table.similarity_error:g}; pass `fetch`, which returns exact ones"
        )
    columns = SignalColumns(table, at, _check_rows(rows, table), fetch)
    scorer.check_question(profile, asked=asked, found=asked or not len(columns) or columns.questioned)

    gated_out: Counter[str] = Counter()
    passed = _apply_gates(columns, profile, gated_out)
    sets = compute_set_signals(passed, profile, all_rows(passed))
    scores = passed.score(profile, {name: column.values for name, column in sets.items()})
    scored = ScoredColumns(
        profile=profile,
        columns=passed,
        sets=sets,
        scores=scores,
        error_bound=passed.score_error_bound(profile),
        gated_out=gated_out,
    )
    _refuse_missing(scored)
    return scored


def _check_rows(rows: Rows | None, table: CandidateTable) -> Rows | None:
    """Return the rows to score, or `None` if they are all."""
    if rows is None:
        return None
    numbers = np.asarray(rows, dtype=np.intp)
    ordered = bool((numbers[1:] > numbers[:-1]).all())
    if not ordered or (len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(table)):
        raise InvalidInput(f"`rows` is not a sorted list of distinct rows of a table of {len(table)}")
    return None if len(numbers) == len(table) else numbers


def _apply_gates(columns: SignalColumns, profile: Profile, gated_out: Counter[str]) -> SignalColumns:
    """Return the rows that pass every gate, and count the others."""
    for gate in profile.gates:
        passing = np.flatnonzero(
            np.logical_or.reduce([_passes_gate(columns, alternative) for alternative in gate.alternatives])
        )
        if len(passing) < len(columns):
            gated_out[f"gate:{gate.signal.name}"] = len(columns) - len(passing)
            columns = columns.take_rows(passing)
    return columns


def _passes_gate(columns: SignalColumns, alternative: Gate) -> NDArray[np.bool_]:
    """Return whether each row opens the gate; the reference decides rows within the error."""
    value = columns.signal_values(alternative.signal)
    passes: NDArray[np.bool_] = value >= alternative.at_least
    slack = columns.error_bound(alternative.signal)
    if slack > 0.0:
        close = np.flatnonzero(np.abs(value - alternative.at_least) <= slack)
        passes[close] = columns.exact_values(alternative.signal, close) >= alternative.at_least
    return passes


def _refuse_missing(scored_columns: ScoredColumns) -> None:
    """Raise the reference scorer's error for the first row that lacks required evidence."""
    missing = np.isnan(scored_columns.scores)
    if missing.any():
        first = np.flatnonzero(missing)[:1]
        scored_columns.explain_rows_once(first)
        raise InvalidInput(
            f"`fetch` returned evidence for {scored_columns.columns.ids(first)[0]!r} that the table does not have"
        )


def rank_table(
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    limit: int,
    asked: bool = False,
    fetch: FetchCandidates | None = None,
    rows: Rows | None = None,
) -> Ranking:
    """Return the best `limit` rows of the table, exactly as the reference ranks all of it.

    With `rows`, sorted and distinct, only these are candidates. A table with a similarity error needs `fetch`, which
    returns candidates with exact similarities.
    """
    at = scorer.check_arguments(at, limit)
    return select_best(score_columns(table, profile, at, asked=asked, fetch=fetch, rows=rows), limit)


def select_best(scored_columns: ScoredColumns, limit: int) -> Ranking:
    """Return the best `limit` of the scored rows."""
    profile, columns = scored_columns.profile, scored_columns.columns
    excluded = Counter(scored_columns.gated_out)
    contenders = _find_contenders(scored_columns.scores, profile, limit, scored_columns.error_bound, excluded)
    scores = scored_columns.exact_scores(contenders)

    passes = scores >= profile.min_score
    shown = _order_best(columns, contenders[passes], scores[passes], limit)
    excluded["min_score"] += len(passes) - int(np.count_nonzero(passes))
    excluded["limit"] = len(columns) - excluded["min_score"] - len(shown)
    scheme = Scheme(profile, columns.at)
    pairs = zip(columns.candidates(shown), scored_columns.explain_rows_once(shown), strict=True)
    scored = tuple(Scored.of(candidate, explanation, scheme) for candidate, explanation in pairs)
    proof = Proof.scan(len(columns) + sum(scored_columns.gated_out.values()))
    return Ranking(scheme=scheme, scored=scored, proof=proof, excluded=order_exclusions(profile, excluded))


def _order_best(columns: SignalColumns, rows: Rows, scores: Floats, limit: int) -> Rows:
    """Return the best of these rows, sorted by score, then id."""
    ordered = zip((-scores).tolist(), columns.ids(rows), rows.tolist(), strict=True)
    return np.array([row for *_, row in heapq.nsmallest(limit, ordered)], dtype=np.intp)


def _find_contenders(scores: Floats, profile: Profile, limit: int, slack: float, excluded: Counter[str]) -> Rows:
    """Return the rows that the reference must score: those near `min_score`, and the best few."""
    min_score = profile.min_score
    excluded["min_score"] = int(np.count_nonzero(scores < min_score - slack))
    last = nth_largest(scores, limit)
    if last <= min_score + slack:
        return np.flatnonzero(scores >= min_score - slack)
    chosen = scores >= last - 2.0 * slack
    if min_score > 0.0 and np.count_nonzero(scores <= min_score + slack) > excluded["min_score"]:
        chosen |= np.abs(scores - min_score) <= slack
    return np.flatnonzero(chosen)


def why_in_table(
    id: str,
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
    fetch: FetchCandidates | None = None,
    rows: Rows | None = None,
) -> Why:
    """Explain why the candidate is in the best `limit` of the table, or what kept it out.

    The result equals that of `why_ranked` for the table's candidates; `fetch` and `rows` are as for `rank_table`.
    """
    at = scorer.check_arguments(at, limit)
    row = _find_row(id, table, rows)
    scored_columns = score_columns(table, profile, at, asked=asked, fetch=fetch, rows=rows)

    def rival(last: int) -> Scored | None:
        return find_rival(select_best(scored_columns, last), table.ids[row], last)

    return explain_position(_position_of(scored_columns, row), profile, at, limit=limit, rival=rival)


def explain_rows(
    wanted: Sequence[int],
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    asked: bool = False,
    fetch: FetchCandidates | None = None,
    rows: Rows | None = None,
) -> list[tuple[Candidate, Explanation]]:
    """Return the candidates of these rows, with the explanations that `why_in_table` gives."""
    at = scorer.check_arguments(at, None)
    scored_columns = score_columns(table, profile, at, asked=asked, fetch=fetch, rows=rows)
    positions = [_position_of(scored_columns, row) for row in wanted]
    return [(one.candidate, explain_candidate(one, profile, at)) for one in positions]


def _find_row(id: str, table: CandidateTable, rows: Rows | None) -> int:
    """Return the row of that id; raise if it is not among the candidates."""
    candidates = range(len(table)) if rows is None else rows.tolist()
    row = next((row for row in candidates if table.ids[row] == id), None)
    if row is None:
        raise candidate_not_found(id)
    return row


def _position_of(scored_columns: ScoredColumns, row: int) -> CandidatePosition:
    """Return the row's position among the rows that passed the gates.

    A row that did not pass is scored together with them.
    """
    columns, sets = scored_columns.columns, scored_columns.sets
    passed = columns.has_row(row)
    if not passed:
        columns = columns.with_row(row)
        sets = compute_set_signals(columns, scored_columns.profile, all_rows(columns))
    row_index = columns.row_index(row)
    (candidate,) = columns.candidates(np.array([row_index]))
    return CandidatePosition(
        candidate, set_evidence(sets, row_index), _find_rank(scored_columns, row_index) if passed else None
    )


def _find_rank(scored_columns: ScoredColumns, row_index: int) -> int | None:
    """Return the row's rank, or `None` below the minimum; the reference decides close scores."""
    own = float(scored_columns.exact_scores(np.array([row_index]))[0])
    if own < scored_columns.profile.min_score:
        return None
    ahead = scored_columns.scores > own + scored_columns.error_bound
    close = np.flatnonzero(~ahead & (scored_columns.scores >= own - scored_columns.error_bound))
    scores = scored_columns.exact_scores(close)
    (id,) = scored_columns.columns.ids(np.array([row_index]))
    tied = scored_columns.columns.ids(close[scores == own])
    return 1 + int(np.count_nonzero(ahead)) + int(np.count_nonzero(scores > own)) + sum(other < id for other in tied)
