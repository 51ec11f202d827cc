"""recollect: one file, the default profile."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import recollect
from peers.driving import Vectors, drive
from peers.material import Asked, Material, Matrix, Said
from recollect.config import Settings
from recollect.ports import Purpose
from recollect.wiring import named_embedder

KEPT = ("kind", "session", "speaker")
"""The details that are fields of a memory; the others are its metadata."""


class Known:
    """The embedder of the material: it looks vectors up, and asks MiniLM for what the material does not have."""

    def __init__(self, given: Material) -> None:
        self.name = given.model
        self.dimensions = len(given.questions[0].vector)
        self._vectors = Vectors(given)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Matrix:
        if self._vectors.knows(texts):
            return self._vectors.rows(texts)
        minilm = named_embedder("minilm", Settings())
        if minilm.name != self.name:
            raise LookupError(f"there is no {self.name} vector of {texts!r}")
        return np.asarray(minilm.embed(texts, purpose), dtype=np.float32)


class Engine:
    """An engine with a file of its own."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        self._engine = recollect.open(folder / "memories.db", embedder=Known(given))
        self._ids: dict[str, str] = {}

    def add(self, memories: Sequence[Said]) -> None:
        receipts = self._engine.remember_all(map(draft, memories))
        for one, receipt in zip(memories, receipts, strict=True):
            self._ids.setdefault(receipt.id, one.id)

    def search(self, question: Asked, limit: int) -> list[str]:
        found = self._engine.search(question.text, scope=question.scope, limit=limit, as_of=question.at)
        return [self._ids[one.id] for one in found]

    def close(self) -> None:
        self._engine.close()


def draft(one: Said) -> dict[str, object]:
    """What recollect is given of a memory."""
    known = {name: one.details[name] for name in KEPT if name in one.details}
    others = {name: value for name, value in one.details.items() if name not in KEPT}
    vector = one.vector.tolist()
    return {"text": one.text, "scope": one.scope, "at": one.at, "vector": vector, "metadata": others or None, **known}


if __name__ == "__main__":
    drive(Engine)
