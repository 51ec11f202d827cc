"""Indexing: an index of the nearest for one scope, made, shown and dropped for an operator while others go on."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from psycopg import sql

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model.encoder import Encoder
from recollect.model.scope import Scope
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.model.vector_index import ScopeVectorIndex
from recollect.stores.postgres import extension
from recollect.stores.postgres.admin_connection import exclusive_connection, is_pooled, run_index_build
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.migration_log import SCHEMA_NAME
from recollect.stores.postgres.pool import Connection
from recollect.stores.postgres.rls_scope import RlsScope
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.postgres.transaction_runner import ALL_SCOPES
from recollect.stores.sql.statements import load_statements
from recollect.stores.sql.stats import read_current_encoder

T = TypeVar("T")

HNSW_M = 16
"""How many neighbours a vector has in each layer of the graph but the lowest, which has twice as many."""

HNSW_EF_CONSTRUCTION = 64
"""Among how many of the nearest they are chosen."""

MAX_DIMENSIONS = 4_000
"""How many dimensions an index of pgvector takes that has 16 bits for each."""

GRAPH_BYTES_PER_VECTOR = 1_024
"""How many bytes of memory each vector of the graph takes beside its own while it is built; 779 were seen."""

MAX_BUILD_MEMORY_BYTES = 1 << 30
"""Up to how many bytes of memory are asked for to build a graph, where the server has less. Of 384 dimensions that is
enough for 600,000 vectors; those that do not fit are added to it on the disk: 100,000 took 94 s with 64 MB of memory,
and 23 s with what they need."""

_INDEX_STATEMENTS = {
    name: text.encode() for name, text in load_statements("recollect.stores.postgres", "indexing.sql").items()
}

_CREATE_INDEX = sql.SQL(
    "CREATE INDEX CONCURRENTLY {index} ON {table}"
    " USING hnsw ((value::{vectors}.halfvec({dimensions})) {vectors}.halfvec_cosine_ops)"
    " WITH (m = {m}, ef_construction = {ef_construction}) WHERE scope = {scope} AND encoder = {encoder}"
)
_DISABLE_STATISTICS = sql.SQL("ALTER INDEX {} ALTER COLUMN 1 SET STATISTICS 0")
"""Has the server keep no samples of the vectors for its planner: no erasure would reach them there."""

_DROP_INDEX = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}")


def index_name(encoder: int, scope: int) -> str:
    """What the index of a scope is called, by the numbers of the model and of the scope."""
    return f"near_{encoder}_{scope}"


def list_indexes(db: Connection) -> dict[ScopeVectorIndex, int]:
    """Every index there is with the number of its scope, in the order of the scopes, and those of erased ones behind.

    The transaction is one that reaches everything.
    """
    fields = ("name", "scope", "model", "present", "vectors", "bytes", "valid")
    rows = db.execute(_INDEX_STATEMENTS["indexes"])
    return {ScopeVectorIndex(**dict(zip(fields, told, strict=True))): number for number, *told in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _IndexTarget:
    """The vectors to index: how many there are, of which scope and model, and the partition that they are in."""

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
        """How many bytes of memory the graph takes while it is built."""
        return min(self.vector_count * (2 * self.encoder.dimensions + GRAPH_BYTES_PER_VECTOR), MAX_BUILD_MEMORY_BYTES)


class PostgresVectorIndexes:
    """Each index is of one scope, since one over all of them finds a tenth of what a scope is asked for.

    None is made or dropped in a transaction, so that others read and write meanwhile.
    """

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._target = target
        self._timeout = timeout
        self._database = PostgresDatabase(target, patience=timeout, make=False)

    def build(self, scope: Scope) -> ScopeVectorIndex:
        """The index of a scope, built unless it is there and whole; those of former models go."""
        self._require_owner()
        wanted = self._read(RlsScope.of(scope), lambda db: _find_target(db, scope))
        with self._exclusive_connection() as db:
            there = self._list_for_scope(wanted.scope)
            whole = any(one.valid and one.name == wanted.name for one in there)
            _drop_indexes(db, (one for one in there if not (one.valid and one.name == wanted.name)))
            if not whole:
                self._create(db, wanted)
            db.execute(_DISABLE_STATISTICS.format(sql.Identifier(SCHEMA_NAME, wanted.name)))
            (found,) = (one for one in self._list_for_scope(wanted.scope) if one.name == wanted.name)
        return replace(found, built=not whole)

    def drop(self, scope: Scope) -> list[ScopeVectorIndex]:
        """Drop what indexes a scope has; gives those that there were."""
        self._require_owner()
        number = self._read(RlsScope.of(scope), lambda db: _find_scope_number(db, scope))
        return self._drop_chosen(lambda: self._list_for_scope(number))

    def drop_useless(self) -> list[ScopeVectorIndex]:
        """Drop those of former models, of scopes that were erased and those that were interrupted; gives them."""
        self._require_owner()
        return self._drop_chosen(lambda: [one for one in self.list_all() if not one.is_usable])

    def list_all(self) -> list[ScopeVectorIndex]:
        """Every index there is, in the order of the scopes, and those of erased ones behind."""
        return list(self._read(ALL_SCOPES, list_indexes))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _read(self, reach: RlsScope, look: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self._database.read_transaction(reach.full_statement) as db:
                return look(db)

        return self._database.retry(once)

    def _list_for_scope(self, scope: int) -> list[ScopeVectorIndex]:
        return [one for one, number in self._read(ALL_SCOPES, list_indexes).items() if number == scope]

    def _drop_chosen(self, chosen: Callable[[], list[ScopeVectorIndex]]) -> list[ScopeVectorIndex]:
        with self._exclusive_connection() as db:
            there = chosen()
            _drop_indexes(db, there)
        return there

    def _create(self, db: Connection, wanted: _IndexTarget) -> None:
        statement = _CREATE_INDEX.format(
            index=sql.Identifier(wanted.name),
            table=sql.Identifier(SCHEMA_NAME, wanted.partition),
            vectors=sql.Identifier(extension.find_pgvector_schema(db, self._database.name, make=False) or ""),
            dimensions=sql.Literal(wanted.encoder.dimensions),
            m=sql.Literal(HNSW_M),
            ef_construction=sql.Literal(HNSW_EF_CONSTRUCTION),
            scope=sql.Literal(wanted.scope),
            encoder=sql.Literal(wanted.encoder_number),
        )
        if is_pooled(db):
            db.execute(statement)
        else:
            run_index_build(
                db,
                statement,
                wanted.build_memory_bytes,
                tidy=lambda: _drop_indexes(db, self._list_for_scope(wanted.scope)),
            )

    def _require_owner(self) -> None:
        """Only who owns a table may make indexes of it."""
        self._database.refuse_if_read_only()
        owner, owned = self._read(ALL_SCOPES, lambda db: _fetch_row(db, "owner"))
        if not owned:
            raise StoreError(f"{self._database.name}: only the owner of the tables makes indexes; run it as {owner}")

    def _exclusive_connection(self) -> AbstractContextManager[Connection]:
        return exclusive_connection(self._target, self._database.name, self._timeout)


def _find_scope_number(db: Connection, scope: Scope) -> int:
    found = db.execute(_INDEX_STATEMENTS["scope_number"], {"root": scope.parts[0], "path": str(scope)}).fetchone()
    if found is None:
        raise NotFound(f"there is no scope {scope}; `recollect stats` shows those that have most memories")
    return int(found[0])


def _find_target(db: Connection, scope: Scope) -> _IndexTarget:
    number = _find_scope_number(db, scope)
    model, encoder = read_current_encoder(PostgresTransaction(db, RlsScope.of(scope)))
    vectors, partition = _fetch_row(db, "vectors_to_index", root=scope.parts[0], scope=number, encoder=model)
    if encoder is None or partition is None:
        raise NotFound(f"the scope {scope} has no vectors to index; remember something there first")
    if encoder.dimensions > MAX_DIMENSIONS:
        told = f"an index takes vectors of at most {MAX_DIMENSIONS:,} dimensions, and those of {encoder.name} have"
        remedy = "go without one, and all vectors are compared as before, or over to a model that has fewer"
        raise InvalidInput(f"{told} {encoder.dimensions:,}; {remedy}")
    return _IndexTarget(scope=number, encoder_number=model, encoder=encoder, vector_count=vectors, partition=partition)


def _fetch_row(db: Connection, statement: str, **given: object) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(_INDEX_STATEMENTS[statement], given).fetchone()
    if row is None:
        raise LookupError(statement)
    return row


def _drop_indexes(db: Connection, there: Iterable[ScopeVectorIndex]) -> None:
    for one in there:
        db.execute(_DROP_INDEX.format(sql.Identifier(SCHEMA_NAME, one.name)))
