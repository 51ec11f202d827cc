"""Selection: columns find the few that matter among many candidates, and the oracle ranks those.

Whatever lies within the columns' error of a gate, of `min_score` or of the last place is scored by the
oracle, so the outcome is the oracle's to the last bit.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.ranking import scorer
from recollect.ranking.columns import Columns, largest, pick
from recollect.ranking.explanation import Explanation
from recollect.ranking.gathering import SetColumns, every_row, evidence, gather_sets
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking, Scheme, Scored, tally
from recollect.ranking.set_signals import SetSignal
from recollect.ranking.signals import Signal
from recollect.ranking.table import Floats, Rows, Table

ROUNDING = 1e-12
"""How far a column may be from the oracle: a few units in the last place per part, and generously so."""

Fetch = Callable[[Sequence[int]], Sequence[Candidate]]
"""Gives the candidates of some rows, in their order, with true similarities."""


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
    at = scorer.check(at, limit)
    scorer.check_question(profile, asked=asked, found=not len(table) or table.questioned)
    if table.similarity_error > 0.0 and (fetch is None or profile.set_signals):
        raise InvalidInput(
            f"profile {profile.name!r} cannot be ranked from similarities that are up to "
            f"{table.similarity_error:g} off: without set signals and with `fetch` it can"
        )
    source = _Source(table, fetch)
    columns = Columns(table, at)

    excluded: Counter[str] = Counter()
    rows = _through_gates(source, columns, profile, excluded)
    sets = gather_sets(columns, profile, rows)
    scores = columns.score(profile, {name: found.values for name, found in sets.items()})
    contenders = _contenders(pick(scores, rows), profile, limit, _slack(table, profile), excluded)
    verdicts = _verdicts(source, rows[contenders], profile, at, sets)

    passed = [verdict for verdict in verdicts if verdict.score >= profile.min_score]
    passed.sort(key=lambda verdict: (-verdict.score, table.ids[verdict.row]))
    shown = passed[:limit]
    excluded["min_score"] += len(verdicts) - len(passed)
    excluded["limit"] = len(rows) - excluded["min_score"] - len(shown)
    scheme = Scheme(profile, at)
    candidates = source.candidates([verdict.row for verdict in shown])
    scored = [Scored.of(c, v.explanation, scheme) for c, v in zip(candidates, shown, strict=True)]
    return Ranking(scheme=scheme, scored=tuple(scored), excluded=tally(profile, excluded))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the oracle's candidates come from: the table itself, or whoever knows better; each once."""

    table: Table
    fetch: Fetch | None
    _known: dict[int, Candidate] = field(default_factory=dict[int, Candidate])

    def candidates(self, rows: Sequence[int]) -> list[Candidate]:
        new = [row for row in rows if row not in self._known]
        found = [self.table.candidate(row) for row in new] if self.fetch is None else self.fetch(new)
        if len(found) != len(new):
            raise InvalidInput(f"`fetch` brought {len(found)} candidates where {len(new)} were asked for")
        for row, candidate in zip(new, found, strict=True):
            if candidate.id != self.table.ids[row]:
                raise InvalidInput(f"`fetch` brought {candidate.id!r} where {self.table.ids[row]!r} was asked for")
            self._known[row] = candidate
        return [self._known[row] for row in rows]


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the oracle says of one row."""

    row: int
    explanation: Explanation
    score: float


def _through_gates(source: _Source, columns: Columns, profile: Profile, excluded: Counter[str]) -> Rows:
    """The rows that pass every gate; those too close to tell are asked of the oracle."""
    rows = every_row(source.table)
    for gate in profile.gates:
        column = columns.signal(gate.signal)
        value = np.full(len(rows), np.nan) if column is None else pick(column, rows)
        passes = value >= gate.at_least
        slack = _gate_slack(gate.signal, source.table)
        if slack > 0.0:
            close = np.flatnonzero(np.abs(value - gate.at_least) <= slack)
            asked = source.candidates(rows[close].tolist())
            passes[close] = [scorer.passes(gate, candidate, columns.at) for candidate in asked]
        shut = len(rows) - int(np.count_nonzero(passes))
        if shut > 0:
            excluded[f"gate:{gate.signal.name}"] += shut
            rows = rows[passes]
    return rows


def _contenders(scores: Floats, profile: Profile, limit: int, slack: float, excluded: Counter[str]) -> Rows:
    """Whose fate the oracle must settle: those near `min_score`, and all that may be among the best."""
    missing = np.isnan(scores)
    if missing.any():
        return np.flatnonzero(missing)[:1]  # lacks what the profile insists on; the oracle says what
    least = profile.min_score
    excluded["min_score"] = int(np.count_nonzero(scores < least - slack))
    last = largest(scores, limit)
    if last <= least + slack:
        return np.flatnonzero(scores >= least - slack)
    chosen = scores >= last - 2.0 * slack
    if least > 0.0 and np.count_nonzero(scores <= least + slack) > excluded["min_score"]:
        chosen |= np.abs(scores - least) <= slack
    return np.flatnonzero(chosen)


def _verdicts(source: _Source, rows: Rows, profile: Profile, at: datetime, sets: SetColumns) -> list[_Verdict]:
    """What the oracle says of these rows; rows with equal inputs are asked about once."""
    numbers = rows.tolist()
    inputs: list[tuple[object, ...]] = [(row,) for row in numbers]
    if source.table.similarity_error == 0.0:
        inputs = source.table.inputs(rows, profile.fields)
    keys = [(read, *evidence(sets, row).values()) for read, row in zip(inputs, numbers, strict=True)]
    first = dict(zip(reversed(keys), reversed(numbers), strict=True))
    asked = source.candidates(list(first.values()))
    explanations = {
        key: scorer.explain(candidate, profile, at, evidence(sets, row))
        for (key, row), candidate in zip(first.items(), asked, strict=True)
    }
    scores = {key: explanation.score for key, explanation in explanations.items()}
    return [_Verdict(row, explanations[key], scores[key]) for key, row in zip(keys, numbers, strict=True)]


def _gate_slack(signal: Signal, table: Table) -> float:
    """How far the gate's column may be off: sums and products are exact, exponentials are not."""
    rounding = 0.0 if signal.curve.exact else ROUNDING
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
