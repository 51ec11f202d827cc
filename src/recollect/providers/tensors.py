"""Tensors in a safetensors file: a length, a JSON header, then the numbers."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMPY_TYPES: Mapping[str, str] = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}
"""The number types our models have, by the name they go by in the header."""


def read_tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Every tensor of the file by its name, without copying; the content is trusted to be one we know."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    return {name: _read_tensor(content, start, told) for name, told in header.items() if name != "__metadata__"}


def _read_tensor(content: bytes, start: int, told: Mapping[str, Any]) -> NDArray[Any]:
    first, end = told["data_offsets"]
    type_ = np.dtype(NUMPY_TYPES[told["dtype"]])
    numbers = np.frombuffer(content, type_, count=(end - first) // type_.itemsize, offset=start + first)
    return numbers.reshape(told["shape"])
