"""txtai: dense and BM25 together, an index a scope, in memory; it has no way to write each change to a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import txtai  # type: ignore[import-not-found]

from peers.driving import Vectors, drive
from peers.material import Asked, Material, Matrix, Said


class Indexes:
    """A hybrid index for each scope."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        vectors = Vectors(given)

        def transform(texts: Sequence[str]) -> Matrix:
            return vectors.rows(texts)

        self._transform = transform  # a function: anything else it calls for an instance
        self._indexes: dict[str, Any] = {}
        self._moments: dict[str, float] = {}

    def add(self, memories: Sequence[Said]) -> None:
        for scope in {one.scope for one in memories}:
            if scope not in self._indexes:
                options = {"method": "external", "transform": self._transform, "hybrid": True, "content": True}
                self._indexes[scope] = txtai.Embeddings(options)
            ours = [one for one in memories if one.scope == scope]
            self._indexes[scope].upsert([(one.id, one.text, None) for one in ours])
            self._moments |= {one.id: one.at.timestamp() for one in ours}

    def search(self, question: Asked, limit: int) -> list[str]:
        index = self._indexes[question.scope]
        if question.at is None:
            return [one["id"] for one in index.search(question.text, limit)]
        until = question.at.timestamp()  # a condition on the date would be applied to its best few only
        every = (one["id"] for one in index.search(question.text, index.count()))
        return [id for id in every if self._moments[id] <= until][:limit]

    def close(self) -> None:
        for index in self._indexes.values():
            index.close()


if __name__ == "__main__":
    drive(Indexes)
