"""Vector search in PostgreSQL: HNSW indexes of single scopes, and similarities of vectors.

In reading order: how an operator builds, lists and drops indexes while other sessions go on; and the search over
vectors that stay in the database.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from recollect.errors import InvalidInput, NotFound, StoreBusy, StoreError
from recollect.model.encoder import Encoder, ScopeVectorIndex
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.retrieval.evidence import NearestRows
from recollect.retrieval.snapshot import Snapshot
from recollect.retrieval.vectors import Vector, cosines
from recollect.stores.postgres import connection
from recollect.stores.postgres.connection import SCHEMA_NAME, PostgresDatabase
from recollect.stores.postgres.pool import Connection, exclusive_connection, is_pooled, run_index_build
from recollect.stores.postgres.transaction import ALL_SCOPES, PostgresTransaction, RlsScope, read_with_retry
from recollect.stores.sql.rows import refuse_other_encoder
from recollect.stores.sql.transaction import Transaction, load_statements, read_current_encoder

T = TypeVar("T")

HNSW_M = 16
"""How many neighbors a vector has in each layer of the graph.

The lowest layer has twice as many.
"""

HNSW_EF_CONSTRUCTION = 64
"""From how many of the nearest vectors the neighbors are chosen."""

MAX_DIMENSIONS = 4_000
"""How many dimensions pgvector can index at 16 bits each."""

GRAPH_BYTES_PER_VECTOR = 1_024
"""Memory that each vector of the graph takes during the build, besides its values.

In a measurement it was 779 bytes.
"""

MAX_BUILD_MEMORY_BYTES = 1 << 30
"""How much memory a graph build requests at most, if the server's setting is lower.

At 384 dimensions it is enough for 600,000 vectors. Vectors that do not fit are added to the graph on disk: 100,000 took
94 s with 64 MB of memory, and 23 s with as much as they need.
"""

_INDEX_STATEMENTS = {
    name: text.encode() for name, text in load_statements("recollect.stores.postgres", "indexing.sql").items()
}

_CREATE_INDEX = sql.SQL(
    "CREATE INDEX CONCURRENTLY {index} ON {table}"
    " USING hnsw ((value::{vectors}.halfvec({dimensions})) {vectors}.halfvec_cosine_ops)"
    " WITH (m = {m}, ef_construction = {ef_construction}) WHERE scope = {scope} AND encoder = {encoder}"
)
_DISABLE_STATISTICS = sql.SQL("ALTER INDEX {} ALTER COLUMN 1 SET STATISTICS 0")
"""Keep the server from sampling the vectors for its planner.

No erasure would reach the samples.
"""

_DROP_INDEX = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}")


def index_name(encoder: int, scope: int) -> str:
    """Return the name of a scope's index, from the numbers of the model and the scope."""
    return f"near_{encoder}_{scope}"


def list_indexes(db: Connection) -> dict[ScopeVectorIndex, int]:
    """Return every index with the number of its scope, ordered by scope.

    Indexes of erased scopes come last. The transaction must be one that sees all rows.
    """
    fields = ("name", "scope", "model", "present", "vectors", "bytes", "valid")
    rows = db.execute(_INDEX_STATEMENTS["indexes"])
    return {ScopeVectorIndex(**dict(zip(fields, values, strict=True))): number for number, *values in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _IndexTarget:
    """The vectors to index: their scope, their model, how many they are, and their partition."""

    scope: int
    encoder_number: int
    encoder: Encoder
    vector_count: int
    partition: str

    @property
    def name(self) -> str:
        return index_name(self.encoder_number, self.scope)

    @property
    def build_memory_bytes(self) -> int:
        """How many bytes of memory the graph needs while it is built."""
        return min(self.vector_count * (2 * self.encoder.dimensions + GRAPH_BYTES_PER_VECTOR), MAX_BUILD_MEMORY_BYTES)


class PostgresVectorIndexes:
    """Builds, lists and drops vector indexes, each of a single scope.

    An index over all scopes would find a tenth of what a search in one scope asks for. Indexes are built and dropped
    outside of transactions, so other sessions can read and write meanwhile.
    """

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._target = target
        self._timeout = timeout
        self._database = PostgresDatabase(target, timeout=timeout, create=False)

    def build(self, scope: Scope) -> ScopeVectorIndex:
        """Build the index of a scope unless a valid one exists; drop those of former models."""
        self._require_owner()
        target = self._read(RlsScope.of(scope), lambda db: _find_target(db, scope))
        with self._exclusive_connection() as db:
            existing = self._list_for_scope(target.scope)
            is_built = any(one.valid and one.name == target.name for one in existing)
            _drop_indexes(db, (one for one in existing if not (one.valid and one.name == target.name)))
            if not is_built:
                self._create(db, target)
            db.execute(_DISABLE_STATISTICS.format(sql.Identifier(SCHEMA_NAME, target.name)))
            (found,) = (one for one in self._list_for_scope(target.scope) if one.name == target.name)
        return replace(found, built=not is_built)

    def drop(self, scope: Scope) -> list[ScopeVectorIndex]:
        """Drop all indexes of a scope; return the indexes that were dropped."""
        self._require_owner()
        number = self._read(RlsScope.of(scope), lambda db: _find_scope_number(db, scope))
        return self._drop_chosen(lambda: self._list_for_scope(number))

    def drop_useless(self) -> list[ScopeVectorIndex]:
        """Drop indexes of former models or erased scopes, and invalid ones; return those dropped.

        An index is invalid if its build was interrupted.
        """
        self._require_owner()
        return self._drop_chosen(lambda: [one for one in self.list_all() if not one.is_usable])

    def list_all(self) -> list[ScopeVectorIndex]:
        """Return every index, ordered by scope; those of erased scopes come last."""
        return list(self._read(ALL_SCOPES, list_indexes))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _read(self, rls_scope: RlsScope, read: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self._database.read_transaction(rls_scope.full_statement) as db:
                return read(db)

        return self._database.retry(once)

    def _list_for_scope(self, scope: int) -> list[ScopeVectorIndex]:
        return [one for one, number in self._read(ALL_SCOPES, list_indexes).items() if number == scope]

    def _drop_chosen(self, choose: Callable[[], list[ScopeVectorIndex]]) -> list[ScopeVectorIndex]:
        with self._exclusive_connection() as db:
            indexes = choose()
            _drop_indexes(db, indexes)
        return indexes

    def _create(self, db: Connection, target: _IndexTarget) -> None:
        statement = _CREATE_INDEX.format(
            index=sql.Identifier(target.name),
            table=sql.Identifier(SCHEMA_NAME, target.partition),
            vectors=sql.Identifier(connection.find_pgvector_schema(db, self._database.name, create=False) or ""),
            dimensions=sql.Literal(target.encoder.dimensions),
            m=sql.Literal(HNSW_M),
            ef_construction=sql.Literal(HNSW_EF_CONSTRUCTION),
            scope=sql.Literal(target.scope),
            encoder=sql.Literal(target.encoder_number),
        )
        if is_pooled(db):
            db.execute(statement)
        else:
            run_index_build(
                db,
                statement,
                target.build_memory_bytes,
                clean_up=lambda: _drop_indexes(db, self._list_for_scope(target.scope)),
            )

    def _require_owner(self) -> None:
        """Raise StoreError unless the role has the rights of the tables' owner."""
        self._database.refuse_if_read_only()
        owner, owned = self._read(ALL_SCOPES, lambda db: _fetch_row(db, "owner"))
        if not owned:
            raise StoreError(
                f"{self._database.name}: only the owner of the tables can create or drop indexes; run it as {owner}"
            )

    def _exclusive_connection(self) -> AbstractContextManager[Connection]:
        return exclusive_connection(self._target, self._database.name, self._timeout)


def _find_scope_number(db: Connection, scope: Scope) -> int:
    found = db.execute(_INDEX_STATEMENTS["scope_number"], {"root": scope.parts[0], "path": str(scope)}).fetchone()
    if found is None:
        raise NotFound(f"the scope {scope} does not exist; `recollect stats` lists the largest scopes")
    return int(found[0])


def _find_target(db: Connection, scope: Scope) -> _IndexTarget:
    number = _find_scope_number(db, scope)
    encoder_number, encoder = read_current_encoder(PostgresTransaction(db, RlsScope.of(scope)))
    vectors, partition = _fetch_row(db, "vectors_to_index", root=scope.parts[0], scope=number, encoder=encoder_number)
    if encoder is None or partition is None:
        raise NotFound(f"the scope {scope} has no vectors to index; remember something there first")
    if encoder.dimensions > MAX_DIMENSIONS:
        limit = f"but an index takes at most {MAX_DIMENSIONS:,}"
        remedy = "search without an index, or re-embed with a model that has fewer"
        raise InvalidInput(f"vectors of {encoder.name} have {encoder.dimensions:,} dimensions, {limit}; {remedy}")
    return _IndexTarget(
        scope=number, encoder_number=encoder_number, encoder=encoder, vector_count=vectors, partition=partition
    )


def _fetch_row(db: Connection, statement: str, **params: object) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(_INDEX_STATEMENTS[statement], params).fetchone()
    if row is None:
        raise LookupError(statement)
    return row


def _drop_indexes(db: Connection, indexes: Iterable[ScopeVectorIndex]) -> None:
    for index in indexes:
        db.execute(_DROP_INDEX.format(sql.Identifier(SCHEMA_NAME, index.name)))


MAX_NEAREST = 400
"""How many nearest vectors a scope's index is asked for, and among how many it searches.

A higher number finds what a lower one misses and leaves fewer similarities to fetch, but takes longer.
"""

HALF_PRECISION_ERROR = 2.0**-8
"""How far a cosine from the index may be from the true one.

The index stores each vector at half precision, scaled to length 1 and rounded again; the query is treated likewise. Six
roundings contribute at most 1/2048 each, and the 32-bit sums the rest.
"""

FULL_READ_DIVISOR = 8
"""If at least one row in this many is requested, all are read.

That is faster than looking them up one by one.
"""

_FROM_VECTORS = "FROM vectors WHERE root = {root} AND encoder = {encoder} AND "
_SELECT_SIMILARITIES = "SELECT content, -(value OPERATOR({vectors}.<#>) {vector}::{vectors}.vector) " + _FROM_VECTORS
_IN_SCOPES = "scope = ANY (ARRAY(SELECT number FROM scopes WHERE root = {root} AND path = ANY ({paths})))"
_IN_CONTENTS = " AND content = ANY ({contents}::bigint[])"

_ALL_SIMILARITIES = sql.SQL(_SELECT_SIMILARITIES + _IN_SCOPES)
_SOME_SIMILARITIES = sql.SQL(_SELECT_SIMILARITIES + _IN_SCOPES + _IN_CONTENTS)
_SELECT_VECTORS = sql.SQL("SELECT content, value " + _FROM_VECTORS + _IN_SCOPES + _IN_CONTENTS)
_SELECT_NEAREST = sql.SQL(
    _SELECT_SIMILARITIES + "scope = {scope} ORDER BY value::{vectors}.halfvec({dimensions})"
    " OPERATOR({vectors}.<=>) {vector}::{vectors}.vector::{vectors}.halfvec({dimensions}) LIMIT {count}"
)
_FORCE_INDEX = sql.SQL(
    "SELECT set_config('hnsw.ef_search', {}, true), set_config('enable_sort', 'off', true),"
    " set_config('enable_seqscan', 'off', true)"
)
"""Use the index even where the planner expects a full sort to be faster."""

_PACK_PAIRS = sql.SQL(
    "SELECT string_agg(int8send(content) || float8send(near), ''::bytea) FROM ({}) found (content, near)"
)
_PAIR_DTYPE = np.dtype([("content", ">i8"), ("near", ">f8")])
"""Many contents with their similarities as one value; Python would parse rows one by one."""


def find_indexed_scope(db: Transaction, scope: Scope, encoder: int) -> int | None:
    """Return the number of the scope if its vectors of this model have a valid index."""
    row = db.fetch_first("indexed_scope", path=str(scope), named=index_name(encoder, 0)[:-1])
    return None if row is None else int(row[0])


def _format_array(numbers: Iterable[int]) -> str:
    """Return numbers as a PostgreSQL array literal; the driver would convert them one by one."""
    return f"{{{','.join(map(str, numbers))}}}"


class PostgresVectorSearch:
    """The similarities of one query vector to contents whose vectors stay in the database.

    The text of a content never changes, nor does its vector from a given model. So each request can be a transaction of
    its own: only contents that were erased meanwhile are missing.
    """

    def __init__(self, database: PostgresDatabase, snapshot: Snapshot, vector: Vector) -> None:
        self._database = database
        self._snapshot = snapshot
        self._columns = snapshot.columns
        self._vector = vector
        self._remote_scopes = [str(part.scope) for part in self._columns.parts if part.contents is not None]
        self._parameters: dict[str, sql.Composable] = {
            "vectors": sql.Identifier(database.vectors),
            "vector": sql.Literal(f"[{','.join(map(repr, vector.tolist()))}]"),
            "root": sql.Literal(snapshot.view.scope.parts[0]),
            "encoder": sql.Literal(snapshot.encoder_number),
            "paths": sql.Literal(self._remote_scopes),
        }

    def nearest(self) -> NearestRows:
        """Return the nearest rows of the scope itself, if it has an index.

        Rows that other scopes share with it are not covered.
        """
        if self._snapshot.indexed_scope is None:
            return NearestRows(np.empty(0, dtype=np.intp), np.empty(0), 1.0)
        params = {"scope": self._snapshot.indexed_scope, "dimensions": len(self._vector), "count": MAX_NEAREST}
        found = self._fetch_pairs(_SELECT_NEAREST, _FORCE_INDEX.format(sql.Literal(str(MAX_NEAREST))), **params)
        rows = self._columns.rows_of_contents(found["content"].astype(np.int64))
        covers_all = len(found) > 0 and self._remote_scopes == [str(self._snapshot.view.scope)]
        ceiling = min(float(found["near"][-1]) + 2.0 * HALF_PRECISION_ERROR, 1.0) if covers_all else 1.0
        return NearestRows(rows, self._read_similarities(rows, found), ceiling)

    def similarities(self, rows: Rows) -> Floats:
        """Return the similarities of these rows, within `cosine_error_bound`; NaN where a vector is gone."""
        if FULL_READ_DIVISOR * len(rows) >= len(self._columns.ids):
            return self._read_similarities(rows, self._fetch_pairs(_ALL_SIMILARITIES))
        contents = _format_array(np.unique(self._columns.content_numbers[rows]).tolist())
        return self._read_similarities(rows, self._fetch_pairs(_SOME_SIMILARITIES, contents=contents))

    def exact_similarities(self, rows: Rows) -> Floats:
        """Return the similarities of these rows to the last bit; NaN where a vector is gone."""
        contents: list[int] = self._columns.content_numbers[rows].tolist()
        statement = self._compose(_SELECT_VECTORS, contents=_format_array(filter(None, contents)))
        vectors: dict[int, bytes] = dict(self._read(lambda db: db.fetch_composed(statement)))
        found = np.full(len(rows), np.nan)
        loaded = [place for place, content in enumerate(contents) if content in vectors]
        if loaded:
            matrix = np.frombuffer(b"".join(vectors[contents[place]] for place in loaded), dtype="<f4")
            found[loaded] = cosines(matrix.reshape(len(loaded), -1), self._vector)
        return found

    def _read_similarities(self, rows: Rows, found: NDArray[np.void]) -> Floats:
        """Return the similarities found for these rows; NaN where there is none."""
        order = np.argsort(found["content"], kind="stable")
        contents, similarities = found["content"][order], np.clip(found["near"][order], -1.0, 1.0)
        requested = self._columns.content_numbers[rows]
        places = np.searchsorted(contents, requested)
        is_found = np.zeros(len(rows), dtype=np.bool_)
        in_range = places < len(contents)
        is_found[in_range] = contents[places[in_range]] == requested[in_range]
        result = np.full(len(rows), np.nan)
        result[is_found] = similarities[places[is_found]]
        return result

    def _fetch_pairs(self, statement: sql.SQL, first: sql.Composed | None = None, **params: object) -> NDArray[np.void]:
        """Return contents with their similarities, in the order of the statement.

        `first` is a statement to run before it in the same transaction.
        """
        packed = _PACK_PAIRS.format(self._compose(statement, **params))

        def read(db: PostgresTransaction) -> bytes:
            if first is not None:
                db.fetch_composed(first)
            ((found,),) = db.fetch_composed(packed)
            return found or b""

        return np.frombuffer(self._read(read), dtype=_PAIR_DTYPE)

    def _compose(self, statement: sql.SQL, **params: object) -> sql.Composed:
        return statement.format(**self._parameters, **{name: sql.Literal(value) for name, value in params.items()})

    def _read(self, read: Callable[[PostgresTransaction], T]) -> T:
        """Return what `read` returns; raise an error if the vectors are of another model by now."""

        def once(db: PostgresTransaction) -> T:
            number, model = read_current_encoder(db)
            refuse_other_encoder(model, self._snapshot.view.encoder)
            if number != self._snapshot.encoder_number:
                raise StoreBusy("the store was re-embedded during the search; search again")
            return read(db)

        return read_with_retry(self._database, RlsScope.of(self._snapshot.view.scope), once)
