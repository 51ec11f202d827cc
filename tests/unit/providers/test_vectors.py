"""What an embedder gives: directions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from recollect.providers.base import blank_vector, normalize_rows
from recollect.testing.embedder_contract import check_vectors
from tests.tables import table

ROWS = arrays(
    np.float64,
    st.tuples(st.integers(0, 5), st.integers(1, 8)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(ROWS)
def test_every_finite_row_becomes_a_direction_however_large_or_small(rows: NDArray[np.float64]) -> None:
    check_vectors(normalize_rows(rows), *rows.shape)


@given(ROWS)
def test_the_rows_that_came_are_left_alone(rows: NDArray[np.float64]) -> None:
    before = rows.copy()
    normalize_rows(rows)
    np.testing.assert_array_equal(rows, before)


def test_a_row_keeps_its_direction() -> None:
    np.testing.assert_array_equal(
        normalize_rows(np.array([[3.0, -4.0], [3e300, -4e300]])), np.array([[0.6, -0.8]] * 2, dtype=np.float32)
    )


@table("dimensions", [1, 2, 256])
def test_a_row_of_zeros_points_along_the_last_axis(dimensions: int) -> None:
    expected = [0.0] * (dimensions - 1) + [1.0]
    assert blank_vector(dimensions).tolist() == expected
    assert normalize_rows(np.zeros((2, dimensions))).tolist() == [expected, expected]
