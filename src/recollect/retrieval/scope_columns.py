"""The memories of one scope as in-memory columns."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model.candidate import LABEL_FIELDS
from recollect.model.enums import Level, Status
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.table import KINDS, Floats, Rows, to_microseconds
from recollect.retrieval.bm25 import Postings
from recollect.retrieval.entity_links import EntityMentions, add_speaker_names
from recollect.retrieval.lock_free_property import lock_free_property
from recollect.text.questions import is_question
from recollect.text.tokenizer import hash_term

NUMBER_FIELDS = (
    *("importance", "confidence", "salience", "revisions"),
    *("created_at", "updated_at", "valid_from", "valid_until"),
    *("served", "helped", "misled", "last_served_at"),
)
"""The numeric columns in the order of a row; dates are in microseconds."""

USAGE_FIELDS = ("served", "helped", "misled", "last_served_at")

RECALLABLE_STATUS_NAMES = (Status.ACTIVE.value, Status.SUPERSEDED.value)
"""The statuses of memories that may be recalled for some moment; others are only counted."""

UNINDEXED_STATUS = "unindexed"
"""The value of the status column for a memory that is stored but never recalled."""

KIND_CODES = {kind.value: code for code, kind in enumerate(KINDS)}
LEVEL_BITS: Mapping[Level | None, int] = {level: 1 << place for place, level in enumerate((None, *Level))}
MATRIX_GROWTH_FACTOR = 1.25
"""The factor by which a full matrix grows, so that adding a row does not copy all of them."""

MIN_LIVE_SHARE = 0.5
"""Below this share of live rows, the columns are read again instead of extended."""


@dataclass(frozen=True, slots=True)
class ColumnsVersion:
    """How far the columns have been read: last change, last use, number of erasures."""

    changed: int
    used: int
    emptied: int


MemoryRow = tuple[Any, ...]
"""A memory as read from the tables.

In order: number, changed, id, kind, level with those it stands for, status, shared, pinned, NUMBER_FIELDS,
LABEL_FIELDS, the end of its text, its names, its terms and its vector. Columns without vectors have the number of the
embedded content in place of the vector.
"""

_NUMBER, _CHANGED, _ID, _KIND, _LEVEL, _STATUS, _SHARED, _PINNED = range(8)
_LABELS = dict(
    zip(LABEL_FIELDS, range(8 + len(NUMBER_FIELDS), 8 + len(NUMBER_FIELDS) + len(LABEL_FIELDS)), strict=True)
)
_END = 8 + len(NUMBER_FIELDS) + len(LABEL_FIELDS)
_NAMES = _END + 1
_TERMS = _END + 2
_VECTOR = _END + 3

ID_BYTES = 96
"""The size of an id and its slot in a list."""

ROWS_PER_CHUNK = 512
"""How many rows are read before they are copied, so that few vectors are held twice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ScopeColumns:
    """The memories of one scope as columns; immutable, updates return a new value.

    A changed memory gets a new row and its former row is marked dead, so a reader of older columns is not disturbed.
    """

    scope: Scope
    only_shared: bool
    stamp: ColumnsVersion
    numbers: NDArray[np.int64]
    changed: NDArray[np.int64]
    ids: list[MemoryId]
    kinds: NDArray[np.int8]
    levels: NDArray[np.int16]
    """A bit mask per row: the memory's own level and those of memories it stands for."""
    active: NDArray[np.bool_]
    pinned: NDArray[np.bool_]
    columns: Mapping[str, Floats]
    labels: Mapping[str, NDArray[np.int64]]
    """The names that many memories share, as codes in `names`; 0 for none."""
    asks: NDArray[np.bool_]
    names: Mapping[int, str]
    alive: NDArray[np.bool_]
    postings: Postings
    mentions: EntityMentions
    matrix: NDArray[np.float32]
    contents: NDArray[np.int64] | None
    """If vectors stay in the tables, each row's content number, 0 for none; `matrix` is empty."""
    inactive: frozenset[int]
    """The numbers of memories that are not recallable because of their status; they have no row."""
    unindexed: frozenset[int]

    @classmethod
    def empty(cls, scope: Scope, dimensions: int, *, only_shared: bool = False, bare: bool = False) -> "ScopeColumns":
        """Return empty columns; `bare` columns leave the vectors in the tables."""
        return cls(
            scope=scope,
            only_shared=only_shared,
            stamp=ColumnsVersion(0, 0, 0),
            numbers=np.empty(0, dtype=np.int64),
            changed=np.empty(0, dtype=np.int64),
            ids=[],
            kinds=np.empty(0, dtype=np.int8),
            levels=np.empty(0, dtype=np.int16),
            active=np.empty(0, dtype=np.bool_),
            pinned=np.empty(0, dtype=np.bool_),
            columns={name: np.empty(0) for name in NUMBER_FIELDS},
            labels={name: np.empty(0, dtype=np.int64) for name in LABEL_FIELDS},
            asks=np.empty(0, dtype=np.bool_),
            names={},
            alive=np.empty(0, dtype=np.bool_),
            postings=Postings.of([]),
            mentions=EntityMentions(),
            matrix=np.empty((0, 0 if bare else dimensions), dtype=np.float32),
            contents=np.empty(0, dtype=np.int64) if bare else None,
            inactive=frozenset(),
            unindexed=frozenset(),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @lock_free_property
    def nbytes(self) -> int:
        """The approximate size in bytes; preallocated room does not count until it is used."""
        arrays = (*self._columns_by_place.values(), self.alive, self.matrix)
        indexes = self.postings.nbytes + self.mentions.nbytes
        return sum(one.nbytes for one in arrays) + indexes + ID_BYTES * len(self.ids)

    @property
    def is_sparse(self) -> bool:
        """Whether so many rows are dead that the columns should be read again."""
        return len(self) > 1_000 and int(np.count_nonzero(self.alive)) < MIN_LIVE_SHARE * len(self)

    def with_rows(self, found: Iterable[MemoryRow], stamp: ColumnsVersion, *, most: int) -> "ScopeColumns":
        """Return the columns with these memories, at most `most`; each replaces its former row."""
        latest = [np.empty(0, dtype=np.int64)]
        inactive: set[int] = set()
        unindexed: set[int] = set()
        rows = iter(found)
        builder = _ColumnsBuilder(self._columns_by_place, self.matrix, most)
        while chunk := list(islice(rows, ROWS_PER_CHUNK)):
            latest.append(np.array([row[_NUMBER] for row in chunk], dtype=np.int64))
            visible = [row for row in chunk if row[_SHARED]] if self.only_shared else chunk
            inactive.update(
                row[_NUMBER] for row in visible if row[_STATUS] not in (*RECALLABLE_STATUS_NAMES, UNINDEXED_STATUS)
            )
            unindexed.update(row[_NUMBER] for row in visible if row[_STATUS] == UNINDEXED_STATUS)
            builder.add_rows([row for row in visible if row[_STATUS] in RECALLABLE_STATUS_NAMES])
        changed = np.concatenate(latest)
        if not len(changed):
            return replace(self, stamp=stamp)
        return ScopeColumns(
            scope=self.scope,
            only_shared=self.only_shared,
            stamp=stamp,
            numbers=builder.column(_NUMBER),
            changed=builder.column(_CHANGED),
            ids=self.ids + builder.ids,
            kinds=builder.column(_KIND),
            levels=builder.column(_LEVEL),
            active=builder.column(_STATUS),
            pinned=builder.column(_PINNED),
            columns={name: builder.column(place) for place, name in enumerate(NUMBER_FIELDS, start=_PINNED + 1)},
            labels={name: builder.column(place) for name, place in _LABELS.items()},
            asks=builder.column(_END),
            names={**self.names, **builder.names} if builder.names.keys() - self.names.keys() else self.names,
            alive=np.append(self.alive & ~np.isin(self.numbers, changed), np.ones(len(builder.ids), dtype=np.bool_)),
            postings=self.postings.append(*builder.postings),
            mentions=self.mentions.append(builder.mentioned),
            matrix=builder.matrix,
            contents=None if self.contents is None else builder.column(_VECTOR),
            inactive=_remove_numbers(self.inactive, changed) | inactive,
            unindexed=_remove_numbers(self.unindexed, changed) | unindexed,
        )

    @property
    def _columns_by_place(self) -> dict[int, NDArray[Any]]:
        """The columns by their place in a row."""
        return {
            _NUMBER: self.numbers,
            _CHANGED: self.changed,
            _KIND: self.kinds,
            _LEVEL: self.levels,
            _STATUS: self.active,
            _PINNED: self.pinned,
            **{place: self.columns[name] for place, name in enumerate(NUMBER_FIELDS, start=_PINNED + 1)},
            **{place: self.labels[name] for name, place in _LABELS.items()},
            _END: self.asks,
            **({} if self.contents is None else {_VECTOR: self.contents}),
        }

    def rows_revised_since(self, at: datetime) -> Rows:
        """Return the rows of memories that were known at the moment but have a different text now."""
        now = to_microseconds(at)
        if now >= self._last_update:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(self.alive & (self.columns["created_at"] <= now) & (self.columns["updated_at"] > now))

    @lock_free_property
    def _last_update(self) -> float:
        """When the newest text was observed."""
        return float(np.fmax.reduce(self.columns["updated_at"], initial=-np.inf))

    def without_rows(self, rows: Rows) -> "ScopeColumns":
        """Return the columns with these rows marked dead."""
        alive = self.alive.copy()
        alive[rows] = False
        return replace(self, alive=alive)

    def usage_by_number(self, numbers: Set[int]) -> dict[int, tuple[float, float, float, float]]:
        """Return served, helped, misled and last served, by number, of memories with a row."""
        rows = np.flatnonzero(self.alive & np.isin(self.numbers, list(numbers)))
        columns = (self.columns[name][rows].tolist() for name in USAGE_FIELDS)
        return dict(zip(self.numbers[rows].tolist(), zip(*columns, strict=True), strict=True))

    def with_vectors(self, vectors: Mapping[MemoryId, NDArray[np.float32]]) -> "ScopeColumns":
        """Return the columns with these vectors for memories that have a row here."""
        rows = [row for row, id in enumerate(self.ids) if id in vectors and self.alive[row]]
        if not rows:
            return self
        matrix = self.matrix.copy()
        matrix[rows] = [vectors[self.ids[row]] for row in rows]
        return replace(self, matrix=matrix)

    def with_uses(self, uses: Sequence[tuple[Any, ...]], stamp: ColumnsVersion) -> "ScopeColumns":
        """Return the columns with current usage: number, served, helped, misled, last served."""
        if not uses:
            return replace(self, stamp=stamp)
        table = np.array(uses, dtype=np.float64)
        order = np.argsort(table[:, 0])
        table = table[order]
        rows = np.flatnonzero(np.isin(self.numbers, table[:, 0]))
        places = np.searchsorted(table[:, 0], self.numbers[rows])
        columns = dict(self.columns)
        for place, name in enumerate(USAGE_FIELDS, start=1):
            column = columns[name].copy()
            column[rows] = table[places, place]
            columns[name] = column
        return replace(self, stamp=stamp, columns=columns)


@cache
def _level_bits(levels: str | None) -> int:
    """Return the bits of the levels in the table: the memory's own, then those it stands for."""
    named = (None,) if levels is None else tuple(map(Level, _LEVEL_NAME.findall(levels)))
    return sum(LEVEL_BITS[level] for level in dict.fromkeys(named))


_LEVEL_NAME = re.compile(r"[a-z]+")


def _remove_numbers(numbers: frozenset[int], changed: NDArray[np.int64]) -> frozenset[int]:
    return numbers.difference(changed.tolist()) if numbers else numbers


def label_code(name: str) -> int:
    """Return a name's code: a positive number that fits a signed 64-bit integer."""
    return (hash_term(name) >> 1) | 1


class _ColumnsBuilder:
    """Collects rows into preallocated columns as they are read, so that little is held twice."""

    def __init__(self, columns: Mapping[int, NDArray[Any]], matrix: NDArray[np.float32], most: int) -> None:
        self.ids: list[MemoryId] = []
        self.names: dict[int, str] = {}
        self.postings: list[Postings] = []
        self.mentioned: list[str] = []
        self._columns = {place: np.concatenate([one, np.empty(most, one.dtype)]) for place, one in columns.items()}
        self._buffer = _grow_matrix(matrix, len(matrix) + most)
        self._end = len(matrix)

    def add_rows(self, rows: Sequence[MemoryRow]) -> None:
        """Add these rows; missing values and vectors become NaN."""
        if not rows:
            return
        columns = list(zip(*rows, strict=True))
        self.ids += columns[_ID]
        self.postings.append(Postings.of(columns[_TERMS]))
        self.mentioned += add_speaker_names(columns[_NAMES], columns[_LABELS["speaker"]])
        columns[_KIND] = tuple(KIND_CODES[kind] for kind in columns[_KIND])
        columns[_LEVEL] = tuple(map(_level_bits, columns[_LEVEL]))
        columns[_STATUS] = tuple(status == RECALLABLE_STATUS_NAMES[0] for status in columns[_STATUS])
        columns[_END] = tuple(map(is_question, columns[_END]))
        for place in _LABELS.values():
            self.names.update({label_code(name): name for name in set(columns[place]) if name is not None})
            columns[place] = tuple(0 if name is None else label_code(name) for name in columns[place])
        if _VECTOR in self._columns:
            columns[_VECTOR] = tuple(content or 0 for content in columns[_VECTOR])
        start, self._end = self._end, self._end + len(rows)
        for place, column in self._columns.items():
            column[start : self._end] = columns[place]
        if _VECTOR not in self._columns:
            dimensions = self._buffer.shape[1]
            missing = np.full(dimensions, np.nan, dtype="<f4").tobytes()
            bytes = b"".join(missing if vector is None else vector for vector in columns[_VECTOR])
            self._buffer[start : self._end] = np.frombuffer(bytes, dtype="<f4").reshape(len(rows), dimensions)

    def column(self, place: int) -> NDArray[Any]:
        """Return a column with the rows added so far."""
        return self._columns[place][: self._end]

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._buffer[: self._end]


def _grow_matrix(matrix: NDArray[np.float32], needed: int) -> NDArray[np.float32]:
    """Return the buffer behind the matrix, or a larger one if it lacks room for `needed` rows."""
    count, dimensions = matrix.shape
    whole = matrix.base if isinstance(matrix.base, np.ndarray) and matrix.base.shape[1:] == (dimensions,) else matrix
    if len(whole) < needed:
        whole = np.empty(
            (int(needed * MATRIX_GROWTH_FACTOR) + 64, dimensions), dtype=np.float32
        )  # unused memory pages cost nothing
        whole[:count] = matrix
    return whole
