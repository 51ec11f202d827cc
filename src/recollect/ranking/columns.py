"""A profile compiled to NumPy: its signals and its score over many candidates at once.

Nothing here is the output of a ranking: columns select, and the oracle's numbers are what a caller sees.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from recollect.ranking.curves import Clamp, Curve, Decay, Diminishing, HalfLife, Saturating
from recollect.ranking.fusion import Either
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.quantities import DATES, DAY, Age, Clock, Fused, Priority, Quantity, Stated
from recollect.ranking.set_signals import SetSignal
from recollect.ranking.signals import Signal
from recollect.ranking.table import KINDS, Dates, Floats, Table, moment64

DAY64 = DAY / timedelta(microseconds=1)


def signal_column(signal: Signal, table: Table, at: datetime) -> Floats | None:
    """What the signal says of every row, NaN without evidence; `None` if there is none for any row."""
    quantity = _quantity(signal.quantity, table, at)
    return None if quantity is None else _curve(signal.curve, quantity)


def score_column(table: Table, profile: Profile, at: datetime, sets: Mapping[str, Floats]) -> Floats:
    """The score of every row, to within rounding of the oracle's; NaN where the oracle would refuse.

    `sets` has what the set signals found, a column by signal.
    """
    score = np.zeros(len(table))
    for term in profile.terms:
        if term.weight > 0.0 or term.missing is None:
            score += term.weight * _opinion(term, table, at, sets)
    for factor in profile.factors:
        score *= factor.floor + (1.0 - factor.floor) * _opinion(factor, table, at, sets)
    return score


def date_column(clock: Clock, table: Table) -> Dates | None:
    """The date each row goes by, NaT where it has none; `None` if no row has one."""
    groups = [_latest(group, table) for group in DATES[clock]]
    known = [group for group in groups if group is not None]
    if not known:
        return None
    first = known[0]
    for other in known[1:]:
        first = np.where(np.isnat(first), other, first)
    return first


def _opinion(use: Term | Factor, table: Table, at: datetime, sets: Mapping[str, Floats]) -> Floats | float:
    if isinstance(use.signal, SetSignal):
        column: Floats | None = sets[use.signal.name]
    else:
        column = signal_column(use.signal, table, at)
    silence = np.nan if use.missing is None else use.missing
    if column is None:
        return silence
    unknown = np.isnan(column)
    return np.where(unknown, silence, column) if unknown.any() else column


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
            return np.exp2(-(quantity / half))
        case Decay(rate):
            return np.exp(-(rate * quantity))
        case Saturating(cap):
            return np.minimum(quantity / cap, 1.0)
        case Diminishing(rate):
            return 1.0 / (1.0 + rate * quantity)
        case _ as unknown:
            assert_never(unknown)


def _latest(fields: Sequence[str], table: Table) -> Dates | None:
    known = [table.dates[field] for field in fields if field in table.dates]
    if not known:
        return None
    latest = known[0]
    for other in known[1:]:
        latest = np.fmax(latest, other)
    return latest


def _days(dates: Dates, at: datetime) -> Floats:
    """Days from each date to the moment, never below 0; NaN for NaT."""
    age = moment64(at) - dates
    days = age.view(np.int64) / DAY64
    unknown = np.isnat(age)
    return np.maximum(np.where(unknown, np.nan, days) if unknown.any() else days, 0.0)


def _fuse(rule: Either, table: Table) -> Floats | None:
    """The relevance of each row, by the oracle's operations in the oracle's order: equal to the bit."""
    own = table.numbers.get("relevance")
    arms = [table.numbers.get(arm) for arm in rule.arms]
    if own is None and all(arm is None for arm in arms):
        return None
    similarity = np.clip(_heard("similarity", table), 0.0, 1.0)
    doubt = np.ones(len(table))
    for _ in range(rule.lexical_strength):
        doubt *= 1.0 - _heard("lexical", table)
    fused = np.minimum(similarity + (1.0 - similarity) * (1.0 - doubt), 1.0)
    fused[np.logical_and.reduce([_silent(arm, table) for arm in arms])] = np.nan
    return fused if own is None else np.where(np.isnan(own), fused, own)


def _heard(arm: str, table: Table) -> Floats:
    column = table.numbers.get(arm)
    return np.zeros(len(table)) if column is None else np.nan_to_num(column, nan=0.0)


def _silent(arm: Floats | None, table: Table) -> NDArray[np.bool_]:
    return np.ones(len(table), dtype=np.bool_) if arm is None else np.isnan(arm)
