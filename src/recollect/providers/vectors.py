"""Vectors as an embedder gives them: float32 directions of length 1, never zero."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ProviderError

Vector = NDArray[np.float32]
"""One direction."""

Vectors = NDArray[np.float32]
"""One direction per row."""


def check_rows(given: object, shape: tuple[int, int], name: str) -> NDArray[np.floating[Any]]:
    """What an embedder gave, be it lists, as an array of floats; refused if it is not what was promised."""
    wanted = f"it promised {shape[0]} rows of {shape[1]} numbers"
    try:
        found = np.asarray(given)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"embedder {name!r} gave rows of different lengths; {wanted}") from error
    if found.shape != shape or found.dtype.kind not in "fiu":
        what = f"{type(given).__name__} of {found.dtype}, shape {found.shape}"
        raise ProviderError(f"embedder {name!r} gave {what}; {wanted}")
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)


def normalize_rows(rows: NDArray[Any]) -> Vectors:
    """Each row scaled to length 1; a row of zeros, which points nowhere, becomes `blank_vector`."""
    rows = rows.astype(np.float64)
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    rows[largest[:, 0] == 0.0] = blank_vector(rows.shape[1])
    rows /= np.where(largest == 0.0, 1.0, largest)  # so that no square is too large or too small for a float
    rows /= np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return rows.astype(np.float32)


def blank_vector(dimensions: int) -> Vectors:
    """The direction of a text that says nothing: the last axis, to which what says something is hardly near."""
    vector = np.zeros(dimensions, dtype=np.float32)
    vector[-1] = 1.0
    return vector
