"""Probe: what recall asks a store for, and what the store found.

Nearby: similarities that a store does not hand over, but can be asked for.
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
    """The rows that an index says are nearest, their similarities, and how near any other is at most, if it is right.

    The similarities are within the error of the `RemoteSimilarities`; a `ceiling` of 1 says nothing of the others.
    """

    rows: Rows
    similarities: Floats
    ceiling: float


class RemoteSimilarities(Protocol):
    """What is known of rows whose vectors stay in the store."""

    @property
    def rows(self) -> Rows:
        """These rows, in order."""
        ...

    @property
    def error(self) -> float:
        """How far a similarity may be off."""
        ...

    def nearest(self) -> NearestRows:
        """What an index finds, if there is one; it may pass over some."""
        ...

    def similarities(self, rows: Rows) -> Floats:
        """Those of some of these rows, within the error; NaN where a vector is gone."""
        ...

    def true_similarities(self, rows: Sequence[int]) -> Floats:
        """Those of some rows, whichever, to the last bit."""
        ...


Vector = NDArray[np.float32]
"""A direction: a vector of length 1."""

Vectors = NDArray[np.float32]
"""Directions, one a row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidenceRequest:
    """What recall asks for: whose memory, as of when, known when, and the question as terms and
    as the directions that a model gave it.

    `vectors` are several ways to ask the same, of which the nearest counts. `in_turns` says that a memory is heard with
    what was said before it in its session. `present` says that it is now: all that the store has is known, also what a
    clock that went back dates later. `past` says that what held before the moment is asked for too. `names` is all that
    may be a name in the question, for whoever wants to know what is linked to it. `levels` are the only ones that are
    asked for, if any are named; plain memories have none.

    `commit` is the last one that is known, for whoever has its number; it goes before `known_at`, since several commits
    may be of one moment. `directions` are those of memories that lost theirs after what is known, made anew.

    `bounded` says that who asks can do with similarities that must be asked for, so that vectors may stay in the store;
    `indexed`, that an index which may pass over some will do to find the nearest.
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
    """The memories that a scope may see as columns: each is in `rows`, or counted in `barred`, exactly once.

    `pinned` are the eligible rows that are pinned, `barred` counts those that are not eligible. `memories` gives the
    memories of some rows as they were when this was found, or `None` where one has been erased since.
    `true_similarities` gives those of some rows to the last bit, where the column is only near them. `nearby` is
    there where the column lacks similarities that must be asked for. `commit` is the last one that the store knew of.
    `dropped_vectors` are eligible rows that had a direction as far as is known, and lost it since; whoever wants them
    to have it gives it to the probe. `vectors` are the directions that were asked in.
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
        """Everyone who said something that is eligible."""
        speakers = self.table.labels.get("speaker")
        return frozenset() if speakers is None else speakers[self.rows].present_names()

    @property
    def similarity_count(self) -> int:
        """How many of the eligible are near to the question or far from it, and not without a direction."""
        near = self.table.numbers.get("similarity")
        return 0 if near is None else int(np.count_nonzero(~np.isnan(near[self.rows])))

    def candidates(self, rows: Sequence[int]) -> list[Candidate]:
        """The candidates of these rows, with true similarities."""
        return self.table.candidates(rows, None if self.true_similarities is None else self.true_similarities(rows))
