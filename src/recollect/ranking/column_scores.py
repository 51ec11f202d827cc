"""Survey: what columns can tell of every candidate, and the oracle where they cannot.

Gates are settled exactly, for set signals look at those that passed; scores are known to within an error.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking import scorer
from recollect.ranking.columns import FetchCandidates, SignalColumns
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Gate, Profile
from recollect.ranking.set_signal_columns import SetSignalColumns, all_rows, compute_set_signals, set_evidence
from recollect.ranking.set_signals import SetSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredColumns:
    """Those that passed the gates, with scores that are at most `slack` from the oracle's.

    `shut` counts those that did not pass, by gate.
    """

    profile: Profile
    columns: SignalColumns
    sets: SetSignalColumns
    scores: Floats
    error_bound: float
    gated_out: Mapping[str, int]
    _explanations: dict[int, Explanation] = field(default_factory=dict[int, Explanation])

    def explain_rows_once(self, rows: Rows) -> list[Explanation]:
        """What the oracle says of these rows, each asked about once."""
        new = np.array([row for row in rows.tolist() if row not in self._explanations], dtype=np.intp)
        for row, candidate in zip(new.tolist(), self.columns.candidates(new), strict=True):
            given = set_evidence(self.sets, row)
            self._explanations[row] = scorer.explain(candidate, self.profile, self.columns.at, given)
        return [self._explanations[row] for row in rows.tolist()]

    def exact_scores(self, rows: Rows) -> Floats:
        """The oracle's scores of these rows; of those that must score alike, one is asked about."""
        keys = self._score_keys(rows)
        first = dict(zip(reversed(keys), reversed(rows.tolist()), strict=True))
        asked = np.fromiter(first.values(), dtype=np.intp, count=len(first))
        scores = {key: one.score for key, one in zip(first, self.explain_rows_once(asked), strict=True)}
        return np.array([scores[key] for key in keys], dtype=np.float64)

    def _score_keys(self, rows: Rows) -> list[bytes]:
        """A key for each row: those with equal keys score alike, for all that a score is made of is equal.

        Where a similarity is only near the truth, a row is like no other; and all that are worth nothing are alike.
        """
        columns = self.columns
        made_of: list[Floats] = []
        alone = np.zeros(len(rows), dtype=np.bool_)
        for use in self.profile.uses:
            if isinstance(use.signal, SetSignal):
                made_of.append(self.sets[use.signal.name].values[rows])
            elif use.signal.curve.exact:
                made_of.append(columns.signal_values(use.signal)[rows])
                alone |= columns.needs_exact(use.signal, rows)
            else:
                made_of += columns.table.field_columns(columns.table_rows(rows), use.signal.quantity.fields)
        keys = np.column_stack([*made_of, np.where(alone, rows, -1.0)])
        keys[columns.find_worthless(self.profile, rows) & ~alone] = np.inf
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
    """The table, or these rows of it as if there were no others, seen through the profile."""
    if table.similarity_error > 0.0 and fetch is None:
        raise InvalidInput(
            f"the similarities are up to {table.similarity_error:g} off; give `fetch`, which brings the true ones"
        )
    everyone = SignalColumns(table, at, _check_rows(rows, table), fetch)
    scorer.check_question(profile, asked=asked, found=asked or not len(everyone) or everyone.questioned)

    shut: Counter[str] = Counter()
    passed = _apply_gates(everyone, profile, shut)
    sets = compute_set_signals(passed, profile, all_rows(passed))
    scores = passed.score(profile, {name: found.values for name, found in sets.items()})
    seen = ScoredColumns(
        profile=profile,
        columns=passed,
        sets=sets,
        scores=scores,
        error_bound=passed.score_error_bound(profile),
        gated_out=shut,
    )
    _refuse_missing(seen)
    return seen


def _check_rows(rows: Rows | None, table: CandidateTable) -> Rows | None:
    """The rows to look at, or `None` if they are all."""
    if rows is None:
        return None
    numbers = np.asarray(rows, dtype=np.intp)
    ordered = bool((numbers[1:] > numbers[:-1]).all())
    if not ordered or (len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(table)):
        raise InvalidInput(f"`rows` are not rows of a table of {len(table)}, in order and each once")
    return None if len(numbers) == len(table) else numbers


def _apply_gates(columns: SignalColumns, profile: Profile, shut: Counter[str]) -> SignalColumns:
    """Those that pass every gate."""
    for gate in profile.gates:
        kept = np.flatnonzero(np.logical_or.reduce([_passes_gate(columns, way) for way in gate.alternatives]))
        if len(kept) < len(columns):
            shut[f"gate:{gate.signal.name}"] = len(columns) - len(kept)
            columns = columns.take_rows(kept)
    return columns


def _passes_gate(columns: SignalColumns, way: Gate) -> NDArray[np.bool_]:
    """Whether each has enough of what opens a gate; the ones too close to tell are asked of the oracle."""
    value = columns.signal_values(way.signal)
    passes: NDArray[np.bool_] = value >= way.at_least
    slack = columns.error_bound(way.signal)
    if slack > 0.0:
        close = np.flatnonzero(np.abs(value - way.at_least) <= slack)
        passes[close] = columns.exact_values(way.signal, close) >= way.at_least
    return passes


def _refuse_missing(seen: ScoredColumns) -> None:
    """Have the oracle say what the first one lacks of what the profile insists on, if any does."""
    missing = np.isnan(seen.scores)
    if missing.any():
        first = np.flatnonzero(missing)[:1]
        seen.explain_rows_once(first)
        raise InvalidInput(f"`fetch` brought evidence for {seen.columns.ids(first)[0]!r} that the table does not have")
