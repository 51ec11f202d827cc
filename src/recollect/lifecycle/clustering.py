"""Nearness: which of many directions are near each other, without comparing every one with every other.

Up to `MAX_EXACT_VECTORS` directions each is compared with each, which costs the square of their number. More are laid
into cells, around as many centres as the square root of their number; each lies in its `CELLS_PER_VECTOR` nearest
cells and is compared with those that share one with it, so that the cost grows with the power 1.5. Two that are near
each other share a cell nearly always, and not always: what is passed over stays as it is.

Clusters: which of many directions lie together, by the mean of all pairs between two groups.

Each begins alone. Again and again the two groups that are nearest on average become one, of those that have two members
near each other; until no two are near enough on average. So a chain of near ones, whose ends have nothing to do with
each other, falls apart where it is thin. The same directions in the same order give the same clusters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import Floats, Rows
from recollect.retrieval.vectors import cosine_error_bound, cosines

MAX_EXACT_VECTORS = 16_384
"""How many directions are compared each with each."""

CELLS_PER_VECTOR = 4
"""In how many cells a direction lies."""

MAX_CELL_VECTORS = 8_192
"""How many directions of a cell are compared with each other; where more are so much alike, any of them will do."""

MAX_NEAR_VECTORS = 64
"""How many of those near a direction are kept, the nearest of them; beside that it is kept as one near others."""

BLOCK_ROWS = 1_024
"""How many directions are compared at a time with all others, so that memory stays bounded."""


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """The pairs that are at least so near, each once with the first row before the second, and how near they are.

    `compared` is how many pairs were looked at for that, and `exact` says whether it was every one of them.
    """

    first: Rows
    second: Rows
    similarities: Floats
    compared: int
    exact: bool

    def neighbors_among(self, rows: Rows) -> list[list[int]]:
        """For each of these rows, which are in order, those of them near it by their places: the nearest first, and of
        two that are as near the first.
        """
        kept = np.isin(self.first, rows) & np.isin(self.second, rows)
        first, second = np.searchsorted(rows, self.first[kept]), np.searchsorted(rows, self.second[kept])
        own, others = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.lexsort((others, -np.concatenate([self.similarities[kept]] * 2), own))
        bounds = np.searchsorted(own[order], np.arange(1, len(rows)))
        return [part.tolist() for part in np.split(others[order], bounds)] if len(rows) else []


def find_near_pairs(vectors: NDArray[np.float32], threshold: float) -> NearPairs:
    """Which rows are at least so near each other, to the last bit; rows without a direction are near nothing."""
    known = np.flatnonzero(np.isfinite(vectors).all(axis=1)) if len(vectors) else np.empty(0, dtype=np.intp)
    matrix = np.ascontiguousarray(vectors[known], dtype=np.float32)
    exact = len(known) <= MAX_EXACT_VECTORS
    lots = [np.arange(len(known))] if exact else list(_split_into_cells(matrix))
    keys, compared = list[NDArray[np.int64]](), 0
    for rows in lots:
        compared += len(rows) * (len(rows) - 1) // 2
        keys += _find_candidate_pairs(matrix, rows, threshold)
    pairs = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
    first, second = np.divmod(pairs, max(len(known), 1))
    near = _exact_cosines(matrix, first, second)
    kept = near >= threshold
    return NearPairs(known[first[kept]], known[second[kept]], near[kept], compared, exact)


def _split_into_cells(matrix: NDArray[np.float32]) -> Iterator[Rows]:
    """The rows of each cell, in order, in parts that are not too large to be compared each with each."""
    count = len(matrix)
    wanted = round(count**0.5)
    centres = matrix[np.linspace(0, count - 1, wanted).astype(np.intp)]
    nearest = np.empty((count, CELLS_PER_VECTOR), dtype=np.intp)
    for start in range(0, count, BLOCK_ROWS):
        near = matrix[start : start + BLOCK_ROWS] @ centres.T
        nearest[start : start + BLOCK_ROWS] = np.argpartition(-near, CELLS_PER_VECTOR - 1, axis=1)[:, :CELLS_PER_VECTOR]
    cells = nearest.ravel()
    order = np.argsort(cells, kind="stable")
    for rows in np.split(order // CELLS_PER_VECTOR, np.searchsorted(cells[order], np.arange(1, wanted))):
        for start in range(0, len(rows), MAX_CELL_VECTORS):
            yield rows[start : start + MAX_CELL_VECTORS]


def _find_candidate_pairs(matrix: NDArray[np.float32], rows: Rows, threshold: float) -> Iterator[NDArray[np.int64]]:
    """The pairs of these rows that may be near enough, as one number each, by blocks; too many of a row are cut."""
    here, count = matrix[rows], len(matrix)
    enough = np.float32(threshold - cosine_error_bound(matrix.shape[1]))
    for start in range(0, len(rows), BLOCK_ROWS):
        near = here[start : start + BLOCK_ROWS] @ here.T
        places = np.arange(start, start + len(near))
        near[places - start, places] = -np.inf  # nothing is told by a row that is near itself
        mask = near >= enough
        crowded = np.flatnonzero(np.count_nonzero(mask, axis=1) > MAX_NEAR_VECTORS)
        for row in crowded.tolist():
            mask[row] = False
            mask[row, np.argpartition(-near[row], MAX_NEAR_VECTORS - 1)[:MAX_NEAR_VECTORS]] = True
        own, others = np.nonzero(mask)
        one, other = rows[own + start], rows[others]
        yield np.minimum(one, other).astype(np.int64) * count + np.maximum(one, other)


def _exact_cosines(matrix: NDArray[np.float32], first: Rows, second: Rows) -> Floats:
    """The cosine of each pair, to the last bit."""
    found = [
        cosines(matrix[first[start : start + BLOCK_ROWS]], matrix[second[start : start + BLOCK_ROWS]])
        for start in range(0, len(first), BLOCK_ROWS)
    ]
    return np.concatenate(found) if found else np.empty(0)


MAX_LINKS = 16
"""How many of those near a direction it is linked with, the nearest of them; the others come with these."""

MEAN_SHARE = 0.8
"""What share of the threshold two groups must have on average to become one."""


def find_clusters(
    vectors: NDArray[np.float32], near: Sequence[Sequence[int]], *, threshold: float, least: int
) -> list[list[int]]:
    """The rows of each cluster of at least so many, in order; `near` names those near each row, the nearest first."""
    groups = _Groups(vectors.astype(np.float64), [[row] for row in range(len(near))], MEAN_SHARE * threshold)
    for row, others in enumerate(near):
        for other in others[:MAX_LINKS]:
            groups.linked[row].add(other)
            groups.linked[other].add(row)
    for row, linked in enumerate(groups.linked):
        groups.push_candidates(row, sorted(other for other in linked if other > row))
    groups.merge_all()
    return [sorted(members) for members in groups.members if len(members) >= least]


@dataclass(slots=True)
class _Groups:
    """Groups by their first rows, with the sums of their directions: the product of two sums is that of all pairs."""

    sums: Floats
    members: list[list[int]]
    min_mean: float
    linked: list[set[int]] = field(init=False)
    queue: list[tuple[float, int, int, int]] = field(default_factory=list[tuple[float, int, int, int]])
    """Two groups with how near they are on average, and how many rows they had when that was said."""

    def __post_init__(self) -> None:
        self.linked = [set() for _ in self.members]

    def merge_all(self) -> None:
        """Join the two that are nearest, the first ones of equals, as long as any are near enough."""
        while self.queue:
            _, first, second, rows = heappop(self.queue)
            there = self.members[first] and self.members[second]
            if there and len(self.members[first]) + len(self.members[second]) == rows:  # or it was said again since
                self._merge(first, second)

    def push_candidates(self, group: int, others: Sequence[int]) -> None:
        """Say how near a group is to others, if that is enough."""
        if not others:
            return
        sizes = np.array([len(self.members[other]) for other in others])
        own = len(self.members[group])
        means = (self.sums[list(others)] @ self.sums[group]) / (sizes * own)
        for other, size, mean in zip(others, sizes.tolist(), means.tolist(), strict=True):
            if mean >= self.min_mean:
                heappush(self.queue, (-mean, min(group, other), max(group, other), own + size))

    def _merge(self, first: int, second: int) -> None:
        self.sums[first] += self.sums[second]
        self.members[first] += self.members[second]
        self.members[second] = []
        for other in self.linked[second]:
            self.linked[other].discard(second)
            self.linked[other].add(first)
        self.linked[first] = (self.linked[first] | self.linked[second]) - {first, second}
        self.linked[second] = set()
        self.push_candidates(first, sorted(self.linked[first]))
