"""Snapshot: all rows that a reader may see at one commit, as immutable columns.

`MergedColumns` joins the columns of the reader's scope and of what its ancestors share (`ScopeColumns`); stores keep it
as long as nothing changes. `Snapshot` is what a store returns for a `View`: these columns, and the rows that the view
admits.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.table import EPOCH, NO_LABEL, CandidateTable, Floats, Labels, Rows, to_microseconds
from recollect.model.validation import copy_with
from recollect.retrieval.eligibility import Barrier, View
from recollect.retrieval.entity_links import EntityIndex, build_entity_index
from recollect.retrieval.lock_free_property import lock_free_property
from recollect.retrieval.scope_columns import LEVEL_BITS, ScopeColumns
from recollect.retrieval.turn_context import TurnColumns, order_by_session
from recollect.retrieval.vectors import Vector

NUMBER_COLUMNS = ("importance", "confidence", "salience", "revisions", "served")
DATE_COLUMNS = ("created_at", "updated_at", "valid_from")


@dataclass(frozen=True, eq=False)
class StackedVectors:
    """The vectors of several scopes, one below the other, without copying them; NaN for those that are not loaded."""

    parts: tuple[NDArray[np.float32], ...]

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def ndim(self) -> int:
        return 2

    def __getitem__(self, rows: Rows) -> NDArray[np.float32]:
        width = max(part.shape[1] for part in self.parts)
        vectors = np.full((len(rows), width), np.nan, dtype=np.float32)
        first = 0
        for part in self.parts:
            in_part = (rows >= first) & (rows < first + len(part))
            if part.shape[1] == width:  # other parts have no loaded vectors
                vectors[in_part] = part[rows[in_part] - first]
            first += len(part)
        return vectors


@dataclass(eq=False)
class MergedColumns:
    """All rows that a scope may see: its own and those that its ancestors share, as one table."""

    parts: tuple[ScopeColumns, ...]
    _joined_columns: dict[str, Any] = field(default_factory=dict[str, Any])

    def with_vectors(self, vectors: Mapping[MemoryId, NDArray[np.float32]]) -> "MergedColumns":
        """Return the table with these vectors set, or itself if there are none."""
        return MergedColumns(tuple(part.with_vectors(vectors) for part in self.parts)) if vectors else self

    @lock_free_property
    def rows_without_vector(self) -> Rows:
        """The rows without a vector, among those whose vectors are loaded."""
        return np.flatnonzero(concatenate([np.isnan(part.matrix[:, 0]) & part.alive for part in self.parts]))

    @property
    def has_remote_vectors(self) -> bool:
        """Whether any of the vectors stay in the database."""
        return any(part.contents is not None for part in self.parts)

    @lock_free_property
    def content_numbers(self) -> NDArray[np.int64]:
        """The content number of each row whose vector stays in the database; 0 for other rows."""
        return concatenate(
            [np.zeros(len(one), dtype=np.int64) if one.contents is None else one.contents for one in self.parts]
        )

    @lock_free_property
    def remote_rows(self) -> Rows:
        """The rows whose vectors stay in the database."""
        return np.flatnonzero(self.content_numbers)

    @lock_free_property
    def has_local_vectors(self) -> NDArray[np.bool_]:
        """Whether each row's vector is loaded, if it has one."""
        return np.repeat([part.contents is None for part in self.parts], list(map(len, self.parts)))

    def rows_of_contents(self, contents: NDArray[np.int64]) -> Rows:
        """Return the rows whose vectors belong to these contents, sorted."""
        order, numbers = self._by_content
        first, last = (np.searchsorted(numbers, contents, side=side) for side in ("left", "right"))
        counts = last - first
        places = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        return np.sort(order[places])

    @lock_free_property
    def _by_content(self) -> tuple[Rows, NDArray[np.int64]]:
        """The rows sorted by content number, and these numbers."""
        order = np.argsort(self.content_numbers, kind="stable")
        return order, self.content_numbers[order]

    @lock_free_property
    def ids(self) -> list[MemoryId]:
        first, *others = (part.ids for part in self.parts)
        return first if not others else [id for ids in (first, *others) for id in ids]

    def column(self, name: str) -> Floats:
        """Return a numeric column, joined over all parts."""
        if name not in self._joined_columns:
            self._joined_columns[name] = concatenate([part.columns[name] for part in self.parts])
        found: Floats = self._joined_columns[name]
        return found

    @lock_free_property
    def table(self) -> CandidateTable:
        """The columns of every row that do not depend on the query."""
        helped, misled = self.column("helped"), self.column("misled")
        judged = helped + misled
        usefulness = np.where(judged > 0.0, (helped + 1.0) / (judged + 2.0), np.nan)
        return CandidateTable.from_checked(
            ids=self.ids,
            numbers={
                **{name: self.column(name) for name in NUMBER_COLUMNS},
                "usefulness": usefulness,
                "words": np.where(self.is_question, 0.0, self.term_counts),
            },
            dates={
                **{name: self.column(name) for name in DATE_COLUMNS},
                "last_accessed_at": self.column("last_served_at"),
            },
            kinds=concatenate([part.kinds for part in self.parts]),
            vectors=None if self.has_remote_vectors else self.vectors,
            labels={"scope": self._scope_labels, "session": self.sessions, "speaker": self.speakers},
        )

    @lock_free_property
    def _by_scope(self) -> list[list[ScopeColumns]]:
        """The parts of each scope; former versions of memories form a part of their own."""
        return [list(parts) for _, parts in groupby(self.parts, attrgetter("scope"))]

    @lock_free_property
    def _scope_labels(self) -> Labels:
        sizes = [sum(map(len, parts)) for parts in self._by_scope]
        return Labels(np.repeat(np.arange(len(sizes)), sizes), tuple(str(one.scope) for one, *_ in self._by_scope))

    @lock_free_property
    def sessions(self) -> Labels:
        """The session of each row; sessions of two scopes differ even if they have the same name."""
        return Labels.concatenate([_merge_labels("session", parts) for parts in self._by_scope])

    @lock_free_property
    def speakers(self) -> Labels:
        return _merge_labels("speaker", self.parts)

    @lock_free_property
    def is_question(self) -> NDArray[np.bool_]:
        return concatenate([part.asks for part in self.parts])

    @lock_free_property
    def term_counts(self) -> Floats:
        """The number of terms of each row."""
        return concatenate([part.postings.lengths for part in self.parts]).astype(np.float64)

    @lock_free_property
    def vectors(self) -> NDArray[np.float32]:
        """The vector of each row; NaN where there is none, or where it is not loaded."""
        first, *others = (part.matrix for part in self.parts)
        # A table uses only the length of its vectors, and some rows of them.
        return cast("NDArray[np.float32]", StackedVectors((first, *others))) if others else first

    @lock_free_property
    def active(self) -> NDArray[np.bool_]:
        return concatenate([part.active for part in self.parts])

    @lock_free_property
    def alive(self) -> NDArray[np.bool_]:
        return concatenate([part.alive for part in self.parts])

    @lock_free_property
    def _validity_span(self) -> tuple[float, float, float] | None:
        """When the last row became known, the last one valid, and the first one outdated.

        None if some rows may not be recalled at all. Usually every row is eligible, and this proves it without a scan.
        """
        if not self.ids or not (self.alive & self.active).all():
            return None
        known = np.fmax(self.column("created_at"), self.column("updated_at")).max()
        begins = np.fmax.reduce(self.column("valid_from"), initial=-np.inf)
        ends = np.fmin.reduce(self.column("valid_until"), initial=np.inf)
        return float(known), float(begins), float(ends)

    def find_eligible(self, view: View) -> tuple[NDArray[np.bool_] | None, Mapping[Barrier, int]]:
        """Return which rows the view admits (None: all), and how many each barrier excludes."""
        now, present, past = to_microseconds(view.at), view.present, view.past
        inactive_counts = {
            Barrier.STATUS: sum(len(part.inactive) for part in self.parts),
            Barrier.UNINDEXED: sum(len(part.unindexed) for part in self.parts),
        }
        counts: Counter[Barrier] = Counter({barrier: count for barrier, count in inactive_counts.items() if count})
        other_levels = self._find_other_levels(view)
        if self._validity_span is not None:
            known, begins, ends = self._validity_span
            if (present or known <= now) and begins <= now < ends and other_levels is None:
                return None, counts
        eligible = self.alive.copy()
        none = np.zeros(len(eligible), np.bool_)
        until = self.column("valid_until")
        for reason, excluded in (
            (Barrier.STATUS, none if past else ~self.active & np.isnan(until)),
            (
                Barrier.NOT_YET_KNOWN,
                none if present else (self.column("created_at") > now) | (self.column("updated_at") > now),
            ),
            (Barrier.NOT_YET_VALID, self.column("valid_from") > now),
            (Barrier.NO_LONGER_VALID, none if past else (until <= now) | (~self.active if present else none)),
            (Barrier.LEVEL, none if other_levels is None else other_levels),
        ):
            count = int(np.count_nonzero(eligible & excluded))
            if count:
                counts[reason] += count
                eligible &= ~excluded
        return eligible, counts

    @lock_free_property
    def _levels(self) -> NDArray[np.int16]:
        return concatenate([part.levels for part in self.parts])

    def _find_other_levels(self, view: View) -> NDArray[np.bool_] | None:
        """Return the rows that neither have nor stand in for a requested level, or None."""
        if view.levels is None:
            return None
        others = (self._levels & sum(LEVEL_BITS[level] for level in view.levels)) == 0
        return others if others.any() else None

    @lock_free_property
    def mentions(self) -> EntityIndex:
        """Which rows mention which names."""
        return build_entity_index(part.mentions for part in self.parts)

    def build_turns(self, eligible: NDArray[np.bool_] | None) -> TurnColumns | None:
        """Return which eligible row precedes which in its session, or None if there are no sessions."""
        if not len(self._turn_rows) or (eligible is not None and not eligible[self._turn_rows].any()):
            return None
        return (
            self._all_turns
            if eligible is None
            else TurnColumns.of(self._turn_rows, self.sessions, self.is_question, eligible)
        )

    @lock_free_property
    def _turn_rows(self) -> Rows:
        return order_by_session(self.sessions, self.column("created_at"), self.ids, self.alive)

    @lock_free_property
    def _all_turns(self) -> TurnColumns:
        return TurnColumns.of(self._turn_rows, self.sessions, self.is_question, None)

    def find_postings(self, terms: Sequence[str], eligible: NDArray[np.bool_] | None) -> dict[str, tuple[Rows, Floats]]:
        """Return, for each term that occurs, the eligible rows that have it and how often."""
        found = {term: self._find_term_postings(term, eligible) for term in dict.fromkeys(terms)}
        return {term: having for term, having in found.items() if len(having[0])}

    def _find_term_postings(self, term: str, eligible: NDArray[np.bool_] | None) -> tuple[Rows, Floats]:
        found, first = [], 0
        for part in self.parts:
            rows, counts = part.postings.rows_having(term)
            found.append((rows + first, counts))
            first += len(part)
        rows, counts = (concatenate(list(parts)) for parts in zip(*found, strict=True))
        if eligible is None:
            return rows, counts
        admitted = eligible[rows]
        return rows[admitted], counts[admitted]

    def memory_versions(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return the memory number of each row and its commit.

        For a former version, the minus version number takes the place of the commit.
        """
        return [(int(self._memory_numbers[row]), int(self._memory_commits[row])) for row in rows]

    def with_row_status(self, row: int, memory: Memory) -> Memory:
        """Return the memory with the status it has in this row, which a former version lacks."""
        if self._memory_commits[row] >= 0:
            return memory
        until = self.column("valid_until")[row]
        return copy_with(
            memory,
            status=Status.ACTIVE if self.active[row] else Status.SUPERSEDED,
            pinned=bool(row in self.pinned_rows),
            valid_until=None if np.isnan(until) else EPOCH + timedelta(microseconds=int(until)),
            indexed=True,
            left=(),
            stands_for=(),
        )

    @lock_free_property
    def _memory_numbers(self) -> NDArray[np.int64]:
        return concatenate([part.numbers for part in self.parts])

    @lock_free_property
    def _memory_commits(self) -> NDArray[np.int64]:
        return concatenate([part.changed for part in self.parts])

    @lock_free_property
    def pinned_rows(self) -> Rows:
        return np.flatnonzero(concatenate([part.pinned for part in self.parts]))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All rows that a view may see at one commit: the one value that a store hands to recall.

    Each memory of the view's scope is either in `rows` or counted in `barred`, exactly once. `eligible` marks the rows
    that the view admits; None admits all. `commit` is the last commit that is included.

    `dropped_vectors` are admitted rows that had a vector at that commit and lost it since; `with_vectors` takes new
    ones. `encoder_number` is the store's number of the vectors' model, 0 before there are any, and `indexed_scope` its
    number of the scope whose vectors have an index, if they stay in the database.
    """

    view: View
    columns: MergedColumns
    commit: int
    eligible: NDArray[np.bool_] | None
    barred: Mapping[Barrier, int]
    encoder_number: int = 0
    indexed_scope: int | None = None
    dropped_vectors: Sequence[int] = ()

    @classmethod
    def of(
        cls,
        view: View,
        columns: MergedColumns,
        commit: int,
        *,
        encoder_number: int = 0,
        indexed_scope: int | None = None,
    ) -> "Snapshot":
        """Decide which rows the view admits."""
        eligible, barred = columns.find_eligible(view)
        return cls(view, columns, commit, eligible, barred, encoder_number, indexed_scope)

    def with_vectors(self, vectors: Mapping[MemoryId, Vector]) -> "Snapshot":
        """Return the snapshot with these vectors for memories that lost theirs."""
        return replace(self, columns=self.columns.with_vectors(vectors))

    @lock_free_property
    def rows(self) -> Rows:
        """The rows that the view admits."""
        return np.arange(len(self.columns.ids)) if self.eligible is None else np.flatnonzero(self.eligible)

    @property
    def pinned(self) -> Rows:
        """The admitted rows that are pinned."""
        pinned = self.columns.pinned_rows
        return pinned if self.eligible is None else pinned[self.eligible[pinned]]

    @property
    def speakers(self) -> frozenset[str]:
        """The speakers of the admitted rows."""
        speakers = self.columns.speakers
        return (speakers if self.eligible is None else speakers[self.rows]).present_names()

    def mentions(self) -> dict[MemoryId, list[str]]:
        """Return each admitted memory with the names that it mentions, sorted."""
        names_by_row = self.columns.mentions.names_by_row(self.eligible)
        return {self.columns.ids[row]: names for row, names in names_by_row.items()}


def _merge_labels(name: str, parts: Sequence[ScopeColumns]) -> Labels:
    """Join one label column (session or speaker) of these parts, with new codes."""
    names = {number: known for part in parts for number, known in part.names.items()}
    numbers, codes = np.unique(concatenate([part.labels[name] for part in parts]), return_inverse=True)
    is_named = numbers > 0
    renumbered = np.where(is_named, np.cumsum(is_named) - 1, NO_LABEL)
    return Labels(renumbered[codes], tuple(names[number] for number in numbers[is_named].tolist()))


def concatenate(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join arrays; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
