"""The floor: a matrix a scope, one product, one partition. It keeps nothing but vectors and dates."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from peers.driving import drive
from peers.material import Asked, Material, Matrix, Said


class Scan:
    """The vectors of each scope, in this process."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        self._said: dict[str, list[Said]] = {}
        self._columns: dict[str, tuple[Matrix, np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}

    def add(self, memories: Sequence[Said]) -> None:
        for one in memories:
            self._said.setdefault(one.scope, []).append(one)
            self._columns.pop(one.scope, None)

    def search(self, question: Asked, limit: int) -> list[str]:
        said = self._said.get(question.scope, [])
        if not said:
            return []
        if question.scope not in self._columns:
            moments = np.array([one.at.timestamp() for one in said])
            self._columns[question.scope] = np.stack([one.vector for one in said]), moments
        matrix, moments = self._columns[question.scope]
        scores = matrix @ question.vector
        if question.at is not None:
            scores[moments > question.at.timestamp()] = -np.inf
        best = np.argpartition(scores, -limit)[-limit:] if limit < len(scores) else np.arange(len(scores))
        ordered = best[np.argsort(-scores[best], kind="stable")]
        return [said[row].id for row in ordered if scores[row] > -np.inf]

    def close(self) -> None:
        self._said.clear()


if __name__ == "__main__":
    drive(Scan)
