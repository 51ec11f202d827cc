"""Indexing: an index of the nearest for one scope, made, shown and dropped for an operator while others go on."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from psycopg import sql

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model.encoder import Encoder
from recollect.model.scope import Scope
from recollect.model.validation import BUSY_TIMEOUT
from recollect.model.vector_index import Indexed
from recollect.stores.postgres import extension
from recollect.stores.postgres.admin_connection import alone, built, is_pooled
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.migration_log import SCHEMA
from recollect.stores.postgres.pool import Connection
from recollect.stores.postgres.rls_scope import Reach
from recollect.stores.postgres.transaction import PostgresSession
from recollect.stores.postgres.transaction_runner import EVERYTHING
from recollect.stores.sql.statements import statements
from recollect.stores.sql.stats import present_model

T = TypeVar("T")

M = 16
"""How many neighbours a vector has in each layer of the graph but the lowest, which has twice as many."""

EF_CONSTRUCTION = 64
"""Among how many of the nearest they are chosen."""

MOST_DIMENSIONS = 4_000
"""How many dimensions an index of pgvector takes that has 16 bits for each."""

BESIDE_A_VECTOR = 1_024
"""How many bytes of memory each vector of the graph takes beside its own while it is built; 779 were seen."""

MOST_MEMORY = 1 << 30
"""Up to how many bytes of memory are asked for to build a graph, where the server has less. Of 384 dimensions that is
enough for 600,000 vectors; those that do not fit are added to it on the disk: 100,000 took 94 s with 64 MB of memory,
and 23 s with what they need."""

_SQL = {name: text.encode() for name, text in statements("recollect.stores.postgres", "indexing.sql").items()}

_MAKE = sql.SQL(
    "CREATE INDEX CONCURRENTLY {index} ON {table}"
    " USING hnsw ((value::{vectors}.halfvec({dimensions})) {vectors}.halfvec_cosine_ops)"
    " WITH (m = {m}, ef_construction = {ef_construction}) WHERE scope = {scope} AND encoder = {encoder}"
)
_UNSAMPLED = sql.SQL("ALTER INDEX {} ALTER COLUMN 1 SET STATISTICS 0")
"""Has the server keep no samples of the vectors for its planner: no erasure would reach them there."""

_DROP = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}")


def index_name(encoder: int, scope: int) -> str:
    """What the index of a scope is called, by the numbers of the model and of the scope."""
    return f"near_{encoder}_{scope}"


def all_indexes(db: Connection) -> dict[Indexed, int]:
    """Every index there is with the number of its scope, in the order of the scopes, and those of erased ones behind.

    The transaction is one that reaches everything.
    """
    fields = ("name", "scope", "model", "present", "vectors", "bytes", "valid")
    rows = db.execute(_SQL["indexes"])
    return {Indexed(**dict(zip(fields, told, strict=True))): number for number, *told in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The vectors to index: how many there are, of which scope and model, and the partition that they are in."""

    scope: int
    number: int
    encoder: Encoder
    vectors: int
    partition: str

    @property
    def name(self) -> str:
        return index_name(self.number, self.scope)

    @property
    def memory(self) -> int:
        """How many bytes of memory the graph takes while it is built."""
        return min(self.vectors * (2 * self.encoder.dimensions + BESIDE_A_VECTOR), MOST_MEMORY)


class PostgresIndexing:
    """Each index is of one scope, since one over all of them finds a tenth of what a scope is asked for.

    None is made or dropped in a transaction, so that others read and write meanwhile.
    """

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT) -> None:
        self._target = target
        self._timeout = timeout
        self._database = Database(target, patience=timeout, make=False)

    def build(self, scope: Scope) -> Indexed:
        """The index of a scope, built unless it is there and whole; those of former models go."""
        self._refuse_stranger()
        wanted = self._seen(Reach.of(scope), lambda db: _wanted(db, scope))
        with self._alone() as db:
            there = self._of(wanted.scope)
            whole = any(one.valid and one.name == wanted.name for one in there)
            _drop(db, (one for one in there if not (one.valid and one.name == wanted.name)))
            if not whole:
                self._make(db, wanted)
            db.execute(_UNSAMPLED.format(sql.Identifier(SCHEMA, wanted.name)))
            (found,) = (one for one in self._of(wanted.scope) if one.name == wanted.name)
        return replace(found, built=not whole)

    def drop(self, scope: Scope) -> list[Indexed]:
        """Drop what indexes a scope has; gives those that there were."""
        self._refuse_stranger()
        number = self._seen(Reach.of(scope), lambda db: _number(db, scope))
        return self._dropped(lambda: self._of(number))

    def drop_useless(self) -> list[Indexed]:
        """Drop those of former models, of scopes that were erased and those that were interrupted; gives them."""
        self._refuse_stranger()
        return self._dropped(lambda: [one for one in self.indexed() if not one.of_use])

    def indexed(self) -> list[Indexed]:
        """Every index there is, in the order of the scopes, and those of erased ones behind."""
        return list(self._seen(EVERYTHING, all_indexes))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _seen(self, reach: Reach, look: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self._database.reading(reach.whole) as db:
                return look(db)

        return self._database.until_done(once)

    def _of(self, scope: int) -> list[Indexed]:
        return [one for one, number in self._seen(EVERYTHING, all_indexes).items() if number == scope]

    def _dropped(self, chosen: Callable[[], list[Indexed]]) -> list[Indexed]:
        with self._alone() as db:
            there = chosen()
            _drop(db, there)
        return there

    def _make(self, db: Connection, wanted: _Wanted) -> None:
        statement = _MAKE.format(
            index=sql.Identifier(wanted.name),
            table=sql.Identifier(SCHEMA, wanted.partition),
            vectors=sql.Identifier(extension.where(db, self._database.name, make=False) or ""),
            dimensions=sql.Literal(wanted.encoder.dimensions),
            m=sql.Literal(M),
            ef_construction=sql.Literal(EF_CONSTRUCTION),
            scope=sql.Literal(wanted.scope),
            encoder=sql.Literal(wanted.number),
        )
        if is_pooled(db):
            db.execute(statement)
        else:
            built(db, statement, wanted.memory, tidy=lambda: _drop(db, self._of(wanted.scope)))

    def _refuse_stranger(self) -> None:
        """Only who owns a table may make indexes of it."""
        self._database.refuse_if_read_only()
        owner, owned = self._seen(EVERYTHING, lambda db: _the(db, "owner"))
        if not owned:
            raise StoreError(f"{self._database.name}: only the owner of the tables makes indexes; run it as {owner}")

    def _alone(self) -> AbstractContextManager[Connection]:
        return alone(self._target, self._database.name, self._timeout)


def _number(db: Connection, scope: Scope) -> int:
    found = db.execute(_SQL["scope_number"], {"root": scope.parts[0], "path": str(scope)}).fetchone()
    if found is None:
        raise NotFound(f"there is no scope {scope}; `recollect stats` shows those that have most memories")
    return int(found[0])


def _wanted(db: Connection, scope: Scope) -> _Wanted:
    number = _number(db, scope)
    model, encoder = present_model(PostgresSession(db, Reach.of(scope)))
    vectors, partition = _the(db, "vectors_to_index", root=scope.parts[0], scope=number, encoder=model)
    if encoder is None or partition is None:
        raise NotFound(f"the scope {scope} has no vectors to index; remember something there first")
    if encoder.dimensions > MOST_DIMENSIONS:
        told = f"an index takes vectors of at most {MOST_DIMENSIONS:,} dimensions, and those of {encoder.name} have"
        remedy = "go without one, and all vectors are compared as before, or over to a model that has fewer"
        raise InvalidInput(f"{told} {encoder.dimensions:,}; {remedy}")
    return _Wanted(scope=number, number=model, encoder=encoder, vectors=vectors, partition=partition)


def _the(db: Connection, statement: str, **given: object) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(_SQL[statement], given).fetchone()
    if row is None:
        raise LookupError(statement)
    return row


def _drop(db: Connection, there: Iterable[Indexed]) -> None:
    for one in there:
        db.execute(_DROP.format(sql.Identifier(SCHEMA, one.name)))
