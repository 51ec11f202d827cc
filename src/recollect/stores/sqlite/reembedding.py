"""Going over to another model in a SQLite file, in small transactions between those of others."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from os import PathLike
from typing import TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import Conflict
from recollect.model.encoder import Encoder
from recollect.model.limits import BUSY_TIMEOUT
from recollect.model.reembedding import Batch, Content, Removal
from recollect.stores.relational.counting import present_model
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.readers import Readers
from recollect.stores.sqlite.session import SqliteSession
from recollect.stores.sqlite.sql import all_rows, one_row, the_row
from recollect.stores.sqlite.writer import Writer

T = TypeVar("T")

PER_CONTENT = 256
"""How many keys of vectors a content has, one for each number that a model can have."""


class SqliteReembedding:
    """The vectors of two models lie side by side until the new ones are complete; one transaction then switches.

    Contents are looked through in the order of their numbers, and a new one has a number above all others. Only after
    an erasure may it have one that was passed already, so then they are looked through again.
    """

    def __init__(self, target: str | PathLike[str], *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = Database.open(target, patience=timeout)
        self._readers = Readers(self._database)
        self._writer = Writer(self._database, timeout=timeout)
        self._wanted: dict[str, object] = {}
        self._number = 0
        self._passed = 0
        self._erasures = 0
        self._dismissed: list[str] | None = None
        self._removed_up_to = 0

    def begin(self, encoder: Encoder) -> Encoder | None:
        self._wanted = {"model": encoder.name, "dimensions": encoder.dimensions}

        def change(db: apsw.Connection) -> Encoder | None:
            _, present = present_model(SqliteSession(db))
            known = one_row(db, "encoder_number", **self._wanted)
            (self._number,) = known or the_row(db, "begin_encoder", **self._wanted)
            (self._erasures,) = the_row(db, "erasures")
            return present

        return self._writer.write(change)

    def lacking(self, limit: int) -> Batch:
        with self._readers.reading() as db:
            found = self._lacking(db, limit)
            (last,) = the_row(db, "last_content")
        self._passed = found[-1].number if len(found) == limit else last
        return Batch(found, last)

    def fill(self, contents: Sequence[Content], vectors: NDArray[np.float32]) -> int:
        return self._write(lambda db: self._filled(db, contents, vectors))

    def finish(self, embed: Callable[[Sequence[Content]], NDArray[np.float32] | None], most: int) -> int | None:
        def change(db: apsw.Connection) -> int | None:
            (erasures,) = the_row(db, "erasures")
            if erasures != self._erasures:
                self._erasures, self._passed = erasures, 0
                return None
            left = self._lacking(db, most + 1)
            if len(left) > most:
                return None
            vectors = embed(left) if left else np.empty((0, 0), dtype=np.float32)
            if vectors is None:
                return None
            filled = self._filled(db, left, vectors) if left else 0
            all_rows(db, "dismiss_encoders", encoder=self._number)
            all_rows(db, "prefer_encoder", encoder=self._number)
            return filled

        return self._write(change)

    def remove(self, limit: int) -> Removal:
        if self._dismissed is None:  # what others dismiss from now on is for them to remove
            with self._readers.reading() as db:
                self._dismissed = [name for (name,) in all_rows(db, "dismissed_encoders")]
        models = json.dumps(self._dismissed)

        def change(db: apsw.Connection) -> Removal:
            (last,) = the_row(db, "last_content")
            keys = all_rows(db, "remove_vectors", models=models, after=self._removed_up_to, limit=limit)
            if len(keys) == limit:
                self._removed_up_to = max(key for (key,) in keys)
                return Removal(limit, min(self._removed_up_to // PER_CONTENT, last - 1), last)
            all_rows(db, "drop_encoders", models=models)
            return Removal(len(keys), last, last)

        return self._writer.write(change) if self._dismissed else Removal(0, 0, 0)

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            whatever_happens.callback(self._readers.close)
            self._writer.close()

    def _lacking(self, db: apsw.Connection, limit: int) -> tuple[Content, ...]:
        found = all_rows(db, "contents_lacking", encoder=self._number, after=self._passed, limit=limit)
        return tuple(Content(*row) for row in found)

    def _filled(self, db: apsw.Connection, contents: Sequence[Content], vectors: NDArray[np.float32]) -> int:
        """Keep a vector for each of them; says how many are new."""
        filled = 0
        for content, vector in zip(contents, vectors.astype("<f4"), strict=True):
            said = {"content": content.number, "title": content.title, "text": content.text}
            filled += len(all_rows(db, "fill_vector", encoder=self._number, value=vector.tobytes(), **said))
        numbers = json.dumps([content.number for content in contents])
        all_rows(db, "reread_scopes", encoder=self._number, contents=numbers)
        return filled

    def _write(self, change: Callable[[apsw.Connection], T]) -> T:
        """What comes of a change to the vectors of our model, as long as it still is a model of this store."""

        def ours(db: apsw.Connection) -> T:
            if one_row(db, "encoder_number", **self._wanted) != (self._number,):
                model = self._wanted["model"]
                raise Conflict(f"re-embedding with {model} was called off by another one meanwhile; run it again")
            return change(db)

        return self._writer.write(ours)
