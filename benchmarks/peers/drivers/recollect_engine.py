"""recollect: one file, the default profile."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import recollect
from peers.driving import Vectors, drive
from peers.material import Asked, Material, Matrix, Said
from recollect.protocols import Purpose
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.tuning_report_check import fingerprint

PROFILE = builtin_profile("default")
KEPT = ("kind", "session", "speaker")
"""The details that are fields of a memory; the others are its metadata."""

ONE_VECTOR = "one-vector"
"""The variant in which a question has its own vector in whatever words it is put."""


class Known:
    """The embedder of the material: it looks vectors up, of questions in other words too."""

    def __init__(self, given: Material) -> None:
        self.name = given.model
        self.dimensions = len(given.questions[0].vector)
        self._vectors = Vectors(given)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Matrix:
        return self._vectors.rows(texts)


class Engine:
    """An engine with a file of its own."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        looked_up = Known(one_vector(given) if variant == ONE_VECTOR else given)
        self._engine = recollect.open(folder / "memories.db", embedder=looked_up, profile=PROFILE)
        self._topics = count()

    def add(self, memories: Sequence[Said]) -> None:
        # Texts that repeat stay apart, as at every peer: memories merge only within a topic.
        self._engine.remember_all({**draft(one), "topic_key": f"memory {next(self._topics)}"} for one in memories)

    def search(self, question: Asked, limit: int) -> list[str]:
        found = self._engine.search(question.text, scope=question.scope, limit=limit, as_of=question.at)
        return [one.id for one in found]

    def close(self) -> None:
        self._engine.close()


def one_vector(given: Material) -> Material:
    """The same, where every wording has the vector of its question."""
    asked = {one.id: one.vector for one in given.questions}
    return replace(given, wordings=[replace(one, vector=asked[one.question]) for one in given.wordings])


def draft(one: Said) -> dict[str, object]:
    """What recollect is given of a memory."""
    known = {name: one.details[name] for name in KEPT if name in one.details}
    others = {name: value for name, value in one.details.items() if name not in KEPT}
    vector = one.vector.tolist()
    place = {"id": one.id, "scope": one.scope, "at": one.at}
    return {"text": one.text, "vector": vector, "metadata": others or None, **place, **known}


if __name__ == "__main__":
    drive(Engine, fingerprint(PROFILE))
