"""Table: many candidates as columns, one array per field; NaN, NaT and -1 are unknown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recollect.errors import CandidateError
from recollect.model import limits
from recollect.model.candidate import COUNTS, MOMENTS, SHARES, Candidate
from recollect.model.memory import Kind, MemoryId

Floats = NDArray[np.float64]
Dates = NDArray[np.datetime64]
Rows = NDArray[np.intp]

KINDS = tuple(Kind)
NUMBERS = ("similarity", *SHARES, *COUNTS)
"""The fields kept as floats; counts are exact in them up to 2**53."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Candidates as columns. A field without a column is unknown for all of them.

    `similarity_error` says how far the similarities may lie from the true ones, for a store that keeps
    vectors at half precision.
    """

    ids: Sequence[MemoryId]
    numbers: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    dates: Mapping[str, Dates] = field(default_factory=dict[str, Dates])
    kinds: NDArray[np.int8] | None = None
    vectors: NDArray[np.floating[Any]] | None = None
    similarity_error: float = 0.0

    def __post_init__(self) -> None:
        limits.unique_ids(self.ids)
        columns = {**self.numbers, **self.dates, "kind": self.kinds, "vector": self.vectors}
        for name, column in columns.items():
            if column is not None and len(column) != len(self.ids):
                raise CandidateError(f"{len(column)} values for {len(self.ids)} ids", field=name)
        for name, numbers in self.numbers.items():
            _refuse_outside(name, numbers)

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Self:
        """The candidates as columns, in their order."""
        return cls(
            ids=[candidate.id for candidate in candidates],
            numbers={name: _numbers(name, candidates) for name in NUMBERS},
            dates={name: _dates(name, candidates) for name in MOMENTS},
            kinds=np.array(
                [-1 if c.kind is None else KINDS.index(c.kind) for c in candidates], dtype=np.int8
            ),
            vectors=_vectors(candidates),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def candidate(self, row: int) -> Candidate:
        """The candidate of one row, as a value; what a reader is shown is not kept in columns."""
        values: dict[str, Any] = {name: _unless_nan(self.numbers[name][row]) for name in self.numbers}
        for name in COUNTS:
            if values.get(name) is not None:
                values[name] = int(values[name])
        values |= {name: _moment(self.dates[name][row]) for name in self.dates}
        if self.kinds is not None and self.kinds[row] >= 0:
            values["kind"] = KINDS[self.kinds[row]]
        if self.vectors is not None and not np.isnan(self.vectors[row]).any():
            values["vector"] = tuple(self.vectors[row].tolist())
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
        columns: list[list[object]] = []
        for name, numbers in self.numbers.items():
            if name in fields:
                columns.append(np.where(np.isnan(numbers[rows]), -2.0, numbers[rows]).tolist())
        columns += [dates[rows].tolist() for name, dates in self.dates.items() if name in fields]
        if self.kinds is not None and "kind" in fields:
            columns.append(self.kinds[rows].tolist())
        return list(zip(*columns, strict=True)) if columns else [()] * len(rows)


def moment64(moment: datetime) -> np.datetime64:
    """An aware moment as NumPy has it: microseconds, UTC."""
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")


def _refuse_outside(name: str, column: Floats) -> None:
    if name not in NUMBERS:
        raise CandidateError(f"no such column; known are {', '.join(NUMBERS)}", field=name)
    low, high = _RANGES.get(name, (0.0, 1.0))
    outside = (column < low) | (column > high)
    if outside.any():
        value = float(column[outside][0])
        raise CandidateError(f"{value!r} is not within {low:g}..{high:g}", field=name)


_WIDEST_COSINE = 1.0 + limits.COSINE_ROUNDING
_RANGES = {
    "similarity": (-_WIDEST_COSINE, _WIDEST_COSINE),
    **dict.fromkeys(COUNTS, (0.0, float(limits.LARGEST_COUNT))),
}


def _numbers(name: str, candidates: Sequence[Candidate]) -> Floats:
    values = [getattr(candidate, name) for candidate in candidates]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _dates(name: str, candidates: Sequence[Candidate]) -> Dates:
    values = [getattr(candidate, name) for candidate in candidates]
    nothing = np.datetime64("NaT", "us")
    return np.array(
        [nothing if value is None else moment64(value) for value in values], dtype="datetime64[us]"
    )


def _vectors(candidates: Sequence[Candidate]) -> Floats | None:
    known = [candidate.vector for candidate in candidates if candidate.vector is not None]
    if not known:
        return None
    dimensions = len(known[0])
    table = np.full((len(candidates), dimensions), np.nan)
    for row, candidate in enumerate(candidates):
        if candidate.vector is None:
            continue
        if len(candidate.vector) != dimensions:
            raise CandidateError(
                f"{candidate.id!r} has {len(candidate.vector)} dimensions, others {dimensions}",
                field="vector",
            )
        table[row] = candidate.vector
    return table


def _unless_nan(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _moment(value: np.datetime64) -> datetime | None:
    moment: datetime | None = value.astype("datetime64[us]").item()
    return None if moment is None else moment.replace(tzinfo=UTC)
