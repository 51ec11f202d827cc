"""Adapters: vectors between pgvector's binary form and ours, which is little-endian floats."""

import struct
from typing import Any

import numpy as np
import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

from recollect.stores.sql.rows import VectorBytes

_VECTOR_HEADER = struct.Struct(">HH")
"""How many numbers a vector has, and a field that pgvector keeps for later."""


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: VectorBytes) -> bytes:
        numbers = np.frombuffer(obj, dtype="<f4")
        return _VECTOR_HEADER.pack(len(numbers), 0) + numbers.astype(">f4").tobytes()


class _VectorLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, dtype=">f4", offset=_VECTOR_HEADER.size).astype("<f4").tobytes()


def register_vector_type(db: "psycopg.Connection[Any]", vector: int) -> None:
    """Have a connection speak of vectors as we do; `vector` is the number of the type in its database."""
    dumper = type("_DirectionDumper", (_VectorDumper,), {"oid": vector})
    db.adapters.register_dumper(VectorBytes, dumper)
    db.adapters.register_loader(vector, _VectorLoader)
