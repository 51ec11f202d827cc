"""What recall requests from a store, and the evidence that the store returns.

`RemoteSimilarities` computes similarities in the store, for vectors that are not loaded into memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.model.candidate import Candidate
from recollect.model.encoder import Encoder
from recollect.model.enums import Level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.table import CandidateTable, Floats, Rows
from recollect.retrieval.eligibility import Barrier


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """The nearest rows by an index, their similarities, and a ceiling for all other rows.

    The ceiling holds only if the index is exact; a ceiling of 1 tells nothing about the others. Similarities are
    within the error of the `RemoteSimilarities`.
    """

    rows: Rows
    similarities: Floats
    ceiling: float


class RemoteSimilarities(Protocol):
    """Similarities of rows whose vectors stay in the store."""

    @property
    def rows(self) -> Rows:
        """The rows whose vectors stay in the store, in order."""
        ...

    @property
    def error(self) -> float:
        """The largest error of a similarity."""
        ...

    def nearest(self) -> NearestRows:
        """Return the nearest rows by an index, if there is one; the index may miss some."""
        ...

    def similarities(self, rows: Rows) -> Floats:
        """Return the similarities of these rows, within the error; NaN where a vector is gone."""
        ...

    def true_similarities(self, rows: Sequence[int]) -> Floats:
        """Return the exact similarities of any rows, to the last bit."""
        ...


Vector = NDArray[np.float32]
"""A vector of length 1."""

Vectors = NDArray[np.float32]
"""Vectors of length 1, one per row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidenceRequest:
    """What recall requests from a store: the scope, the moment and the query.

    The query comes as terms and as vectors. `vectors` are several phrasings of one query; the nearest counts. `names`
    are the possible names in the query, for entity links. `in_turns` matches a memory together with the turns before
    it in its session. `levels`, if given, are the only levels that are returned; plain memories have none.

    `present` says that `at` is now: everything in the store is known, even what a clock that went back dates later.
    `past` also returns memories that were valid before the moment. `commit` is the last known commit and goes before
    `known_at`, because several commits may have the same time. `directions` are recomputed vectors of memories that
    lost theirs after that commit.

    `bounded` says that the caller can work with `RemoteSimilarities`, so vectors may stay in the store. `indexed`
    says that an approximate index is good enough to find the nearest.
    """

    scope: Scope
    at: datetime
    present: bool = False
    past: bool = False
    known_at: datetime | None = None
    commit: int | None = None
    levels: frozenset[Level | None] | None = None
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    vectors: Vectors | None = None
    in_turns: bool = False
    encoder: Encoder | None = None
    bounded: bool = False
    indexed: bool = False
    directions: Mapping[MemoryId, Vector] = field(default_factory=dict[MemoryId, Vector])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecallEvidence:
    """The memories in scope as columns.

    Each memory is either in `rows` or counted in `barred`, exactly once. `pinned` are the eligible rows that are
    pinned; `barred` counts the memories that are not eligible. `memories` loads the memories of rows as they were at
    this read, or `None` for one erased since. `true_similarities` returns exact similarities, where the column is
    approximate. `nearby` is set if similarities are missing from the column and must be requested from the store.
    `commit` is the last commit the store knew at this read. `dropped_vectors` are eligible rows that had a vector as
    of the known commit and lost it since; pass recomputed ones in `EvidenceRequest.directions`. `vectors` are the
    query's vectors.
    """

    table: CandidateTable
    rows: Rows
    pinned: Rows
    barred: Mapping[Barrier, int]
    commit: int
    memories: Callable[[Sequence[int]], Sequence[Memory | None]]
    true_similarities: Callable[[Sequence[int]], Floats] | None = None
    nearby: RemoteSimilarities | None = None
    dropped_vectors: Sequence[int] = ()
    vectors: Vectors | None = None

    @property
    def speakers(self) -> frozenset[str]:
        """The speakers of all eligible rows."""
        speakers = self.table.labels.get("speaker")
        return frozenset() if speakers is None else speakers[self.rows].present_names()

    @property
    def similarity_count(self) -> int:
        """The number of eligible rows that have a similarity."""
        near = self.table.numbers.get("similarity")
        return 0 if near is None else int(np.count_nonzero(~np.isnan(near[self.rows])))

    def candidates(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the candidates of these rows, with exact similarities."""
        return self.table.candidates(rows, None if self.true_similarities is None else self.true_similarities(rows))
