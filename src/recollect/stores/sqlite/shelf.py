"""Shelf: the memories of one scope as columns in memory, and the view of all that a scope may see."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from recollect.evidence.postings import Postings
from recollect.evidence.similarity import cosines, error_bound, near_cosines
from recollect.model.eligibility import Barrier
from recollect.model.memory import MemoryId, Status
from recollect.model.probe import Vector
from recollect.model.table import KINDS, Floats, Rows, Table, microseconds

FIELDS = (
    *("importance", "confidence", "salience", "revisions"),
    *("created_at", "updated_at", "valid_from", "valid_until"),
    *("served", "helped", "misled", "last_served_at"),
)
"""The columns of numbers, in the order in which a row brings them; dates are microseconds."""

NUMBERS = ("importance", "confidence", "salience", "revisions", "served")
DATES = ("created_at", "updated_at", "valid_from")
USED = ("served", "helped", "misled", "last_served_at")

HELD = (Status.ACTIVE.value, Status.SUPERSEDED.value)
"""The statuses of memories that may be recalled for some moment; the others are only counted."""

KIND_CODES = {kind.value: code for code, kind in enumerate(KINDS)}
GROWTH = 1.25
"""How much room a matrix gets when it must grow, so that adding a row does not copy all of them."""

SPARSE = 0.5
"""From this share of rows that no longer count, a shelf is read anew instead of added to."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """How far a shelf has been read: the last change, the last use, and how often something was erased."""

    changed: int
    used: int
    emptied: int


Row = tuple[Any, ...]
"""A memory as it comes from the tables: number, changed, id, kind, status, shared, pinned, FIELDS, terms, vector."""

_NUMBER, _CHANGED, _ID, _KIND, _STATUS, _SHARED, _PINNED = range(7)
_TERMS, _VECTOR = 7 + len(FIELDS), 8 + len(FIELDS)

CHUNK = 4096
"""How many rows are read before they are put on the shelf: their vectors are not held twice for longer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shelf:
    """The memories of one scope as columns. A shelf never changes: what is added makes a new one.

    A memory that changed gets a new row and its former row is dead, so whoever reads an older shelf is not disturbed.
    """

    only_shared: bool
    stamp: Stamp
    numbers: NDArray[np.int64]
    changed: NDArray[np.int64]
    ids: list[MemoryId]
    kinds: NDArray[np.int8]
    active: NDArray[np.bool_]
    pinned: NDArray[np.bool_]
    columns: Mapping[str, Floats]
    alive: NDArray[np.bool_]
    postings: Postings
    matrix: NDArray[np.float32]
    away: frozenset[int]

    @classmethod
    def empty(cls, dimensions: int, *, only_shared: bool = False) -> "Shelf":
        """A shelf with nothing on it."""
        return cls(
            only_shared=only_shared,
            stamp=Stamp(0, 0, 0),
            numbers=np.empty(0, dtype=np.int64),
            changed=np.empty(0, dtype=np.int64),
            ids=[],
            kinds=np.empty(0, dtype=np.int8),
            active=np.empty(0, dtype=np.bool_),
            pinned=np.empty(0, dtype=np.bool_),
            columns={name: np.empty(0) for name in FIELDS},
            alive=np.empty(0, dtype=np.bool_),
            postings=Postings.of([]),
            matrix=np.empty((0, dimensions), dtype=np.float32),
            away=frozenset(),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sparse(self) -> bool:
        """Whether so much of it is dead that it should be read anew."""
        return len(self) > 1_000 and int(np.count_nonzero(self.alive)) < SPARSE * len(self)

    def with_rows(self, found: Iterable[Row], stamp: Stamp, *, most: int) -> "Shelf":
        """The shelf with these memories on it, at most so many, each in place of its former self."""
        latest: list[int] = []
        away: set[int] = set()
        rows = iter(found)
        taken = _Taken(self.matrix, most)
        while chunk := list(islice(rows, CHUNK)):
            latest += [row[_NUMBER] for row in chunk]
            here = [row for row in chunk if row[_SHARED]] if self.only_shared else chunk
            away.update(row[_NUMBER] for row in here if row[_STATUS] not in HELD)
            taken.take([row for row in here if row[_STATUS] in HELD])
        if not latest:
            return replace(self, stamp=stamp)
        return Shelf(
            only_shared=self.only_shared,
            stamp=stamp,
            numbers=np.append(self.numbers, taken.column(_NUMBER, np.int64)),
            changed=np.append(self.changed, taken.column(_CHANGED, np.int64)),
            ids=self.ids + taken.values[_ID],
            kinds=np.append(self.kinds, np.array([KIND_CODES[kind] for kind in taken.values[_KIND]], dtype=np.int8)),
            active=np.append(self.active, np.array([one == HELD[0] for one in taken.values[_STATUS]], dtype=np.bool_)),
            pinned=np.append(self.pinned, taken.column(_PINNED, np.bool_)),
            columns={
                name: np.append(self.columns[name], taken.column(place, np.float64))
                for place, name in enumerate(FIELDS, start=_PINNED + 1)
            },
            alive=np.append(self.alive & ~np.isin(self.numbers, latest), np.ones(len(taken), dtype=np.bool_)),
            postings=self.postings.append(taken.values[_TERMS]),
            matrix=taken.matrix,
            away=(self.away - set(latest)) | away,
        )

    def revised_since(self, at: datetime) -> Rows:
        """The rows of memories that were known at the moment, but have another text now."""
        now = microseconds(at)
        return np.flatnonzero(self.alive & (self.columns["created_at"] <= now) & (self.columns["updated_at"] > now))

    def without(self, rows: Rows) -> "Shelf":
        """The shelf as if these rows were dead."""
        alive = self.alive.copy()
        alive[rows] = False
        return replace(self, alive=alive)

    def with_uses(self, uses: Sequence[tuple[Any, ...]], stamp: Stamp) -> "Shelf":
        """The shelf with these memories' usage as it is now: number, served, helped, misled, last served."""
        if not uses:
            return replace(self, stamp=stamp)
        table = np.array(uses, dtype=np.float64)
        order = np.argsort(table[:, 0])
        table = table[order]
        rows = np.flatnonzero(np.isin(self.numbers, table[:, 0]))
        places = np.searchsorted(table[:, 0], self.numbers[rows])
        columns = dict(self.columns)
        for place, name in enumerate(USED, start=1):
            column = columns[name].copy()
            column[rows] = table[places, place]
            columns[name] = column
        return replace(self, stamp=stamp, columns=columns)


class _Taken:
    """Rows on their way to a shelf: what each column brought, and the vectors where they will stay."""

    def __init__(self, matrix: NDArray[np.float32], most: int) -> None:
        self.values: list[list[Any]] = [[] for _ in range(_VECTOR)]
        self._whole = _with_room(matrix, len(matrix) + most)
        self._end = len(matrix)

    def __len__(self) -> int:
        return len(self.values[_ID])

    def take(self, held: Sequence[Row]) -> None:
        """Take these rows; one without a vector has NaN for it."""
        if not held:
            return
        *columns, vectors = zip(*held, strict=True)
        for known, column in zip(self.values, columns, strict=True):
            known.extend(column)
        dimensions = self._whole.shape[1]
        missing = np.full(dimensions, np.nan, dtype="<f4").tobytes()
        bytes = b"".join(missing if vector is None else vector for vector in vectors)
        start, self._end = self._end, self._end + len(held)
        self._whole[start : self._end] = np.frombuffer(bytes, dtype="<f4").reshape(len(held), dimensions)

    def column(self, place: int, dtype: DTypeLike) -> NDArray[Any]:
        """One column; nothing is NaN."""
        return np.array(self.values[place], dtype=dtype)

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._whole[: self._end]


def _with_room(matrix: NDArray[np.float32], needed: int) -> NDArray[np.float32]:
    """The memory that the matrix is the beginning of, with room for so many rows; new memory if there is not enough."""
    count, dimensions = matrix.shape
    whole = matrix.base if isinstance(matrix.base, np.ndarray) and matrix.base.shape[1:] == (dimensions,) else matrix
    if len(whole) < needed:
        whole = np.empty((int(needed * GROWTH) + 64, dimensions), dtype=np.float32)  # untouched room costs nothing
        whole[:count] = matrix
    return whole


@dataclass(frozen=True, eq=False)
class Stack:
    """The vectors of several shelves, one below the other, without copying them."""

    parts: tuple[NDArray[np.float32], ...]

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def ndim(self) -> int:
        return 2

    def __getitem__(self, rows: Rows) -> NDArray[np.float32]:
        found = np.empty((len(rows), self.parts[0].shape[1]), dtype=np.float32)
        first = 0
        for part in self.parts:
            here = (rows >= first) & (rows < first + len(part))
            found[here] = part[rows[here] - first]
            first += len(part)
        return found


@dataclass(eq=False)
class View:
    """All that a scope may see: its own shelf and what each ancestor shares, as one table."""

    shelves: tuple[Shelf, ...]
    _all: dict[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def ids(self) -> list[MemoryId]:
        first, *others = (shelf.ids for shelf in self.shelves)
        return first if not others else [id for ids in (first, *others) for id in ids]

    def column(self, name: str) -> Floats:
        """One column of numbers of all shelves."""
        if name not in self._all:
            self._all[name] = _joined([shelf.columns[name] for shelf in self.shelves])
        found: Floats = self._all[name]
        return found

    @cached_property
    def table(self) -> Table:
        """What is known of every row whatever is asked."""
        helped, misled = self.column("helped"), self.column("misled")
        judged = helped + misled
        usefulness = np.where(judged > 0.0, (helped + 1.0) / (judged + 2.0), np.nan)
        return Table.trusted(
            ids=self.ids,
            numbers={**{name: self.column(name) for name in NUMBERS}, "usefulness": usefulness},
            dates={**{name: self.column(name) for name in DATES}, "last_accessed_at": self.column("last_served_at")},
            kinds=_joined([shelf.kinds for shelf in self.shelves]),
            vectors=self._vectors,
        )

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        first, *others = (shelf.matrix for shelf in self.shelves)
        # Of the vectors of a table nothing is asked but how many there are, and some rows of them.
        return cast("NDArray[np.float32]", Stack((first, *others))) if others else first

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        return _joined([shelf.active for shelf in self.shelves])

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        return _joined([shelf.alive for shelf in self.shelves])

    @cached_property
    def _steady(self) -> tuple[float, float] | None:
        """From when until when every row is eligible, if there is such a time; most stores have one."""
        if not self.ids or not (self.alive & self.active).all():
            return None
        begins = np.fmax(np.fmax(self.column("created_at"), self.column("updated_at")), self.column("valid_from")).max()
        until = self.column("valid_until")
        ends = np.inf if np.isnan(until).all() else float(np.nanmin(until))
        return float(begins), ends

    def eligible(self, at: datetime) -> tuple[NDArray[np.bool_] | None, Mapping[Barrier, int]]:
        """Which rows may be recalled for the moment (`None`: all), and how many are barred by what."""
        now = microseconds(at)
        away = sum(len(shelf.away) for shelf in self.shelves)
        barred: Counter[Barrier] = Counter({Barrier.STATUS: away} if away else {})
        if self._steady is not None and self._steady[0] <= now < self._steady[1]:
            return None, barred
        open = self.alive.copy()
        until = self.column("valid_until")
        for reason, shut in (
            (Barrier.STATUS, ~self.active & np.isnan(until)),
            (Barrier.NOT_YET_KNOWN, (self.column("created_at") > now) | (self.column("updated_at") > now)),
            (Barrier.NOT_YET_VALID, self.column("valid_from") > now),
            (Barrier.NO_LONGER_VALID, until <= now),
        ):
            count = int(np.count_nonzero(open & shut))
            if count:
                barred[reason] += count
                open &= ~shut
        return open, barred

    def similarities(self, vector: Vector) -> tuple[Floats, float]:
        """The similarity of every row, and how far it may be off; NaN for rows without a vector."""
        near = _joined([near_cosines(shelf.matrix, vector) for shelf in self.shelves])
        return near.astype(np.float64), error_bound(len(vector))

    def true_similarities(self, vector: Vector, rows: Sequence[int]) -> Floats:
        """The similarities of these rows, to the last bit."""
        return cosines(self._vectors[np.asarray(rows, dtype=np.intp)], vector)

    def shares(self, terms: Sequence[str], eligible: NDArray[np.bool_] | None) -> Floats:
        """How much of the question's words each eligible row has, by the statistics of the eligible."""
        masks = self._split(np.ones(len(self.ids), dtype=np.bool_) if eligible is None else eligible)
        parts = list(zip((shelf.postings for shelf in self.shelves), masks, strict=True))
        first, *others = (postings.statistics(terms, mask) for postings, mask in parts)
        total = sum(others, start=first)
        return _joined([postings.shares(terms, mask, total) for postings, mask in parts])

    def _split(self, column: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(column, np.cumsum([len(shelf) for shelf in self.shelves])[:-1])

    def places(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """The number and version of the memories in these rows."""
        return [(int(self._numbers[row]), int(self._changed[row])) for row in rows]

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        return _joined([shelf.numbers for shelf in self.shelves])

    @cached_property
    def _changed(self) -> NDArray[np.int64]:
        return _joined([shelf.changed for shelf in self.shelves])

    @cached_property
    def pinned(self) -> Rows:
        return np.flatnonzero(_joined([shelf.pinned for shelf in self.shelves]))


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
