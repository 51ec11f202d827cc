"""sqlite-vec: one virtual table in one SQLite file, the scope its partition."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import sqlite_vec  # type: ignore[import-not-found]

from peers.driving import drive
from peers.material import Asked, Material, Said


class Table:
    """A table of vectors with scope, date, id and text."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        self._db = sqlite3.connect(folder / "vectors.db")
        self._db.enable_load_extension(True)  # noqa: FBT003
        sqlite_vec.load(self._db)
        self._db.execute("PRAGMA journal_mode = WAL")
        dimensions = len(given.questions[0].vector)
        self._db.execute(
            f"CREATE VIRTUAL TABLE memory USING vec0(scope TEXT PARTITION KEY, at FLOAT, +id TEXT, +text TEXT, "
            f"vector FLOAT[{dimensions}] distance_metric=cosine)"
        )

    def add(self, memories: Sequence[Said]) -> None:
        rows = [(one.scope, one.at.timestamp(), one.id, one.text, one.vector) for one in memories]
        with self._db:
            self._db.executemany("INSERT INTO memory (scope, at, id, text, vector) VALUES (?, ?, ?, ?, ?)", rows)

    def search(self, question: Asked, limit: int) -> list[str]:
        query = "SELECT id, text FROM memory WHERE vector MATCH ? AND k = ? AND scope = ?"
        given = [question.vector, limit, question.scope]
        if question.at is not None:
            query, given = f"{query} AND at <= ?", [*given, question.at.timestamp()]
        return [id for id, _ in self._db.execute(f"{query} ORDER BY distance", given)]

    def close(self) -> None:
        self._db.close()


if __name__ == "__main__":
    drive(Table)
