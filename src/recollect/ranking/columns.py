"""A profile compiled to NumPy: its signals and its score over many candidates at once.

Nothing here is the output of a ranking: columns select, and the oracle's numbers are what a caller sees.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.model.table import KINDS, MICROSECOND, NO_LABEL, CandidateTable, Floats, Rows, to_microseconds
from recollect.ranking.curves import (
    Clamp,
    Curve,
    ExponentialDecay,
    Fusion,
    HalfLife,
    HyperbolicDecay,
    LinearSaturation,
    NoisyOr,
)
from recollect.ranking.profile import Factor, Profile, Term
from recollect.ranking.quantities import (
    CLOCK_DATE_FIELDS,
    DAY,
    Age,
    AgeClock,
    FieldValue,
    FusedRelevance,
    KindWorth,
    Quantity,
)
from recollect.ranking.set_signals import SetSignal
from recollect.ranking.signals import Signal, signal_value

ROUNDING_ERROR = 1e-12
"""How far a column may be from the oracle: a few units in the last place per part, and generously so."""

FetchCandidates = Callable[[Sequence[int]], Sequence[Candidate]]
"""Gives the candidates of some rows of a table, in their order, with true similarities.

The similarity of a row is the same to the last bit, whichever rows are asked about with it.
"""


@dataclass(frozen=True, slots=True)
class SignalColumns:
    """What signals say of a table at one moment, or of some `rows` of it, in order; each is computed once.

    Rows count from 0 among those looked at; `table_rows` says which ones they are in the table. The candidates are
    the table's own, or what `fetch` brings, each once.
    """

    table: CandidateTable
    at: datetime
    rows: Rows | None = None
    fetch: FetchCandidates | None = None
    _cached: list[tuple[Signal, Floats | None]] = field(default_factory=list[tuple[Signal, Floats | None]])
    _fetched: dict[int, Candidate] = field(default_factory=dict[int, Candidate])

    def __len__(self) -> int:
        return len(self.table) if self.rows is None else len(self.rows)

    def take_rows(self, rows: Rows) -> "SignalColumns":
        """The same of these rows alone, in order; what was computed or fetched stays known."""
        if len(rows) == len(self):
            return self
        heard = [(signal, None if column is None else column[rows]) for signal, column in self._cached]
        return SignalColumns(self.table, self.at, self.table_rows(rows), self.fetch, heard, self._fetched)

    def table_rows(self, rows: Rows) -> Rows:
        """The rows of the table that these are."""
        return rows if self.rows is None else self.rows[rows]

    def has_row(self, row: int) -> bool:
        """Whether a row of the table is among these."""
        return self.rows is None or row in self.rows

    def row_index(self, row: int) -> int:
        """Where a row of the table is among these."""
        return row if self.rows is None else int(np.searchsorted(self.rows, row))

    def with_row(self, row: int) -> "SignalColumns":
        """The same with one more row of the table."""
        rows = self.table_rows(np.arange(len(self)))
        rows = np.insert(rows, np.searchsorted(rows, row), row)
        return SignalColumns(self.table, self.at, rows, self.fetch, _fetched=self._fetched)

    def number_column(self, field: str) -> Floats | None:
        """A number of every row, as the table has it."""
        column = self.table.numbers.get(field)
        return column if column is None or self.rows is None else column.take(self.rows)

    def date_column(self, field: str) -> Floats | None:
        """A date of every row, as the table has it."""
        column = self.table.dates.get(field)
        return column if column is None or self.rows is None else column.take(self.rows)

    def kind_column(self) -> NDArray[np.int8] | None:
        """The kind of every row, as the table has it."""
        column = self.table.kinds
        return column if column is None or self.rows is None else column.take(self.rows)

    def label_codes(self, name: str, rows: Rows) -> NDArray[np.intp]:
        """The numbers of the sessions or speakers of these rows, as the table has them."""
        label = self.table.labels.get(name)
        return np.full(len(rows), NO_LABEL, dtype=np.intp) if label is None else label.codes[self.table_rows(rows)]

    def ids(self, rows: Rows) -> list[MemoryId]:
        """The ids of these rows."""
        return [self.table.ids[row] for row in self.table_rows(rows).tolist()]

    def candidates(self, rows: Rows) -> list[Candidate]:
        """The candidates of these rows, as the oracle takes them."""
        numbers: list[int] = self.table_rows(rows).tolist()
        new = [row for row in numbers if row not in self._fetched]
        if new:
            found = self.table.candidates(new) if self.fetch is None else self._fetch_checked(self.fetch, new)
            self._fetched.update(zip(new, found, strict=True))
        return [self._fetched[row] for row in numbers]

    def _fetch_checked(self, fetch: FetchCandidates, rows: Sequence[int]) -> Sequence[Candidate]:
        """What is fetched, once it is sure that it is what the table is about."""
        found = fetch(rows)
        if len(found) != len(rows):
            raise InvalidInput(f"`fetch` brought {len(found)} candidates where {len(rows)} were asked for")
        similarities = self.table.numbers.get("similarity")
        for row, candidate in zip(rows, found, strict=True):
            if candidate.id != self.table.ids[row]:
                raise InvalidInput(f"`fetch` brought {candidate.id!r} where {self.table.ids[row]!r} was asked for")
            near = math.nan if similarities is None else similarities.item(row)
            true = math.nan if candidate.similarity is None else candidate.similarity
            if abs(near - true) > self._similarity_error or math.isnan(near) != math.isnan(true):
                raise InvalidInput(
                    f"`fetch` brought the similarity {true!r} for {candidate.id!r}, where the table has {near!r}, "
                    f"which is off by {self.table.similarity_error:g} at most"
                )
        return found

    @property
    def _similarity_error(self) -> float:
        """How far a similarity may be off, with the rounding of whoever computed it."""
        error = self.table.similarity_error
        return error + ROUNDING_ERROR if error > 0.0 and "similarity" in self.table.numbers else 0.0

    @property
    def questioned(self) -> bool:
        """Whether a question left any evidence in any row."""
        arms = (self.number_column(arm) for arm in ("similarity", "lexical", "relevance"))
        return any(arm is not None and not np.isnan(arm).all() for arm in arms)

    def signal_column(self, signal: Signal) -> Floats | None:
        """What the signal says of every row, NaN without evidence; `None` if no row has any."""
        for known, column in self._cached:
            if known == signal:
                return column
        quantity = _quantity_column(signal.quantity, self)
        with np.errstate(over="ignore"):  # infinity is a quantity like any other: a curve knows its end
            column = None if quantity is None else _apply_curve(signal.curve, quantity)
        self._cached.append((signal, column))
        return column

    def signal_values(self, signal: Signal) -> Floats:
        """What the signal says of every row, NaN without evidence."""
        column = self.signal_column(signal)
        return np.full(len(self), np.nan) if column is None else column

    def score(self, profile: Profile, sets: Mapping[str, Floats]) -> Floats:
        """The score of every row, to within `score_error_bound` of the oracle's; NaN where the oracle would refuse.

        `sets` has what the set signals found, a column by signal.
        """
        score, part = np.zeros(len(self)), np.empty(len(self))
        for term in profile.terms:
            if term.weight > 0.0 or term.missing is None:
                score += np.multiply(self._use_column(term, sets), term.weight, out=part)
        np.minimum(score, 1.0, out=score)  # weights may add up to a hair more
        for factor in profile.factors:
            np.multiply(self._use_column(factor, sets), 1.0 - factor.floor, out=part)
            score *= np.add(part, factor.floor, out=part)
        return score

    def _use_column(self, use: Term | Factor, sets: Mapping[str, Floats]) -> Floats | float:
        column = sets[use.signal.name] if isinstance(use.signal, SetSignal) else self.signal_column(use.signal)
        return _with_missing(column, use)

    def error_bound(self, signal: Signal) -> float:
        """How far the signal's column may be from what the oracle reads; not at all, where it is exact."""
        off = self._similarity_effect(signal)
        return 0.0 if signal.curve.exact and off == 0.0 else ROUNDING_ERROR + off

    def score_error_bound(self, profile: Profile) -> float:
        """How far a score may be off, rounding and the error of similarities together."""
        terms = sum(term.weight * self._similarity_effect(term.signal) for term in profile.terms)
        factors = sum((1.0 - factor.floor) * self._similarity_effect(factor.signal) for factor in profile.factors)
        return ROUNDING_ERROR + terms + factors

    def _similarity_effect(self, signal: Signal | SetSignal) -> float:
        """How far the signal can be off because similarities are; no signal moves faster than they do."""
        if isinstance(signal, SetSignal) or "similarity" not in signal.quantity.fields:
            return 0.0
        return self._similarity_error

    def find_worthless(self, profile: Profile, rows: Rows) -> NDArray[np.bool_]:
        """Whether every part of these rows' sums is 0, and the score with it; by columns that are exact."""
        nothing = np.ones(len(rows), dtype=np.bool_)
        for term in profile.terms:
            if term.weight == 0.0:
                continue
            if isinstance(term.signal, SetSignal) or not term.signal.curve.exact:
                return np.zeros(len(rows), dtype=np.bool_)
            column = self.signal_column(term.signal)
            nothing &= term.weight * _with_missing(None if column is None else column[rows], term) == 0.0
        return nothing

    def exact_values(self, signal: Signal, rows: Rows) -> Floats:
        """What the oracle reads of these rows, NaN without evidence; it is asked where the column may be off."""
        values: Floats = self.signal_values(signal)[rows]
        unsure = np.flatnonzero(self.needs_exact(signal, rows))
        asked = self.candidates(rows[unsure])
        values[unsure] = np.array([signal_value(signal, one, self.at) for one in asked], dtype=np.float64)
        return values

    def needs_exact(self, signal: Signal, rows: Rows) -> NDArray[np.bool_]:
        """Whether the column may be off.

        A similarity that is off does no harm where it is held at 0 or 1, nor where the signal is 1 even with the least
        similarity, for there is no more.
        """
        if not signal.curve.exact:
            quantity = _quantity_column(signal.quantity, self)
            # every curve is exact where there is nothing to it: all that is of a named day would be asked about
            return np.ones(len(rows), dtype=np.bool_) if quantity is None else quantity[rows] != 0.0
        error = self._similarity_effect(signal)
        if error == 0.0:
            return np.zeros(len(rows), dtype=np.bool_)
        near = self.table.numbers["similarity"]
        similarities = near[self.table_rows(rows)]
        held = (similarities <= -error) | (similarities >= 1.0 + error) | np.isnan(similarities)
        return ~held & (self._values_if(np.broadcast_to(-1.0, near.shape), signal, rows) < 1.0)

    def value_bounds(self, signal: Signal, rows: Rows) -> tuple[Floats, Floats]:
        """The least and the most that the oracle may read of these rows: it never falls as the similarity rises."""
        if self._similarity_effect(signal) == 0.0:
            values, slack = self.signal_values(signal)[rows], self.error_bound(signal)
            return values - slack, values + slack
        near = self.table.numbers["similarity"]
        least = self._values_if(near - self._similarity_error, signal, rows) - ROUNDING_ERROR
        return least, self._values_if(near + self._similarity_error, signal, rows) + ROUNDING_ERROR

    def _values_if(self, similarity: Floats, signal: Signal, rows: Rows) -> Floats:
        """What the signal would say of these rows if the table's similarities were others."""
        other = SignalColumns(self.table.with_evidence(similarity=similarity), self.at, self.table_rows(rows))
        return other.signal_values(signal)


def pick_rows(column: Floats, rows: Rows) -> Floats:
    """The column at these rows, which are in order and there once; untouched if they are all."""
    return column if len(rows) == len(column) else column[rows]


def clock_dates(clock: AgeClock, columns: SignalColumns) -> Floats | None:
    """The date each row goes by, NaN where it has none; `None` if no row has one."""
    groups = [_latest_dates(group, columns) for group in CLOCK_DATE_FIELDS[clock]]
    known = [group for group in groups if group is not None]
    if not known:
        return None
    first = known[0]
    for other in known[1:]:
        first = np.where(np.isnan(first), other, first)
    return first


def nth_largest(values: Floats, count: int) -> float:
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


def _quantity_column(quantity: Quantity, columns: SignalColumns) -> Floats | None:
    match quantity:
        case FieldValue(field):
            return columns.number_column(field)
        case Age(clock):
            dates = clock_dates(clock, columns)
            return None if dates is None else _age_in_days(dates, columns.at)
        case FusedRelevance(rule):
            return _fuse_relevance(rule, columns)
        case KindWorth(priorities, otherwise):
            kinds = columns.kind_column()
            if kinds is None:
                return None
            worth = np.array([*(priorities.get(kind, otherwise) for kind in KINDS), np.nan])
            return worth[kinds]
        case _ as unknown:
            assert_never(unknown)


def _apply_curve(curve: Curve, quantity: Floats) -> Floats:
    match curve:
        case Clamp():
            return np.clip(quantity, 0.0, 1.0)
        case HalfLife(half):
            halvings = quantity * (-1.0 / half)
            return np.exp2(halvings, out=halvings)
        case ExponentialDecay(rate):
            exponent = quantity * -rate
            return np.exp(exponent, out=exponent)
        case LinearSaturation(cap):
            return np.minimum(quantity / cap, 1.0)
        case HyperbolicDecay(rate):
            return 1.0 / (1.0 + rate * quantity)
        case _ as unknown:
            assert_never(unknown)


def _latest_dates(fields: Sequence[str], columns: SignalColumns) -> Floats | None:
    known = [column for field in fields if (column := columns.date_column(field)) is not None]
    if not known:
        return None
    latest = known[0]
    for other in known[1:]:
        latest = np.fmax(latest, other)
    return latest


def _age_in_days(dates: Floats, at: datetime) -> Floats:
    """Days from each date to the moment, never below 0."""
    days = to_microseconds(at) - dates
    days /= DAY / MICROSECOND
    return np.maximum(days, 0.0, out=days)


def _fuse_relevance(rule: Fusion, columns: SignalColumns) -> Floats | None:
    """The relevance of each row, by the oracle's operations in the oracle's order: equal to the bit."""
    own = columns.number_column("relevance")
    arms = {arm: columns.number_column(arm) for arm in rule.evidence_fields}
    if own is None and all(arm is None for arm in arms.values()):
        return None
    similarity, silent = _read_arm(arms["similarity"], columns)
    fused = np.clip(similarity, 0.0, 1.0)
    if "lexical" in arms:
        lexical, unmatched = _read_arm(arms["lexical"], columns)
        fused = _noisy_or(fused, lexical, rule) if isinstance(rule, NoisyOr) else rule.blend(fused, lexical)
        np.minimum(fused, 1.0, out=fused)
        silent &= unmatched
    if silent.any():
        fused[silent] = np.nan
    return fused if own is None else np.where(np.isnan(own), fused, own)


def _noisy_or(similarity: Floats, lexical: Floats, rule: NoisyOr) -> Floats:
    miss = 1.0 - lexical
    doubt = miss.copy()
    for _ in range(rule.lexical_strength - 1):
        doubt *= miss
    np.subtract(1.0, doubt, out=doubt)
    similarity += np.multiply(1.0 - similarity, doubt, out=doubt)
    return similarity


def _read_arm(arm: Floats | None, columns: SignalColumns) -> tuple[Floats, NDArray[np.bool_]]:
    """What an arm found, 0 where it found nothing, and where that is."""
    if arm is None:
        return np.zeros(len(columns)), np.ones(len(columns), dtype=np.bool_)
    silent = np.isnan(arm)
    return np.where(silent, 0.0, arm) if silent.any() else arm, silent


def _with_missing(column: Floats | None, use: Term | Factor) -> Floats | float:
    """The column with what its silence is worth."""
    silence = np.nan if use.missing is None else use.missing
    return silence if column is None else _fill_missing(column, silence)


def _fill_missing(column: Floats, silence: float) -> Floats:
    unknown = np.isnan(column)
    return np.where(unknown, silence, column) if unknown.any() else column
