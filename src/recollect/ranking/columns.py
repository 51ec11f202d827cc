"""A profile compiled to NumPy: its signals and its score over many candidates at once.

Nothing here is the output of a ranking: columns select, and the oracle's numbers are what a caller sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from recollect.ranking.curves import Clamp, Curve, Decay, Diminishing, HalfLife, Saturating
from recollect.ranking.fusion import Either
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.quantities import DATES, DAY, Age, Clock, Fused, Priority, Quantity, Stated
from recollect.ranking.set_signals import SetSignal
from recollect.ranking.signals import Signal
from recollect.ranking.table import KINDS, MICROSECOND, Floats, Rows, Table, microseconds


@dataclass(frozen=True, slots=True)
class Columns:
    """What signals say of every row of a table at one moment; each is computed once."""

    table: Table
    at: datetime
    _known: list[tuple[Signal, Floats | None]] = field(default_factory=list[tuple[Signal, Floats | None]])

    def signal(self, signal: Signal) -> Floats | None:
        """What the signal says of every row, NaN without evidence; `None` if no row has any."""
        for known, column in self._known:
            if known == signal:
                return column
        quantity = _quantity(signal.quantity, self.table, self.at)
        with np.errstate(over="ignore"):  # infinity is a quantity like any other: a curve knows its end
            column = None if quantity is None else _curve(signal.curve, quantity)
        self._known.append((signal, column))
        return column

    def score(self, profile: Profile, sets: Mapping[str, Floats]) -> Floats:
        """The score of every row, to within rounding of the oracle's; NaN where the oracle would refuse.

        `sets` has what the set signals found, a column by signal.
        """
        score = np.zeros(len(self.table))
        for term in profile.terms:
            if term.weight > 0.0 or term.missing is None:
                score += term.weight * self._opinion(term, sets)
        for factor in profile.factors:
            score *= factor.floor + (1.0 - factor.floor) * self._opinion(factor, sets)
        return score

    def _opinion(self, use: Term | Factor, sets: Mapping[str, Floats]) -> Floats | float:
        column = sets[use.signal.name] if isinstance(use.signal, SetSignal) else self.signal(use.signal)
        silence = np.nan if use.missing is None else use.missing
        return silence if column is None else _filled(column, silence)


def pick(column: Floats, rows: Rows) -> Floats:
    """The column at these rows, which are in order and there once; untouched if they are all."""
    return column if len(rows) == len(column) else column[rows]


def date_column(clock: Clock, table: Table) -> Floats | None:
    """The date each row goes by, NaN where it has none; `None` if no row has one."""
    groups = [_latest(group, table) for group in DATES[clock]]
    known = [group for group in groups if group is not None]
    if not known:
        return None
    first = known[0]
    for other in known[1:]:
        first = np.where(np.isnan(first), other, first)
    return first


def largest(values: Floats, count: int) -> float:
    """The `count`-th largest of the values; minus infinity if there are not so many.

    Most values are never looked at twice: the best of each of many blocks give a bound that few values reach.
    """
    if len(values) < count:
        return -np.inf
    width = len(values) // (BLOCKS_PER_PLACE * count)
    if width > 1:
        blocks = values[: len(values) // width * width].reshape(-1, width).max(axis=1)
        values = values[values >= np.partition(blocks, -count)[-count]]
    return float(np.partition(values, -count)[-count])


BLOCKS_PER_PLACE = 16
"""More blocks than places, so that the bound is a good one; few enough that their best are found fast."""


def _quantity(quantity: Quantity, table: Table, at: datetime) -> Floats | None:
    match quantity:
        case Stated(field):
            return table.numbers.get(field)
        case Age(clock):
            dates = date_column(clock, table)
            return None if dates is None else _days(dates, at)
        case Fused(rule):
            return _fuse(rule, table)
        case Priority(priorities, otherwise):
            if table.kinds is None:
                return None
            worth = np.array([*(priorities.get(kind, otherwise) for kind in KINDS), np.nan])
            return worth[table.kinds]
        case _ as unknown:
            assert_never(unknown)


def _curve(curve: Curve, quantity: Floats) -> Floats:
    match curve:
        case Clamp():
            return np.clip(quantity, 0.0, 1.0)
        case HalfLife(half):
            halvings = quantity * (-1.0 / half)
            return np.exp2(halvings, out=halvings)
        case Decay(rate):
            exponent = quantity * -rate
            return np.exp(exponent, out=exponent)
        case Saturating(cap):
            return np.minimum(quantity / cap, 1.0)
        case Diminishing(rate):
            return 1.0 / (1.0 + rate * quantity)
        case _ as unknown:
            assert_never(unknown)


def _latest(fields: Sequence[str], table: Table) -> Floats | None:
    known = [table.dates[field] for field in fields if field in table.dates]
    if not known:
        return None
    latest = known[0]
    for other in known[1:]:
        latest = np.fmax(latest, other)
    return latest


def _days(dates: Floats, at: datetime) -> Floats:
    """Days from each date to the moment, never below 0."""
    days = microseconds(at) - dates
    days /= DAY / MICROSECOND
    return np.maximum(days, 0.0, out=days)


def _fuse(rule: Either, table: Table) -> Floats | None:
    """The relevance of each row, by the oracle's operations in the oracle's order: equal to the bit."""
    own = table.numbers.get("relevance")
    arms = [table.numbers.get(arm) for arm in rule.arms]
    if own is None and all(arm is None for arm in arms):
        return None
    similarity = np.clip(_heard("similarity", table), 0.0, 1.0)
    fused = similarity
    if rule.lexical_strength > 0:
        miss = 1.0 - _heard("lexical", table)
        doubt = miss
        for _ in range(rule.lexical_strength - 1):
            doubt = doubt * miss
        fused = np.minimum(similarity + (1.0 - similarity) * (1.0 - doubt), 1.0)
    silent = np.logical_and.reduce([_silent(arm, table) for arm in arms])
    if silent.any():
        fused = np.where(silent, np.nan, fused)
    return fused if own is None else np.where(np.isnan(own), fused, own)


def _heard(arm: str, table: Table) -> Floats:
    column = table.numbers.get(arm)
    return np.zeros(len(table)) if column is None else _filled(column, 0.0)


def _silent(arm: Floats | None, table: Table) -> NDArray[np.bool_]:
    return np.ones(len(table), dtype=np.bool_) if arm is None else np.isnan(arm)


def _filled(column: Floats, silence: float) -> Floats:
    unknown = np.isnan(column)
    return np.where(unknown, silence, column) if unknown.any() else column
