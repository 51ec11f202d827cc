"""View: all that a scope may see, its own shelf and what each ancestor shares, as one table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recollect.model.frozen_copy import amended
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.table import NONE, Floats, Labels, Rows, Table, microseconds
from recollect.retrieval import turn_context
from recollect.retrieval.eligibility import Barrier
from recollect.retrieval.entity_columns import index
from recollect.retrieval.entity_links import Index
from recollect.retrieval.evidence import Probe, Vectors
from recollect.retrieval.lock_free_property import derived
from recollect.retrieval.scope_columns import LEVEL_BITS, Shelf
from recollect.retrieval.turn_context import Turns
from recollect.retrieval.vectors import error_bound, near_cosines, nearest
from recollect.stores.sql.rows import moment

NUMBERS = ("importance", "confidence", "salience", "revisions", "served")
DATES = ("created_at", "updated_at", "valid_from")


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
        width = max(part.shape[1] for part in self.parts)
        found = np.full((len(rows), width), np.nan, dtype=np.float32)
        first = 0
        for part in self.parts:
            here = (rows >= first) & (rows < first + len(part))
            if part.shape[1] == width:  # the vectors of the others are not here
                found[here] = part[rows[here] - first]
            first += len(part)
        return found


@dataclass(eq=False)
class View:
    """All that a scope may see: its own shelf and what each ancestor shares, as one table."""

    shelves: tuple[Shelf, ...]
    _all: dict[str, Any] = field(default_factory=dict[str, Any])

    def with_directions(self, directions: Mapping[MemoryId, NDArray[np.float32]]) -> "View":
        """The same with these directions, if there are any."""
        return View(tuple(shelf.with_directions(directions) for shelf in self.shelves)) if directions else self

    @derived
    def undirected(self) -> Rows:
        """The rows without a direction, though their vectors would be here."""
        return np.flatnonzero(_joined([np.isnan(shelf.matrix[:, 0]) & shelf.alive for shelf in self.shelves]))

    @property
    def bare(self) -> bool:
        """Whether vectors of it stay in the tables."""
        return any(shelf.contents is not None for shelf in self.shelves)

    @derived
    def contents(self) -> NDArray[np.int64]:
        """The contents of the vectors that stay in the tables; 0 for rows without."""
        return _joined(
            [np.zeros(len(one), dtype=np.int64) if one.contents is None else one.contents for one in self.shelves]
        )

    @derived
    def held(self) -> NDArray[np.bool_]:
        """Whether the vector of each row is here, if it has one."""
        return np.repeat([shelf.contents is None for shelf in self.shelves], list(map(len, self.shelves)))

    def rows_of(self, contents: NDArray[np.int64]) -> Rows:
        """The rows whose vectors are of these contents, in order."""
        order, numbers = self._by_content
        first, last = (np.searchsorted(numbers, contents, side=side) for side in ("left", "right"))
        counts = last - first
        places = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        return np.sort(order[places])

    @derived
    def _by_content(self) -> tuple[Rows, NDArray[np.int64]]:
        """The rows in the order of their contents, and these."""
        order = np.argsort(self.contents, kind="stable")
        return order, self.contents[order]

    @derived
    def ids(self) -> list[MemoryId]:
        first, *others = (shelf.ids for shelf in self.shelves)
        return first if not others else [id for ids in (first, *others) for id in ids]

    def column(self, name: str) -> Floats:
        """One column of numbers of all shelves."""
        if name not in self._all:
            self._all[name] = _joined([shelf.columns[name] for shelf in self.shelves])
        found: Floats = self._all[name]
        return found

    @derived
    def table(self) -> Table:
        """What is known of every row whatever is asked."""
        helped, misled = self.column("helped"), self.column("misled")
        judged = helped + misled
        usefulness = np.where(judged > 0.0, (helped + 1.0) / (judged + 2.0), np.nan)
        return Table.trusted(
            ids=self.ids,
            numbers={
                **{name: self.column(name) for name in NUMBERS},
                "usefulness": usefulness,
                "words": np.where(self.asks, 0.0, self._lengths),
            },
            dates={**{name: self.column(name) for name in DATES}, "last_accessed_at": self.column("last_served_at")},
            kinds=_joined([shelf.kinds for shelf in self.shelves]),
            vectors=None if self.bare else self._vectors,
            labels={"scope": self._scopes, "session": self.sessions, "speaker": self.speakers},
        )

    @derived
    def _by_scope(self) -> list[list[Shelf]]:
        """The shelves of each scope: what memories said before they were revised lies beside the others."""
        return [list(shelves) for _, shelves in groupby(self.shelves, attrgetter("scope"))]

    @derived
    def _scopes(self) -> Labels:
        sizes = [sum(map(len, shelves)) for shelves in self._by_scope]
        return Labels(np.repeat(np.arange(len(sizes)), sizes), tuple(str(one.scope) for one, *_ in self._by_scope))

    @derived
    def sessions(self) -> Labels:
        """The sessions; each is of one scope, whatever others are called."""
        return Labels.joined([_labels("session", shelves) for shelves in self._by_scope])

    @derived
    def speakers(self) -> Labels:
        return _labels("speaker", self.shelves)

    @derived
    def asks(self) -> NDArray[np.bool_]:
        return _joined([shelf.asks for shelf in self.shelves])

    @derived
    def _lengths(self) -> Floats:
        """How many terms every row has."""
        return _joined([shelf.postings.lengths for shelf in self.shelves]).astype(np.float64)

    @derived
    def _vectors(self) -> NDArray[np.float32]:
        first, *others = (shelf.matrix for shelf in self.shelves)
        # Of the vectors of a table nothing is asked but how many there are, and some rows of them.
        return cast("NDArray[np.float32]", Stack((first, *others))) if others else first

    @derived
    def active(self) -> NDArray[np.bool_]:
        return _joined([shelf.active for shelf in self.shelves])

    @derived
    def alive(self) -> NDArray[np.bool_]:
        return _joined([shelf.alive for shelf in self.shelves])

    @derived
    def _steady(self) -> tuple[float, float, float] | None:
        """From when on every row is known, from when on and until when it holds, if all may be recalled: most may."""
        if not self.ids or not (self.alive & self.active).all():
            return None
        known = np.fmax(self.column("created_at"), self.column("updated_at")).max()
        begins = np.fmax.reduce(self.column("valid_from"), initial=-np.inf)
        ends = np.fmin.reduce(self.column("valid_until"), initial=np.inf)
        return float(known), float(begins), float(ends)

    def eligible(self, probe: Probe) -> tuple[NDArray[np.bool_] | None, Mapping[Barrier, int]]:
        """Which rows may be recalled for the probe (`None`: all), and how many are barred by what."""
        now, present, past = microseconds(probe.at), probe.present, probe.past
        away = {
            Barrier.STATUS: sum(len(shelf.away) for shelf in self.shelves),
            Barrier.UNINDEXED: sum(len(shelf.unindexed) for shelf in self.shelves),
        }
        barred: Counter[Barrier] = Counter({barrier: count for barrier, count in away.items() if count})
        others = self._of_other_levels(probe)
        if self._steady is not None:
            known, begins, ends = self._steady
            if (present or known <= now) and begins <= now < ends and others is None:
                return None, barred
        open = self.alive.copy()
        nothing = np.zeros(len(open), np.bool_)
        until = self.column("valid_until")
        for reason, shut in (
            (Barrier.STATUS, nothing if past else ~self.active & np.isnan(until)),
            (Barrier.NOT_YET_KNOWN, nothing if present else self._later_than(now)),
            (Barrier.NOT_YET_VALID, self.column("valid_from") > now),
            (Barrier.NO_LONGER_VALID, nothing if past else (until <= now) | (~self.active if present else nothing)),
            (Barrier.LEVEL, nothing if others is None else others),
        ):
            count = int(np.count_nonzero(open & shut))
            if count:
                barred[reason] += count
                open &= ~shut
        return open, barred

    @derived
    def _levels(self) -> NDArray[np.int16]:
        return _joined([shelf.levels for shelf in self.shelves])

    def _of_other_levels(self, probe: Probe) -> NDArray[np.bool_] | None:
        """The rows that are of none of the levels asked for, and stand in for none, if there are any."""
        if probe.levels is None:
            return None
        others = (self._levels & sum(LEVEL_BITS[level] for level in probe.levels)) == 0
        return others if others.any() else None

    def _later_than(self, now: float) -> NDArray[np.bool_]:
        """The rows that were not known by then."""
        return (self.column("created_at") > now) | (self.column("updated_at") > now)

    def said_by(self, eligible: NDArray[np.bool_] | None) -> frozenset[str]:
        """Everyone who said something that is eligible."""
        return (self.speakers if eligible is None else self.speakers[np.flatnonzero(eligible)]).there()

    @derived
    def mentions(self) -> Index:
        """Which rows mention which names."""
        return index(shelf.mentions for shelf in self.shelves)

    def turns(self, eligible: NDArray[np.bool_] | None) -> Turns | None:
        """What was said before what, among the eligible rows; nothing where there are no sessions."""
        if not len(self._said) or (eligible is not None and not eligible[self._said].any()):
            return None
        return self._all_turns if eligible is None else Turns.of(self._said, self.sessions, self.asks, eligible)

    @derived
    def _said(self) -> Rows:
        return turn_context.in_order(self.sessions, self.column("created_at"), self.ids, self.alive)

    @derived
    def _all_turns(self) -> Turns:
        return Turns.of(self._said, self.sessions, self.asks, None)

    def similarities(self, vectors: Vectors, said: Turns | None) -> tuple[Floats, float]:
        """The similarity of every row, and how far it may be off; NaN for rows without a vector."""
        near = _joined([_near(shelf, vectors) for shelf in self.shelves]).astype(np.float64)
        return near if said is None else said.near(near), error_bound(vectors.shape[1])

    def true_similarities(self, vectors: Vectors, said: Turns | None, rows: Sequence[int]) -> Floats:
        """The similarities of these rows, to the last bit."""
        asked = np.asarray(rows, dtype=np.intp)
        own = nearest(self._vectors[asked], vectors)
        if said is None:
            return own
        before, earlier = said.before[asked], np.full(len(asked), np.nan)
        earlier[before != NONE] = nearest(self._vectors[before[before != NONE]], vectors)
        return turn_context.lend(own, earlier)

    def shares(self, terms: Sequence[str], eligible: NDArray[np.bool_] | None, said: Turns | None) -> Floats:
        """How much of the question's words each eligible row has, by the statistics of the eligible."""
        masks = self._split(np.ones(len(self.ids), dtype=np.bool_) if eligible is None else eligible)
        parts = list(zip((shelf.postings for shelf in self.shelves), masks, strict=True))
        first, *others = (postings.statistics(terms, mask) for postings, mask in parts)
        total = sum(others, start=first)
        if said is None:
            return _joined([postings.shares(terms, mask, total) for postings, mask in parts])
        heard = said.lengths(self._lengths)
        total = replace(total, total_length=float(heard.sum() if eligible is None else heard[eligible].sum()))
        return turn_context.shares(self._having(terms, eligible), terms, said, self._lengths, total)

    def settings(self, terms: Sequence[str], eligible: NDArray[np.bool_] | None) -> Floats:
        """How much of the question's words the session of each eligible row has."""
        open = np.ones(len(self.ids), dtype=np.bool_) if eligible is None else eligible
        return turn_context.settings(self._having(terms, eligible), terms, self.sessions, self._lengths, open)

    def _having(self, terms: Sequence[str], eligible: NDArray[np.bool_] | None) -> dict[str, tuple[Rows, Floats]]:
        """For each term that any of them has, the eligible rows that have it, and how often."""
        found = {term: self._having_one(term, eligible) for term in dict.fromkeys(terms)}
        return {term: having for term, having in found.items() if len(having[0])}

    def _having_one(self, term: str, eligible: NDArray[np.bool_] | None) -> tuple[Rows, Floats]:
        found, first = [], 0
        for shelf in self.shelves:
            rows, counts = shelf.postings.having(term)
            found.append((rows + first, counts))
            first += len(shelf)
        rows, counts = (_joined(list(parts)) for parts in zip(*found, strict=True))
        if eligible is None:
            return rows, counts
        open = eligible[rows]
        return rows[open], counts[open]

    def _split(self, column: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(column, np.cumsum([len(shelf) for shelf in self.shelves])[:-1])

    def places(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """The number and version of the memories in these rows."""
        return [(int(self._numbers[row]), int(self._changed[row])) for row in rows]

    def as_ranked(self, row: int, memory: Memory) -> Memory:
        """The memory of a row with the standing that it has there, which a former version did not have yet."""
        if self._changed[row] >= 0:
            return memory
        until = self.column("valid_until")[row]
        return amended(
            memory,
            status=Status.ACTIVE if self.active[row] else Status.SUPERSEDED,
            pinned=bool(row in self.pinned),
            valid_until=None if np.isnan(until) else moment(int(until)),
            indexed=True,
            left=(),
            stands_for=(),
        )

    @derived
    def _numbers(self) -> NDArray[np.int64]:
        return _joined([shelf.numbers for shelf in self.shelves])

    @derived
    def _changed(self) -> NDArray[np.int64]:
        return _joined([shelf.changed for shelf in self.shelves])

    @derived
    def pinned(self) -> Rows:
        return np.flatnonzero(_joined([shelf.pinned for shelf in self.shelves]))


def _near(shelf: Shelf, vectors: Vectors) -> NDArray[np.float32]:
    """The similarities of a shelf, as far as it has vectors."""
    if shelf.contents is None:
        return near_cosines(shelf.matrix, vectors)
    return np.full(len(shelf), np.nan, dtype=np.float32)


def _labels(name: str, shelves: Sequence[Shelf]) -> Labels:
    """One sort of names of these shelves, numbered anew."""
    names = {number: known for shelf in shelves for number, known in shelf.names.items()}
    numbers, codes = np.unique(_joined([shelf.labels[name] for shelf in shelves]), return_inverse=True)
    there = numbers > 0
    renumbered = np.where(there, np.cumsum(there) - 1, NONE)
    return Labels(renumbered[codes], tuple(names[number] for number in numbers[there].tolist()))


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
