"""Nearness: which of many directions are near each other, without comparing every one with every other.

Up to `MAX_EXACT_VECTORS` directions each is compared with each, which costs the square of their number. More are laid
into cells, around as many centres as the square root of their number; each lies in its `CELLS_PER_VECTOR` nearest
cells and is compared with those that share one with it, so that the cost grows with the power 1.5. Two that are near
each other share a cell nearly always, and not always: what is passed over stays as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
