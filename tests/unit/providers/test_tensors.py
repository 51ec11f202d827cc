"""Tensors as a safetensors file has them."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.providers.base import read_tensors


def a_file(header: dict[str, object], numbers: bytes) -> bytes:
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + numbers


def test_every_tensor_is_found_by_its_name_with_its_type_and_shape() -> None:
    given: dict[str, NDArray[Any]] = {
        "halves": np.array([[1, 2], [3, 4]], dtype=np.float16),
        "floats": np.array([0.5], dtype=np.float32),
        "wholes": np.array([7, -8, 9], dtype=np.int64),
    }
    content = a_file(
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
