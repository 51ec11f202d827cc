"""The seed: its own table, index and SQL, and what else one would write in SQL, over the same memories.

Seed 001 ranks with one statement over one table. The table has besides what the formulas of the other profiles read,
and holds their defaults where nothing is known, so that the statement stays the seed's.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import LiteralString

import numpy as np

from postgres.filling import Admin, copy
from postgres.material import AT, Made, Vectors
from recollect.stores.sql.rows import VectorBytes
from recollect.stores.sql.transaction import Row

SCHEMA = "seed"
COLUMNS = (
    *("id", "agent_id", "content", "memory_type", "status", "embedding", "created_at", "last_accessed_at"),
    *("importance", "confidence", "usefulness", "salience", "served"),
)
TABLES = """
CREATE SCHEMA seed;
CREATE TABLE seed.agent_memories (
    id text PRIMARY KEY,
    agent_id text NOT NULL,
    content text NOT NULL,
    memory_type text NOT NULL,
    status text NOT NULL,
    embedding vector({dimensions}),
    created_at timestamptz NOT NULL,
    last_accessed_at timestamptz NOT NULL,
    importance double precision NOT NULL,
    confidence double precision NOT NULL,
    usefulness double precision NOT NULL,
    salience double precision NOT NULL,
    served double precision NOT NULL
);
CREATE TABLE seed.augmented (
    id text PRIMARY KEY,
    agent_id text NOT NULL,
    embedding vector({augmented})
);
GRANT USAGE ON SCHEMA seed TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA seed TO PUBLIC;
"""
BY_AGENT: LiteralString = "CREATE INDEX ON seed.agent_memories (agent_id)"
"""Which the seed does not name, and without which tenants would read each other's rows."""

NEAREST: LiteralString = "CREATE INDEX nearest ON seed.agent_memories USING hnsw (embedding vector_cosine_ops)"
AUGMENTED: LiteralString = "CREATE INDEX nearest_augmented ON seed.augmented USING hnsw (embedding vector_ip_ops)"

WEIGHTS, RATE = (0.5, 0.3, 0.2), 0.05
"""Of `three-signal`: similarity, importance and recency, and how recency fades by the day."""

FORMULAS: Mapping[str, LiteralString] = {
    "three-signal": """
(0.5 * (1 - (embedding <=> %(query)s)))
+ (0.3 * importance)
+ (0.2 * exp(-0.05 * EXTRACT(EPOCH FROM (%(now)s - last_accessed_at)) / 86400))""",
    "five-signal": """
(0.40 * greatest(1 - (embedding <=> %(query)s), 0))
+ (0.25 * exp(-0.05 * EXTRACT(EPOCH FROM (%(now)s - created_at)) / 86400))
+ (0.20 * usefulness) + (0.10 * confidence) + (0.05 * least(served / 50, 1))""",
    "salience": """
greatest(1 - (embedding <=> %(query)s), 0) * (0.55 + 0.45 * salience) * (1 / (1 + 0.15 * served))""",
}
"""Each as SQL; the moment is given in place of now(), so that all ways rank for the same one."""

_SHOWN: LiteralString = "id, agent_id, content, memory_type, importance, created_at, last_accessed_at"
_ELIGIBLE: LiteralString = "agent_id = %(agent_id)s AND embedding IS NOT NULL AND status = 'active'"


def in_floats(formula: LiteralString) -> LiteralString:
    """A formula without decimals, which EXTRACT gives since PostgreSQL 14, and exp() is slow with."""
    return formula.replace("EXTRACT(EPOCH FROM", "date_part('epoch',")


def as_written(formula: LiteralString) -> LiteralString:
    """The seed's statement, with the formula of a profile."""
    return (
        f"SELECT {_SHOWN}, {formula} AS score FROM seed.agent_memories WHERE {_ELIGIBLE} "  # noqa: S608
        "ORDER BY score DESC LIMIT %(top_k)s"
    )


def reranked(formula: LiteralString) -> LiteralString:
    """The nearest hundred by the index, and of those the best by the formula."""
    return (
        f"WITH near AS (SELECT * FROM seed.agent_memories WHERE {_ELIGIBLE} "  # noqa: S608
        f"ORDER BY embedding <=> %(query)s LIMIT 100) SELECT {_SHOWN}, {formula} AS score FROM near "
        "ORDER BY score DESC LIMIT %(top_k)s"
    )


INNER_PRODUCT: LiteralString = (
    "SELECT id FROM seed.augmented WHERE agent_id = %(agent_id)s ORDER BY embedding <#> %(query)s LIMIT %(top_k)s"
)


def make(db: Admin, dimensions: int) -> None:
    """The tables, without their indexes of vectors."""
    db.execute(TABLES.format(dimensions=dimensions, augmented=dimensions + 2).encode())
    db.execute(BY_AGENT)


def fill(db: Admin, chunk: Sequence[Made]) -> None:
    """The same memories, each as it stands."""
    copy(db, SCHEMA, "agent_memories", COLUMNS, map(_row, chunk))


def augment(db: Admin, chunk: Sequence[Made]) -> None:
    """The same, with importance and recency as two more dimensions: `three-signal` becomes an inner product."""
    copy(db, SCHEMA, "augmented", ("id", "agent_id", "embedding"), map(_augmented, chunk))


def _row(one: Made) -> Row:
    judged = one.helped + one.misled
    salience = one.memory(one.said).salience
    return (
        *(one.id, str(one.scope), one.said.text, one.kind.value, "active", direction(one.said.vector)),
        *((one.former or one.said).at, _accessed(one)),
        0.5 if one.importance is None else one.importance,
        0.8 if one.confidence is None else one.confidence,
        (one.helped + 1) / (judged + 2) if judged else 0.5,
        0.5 if salience is None else salience,
        float(one.served),
    )


def _augmented(one: Made) -> Row:
    importance = 0.5 if one.importance is None else one.importance
    longer = np.append(one.said.vector, [importance, faded(_accessed(one), AT)])
    return one.id, str(one.scope), direction(longer.astype(np.float32))


def asked_for(vector: Vectors, at: datetime) -> Vectors:
    """The question whose inner product with what `augment` wrote is the score of `three-signal` at that moment."""
    similarity, importance, recency = WEIGHTS
    return np.append(similarity * vector, [importance, recency * faded(AT, at)]).astype(np.float32)


def faded(since: datetime, at: datetime) -> float:
    """What is left of recency by then."""
    return math.exp(-RATE * (at - since).total_seconds() / 86_400)


def direction(vector: Vectors) -> VectorBytes:
    """A vector on its way to the database."""
    return VectorBytes(vector.astype("<f4").tobytes())


def _accessed(one: Made) -> datetime:
    return one.served_at or (one.former or one.said).at
