"""Candidate table: many candidates as columns, one array per field.

NaN, the kind -1 and the label -1 mean unknown.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recollect.errors import FieldError, suggest
from recollect.model import validation
from recollect.model.candidate import COUNT_FIELDS, DATE_FIELDS, FRACTION_FIELDS, LABEL_FIELDS, LINK_FIELD, Candidate
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A dictionary-encoded column: a code for each row, an index into `names`, or `NO_LABEL`.

    Codes are identities: two things with the same name, such as sessions of two scopes, have two codes and the name
    occurs twice.
    """

    codes: NDArray[np.intp]
    names: tuple[str, ...]

    @classmethod
    def of(cls, given: Sequence[str | None], whose: Sequence[str | None] | None = None) -> Self:
        """Encode one name per row; with `whose`, the same name of two owners gets two codes."""
        numbers: dict[tuple[str | None, str], int] = {}
        codes = [
            NO_LABEL if name is None else numbers.setdefault((owner, name), len(numbers))
            for owner, name in zip(repeat(None, len(given)) if whose is None else whose, given, strict=True)
        ]
        return cls(np.array(codes, dtype=np.intp), tuple(name for _, name in numbers))

    @classmethod
    def concatenate(cls, parts: "Sequence[Labels]") -> Self:
        """Concatenate columns; the same name in two of them means two different things."""
        codes, names = list[NDArray[np.intp]](), list[str]()
        for part in parts:
            codes.append(np.where(part.codes == NO_LABEL, NO_LABEL, part.codes + len(names)))
            names += part.names
        return cls(np.concatenate(codes), tuple(names))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Rows) -> "Labels":
        return Labels(self.codes[rows], self.names)

    def present_names(self) -> frozenset[str]:
        """Return every name that some row has."""
        times = np.bincount(self.codes[self.codes != NO_LABEL], minlength=len(self.names))
        return frozenset(name for name, count in zip(self.names, times.tolist(), strict=True) if count)

    def tolist(self) -> list[str | None]:
        """Return the name of each row."""
        return [None if code == NO_LABEL else self.names[code] for code in self.codes.tolist()]


NO_LABEL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTable:
    """Candidates as columns; a field without a column is unknown for all of them.

    Dates are microseconds since 1970 in UTC; a float holds every allowed date exactly. `similarity_error` bounds the
    distance of the similarities from the true ones, for a store that computes them in 32 bits or keeps vectors at half
    precision. It does not apply to unknown similarities: those are certain.
    """

    ids: Sequence[MemoryId]
    numbers: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    dates: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    kinds: NDArray[np.int8] | None = None
    vectors: NDArray[np.floating[Any]] | None = None
    labels: Mapping[str, Labels] = field(default_factory=dict[str, Labels])
    similarity_error: float = 0.0

    def __post_init__(self) -> None:
        for id in self.ids:
            validation.require_id("id", id)
        validation.require_unique_ids(self.ids)
        _refuse_bad_error(self.similarity_error)
        columns = {**self.numbers, **self.dates, "kind": self.kinds, "vector": self.vectors}
        for name, column in {**columns, **self.labels}.items():
            if column is not None:
                _refuse_length(name, column, self.ids)
        for known, given in ((NUMBER_RANGES, self.numbers), (DATE_RANGES, self.dates)):
            for name, values in given.items():
                if name not in known:
                    raise FieldError(f"unknown column; {suggest(name, known)}", field=name)
                off = self.similarity_error if name == "similarity" else 0.0
                _refuse_outside(name, values, known[name][0] - off, known[name][1] + off)
        if self.vectors is not None and self.vectors.ndim != 2:
            raise FieldError(f"has {self.vectors.ndim} axes; give a matrix with a row for each id", field="vector")
        if self.kinds is not None:
            _refuse_outside("kind", self.kinds, -1, len(KINDS) - 1)
        for name, label in self.labels.items():
            if name not in LABEL_COLUMNS:
                raise FieldError(f"unknown column; {suggest(name, LABEL_COLUMNS)}", field=name)
            _refuse_outside(name, label.codes, NO_LABEL, len(label.names) - 1)
        _refuse_ambiguous_labels(self.labels)

    @classmethod
    def from_checked(
        cls,
        *,
        ids: Sequence[MemoryId],
        numbers: Mapping[str, Floats],
        dates: Mapping[str, Floats],
        kinds: NDArray[np.int8] | None = None,
        vectors: NDArray[np.floating[Any]] | None = None,
        labels: Mapping[str, Labels] | None = None,
        similarity_error: float = 0.0,
    ) -> Self:
        """Build a table from columns that are known to be valid; nothing is checked."""
        table = object.__new__(cls)
        columns = {"ids": ids, "numbers": numbers, "dates": dates, "kinds": kinds, "vectors": vectors}
        for name, value in {**columns, "labels": labels or {}}.items():
            object.__setattr__(table, name, value)
        object.__setattr__(table, "similarity_error", similarity_error)
        return table

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Self:
        """Build a table from candidates, in their order."""
        ids = [candidate.id for candidate in candidates]
        validation.require_unique_ids(ids)
        return cls.from_checked(
            ids=ids,
            numbers={name: _number_column(name, candidates) for name in NUMBER_RANGES},
            dates={name: _date_column(name, candidates) for name in DATE_FIELDS},
            kinds=np.array([-1 if c.kind is None else KINDS.index(c.kind) for c in candidates], dtype=np.int8),
            vectors=_vector_matrix(candidates),
            labels=_label_columns(candidates),
        )

    def with_evidence(
        self,
        *,
        similarity: NDArray[np.floating[Any]] | None = None,
        lexical: NDArray[np.floating[Any]] | None = None,
        similarity_error: float | None = None,
        link: Labels | None = None,
        **others: NDArray[np.floating[Any]] | None,
    ) -> "CandidateTable":
        """Return the table with the evidence of one query; only the length of columns is checked.

        Without a `similarity_error`, the present one stays, or becomes 0 if similarities are given.
        """
        given = (("similarity", similarity), ("lexical", lexical), *others.items())
        default = self.similarity_error if similarity is None else 0.0
        error = default if similarity_error is None else similarity_error
        evidence = {name: np.asarray(column, dtype=np.float64) for name, column in given if column is not None}
        for name, column in evidence.items():
            _refuse_length(name, column, self.ids)
        if link is not None:
            _refuse_length(LINK_FIELD, link, self.ids)
        _refuse_bad_error(error)
        return CandidateTable.from_checked(
            ids=self.ids,
            numbers={**self.numbers, **evidence},
            dates=self.dates,
            kinds=self.kinds,
            vectors=self.vectors,
            labels=self.labels if link is None else {**self.labels, LINK_FIELD: link},
            similarity_error=error,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def candidate(self, row: int) -> Candidate:
        """Return the candidate of one row."""
        return self.candidates([row])[0]

    def candidates(self, rows: Sequence[int], similarities: Floats | None = None) -> list[Candidate]:
        """Return the candidates of these rows, without vectors.

        No code reads the vector of a single candidate. `similarities` are the exact ones of these rows, NaN for none,
        and replace the column. The memory to show is not in the columns.
        """
        here = np.asarray(rows, dtype=np.intp)
        numbers = {name: column[here] for name, column in self.numbers.items()}
        if similarities is not None:
            _refuse_length("similarity", similarities, rows)
            numbers["similarity"] = similarities
        if "similarity" in numbers:  # an approximate similarity may lie outside -1..1
            _refuse_outside("similarity", numbers["similarity"], *NUMBER_RANGES["similarity"])
        known: dict[str, list[Any]] = {name: _column_values(column) for name, column in numbers.items()}
        for name in COUNT_FIELDS:
            if name in known:
                known[name] = [None if count is None else int(count) for count in known[name]]
        known |= {name: [_to_datetime(value) for value in column[here].tolist()] for name, column in self.dates.items()}
        if self.kinds is not None:
            known["kind"] = [None if kind < 0 else KINDS[kind] for kind in self.kinds[here].tolist()]
        known |= {name: label[here].tolist() for name, label in self.labels.items()}
        if "scope" in known:
            known["scope"] = [path and Scope.parse(path) for path in known["scope"]]
        known["id"] = [self.ids[row] for row in rows]
        unknown = [None] * len(rows)
        return [
            _build_candidate(values)
            for values in zip(*(known.get(name, unknown) for name in CANDIDATE_FIELDS), strict=True)
        ]

    def take(self, rows: Rows) -> "CandidateTable":
        """Return a table of these rows only, each once, in this order."""
        return CandidateTable.from_checked(
            ids=[self.ids[row] for row in rows.tolist()],
            numbers={name: column[rows] for name, column in self.numbers.items()},
            dates={name: column[rows] for name, column in self.dates.items()},
            kinds=None if self.kinds is None else self.kinds[rows],
            vectors=None if self.vectors is None else self.vectors[rows],
            labels={name: label[rows] for name, label in self.labels.items()},
            similarity_error=self.similarity_error,
        )

    def field_columns(self, rows: Rows, fields: Collection[str]) -> list[Floats]:
        """Return the values of these rows for those of the fields that are numeric columns."""
        columns = [*self.numbers.items(), *self.dates.items()]
        found = [column[rows] for name, column in columns if name in fields]
        if self.kinds is not None and "kind" in fields:
            found.append(self.kinds[rows].astype(np.float64))
        return found


def to_microseconds(moment: datetime) -> float:
    """Return an aware datetime as the table stores it."""
    return float((moment - EPOCH) // MICROSECOND)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

_MAX_COSINE = 1.0 + validation.COSINE_ROUNDING
NUMBER_RANGES: Mapping[str, tuple[float, float]] = {
    "similarity": (-_MAX_COSINE, _MAX_COSINE),
    "days_off": (0.0, validation.MAX_DAYS_OFF),
    **dict.fromkeys(FRACTION_FIELDS, (0.0, 1.0)),
    **dict.fromkeys(COUNT_FIELDS, (0.0, float(validation.MAX_COUNT))),
}
"""The float columns and their ranges; counts are exact up to 2**53."""

DATE_RANGES: Mapping[str, tuple[float, float]] = dict.fromkeys(
    DATE_FIELDS, (to_microseconds(validation.EARLIEST_DATETIME), to_microseconds(validation.LATEST_DATETIME) - 1.0)
)
"""The range of each date column."""

WHOLE_NUMBER_FIELDS = frozenset({*COUNT_FIELDS, *DATE_FIELDS})
"""The fields without fractions; converting to a candidate would lose them."""

LABEL_COLUMNS = ("scope", *LABEL_FIELDS, LINK_FIELD)
"""The label columns; a scope is its path."""

CANDIDATE_FIELDS = tuple(field.name for field in fields(Candidate))
"""Every field of a candidate, in order."""


def _refuse_length(name: str, column: Sequence[Any] | NDArray[Any] | Labels, ids: Sequence[Any]) -> None:
    if len(column) != len(ids):
        raise FieldError(f"has {len(column)} values for {len(ids)} ids", field=name)


def _refuse_bad_error(error: float) -> None:
    if not 0.0 <= error < math.inf:
        raise FieldError(f"{error!r} is not an error bound; give a number of at least 0", field="similarity_error")


def _refuse_outside(name: str, column: NDArray[Any], low: float, high: float) -> None:
    outside = (column < low) | (column > high)
    if outside.any():
        raise FieldError(f"{column[outside][0].item()!r} is not within {low:g}..{high:g}", field=name)
    if name in WHOLE_NUMBER_FIELDS and (np.floor(column) < column).any():
        raise FieldError("some values are not whole numbers", field=name)


def _refuse_ambiguous_labels(labels: Mapping[str, Labels]) -> None:
    """Raise FieldError if a name has two codes, or a session two codes in one scope.

    Otherwise a candidate built from the columns would be in another session.
    """
    for name, label in labels.items():
        if name != "session" and len(set(label.names)) < len(label.names):
            raise FieldError("a name occurs twice; give it one code", field=name)
    if "scope" in labels and any(str(Scope.parse(path)) != path for path in labels["scope"].names):
        raise FieldError("a path is not in the form of a scope; give str(scope)", field="scope")
    if "session" not in labels:
        return
    sessions = labels["session"]
    scopes = labels["scope"].codes.tolist() if "scope" in labels else [NO_LABEL] * len(sessions.codes)
    homes: dict[int, int] = {}
    numbers: dict[tuple[int, str], int] = {}
    for session, scope in zip(sessions.codes.tolist(), scopes, strict=True):
        if session != NO_LABEL and homes.setdefault(session, scope) != scope:
            raise FieldError("a session is in two scopes; give it a code in each", field="session")
        if session != NO_LABEL and numbers.setdefault((scope, sessions.names[int(session)]), session) != session:
            raise FieldError("a session of one scope has two codes; give it one", field="session")


def _number_column(name: str, candidates: Sequence[Candidate]) -> Floats:
    values = [getattr(candidate, name) for candidate in candidates]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _date_column(name: str, candidates: Sequence[Candidate]) -> Floats:
    values = [getattr(candidate, name) for candidate in candidates]
    return np.array([np.nan if value is None else to_microseconds(value) for value in values], dtype=np.float64)


def _label_columns(candidates: Sequence[Candidate]) -> dict[str, Labels]:
    scopes = [None if one.scope is None else str(one.scope) for one in candidates]
    owners = {"session": scopes}
    found = {
        name: Labels.of([getattr(one, name) for one in candidates], owners.get(name))
        for name in (*LABEL_FIELDS, LINK_FIELD)
    }
    return {"scope": Labels.of(scopes), **found}


def _vector_matrix(candidates: Sequence[Candidate]) -> Floats | None:
    validation.require_same_dimensions((candidate.id, candidate.vector) for candidate in candidates)
    known = [candidate.vector for candidate in candidates if candidate.vector is not None]
    if not known:
        return None
    nothing = (math.nan,) * len(known[0])
    return np.array([nothing if candidate.vector is None else candidate.vector for candidate in candidates])


def _column_values(column: Floats) -> list[float | None]:
    """Return the values for candidates: NaN becomes `None`, and -0.0 becomes 0.0."""
    return [None if math.isnan(value) else value for value in (column + 0.0).tolist()]


def _to_datetime(value: float) -> datetime | None:
    return None if math.isnan(value) else EPOCH + timedelta(microseconds=int(value))


def _build_candidate(values: Sequence[Any]) -> Candidate:
    """Build a candidate from valid column values without checking them again."""
    candidate = object.__new__(Candidate)
    for name, value in zip(CANDIDATE_FIELDS, values, strict=True):
        object.__setattr__(candidate, name, value)
    return candidate
