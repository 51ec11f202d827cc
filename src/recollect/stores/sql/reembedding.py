"""Switch a store to another embedding model, in small transactions, for any SQL database."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import Conflict
from recollect.model.encoder import ContentRow, EmbeddingBatch, Encoder, VectorRemoval
from recollect.stores.sql.rows import VectorBytes
from recollect.stores.sql.transaction import Transaction, read_current_encoder

T = TypeVar("T")

VECTOR_KEYS_PER_CONTENT = 256
"""Number of vector keys per content: one for each number that a model can have."""


class SqlReembedding(ABC):
    """Keeps the vectors of both models until the new ones are complete, then switches at once.

    Contents are processed in the order of their numbers. A new content gets a number above all visible ones, except
    where `numbers_out_of_order` is set: then all contents are checked once more at the end. After an erasure a number
    that was already passed may be used again, so the contents are then processed again from the start.
    """

    numbers_out_of_order = False

    def __init__(self) -> None:
        self._encoder_params: dict[str, object] = {}
        self._encoder_number = 0
        self._last_content = 0
        self._erasures = 0
        self._retired_models: list[str] | None = None
        self._last_removed_key = 0

    @abstractmethod
    def _run_read(self, read: Callable[[Transaction], T]) -> T:
        """Return what `read` returns in one transaction over the whole store."""

    @abstractmethod
    def _run_write(self, change: Callable[[Transaction], T]) -> T:
        """Return what `change` returns in one transaction over the whole store."""

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    def begin(self, encoder: Encoder) -> Encoder | None:
        self._encoder_params = {"model": encoder.name, "dimensions": encoder.dimensions}

        def change(db: Transaction) -> Encoder | None:
            db.execute("lock_encoders")
            _, present = read_current_encoder(db)
            known = db.fetch_first("encoder_number", **self._encoder_params)
            (self._encoder_number,) = known or db.fetch_one("begin_encoder", **self._encoder_params)
            (self._erasures,) = db.fetch_one("erasures")
            return present

        return self._run_write(change)

    def lacking(self, limit: int) -> EmbeddingBatch:
        def read(db: Transaction) -> tuple[tuple[ContentRow, ...], int]:
            (last,) = db.fetch_one("last_content")
            return self._fetch_lacking(db, limit, self._last_content), last

        found, last = self._run_read(read)
        self._last_content = found[-1].number if len(found) == limit else last
        return EmbeddingBatch(found, last)

    def fill(self, contents: Sequence[ContentRow], vectors: NDArray[np.float32]) -> int:
        return self._write_vectors(lambda db: self._add_vectors(db, contents, vectors))

    def finish(self, embed: Callable[[Sequence[ContentRow]], NDArray[np.float32] | None], most: int) -> int | None:
        def change(db: Transaction) -> int | None:
            db.execute("keep_others_out")
            (erasures,) = db.fetch_one("erasures")
            if erasures != self._erasures:
                self._erasures, self._last_content = erasures, 0
                return None
            left = self._fetch_lacking(db, most + 1, 0 if self.numbers_out_of_order else self._last_content)
            if len(left) > most:
                self._last_content = min(self._last_content, left[0].number - 1)
                return None
            vectors = embed(left) if left else np.empty((0, 0), dtype=np.float32)
            if vectors is None:
                return None
            filled = self._add_vectors(db, left, vectors) if left else 0
            db.execute("dismiss_encoders", encoder=self._encoder_number)
            db.execute("prefer_encoder", encoder=self._encoder_number)
            return filled

        return self._write_vectors(change)

    def remove(self, limit: int) -> VectorRemoval:
        if self._retired_models is None:  # models that others retire from now on are theirs to remove
            self._retired_models = [name for (name,) in self._run_read(lambda db: db.fetch_all("dismissed_encoders"))]
        if not self._retired_models:
            return VectorRemoval(0, 0, 0)
        models = json.dumps(self._retired_models)

        def change(db: Transaction) -> tuple[list[int], int]:
            (last,) = db.fetch_one("last_content")
            keys = [
                key
                for (key,) in db.fetch_all("remove_vectors", models=models, after=self._last_removed_key, limit=limit)
            ]
            if len(keys) < limit:
                db.execute("drop_encoders", models=models)
            return keys, last

        keys, last = self._run_write(change)
        if len(keys) < limit:
            return VectorRemoval(len(keys), last, last)
        self._last_removed_key = max(keys)  # only after the commit: a change may run again
        return VectorRemoval(limit, min(self._last_removed_key // VECTOR_KEYS_PER_CONTENT, last - 1), last)

    def _fetch_lacking(self, db: Transaction, limit: int, after: int) -> tuple[ContentRow, ...]:
        found = db.fetch_all("contents_lacking", encoder=self._encoder_number, after=after, limit=limit)
        return tuple(ContentRow(*row) for row in found)

    def _add_vectors(self, db: Transaction, contents: Sequence[ContentRow], vectors: NDArray[np.float32]) -> int:
        """Add a vector for each content; return how many are new."""
        filled = 0
        for content, vector in zip(contents, vectors.astype("<f4"), strict=True):
            params = {"content": content.number, "title": content.title, "text": content.text}
            value = VectorBytes(vector.tobytes())
            filled += len(db.fetch_all("fill_vector", encoder=self._encoder_number, value=value, **params))
        numbers = json.dumps([content.number for content in contents])
        db.execute("reread_scopes", encoder=self._encoder_number, contents=numbers)
        return filled

    def _write_vectors(self, change: Callable[[Transaction], T]) -> T:
        """Run a change to the new model's vectors, if the store still has that model."""

        def checked_change(db: Transaction) -> T:
            if db.fetch_first("encoder_number", **self._encoder_params) != (self._encoder_number,):
                model = self._encoder_params["model"]
                raise Conflict(f"another re-embedding has replaced the one with {model}; run it again")
            return change(db)

        return self._run_write(checked_change)
