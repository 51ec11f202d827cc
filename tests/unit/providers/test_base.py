"""Embedders return unit vectors, and tensors are read from safetensors files."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from recollect.providers.base import ConstantEmbedder, blank_vector, normalize_rows, read_tensors
from recollect.retrieval.vectors import normalize_vector
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


def test_every_text_gets_the_same_direction() -> None:
    embedder = ConstantEmbedder("some-model", normalize_vector([3.0, 4.0]))
    assert (embedder.name, embedder.dimensions) == ("some-model", 2)
    assert embedder.embed(["a", "b"], "query").tolist() == [normalize_vector([3.0, 4.0]).tolist()] * 2
    assert embedder.embed([], "memory").shape == (0, 2)
    assert embedder.embed(["a"], "memory").dtype == np.float32


def a_tensor_file(header: dict[str, object], numbers: bytes) -> bytes:
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + numbers


def test_every_tensor_is_found_by_its_name_with_its_type_and_shape() -> None:
    given: dict[str, NDArray[Any]] = {
        "halves": np.array([[1, 2], [3, 4]], dtype=np.float16),
        "floats": np.array([0.5], dtype=np.float32),
        "wholes": np.array([7, -8, 9], dtype=np.int64),
    }
    content = a_tensor_file(
        {
            "__metadata__": {"format": "pt"},
            "halves": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]},
            "floats": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]},
            "wholes": {"dtype": "I64", "shape": [3], "data_offsets": [12, 36]},
        },
        b"".join(tensor.tobytes() for tensor in given.values()),
    )
    found = read_tensors(content)
    assert list(found) == list(given)
    for name, expected in given.items():
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name], expected)
