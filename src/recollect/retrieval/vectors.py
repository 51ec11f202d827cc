"""Cosine similarity that is the same to the last bit in any order of computation.

A stored vector has length 1 and 32-bit parts, so the product of two parts is exact in a 64-bit float. Each product is
split at two fixed quanta. Sums of multiples of one quantum are exact as long as they fit 53 bits, so the order of
summation and the machine do not change the result.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import FieldError
from recollect.model.table import Floats

Vector = NDArray[np.float32]
"""A vector of length 1."""

Vectors = NDArray[np.float32]
"""Vectors of length 1, one per row."""

COARSE_QUANTUM = 2.0**-30
FINE_QUANTUM = 2.0**-68
"""The quanta: with up to 16,384 dimensions (2**14), sums of either stay below 2**53 of them."""

HALF_ULP = 2.0**-24
"""The largest relative error of rounding to a 32-bit float."""


def normalize_vectors(vectors: ArrayLike, *, field: str = "vector") -> NDArray[np.float32]:
    """Scale each row to length 1 with 32-bit parts; refuse zero and non-finite vectors."""
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise FieldError("needs at least one number", field=field)
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(peaks).all():
        raise FieldError("has a part that is not a finite number", field=field)
    if not (peaks > 0.0).all():
        raise FieldError("is all zeros and has no direction; leave it out, or embed the text", field=field)
    scaled = rows / peaks
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    found: NDArray[np.float32] = (scaled / lengths).astype(np.float32)
    return found


def normalize_vector(vector: ArrayLike, *, field: str = "vector") -> Vector:
    """Scale the vector to length 1."""
    found: Vector = normalize_vectors(np.asarray(vector, dtype=np.float64).reshape(1, -1), field=field)[0]
    return found


def decode_vector(value: bytes | None) -> Vector | None:
    """Return the vector of stored bytes, which are little-endian 32-bit floats on every machine."""
    return None if value is None else np.frombuffer(value, dtype="<f4").astype(np.float32)


def cosines(matrix: NDArray[np.float32], vector: Vector) -> Floats:
    """Return the exact cosine of every row with the vector, within -1..1; NaN for rows of NaN."""
    products = matrix.astype(np.float64) * vector.astype(np.float64)
    coarse = np.rint(products / COARSE_QUANTUM) * COARSE_QUANTUM
    fine = np.rint((products - coarse) / FINE_QUANTUM) * FINE_QUANTUM
    total: Floats = coarse.sum(axis=1) + fine.sum(axis=1)
    return np.clip(total, -1.0, 1.0)


def nearest_cosines(matrix: NDArray[np.float32], vectors: NDArray[np.float32]) -> Floats:
    """Return the exact cosine of every row with its nearest vector; NaN for rows of NaN."""
    best = cosines(matrix, vectors[0])
    for vector in vectors[1:]:
        np.maximum(best, cosines(matrix, vector), out=best)
    return best


def cosine_error_bound(dimensions: int) -> float:
    """Return the largest error of a cosine computed with 32-bit floats, in any order."""
    return dimensions * HALF_ULP * 1.001 / (1.0 - dimensions * HALF_ULP) + HALF_ULP


def approximate_cosines(matrix: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of every row with its nearest vector, within `cosine_error_bound`.

    It runs as fast as memory is read. It does not use BLAS, whose threads are no faster here and keep every core busy
    for long after it (docs/adr/0083).
    """
    best: NDArray[np.float32] = np.einsum("ij,j->i", matrix, vectors[0])
    for vector in vectors[1:]:
        np.maximum(best, np.einsum("ij,j->i", matrix, vector), out=best)
    return np.clip(best, -1.0, 1.0, out=best)
