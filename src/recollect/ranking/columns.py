"""A profile compiled to NumPy: the signals and scores of many candidates at once.

In the order of the definitions: a column for each curve and for each quantity, the fused relevance included; then
`SignalColumns`, which computes signals and scores from these, and says how far each may be off. Columns only select
candidates: the scores that a caller sees come from the reference scorer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.model.table import KINDS, MICROSECOND, NO_LABEL, CandidateTable, Floats, Rows, to_microseconds
from recollect.ranking.curves import (
    Blend,
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
from recollect.ranking.signals import SetSignal, Signal, signal_value

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Evidence

ROUNDING_ERROR = 1e-12
"""The largest difference between a column and the reference scorer.

It is a generous bound for rounding errors of a few units in the last place per part.
"""


def _apply_curve(curve: Curve, quantity: Floats) -> Floats:
    """Return the curve of every quantity, equal to the last bit if the curve is `exact`."""
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


def _quantity_column(quantity: Quantity, columns: "SignalColumns") -> Floats | None:
    """Return the quantity of every row, NaN without evidence; None if no row has any."""
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


def clock_dates(clock: AgeClock, columns: "SignalColumns") -> Floats | None:
    """Return each row's date by the clock, NaN without one; `None` if no row has one."""
    groups = [_latest_dates(group, columns) for group in CLOCK_DATE_FIELDS[clock]]
    known = [group for group in groups if group is not None]
    if not known:
        return None
    first = known[0]
    for other in known[1:]:
        first = np.where(np.isnan(first), other, first)
    return first


def _latest_dates(fields: Sequence[str], columns: "SignalColumns") -> Floats | None:
    known = [column for field in fields if (column := columns.date_column(field)) is not None]
    if not known:
        return None
    latest = known[0]
    for other in known[1:]:
        latest = np.fmax(latest, other)
    return latest


def _age_in_days(dates: Floats, at: datetime) -> Floats:
    """Return the days from each date to the moment, at least 0."""
    days = to_microseconds(at) - dates
    days /= DAY / MICROSECOND
    return np.maximum(days, 0.0, out=days)


def _fuse_relevance(rule: Fusion, columns: "SignalColumns") -> Floats | None:
    """Return each row's own relevance, else the fused one, equal to the reference to the last bit.

    It uses the same operations in the same order.
    """
    own = columns.number_column("relevance")
    evidence = {field: columns.number_column(field) for field in rule.evidence_fields}
    if own is None and all(column is None for column in evidence.values()):
        return None
    similarity, missing = _split_missing(evidence["similarity"], columns)
    fused = np.clip(similarity, 0.0, 1.0)
    if "lexical" in evidence:
        lexical, unmatched = _split_missing(evidence["lexical"], columns)
        match rule:
            case NoisyOr(lexical_strength):
                miss = 1.0 - lexical
                doubt = miss.copy()
                for _ in range(lexical_strength - 1):
                    doubt *= miss
                np.subtract(1.0, doubt, out=doubt)
                fused += np.multiply(1.0 - fused, doubt, out=doubt)
            case Blend():
                fused = rule.blend(fused, lexical)
            case _ as unknown:
                assert_never(unknown)
        np.minimum(fused, 1.0, out=fused)
        missing &= unmatched
    if missing.any():
        fused[missing] = np.nan
    return fused if own is None else np.where(np.isnan(own), fused, own)


def _split_missing(column: Floats | None, columns: "SignalColumns") -> tuple[Floats, NDArray[np.bool_]]:
    """Return an evidence column with 0 for missing values, and where they are missing."""
    if column is None:
        return np.zeros(len(columns)), np.ones(len(columns), dtype=np.bool_)
    missing = np.isnan(column)
    return np.where(missing, 0.0, column) if missing.any() else column, missing


@dataclass(frozen=True, slots=True)
class SignalColumns:
    """The signal columns of a table at one moment, or of some of its rows.

    Each column is computed once. Rows are numbered from 0 among the selected `rows`; `table_rows` maps them to rows
    of the table. Candidates have exact similarities: from `evidence`, where those of the table are approximate.
    """

    table: CandidateTable
    at: datetime
    rows: Rows | None = None
    evidence: "Evidence | None" = None
    _columns: list[tuple[Signal, Floats | None]] = field(default_factory=list[tuple[Signal, Floats | None]])
    _candidates: dict[int, Candidate] = field(default_factory=dict[int, Candidate])

    def __len__(self) -> int:
        return len(self.table) if self.rows is None else len(self.rows)

    def take_rows(self, rows: Rows) -> "SignalColumns":
        """Return these columns for some of the rows, in order; what was computed already is reused."""
        if len(rows) == len(self):
            return self
        columns = [(signal, None if column is None else column[rows]) for signal, column in self._columns]
        return SignalColumns(self.table, self.at, self.table_rows(rows), self.evidence, columns, self._candidates)

    def table_rows(self, rows: Rows) -> Rows:
        """Return the table rows of these rows."""
        return rows if self.rows is None else self.rows[rows]

    def has_row(self, row: int) -> bool:
        """Return whether a row of the table is selected."""
        return self.rows is None or row in self.rows

    def row_index(self, row: int) -> int:
        """Return the position of a table row among the selected rows."""
        return row if self.rows is None else int(np.searchsorted(self.rows, row))

    def with_row(self, row: int) -> "SignalColumns":
        """Return the columns with one more row of the table."""
        rows = self.table_rows(np.arange(len(self)))
        rows = np.insert(rows, np.searchsorted(rows, row), row)
        return SignalColumns(self.table, self.at, rows, self.evidence, _candidates=self._candidates)

    def number_column(self, field: str) -> Floats | None:
        """Return a number column of the selected rows."""
        column = self.table.numbers.get(field)
        return column if column is None or self.rows is None else column.take(self.rows)

    def date_column(self, field: str) -> Floats | None:
        """Return a date column of the selected rows."""
        column = self.table.dates.get(field)
        return column if column is None or self.rows is None else column.take(self.rows)

    def kind_column(self) -> NDArray[np.int8] | None:
        """Return the kinds of the selected rows."""
        column = self.table.kinds
        return column if column is None or self.rows is None else column.take(self.rows)

    def label_codes(self, name: str, rows: Rows) -> NDArray[np.intp]:
        """Return the session or speaker codes of these rows."""
        label = self.table.labels.get(name)
        return np.full(len(rows), NO_LABEL, dtype=np.intp) if label is None else label.codes[self.table_rows(rows)]

    def ids(self, rows: Rows) -> list[MemoryId]:
        """Return the ids of these rows."""
        return [self.table.ids[row] for row in self.table_rows(rows).tolist()]

    def candidates(self, rows: Rows) -> list[Candidate]:
        """Return the candidates of these rows, with exact similarities, as the reference scorer takes them."""
        numbers: list[int] = self.table_rows(rows).tolist()
        new = [row for row in numbers if row not in self._candidates]
        if new:
            exact = None if self.evidence is None else self.evidence.exact_similarities(new)
            if exact is not None:
                self._refuse_other_similarities(new, exact)
            self._candidates.update(zip(new, self.table.candidates(new, exact), strict=True))
        return [self._candidates[row] for row in numbers]

    def _refuse_other_similarities(self, rows: Sequence[int], exact: Floats) -> None:
        """Raise unless these exact similarities are those that the table approximates."""
        column = self.table.numbers.get("similarity", np.full(len(self.table), np.nan))
        approximate = column[np.asarray(rows, dtype=np.intp)]
        near = np.abs(approximate - exact) <= self._similarity_error
        wrong = np.flatnonzero(~(near | (np.isnan(approximate) & np.isnan(exact))))
        if len(wrong):
            place = int(wrong[0])
            raise InvalidInput(
                f"the similarity of {self.table.ids[rows[place]]!r} is {exact[place]:g}, but the table has "
                f"{approximate[place]:g} with an error of at most {self.table.similarity_error:g}"
            )

    @property
    def _similarity_error(self) -> float:
        """The largest error of a similarity, including the rounding of its computation."""
        error = self.table.similarity_error
        return error + ROUNDING_ERROR if error > 0.0 and "similarity" in self.table.numbers else 0.0

    @property
    def questioned(self) -> bool:
        """Whether any row has evidence from a query."""
        columns = (self.number_column(field) for field in ("similarity", "lexical", "relevance"))
        return any(column is not None and not np.isnan(column).all() for column in columns)

    def signal_column(self, signal: Signal) -> Floats | None:
        """Return the signal of every row, NaN without evidence; `None` if no row has any."""
        for known, column in self._columns:
            if known == signal:
                return column
        quantity = _quantity_column(signal.quantity, self)
        with np.errstate(over="ignore"):  # infinity is a valid quantity: each curve has a limit there
            column = None if quantity is None else _apply_curve(signal.curve, quantity)
        self._columns.append((signal, column))
        return column

    def signal_values(self, signal: Signal) -> Floats:
        """Return the signal of every row, NaN without evidence."""
        column = self.signal_column(signal)
        return np.full(len(self), np.nan) if column is None else column

    def score(self, profile: Profile, sets: Mapping[str, Floats]) -> Floats:
        """Return the score of every row, within `score_error_bound` of the reference score.

        A row is NaN where the reference scorer would refuse it. `sets` has the set signals, one column per signal.
        """
        score, part = np.zeros(len(self)), np.empty(len(self))
        for term in profile.terms:
            if term.weight > 0.0 or term.missing is None:
                score += np.multiply(self._use_column(term, sets), term.weight, out=part)
        np.minimum(score, 1.0, out=score)  # weights may add up to slightly more than 1
        for factor in profile.factors:
            np.multiply(self._use_column(factor, sets), 1.0 - factor.floor, out=part)
            score *= np.add(part, factor.floor, out=part)
        return score

    def _use_column(self, use: Term | Factor, sets: Mapping[str, Floats]) -> Floats | float:
        column = sets[use.signal.name] if isinstance(use.signal, SetSignal) else self.signal_column(use.signal)
        return _with_missing(column, use)

    def error_bound(self, signal: Signal) -> float:
        """Return the largest difference of the signal's column from the reference; 0 if it is exact."""
        error = self._similarity_effect(signal)
        return 0.0 if signal.curve.exact and error == 0.0 else ROUNDING_ERROR + error

    def score_error_bound(self, profile: Profile) -> float:
        """Return the largest error of a score: rounding plus the error of similarities."""
        terms = sum(term.weight * self._similarity_effect(term.signal) for term in profile.terms)
        factors = sum((1.0 - factor.floor) * self._similarity_effect(factor.signal) for factor in profile.factors)
        return ROUNDING_ERROR + terms + factors

    def _similarity_effect(self, signal: Signal | SetSignal) -> float:
        """Return the signal's error due to similarity errors; no signal amplifies them."""
        if isinstance(signal, SetSignal) or "similarity" not in signal.quantity.fields:
            return 0.0
        return self._similarity_error

    def zero_score_mask(self, profile: Profile, rows: Rows) -> NDArray[np.bool_]:
        """Return whether each row's score is 0 because all its terms are exactly 0."""
        mask = np.ones(len(rows), dtype=np.bool_)
        for term in profile.terms:
            if term.weight == 0.0:
                continue
            if isinstance(term.signal, SetSignal) or not term.signal.curve.exact:
                return np.zeros(len(rows), dtype=np.bool_)
            column = self.signal_column(term.signal)
            mask &= term.weight * _with_missing(None if column is None else column[rows], term) == 0.0
        return mask

    def exact_values(self, signal: Signal, rows: Rows) -> Floats:
        """Return the reference values of these rows, NaN without evidence.

        The reference is computed only where the column may be inexact.
        """
        values: Floats = self.signal_values(signal)[rows]
        inexact = np.flatnonzero(self.needs_exact(signal, rows))
        candidates = self.candidates(rows[inexact])
        values[inexact] = np.array([signal_value(signal, one, self.at) for one in candidates], dtype=np.float64)
        return values

    def needs_exact(self, signal: Signal, rows: Rows) -> NDArray[np.bool_]:
        """Return whether each value of the column may be inexact.

        An inexact similarity makes no difference where it is clamped to 0 or 1, or where the signal is 1 even at the
        lowest similarity.
        """
        if not signal.curve.exact:
            quantity = _quantity_column(signal.quantity, self)
            # every curve is exact at 0, which all memories of a day in the query have
            return np.ones(len(rows), dtype=np.bool_) if quantity is None else quantity[rows] != 0.0
        error = self._similarity_effect(signal)
        if error == 0.0:
            return np.zeros(len(rows), dtype=np.bool_)
        column = self.table.numbers["similarity"]
        similarities = column[self.table_rows(rows)]
        certain = (similarities <= -error) | (similarities >= 1.0 + error) | np.isnan(similarities)
        return ~certain & (self._values_if(np.broadcast_to(-1.0, column.shape), signal, rows) < 1.0)

    def value_bounds(self, signal: Signal, rows: Rows) -> tuple[Floats, Floats]:
        """Return the lowest and highest reference values of these rows.

        This holds because no signal falls as the similarity rises.
        """
        if self._similarity_effect(signal) == 0.0:
            values, error = self.signal_values(signal)[rows], self.error_bound(signal)
            return values - error, values + error
        column = self.table.numbers["similarity"]
        lowest = self._values_if(column - self._similarity_error, signal, rows) - ROUNDING_ERROR
        return lowest, self._values_if(column + self._similarity_error, signal, rows) + ROUNDING_ERROR

    def _values_if(self, similarity: Floats, signal: Signal, rows: Rows) -> Floats:
        """Return the signal of these rows with other similarities."""
        columns = SignalColumns(self.table.with_evidence(similarity=similarity), self.at, self.table_rows(rows))
        return columns.signal_values(signal)


def _with_missing(column: Floats | None, use: Term | Factor) -> Floats | float:
    """Return the column with the profile's value for missing evidence."""
    default = np.nan if use.missing is None else use.missing
    if column is None:
        return default
    unknown = np.isnan(column)
    return np.where(unknown, default, column) if unknown.any() else column


def pick_rows(column: Floats, rows: Rows) -> Floats:
    """Return the values at these sorted and distinct rows; the column itself if they are all its rows."""
    return column if len(rows) == len(column) else column[rows]


def nth_largest(values: Floats, count: int) -> float:
    """Return the `count`-th largest value; minus infinity if there are fewer values.

    Most values are read only once: the maxima of many blocks give a bound that few values reach.
    """
    if len(values) < count:
        return -np.inf
    width = len(values) // (BLOCKS_PER_PLACE * count)
    if width > 1:
        blocks = values[: len(values) // width * width].reshape(-1, width).max(axis=1)
        values = values[values >= np.partition(blocks, -count)[-count]]
    return float(np.partition(values, -count)[-count])


BLOCKS_PER_PLACE = 16
"""The number of blocks per place: enough for a good bound, and few enough that their maxima are found fast."""
