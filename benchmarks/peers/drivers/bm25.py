"""BM25 alone: a baseline for quality, with an index for each question of what it may be answered from."""

import re
from collections.abc import Sequence
from pathlib import Path

from rank_bm25 import BM25Okapi  # type: ignore[import-not-found]

from peers.driving import drive
from peers.material import Asked, Material, Said


class Words:
    """The words of each scope's memories."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        self._said: list[tuple[Said, list[str]]] = []

    def add(self, memories: Sequence[Said]) -> None:
        self._said += [(one, words(one.text)) for one in memories]

    def search(self, question: Asked, limit: int) -> list[str]:
        until = question.at
        may = [
            (one, said)
            for one, said in self._said
            if one.scope == question.scope and (until is None or one.at <= until)
        ]
        if not may:
            return []
        scores = BM25Okapi([said for _, said in may]).get_scores(words(question.text))
        best = sorted(range(len(may)), key=lambda row: (-scores[row], row))[:limit]
        return [may[row][0].id for row in best if scores[row] > 0.0]

    def close(self) -> None:
        self._said.clear()


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    drive(Words)
