"""Table: many candidates as columns, one array per field; NaN and the kind -1 are unknown."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recollect.errors import FieldError, remedy
from recollect.model import limits
from recollect.model.candidate import COUNTS, MOMENTS, SHARES, Candidate
from recollect.model.memory import Kind, MemoryId

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Candidates as columns. A field without a column is unknown for all of them.

    Dates are microseconds since 1970, UTC; every moment a candidate may have is exact in a float.

    `similarity_error` says how far the similarities may lie from the true ones, for a store that keeps
    vectors at half precision.
    """

    ids: Sequence[MemoryId]
    numbers: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    dates: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    kinds: NDArray[np.int8] | None = None
    vectors: NDArray[np.floating[Any]] | None = None
    similarity_error: float = 0.0

    def __post_init__(self) -> None:
        limits.unique_ids(self.ids)
        columns = {**self.numbers, **self.dates, "kind": self.kinds, "vector": self.vectors}
        for name, column in columns.items():
            if column is not None and len(column) != len(self.ids):
                raise FieldError(f"{len(column)} values for {len(self.ids)} ids", field=name)
        for known, given in ((RANGES, self.numbers), (DATE_RANGES, self.dates)):
            for name, values in given.items():
                if name not in known:
                    raise FieldError(f"no column is called so; {remedy(name, known)}", field=name)
                _refuse_outside(name, values, *known[name])
        if self.vectors is not None and self.vectors.ndim != 2:
            raise FieldError(f"{self.vectors.ndim} axes; give a row for each id", field="vector")
        if self.kinds is not None:
            _refuse_outside("kind", self.kinds, -1, len(KINDS) - 1)
        if not 0.0 <= self.similarity_error < math.inf:
            raise FieldError(f"{self.similarity_error!r} is no error; give at least 0", field="similarity_error")

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Self:
        """The candidates as columns, in their order."""
        return cls(
            ids=[candidate.id for candidate in candidates],
            numbers={name: _numbers(name, candidates) for name in RANGES},
            dates={name: _dates(name, candidates) for name in MOMENTS},
            kinds=np.array([-1 if c.kind is None else KINDS.index(c.kind) for c in candidates], dtype=np.int8),
            vectors=_vectors(candidates),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def candidate(self, row: int) -> Candidate:
        """The candidate of one row, as a value, without its vector, which nothing reads of one candidate alone.

        What a reader is shown is not kept in columns.
        """
        values: dict[str, Any] = {name: _unless_nan(column.item(row)) for name, column in self.numbers.items()}
        for name in COUNTS:
            if values.get(name) is not None:
                values[name] = int(values[name])
        values |= {name: _moment(column.item(row)) for name, column in self.dates.items()}
        if self.kinds is not None and self.kinds[row] >= 0:
            values["kind"] = KINDS[self.kinds[row]]
        return Candidate(id=self.ids[row], **values)

    def take(self, rows: Rows) -> "Table":
        """A table of these rows alone, in this order."""
        return Table(
            ids=[self.ids[row] for row in rows],
            numbers={name: column[rows] for name, column in self.numbers.items()},
            dates={name: column[rows] for name, column in self.dates.items()},
            kinds=None if self.kinds is None else self.kinds[rows],
            vectors=None if self.vectors is None else self.vectors[rows],
            similarity_error=self.similarity_error,
        )

    @property
    def questioned(self) -> bool:
        """Whether a question left any evidence in any row."""
        arms = (self.numbers.get(arm) for arm in ("similarity", "lexical", "relevance"))
        return any(arm is not None and not np.isnan(arm).all() for arm in arms)

    def inputs(self, rows: Rows, fields: Collection[str]) -> list[tuple[object, ...]]:
        """What each row has in these fields; two rows without a value are equal there."""
        columns: list[list[object]] = [
            [None if math.isnan(value) else value for value in column[rows].tolist()]
            for name, column in (*self.numbers.items(), *self.dates.items())
            if name in fields
        ]
        if self.kinds is not None and "kind" in fields:
            columns.append(self.kinds[rows].tolist())
        return list(zip(*columns, strict=True)) if columns else [()] * len(rows)


def microseconds(moment: datetime) -> float:
    """An aware moment as a column has it."""
    return float((moment - EPOCH) // MICROSECOND)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

_WIDEST_COSINE = 1.0 + limits.COSINE_ROUNDING
RANGES: Mapping[str, tuple[float, float]] = {
    "similarity": (-_WIDEST_COSINE, _WIDEST_COSINE),
    **dict.fromkeys(SHARES, (0.0, 1.0)),
    **dict.fromkeys(COUNTS, (0.0, float(limits.LARGEST_COUNT))),
}
"""The fields kept as floats, and what each may be; counts are exact in them up to 2**53."""

DATE_RANGES: Mapping[str, tuple[float, float]] = dict.fromkeys(
    MOMENTS, (microseconds(limits.EARLIEST), microseconds(limits.LATEST) - 1.0)
)
"""What a date may be, by field."""

WHOLE = frozenset({*COUNTS, *MOMENTS})
"""The fields without fractions: a candidate would lose them."""


def _refuse_outside(name: str, column: NDArray[Any], low: float, high: float) -> None:
    outside = (column < low) | (column > high)
    if outside.any():
        raise FieldError(f"{column[outside][0].item()!r} is not within {low:g}..{high:g}", field=name)
    if name in WHOLE and (np.floor(column) < column).any():
        raise FieldError("some values are no whole numbers", field=name)


def _numbers(name: str, candidates: Sequence[Candidate]) -> Floats:
    values = [getattr(candidate, name) for candidate in candidates]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _dates(name: str, candidates: Sequence[Candidate]) -> Floats:
    values = [getattr(candidate, name) for candidate in candidates]
    return np.array([np.nan if value is None else microseconds(value) for value in values], dtype=np.float64)


def _vectors(candidates: Sequence[Candidate]) -> Floats | None:
    limits.same_dimensions((candidate.id, candidate.vector) for candidate in candidates)
    known = [candidate.vector for candidate in candidates if candidate.vector is not None]
    if not known:
        return None
    nothing = (math.nan,) * len(known[0])
    return np.array([nothing if candidate.vector is None else candidate.vector for candidate in candidates])


def _unless_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def _moment(value: float) -> datetime | None:
    return None if math.isnan(value) else EPOCH + int(value) * MICROSECOND
