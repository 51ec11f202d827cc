"""Going over to another model, in small transactions between those of others, whichever database it is in."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import Conflict
from recollect.model.encoder import Encoder
from recollect.model.reembedding import Batch, Content, Removal
from recollect.stores.sql.rows import Direction
from recollect.stores.sql.stats import present_model
from recollect.stores.sql.transaction import Session

T = TypeVar("T")

PER_CONTENT = 256
"""How many keys of vectors a content has, one for each number that a model can have."""


class RelationalReembedding(ABC):
    """The vectors of two models lie side by side until the new ones are complete; one transaction then switches.

    Contents are looked through in the order of their numbers. A new one has a number above all others that can be seen,
    unless numbers are given `out_of_order`: then all are looked at once more in the end. It also may have one that was
    passed after an erasure, so then they are looked through again.
    """

    out_of_order = False

    def __init__(self) -> None:
        self._wanted: dict[str, object] = {}
        self._number = 0
        self._passed = 0
        self._erasures = 0
        self._dismissed: list[str] | None = None
        self._removed_up_to = 0

    @abstractmethod
    def _seen(self, look: Callable[[Session], T]) -> T:
        """What is seen in one transaction of all that there is."""

    @abstractmethod
    def _changed(self, change: Callable[[Session], T]) -> T:
        """What comes of a change, in one transaction of all that there is."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""

    def begin(self, encoder: Encoder) -> Encoder | None:
        self._wanted = {"model": encoder.name, "dimensions": encoder.dimensions}

        def change(db: Session) -> Encoder | None:
            db.run("lock_encoders")
            _, present = present_model(db)
            known = db.one("encoder_number", **self._wanted)
            (self._number,) = known or db.the("begin_encoder", **self._wanted)
            (self._erasures,) = db.the("erasures")
            return present

        return self._changed(change)

    def lacking(self, limit: int) -> Batch:
        def look(db: Session) -> tuple[tuple[Content, ...], int]:
            (last,) = db.the("last_content")
            return self._lacking(db, limit, self._passed), last

        found, last = self._seen(look)
        self._passed = found[-1].number if len(found) == limit else last
        return Batch(found, last)

    def fill(self, contents: Sequence[Content], vectors: NDArray[np.float32]) -> int:
        return self._write(lambda db: self._filled(db, contents, vectors))

    def finish(self, embed: Callable[[Sequence[Content]], NDArray[np.float32] | None], most: int) -> int | None:
        def change(db: Session) -> int | None:
            db.run("keep_others_out")
            (erasures,) = db.the("erasures")
            if erasures != self._erasures:
                self._erasures, self._passed = erasures, 0
                return None
            left = self._lacking(db, most + 1, 0 if self.out_of_order else self._passed)
            if len(left) > most:
                self._passed = min(self._passed, left[0].number - 1)
                return None
            vectors = embed(left) if left else np.empty((0, 0), dtype=np.float32)
            if vectors is None:
                return None
            filled = self._filled(db, left, vectors) if left else 0
            db.run("dismiss_encoders", encoder=self._number)
            db.run("prefer_encoder", encoder=self._number)
            return filled

        return self._write(change)

    def remove(self, limit: int) -> Removal:
        if self._dismissed is None:  # what others dismiss from now on is for them to remove
            self._dismissed = [name for (name,) in self._seen(lambda db: db.all("dismissed_encoders"))]
        if not self._dismissed:
            return Removal(0, 0, 0)
        models = json.dumps(self._dismissed)

        def change(db: Session) -> tuple[list[int], int]:
            (last,) = db.the("last_content")
            keys = [key for (key,) in db.all("remove_vectors", models=models, after=self._removed_up_to, limit=limit)]
            if len(keys) < limit:
                db.run("drop_encoders", models=models)
            return keys, last

        keys, last = self._changed(change)
        if len(keys) < limit:
            return Removal(len(keys), last, last)
        self._removed_up_to = max(keys)  # after it is kept: a change may be made again
        return Removal(limit, min(self._removed_up_to // PER_CONTENT, last - 1), last)

    def _lacking(self, db: Session, limit: int, after: int) -> tuple[Content, ...]:
        found = db.all("contents_lacking", encoder=self._number, after=after, limit=limit)
        return tuple(Content(*row) for row in found)

    def _filled(self, db: Session, contents: Sequence[Content], vectors: NDArray[np.float32]) -> int:
        """Keep a vector for each of them; says how many are new."""
        filled = 0
        for content, vector in zip(contents, vectors.astype("<f4"), strict=True):
            said = {"content": content.number, "title": content.title, "text": content.text}
            value = Direction(vector.tobytes())
            filled += len(db.all("fill_vector", encoder=self._number, value=value, **said))
        numbers = json.dumps([content.number for content in contents])
        db.run("reread_scopes", encoder=self._number, contents=numbers)
        return filled

    def _write(self, change: Callable[[Session], T]) -> T:
        """What comes of a change to the vectors of our model, as long as it still is a model of this store."""

        def ours(db: Session) -> T:
            if db.one("encoder_number", **self._wanted) != (self._number,):
                model = self._wanted["model"]
                raise Conflict(f"re-embedding with {model} was called off by another one meanwhile; run it again")
            return change(db)

        return self._changed(ours)
