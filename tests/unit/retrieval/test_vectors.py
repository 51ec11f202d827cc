"""Similarity: true to the last bit in any order, and near within a bound."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from recollect.errors import FieldError
from recollect.retrieval.vectors import (
    approximate_cosines,
    cosine_error_bound,
    cosines,
    decode_vector,
    nearest_cosines,
    normalize_vector,
    normalize_vectors,
)
from tests.tables import table

PARTS = st.floats(-1e300, 1e300, allow_nan=False, allow_infinity=False)


@st.composite
def matrices(draw: st.DrawFn, rows: int = 4) -> np.ndarray:
    width = draw(st.integers(1, 40))
    matrix = draw(arrays.arrays(np.float64, (rows, width), elements=PARTS))
    matrix[:, 0] = np.where(np.abs(matrix).max(axis=1) == 0.0, 1.0, matrix[:, 0])
    return normalize_vectors(matrix)


@given(matrices(rows=1))
def test_a_vector_is_decoded_from_its_bytes(matrix: np.ndarray) -> None:
    vector = decode_vector(matrix[0].astype("<f4").tobytes())
    assert vector is not None
    assert (str(vector.dtype), vector.tolist()) == ("float32", matrix[0].tolist())
    assert decode_vector(None) is None


@given(matrices())
def test_a_cosine_is_the_sum_of_the_products_rounded_once_or_less_than_one_place_off(matrix: np.ndarray) -> None:
    for row, found in zip(matrix, cosines(matrix, matrix[0]), strict=True):
        exact = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, matrix[0], strict=True)), Fraction())
        exact = min(max(exact, Fraction(-1)), Fraction(1))
        assert abs(Fraction(float(found)) - exact) <= Fraction(math.ulp(1.0))


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_dimensions_and_the_other_rows_change_no_bit(matrix: np.ndarray, random: object) -> None:
    order = list(range(matrix.shape[1]))
    random.shuffle(order)  # type: ignore[attr-defined]
    whole = cosines(matrix, matrix[0])
    turned = cosines(np.ascontiguousarray(matrix[:, order]), matrix[0][order])
    assert whole.tolist() == turned.tolist()
    assert [cosines(matrix[i : i + 1], matrix[0])[0] for i in range(len(matrix))] == whole.tolist()


@given(matrices())
def test_the_fast_cosine_is_within_its_bound(matrix: np.ndarray) -> None:
    true, near = cosines(matrix, matrix[0]), approximate_cosines(matrix, matrix[:1])
    assert (np.abs(true - near) <= cosine_error_bound(matrix.shape[1])).all()


def test_the_bound_holds_for_long_vectors_whose_parts_are_all_alike() -> None:
    matrix = normalize_vectors(np.ones((1, 16_384)))
    true, near = cosines(matrix, matrix[0]), approximate_cosines(matrix, matrix[:1])
    assert abs(true[0] - near[0]) <= cosine_error_bound(16_384)
    assert true[0] == pytest.approx(1.0, abs=1e-6)


@given(matrices())
def test_of_several_vectors_the_nearest_counts(matrix: np.ndarray) -> None:
    both = [cosines(matrix, vector) for vector in matrix[:2]]
    assert nearest_cosines(matrix, matrix[:2]).tolist() == np.max(both, axis=0).tolist()
    assert (
        np.abs(nearest_cosines(matrix, matrix[:2]) - approximate_cosines(matrix, matrix[:2]))
        <= cosine_error_bound(matrix.shape[1])
    ).all()


@table(
    ("vector", "problem"),
    [
        ([0.0, 0.0], "no direction"),
        ([math.nan, 1.0], "not a finite number"),
        ([math.inf, 1.0], "not a finite number"),
        ([], "at least one"),
    ],
)
def test_what_has_no_direction_is_refused(vector: list[float], problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        normalize_vector(vector)


@table("size", [1e-320, 1e-200, 1.0, 1e200, 1.7e308])
def test_the_size_of_a_vector_does_not_matter(size: float) -> None:
    assert normalize_vector([0.6 * size, 0.8 * size]) == pytest.approx([0.6, 0.8], abs=2e-3 if size < 1e-300 else 1e-7)


def test_nothing_is_known_of_rows_without_a_vector() -> None:
    matrix = np.array([[np.nan, np.nan], [0.6, 0.8]], dtype=np.float32)
    found = cosines(matrix, normalize_vector([0.6, 0.8]))
    assert math.isnan(found[0])
    assert found[1] == pytest.approx(1.0)
