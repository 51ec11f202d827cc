"""Adapters: vectors between pgvector's binary form and ours, which is little-endian floats."""

import struct
from typing import Any

import numpy as np
import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

from recollect.stores.sql.rows import Direction

_HEAD = struct.Struct(">HH")
"""How many numbers a vector has, and a field that pgvector keeps for later."""


class _DirectionDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Direction) -> bytes:
        numbers = np.frombuffer(obj, dtype="<f4")
        return _HEAD.pack(len(numbers), 0) + numbers.astype(">f4").tobytes()


class _DirectionLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, dtype=">f4", offset=_HEAD.size).astype("<f4").tobytes()


def register(db: "psycopg.Connection[Any]", vector: int) -> None:
    """Have a connection speak of vectors as we do; `vector` is the number of the type in its database."""
    dumper = type("_DirectionDumper", (_DirectionDumper,), {"oid": vector})
    db.adapters.register_dumper(Direction, dumper)
    db.adapters.register_loader(vector, _DirectionLoader)
