"""Find near pairs of vectors, and cluster vectors.

Up to `MAX_EXACT_VECTORS`, every pair is compared, at quadratic cost. More vectors are laid into cells around as many
centers as the square root of their number. Each vector is in its `CELLS_PER_VECTOR` nearest cells and is compared with
the others there, so the cost grows with the power 1.5. Two near vectors nearly always share a cell, but not always: a
pair that is missed stays unmerged.

Clustering is agglomerative with average linkage: of the groups that have two members near each other, the two nearest
on average are merged, until no two are near enough. So a chain of near vectors whose ends are unrelated breaks where it
is thin. The same vectors in the same order give the same clusters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import Floats, Rows
from recollect.retrieval.vectors import cosine_error_bound, cosines

MAX_EXACT_VECTORS = 16_384
"""Up to this many vectors, every pair is compared."""

CELLS_PER_VECTOR = 4
"""How many cells each vector is in."""

MAX_CELL_VECTORS = 8_192
"""How many vectors of a cell are compared with each other.

In a larger cell the vectors are so much alike that any of them will do.
"""

MAX_NEAR_VECTORS = 64
"""How many near vectors are kept for a vector, nearest first.

It may still appear among those kept for others.
"""

BLOCK_ROWS = 1_024
"""How many vectors are compared with all others at a time, to bound memory."""


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """The pairs of rows at or above the threshold, with their cosines.

    Each pair occurs once, the lower row first. `compared` is the number of pairs compared, and `exact` whether those
    were all pairs.
    """

    first: Rows
    second: Rows
    similarities: Floats
    compared: int
    exact: bool

    def neighbors_among(self, rows: Rows) -> list[list[int]]:
        """Return, for each of these sorted rows, the positions of its neighbors among them.

        The nearest comes first; of equally near rows the first.
        """
        mask = np.isin(self.first, rows) & np.isin(self.second, rows)
        first, second = np.searchsorted(rows, self.first[mask]), np.searchsorted(rows, self.second[mask])
        own, others = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.lexsort((others, -np.concatenate([self.similarities[mask]] * 2), own))
        bounds = np.searchsorted(own[order], np.arange(1, len(rows)))
        return [part.tolist() for part in np.split(others[order], bounds)] if len(rows) else []


def find_near_pairs(vectors: NDArray[np.float32], threshold: float) -> NearPairs:
    """Return the pairs with at least this cosine, exact to the last bit.

    Rows without a vector have no pairs.
    """
    known_rows = np.flatnonzero(np.isfinite(vectors).all(axis=1)) if len(vectors) else np.empty(0, dtype=np.intp)
    matrix = np.ascontiguousarray(vectors[known_rows], dtype=np.float32)
    exact = len(known_rows) <= MAX_EXACT_VECTORS
    blocks = [np.arange(len(known_rows))] if exact else list(_split_into_cells(matrix))
    keys, compared = list[NDArray[np.int64]](), 0
    for rows in blocks:
        compared += len(rows) * (len(rows) - 1) // 2
        keys += _find_candidate_pairs(matrix, rows, threshold)
    pairs = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
    first, second = np.divmod(pairs, max(len(known_rows), 1))
    near = _exact_cosines(matrix, first, second)
    is_near = near >= threshold
    return NearPairs(known_rows[first[is_near]], known_rows[second[is_near]], near[is_near], compared, exact)


def _split_into_cells(matrix: NDArray[np.float32]) -> Iterator[Rows]:
    """Yield the rows of each cell, in order, in parts small enough to compare all pairs."""
    count = len(matrix)
    cell_count = round(count**0.5)
    centers = matrix[np.linspace(0, count - 1, cell_count).astype(np.intp)]
    nearest = np.empty((count, CELLS_PER_VECTOR), dtype=np.intp)
    for start in range(0, count, BLOCK_ROWS):
        near = matrix[start : start + BLOCK_ROWS] @ centers.T
        nearest[start : start + BLOCK_ROWS] = np.argpartition(-near, CELLS_PER_VECTOR - 1, axis=1)[:, :CELLS_PER_VECTOR]
    cells = nearest.ravel()
    order = np.argsort(cells, kind="stable")
    for rows in np.split(order // CELLS_PER_VECTOR, np.searchsorted(cells[order], np.arange(1, cell_count))):
        for start in range(0, len(rows), MAX_CELL_VECTORS):
            yield rows[start : start + MAX_CELL_VECTORS]


def _find_candidate_pairs(matrix: NDArray[np.float32], rows: Rows, threshold: float) -> Iterator[NDArray[np.int64]]:
    """Yield the pairs of these rows that may be near enough, each encoded as one number.

    A row with too many neighbors keeps the nearest `MAX_NEAR_VECTORS`.
    """
    block, count = matrix[rows], len(matrix)
    min_similarity = np.float32(threshold - cosine_error_bound(matrix.shape[1]))
    for start in range(0, len(rows), BLOCK_ROWS):
        near = block[start : start + BLOCK_ROWS] @ block.T
        places = np.arange(start, start + len(near))
        near[places - start, places] = -np.inf  # a row is not its own neighbor
        mask = near >= min_similarity
        crowded = np.flatnonzero(np.count_nonzero(mask, axis=1) > MAX_NEAR_VECTORS)
        for row in crowded.tolist():
            mask[row] = False
            mask[row, np.argpartition(-near[row], MAX_NEAR_VECTORS - 1)[:MAX_NEAR_VECTORS]] = True
        own, others = np.nonzero(mask)
        one, other = rows[own + start], rows[others]
        yield np.minimum(one, other).astype(np.int64) * count + np.maximum(one, other)


def _exact_cosines(matrix: NDArray[np.float32], first: Rows, second: Rows) -> Floats:
    """Return the cosine of each pair, exact to the last bit."""
    parts = [
        cosines(matrix[first[start : start + BLOCK_ROWS]], matrix[second[start : start + BLOCK_ROWS]])
        for start in range(0, len(first), BLOCK_ROWS)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


MAX_LINKS = 16
"""How many of its near vectors a vector is linked with, the nearest first.

The others join the cluster through these.
"""

MEAN_SHARE = 0.8
"""The share of the threshold that the mean similarity of two groups must reach to merge."""


def find_clusters(
    vectors: NDArray[np.float32], near: Sequence[Sequence[int]], *, threshold: float, least: int
) -> list[list[int]]:
    """Return the sorted rows of each cluster with at least `least` rows.

    `near` lists the neighbors of each row, nearest first.
    """
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
    """Groups by their first row, with the sums of their vectors.

    The product of two sums is the sum over all pairs, so the mean needs no comparison of single vectors.
    """

    sums: Floats
    members: list[list[int]]
    min_mean: float
    linked: list[set[int]] = field(init=False)
    queue: list[tuple[float, int, int, int]] = field(default_factory=list[tuple[float, int, int, int]])
    """A heap of (negative mean, first group, second group, number of rows when queued)."""

    def __post_init__(self) -> None:
        self.linked = [set() for _ in self.members]

    def merge_all(self) -> None:
        """Merge the two nearest groups, the first of equals, as long as any are near enough."""
        while self.queue:
            _, first, second, rows = heappop(self.queue)
            both_exist = self.members[first] and self.members[second]
            if (
                both_exist and len(self.members[first]) + len(self.members[second]) == rows
            ):  # otherwise the entry is stale
                self._merge(first, second)

    def push_candidates(self, group: int, others: Sequence[int]) -> None:
        """Queue the pairs of a group with others whose mean similarity is high enough."""
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
