"""Selection: columns find the few that matter among many candidates, and the oracle ranks those.

Whatever lies within the columns' error of a gate, of `min_score` or of the last place is scored by the
oracle, so the outcome is the oracle's to the last bit.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.ranking import scorer
from recollect.ranking.columns import score_column, signal_column
from recollect.ranking.curves import Decay, HalfLife
from recollect.ranking.explanation import Explanation
from recollect.ranking.gathering import SetColumns, evidence, gather_sets
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking, Scheme, Scored
from recollect.ranking.set_signals import SetSignal
from recollect.ranking.signals import Signal
from recollect.ranking.table import Floats, Rows, Table

ROUNDING = 1e-12
"""How far a column may be from the oracle: a few units in the last place per part, and generously so."""

Fetch = Callable[[Sequence[int]], Sequence[Candidate]]
"""Gives the candidates of some rows, with true similarities."""


def rank_table(
    table: Table,
    profile: Profile,
    at: datetime,
    *,
    limit: int,
    asked: bool = False,
    fetch: Fetch | None = None,
) -> Ranking:
    """The best `limit` of the table, exactly as the oracle ranks all of it.

    A table with a similarity error needs `fetch`, which brings the true similarities of a few rows.
    """
    scorer.check(at, limit)
    scorer.check_question(profile, asked=asked, found=not len(table) or table.questioned)
    if table.similarity_error > 0.0 and (fetch is None or profile.set_signals):
        raise InvalidInput(
            f"profile {profile.name!r} cannot be ranked from similarities that are up to "
            f"{table.similarity_error:g} off: without set signals and with `fetch` it can"
        )
    source = _Source(table, fetch)

    excluded: Counter[str] = Counter()
    rows = _through_gates(source, profile, at, excluded)
    sets = gather_sets(table, profile, at, rows)
    scores = score_column(table, profile, at, {name: found.values for name, found in sets.items()})
    contenders = _contenders(scores[rows], profile, limit, _slack(table, profile), excluded)
    verdicts = _verdicts(source, rows[contenders], profile, at, sets)

    passed = [verdict for verdict in verdicts if verdict.score >= profile.min_score]
    passed.sort(key=lambda verdict: (-verdict.score, table.ids[verdict.row]))
    excluded["min_score"] += len(verdicts) - len(passed)
    excluded["limit"] = len(rows) - excluded["min_score"] - len(passed[:limit])
    scheme = Scheme(profile, at)
    shown = source.candidates([verdict.row for verdict in passed[:limit]])
    scored = tuple(
        Scored.of(candidate, verdict.explanation, scheme)
        for candidate, verdict in zip(shown, passed, strict=False)
    )
    return Ranking(scheme=scheme, scored=scored, excluded=dict(+excluded))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the oracle's candidates come from: the table itself, or whoever knows better."""

    table: Table
    fetch: Fetch | None

    def candidates(self, rows: Sequence[int]) -> Sequence[Candidate]:
        return [self.table.candidate(row) for row in rows] if self.fetch is None else self.fetch(rows)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the oracle says of one row."""

    row: int
    explanation: Explanation
    score: float


def _through_gates(source: _Source, profile: Profile, at: datetime, excluded: Counter[str]) -> Rows:
    """The rows that pass every gate; those too close to tell are asked of the oracle."""
    rows = np.arange(len(source.table))
    for gate in profile.gates:
        column = signal_column(gate.signal, source.table, at)
        value = np.full(len(rows), np.nan) if column is None else column[rows]
        slack = _gate_slack(gate.signal, source.table)
        passes = value >= gate.at_least
        if slack > 0.0:
            close = np.flatnonzero(np.abs(value - gate.at_least) <= slack)
            asked = source.candidates(rows[close].tolist())
            passes[close] = [scorer.passes(gate, candidate, at) for candidate in asked]
        excluded[f"gate:{gate.signal.name}"] += int(np.count_nonzero(~passes))
        rows = rows[passes]
    return rows


def _contenders(scores: Floats, profile: Profile, limit: int, slack: float, excluded: Counter[str]) -> Rows:
    """Whose fate the oracle must settle: those near `min_score`, and all that may be among the best."""
    missing = np.isnan(scores)
    if missing.any():
        return np.flatnonzero(missing)[:1]  # lacks what the profile insists on; the oracle says what
    least = profile.min_score
    if least == 0.0:
        return np.flatnonzero(scores >= _last(scores, limit) - 2.0 * slack)
    excluded["min_score"] = int(np.count_nonzero(scores < least - slack))
    unsure = np.abs(scores - least) <= slack
    sure = scores > least + slack
    best = sure & (scores >= _last(scores[sure], limit) - 2.0 * slack)
    return np.flatnonzero(best | unsure)


def _last(scores: Floats, limit: int) -> float:
    """The score of the last place, or one that everybody reaches if there is a place for all."""
    return float(np.partition(scores, -limit)[-limit]) if len(scores) > limit else 0.0


def _verdicts(
    source: _Source, rows: Rows, profile: Profile, at: datetime, sets: SetColumns
) -> list[_Verdict]:
    """What the oracle says of these rows; rows with equal inputs are asked about once."""
    inputs = source.table.inputs(rows, profile.fields)
    known: dict[tuple[object, ...], Explanation] = {}
    verdicts: list[_Verdict] = []
    for row, read in zip(rows.tolist(), inputs, strict=True):
        given = evidence(sets, row)
        key = (row,) if source.fetch is not None else (*read, *given.values())
        if key not in known:
            (candidate,) = source.candidates([row])
            known[key] = scorer.explain(candidate, profile, at, given)
        verdicts.append(_Verdict(row, known[key], known[key].score))
    return verdicts


def _gate_slack(signal: Signal, table: Table) -> float:
    """How far the gate's column may be off: sums and products are exact, exponentials are not."""
    rounding = ROUNDING if isinstance(signal.curve, HalfLife | Decay) else 0.0
    return rounding + _exposure(signal) * table.similarity_error


def _slack(table: Table, profile: Profile) -> float:
    """How far a column score may be off, rounding and similarity error together."""
    terms = sum(term.weight * _exposure(term.signal) for term in profile.terms)
    factors = sum((1.0 - factor.floor) * _exposure(factor.signal) for factor in profile.factors)
    return ROUNDING + (terms + factors) * table.similarity_error


def _exposure(signal: Signal | SetSignal) -> float:
    """How far the signal can move, at most, when the similarity moves by 1."""
    if isinstance(signal, SetSignal):
        return 0.0
    return 1.0 if "similarity" in signal.quantity.fields else 0.0
