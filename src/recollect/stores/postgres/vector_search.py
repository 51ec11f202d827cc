"""Nearness in the database: similarities of vectors that stay there, and the nearest by the index of a scope."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from recollect.errors import StoreBusy
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.retrieval.evidence import Probe, Vector
from recollect.retrieval.remote_similarity import Nearest
from recollect.retrieval.vectors import cosines, error_bound
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.rls_scope import Reach
from recollect.stores.postgres.transaction import PostgresSession
from recollect.stores.postgres.transaction_runner import seen
from recollect.stores.postgres.vector_index import index_name
from recollect.stores.sql.merged_columns import View
from recollect.stores.sql.stats import present_model
from recollect.stores.sql.transaction import Session
from recollect.stores.write_checks import refuse_other_model

T = TypeVar("T")

NEAREST = 400
"""How many of the nearest the index of a scope is asked for, and among how many it looks for them: more find what fewer
pass over and leave fewer to be asked about, and take longer."""

HALF_ERROR = 2.0**-8
"""How far a cosine by the index may be from the true one. It has each vector at half precision, scaled to length 1 and
rounded again, and the question likewise: six roundings take a 2,048th each at most, and sums of 32 bits the rest."""

ONE_IN = 8
"""If one in so many is asked about, or more, all are read instead, which is faster than looking for them one by one."""

_FROM = "FROM vectors WHERE root = {root} AND encoder = {encoder} AND "
_NEAR = "SELECT content, -(value OPERATOR({vectors}.<#>) {vector}::{vectors}.vector) " + _FROM
_HERE = "scope = ANY (ARRAY(SELECT number FROM scopes WHERE root = {root} AND path = ANY ({paths})))"
_THESE = " AND content = ANY ({contents}::bigint[])"

_ALL = sql.SQL(_NEAR + _HERE)
_SOME = sql.SQL(_NEAR + _HERE + _THESE)
_VECTORS = sql.SQL("SELECT content, value " + _FROM + _HERE + _THESE)
_NEAREST = sql.SQL(
    _NEAR + "scope = {scope} ORDER BY value::{vectors}.halfvec({dimensions})"
    " OPERATOR({vectors}.<=>) {vector}::{vectors}.vector::{vectors}.halfvec({dimensions}) LIMIT {count}"
)
_BY_INDEX = sql.SQL(
    "SELECT set_config('hnsw.ef_search', {}, true), set_config('enable_sort', 'off', true),"
    " set_config('enable_seqscan', 'off', true)"
)
"""The index is asked even where the planner thinks that sorting all would be faster."""

_TOGETHER = sql.SQL(
    "SELECT string_agg(int8send(content) || float8send(near), ''::bytea) FROM ({}) found (content, near)"
)
_PAIR = np.dtype([("content", ">i8"), ("near", ">f8")])
"""Many contents with their similarities as one value: rows would each be taken apart by Python."""


def indexed_scope(db: Session, scope: Scope, encoder: int) -> int | None:
    """The number of the scope, if its vectors of this model have an index that is whole."""
    row = db.one("indexed_scope", path=str(scope), named=index_name(encoder, 0)[:-1])
    return None if row is None else int(row[0])


def _array(numbers: Iterable[int]) -> str:
    """Numbers as the server writes them, which the driver would do one by one."""
    return f"{{{','.join(map(str, numbers))}}}"


class PostgresNearby:
    """What is near to one direction, in a view whose vectors stay in the database.

    What a content says never changes, nor does the direction that a model gave it, so each question is a transaction of
    its own; only what is erased meanwhile is no longer there.
    """

    def __init__(
        self, database: Database, probe: Probe, vector: Vector, view: View, encoder: int, indexed: int | None
    ) -> None:
        self._database = database
        self._probe = probe
        self._vector = vector
        self._view = view
        self._encoder = encoder
        self._indexed = indexed
        self._near = np.full(len(view.contents), np.nan)
        self._bare = [str(shelf.scope) for shelf in view.shelves if shelf.contents is not None]
        self._marks: dict[str, sql.Composable] = {
            "vectors": sql.Identifier(database.vectors),
            "vector": sql.Literal(f"[{','.join(map(repr, vector.tolist()))}]"),
            "root": sql.Literal(probe.scope.parts[0]),
            "encoder": sql.Literal(encoder),
            "paths": sql.Literal(self._bare),
        }

    @property
    def rows(self) -> Rows:
        return np.flatnonzero(self._view.contents)

    @property
    def error(self) -> float:
        return error_bound(len(self._vector))

    def nearest(self) -> Nearest:
        """The nearest of the scope itself, if it has an index; of what others share it says nothing."""
        if self._indexed is None:
            return Nearest(np.empty(0, dtype=np.intp), np.empty(0), 1.0)
        given = {"scope": self._indexed, "dimensions": len(self._vector), "count": NEAREST}
        found = self._pairs(_NEAREST, _BY_INDEX.format(sql.Literal(str(NEAREST))), **given)
        rows = self._view.rows_of(found["content"].astype(np.int64))
        told = len(found) > 0 and self._bare == [str(self._probe.scope)]
        ceiling = min(float(found["near"][-1]) + 2.0 * HALF_ERROR, 1.0) if told else 1.0
        return Nearest(rows, self._learn(rows, found), ceiling)

    def similarities(self, rows: Rows) -> Floats:
        if ONE_IN * len(rows) >= len(self._near):
            return self._learn(rows, self._pairs(_ALL))
        return self._learn(rows, self._pairs(_SOME, contents=_array(np.unique(self._view.contents[rows]).tolist())))

    def true_similarities(self, rows: Sequence[int]) -> Floats:
        """The similarities of these rows, to the last bit; of one that was erased since, what was known of it."""
        asked = np.asarray(rows, dtype=np.intp)
        found: Floats = self._near[asked]
        held = self._view.held[asked]
        if held.any():
            found[held] = self._view.true_similarities(self._vector[None, :], None, asked[held].tolist())
        contents: list[int] = self._view.contents[asked].tolist()
        statement = self._composed(_VECTORS, contents=_array(filter(None, contents)))
        vectors: dict[int, bytes] = dict(self._looked(lambda db: db.composed(statement)))
        there = [place for place, content in enumerate(contents) if content in vectors]
        if there:
            matrix = np.frombuffer(b"".join(vectors[contents[place]] for place in there), dtype="<f4")
            found[there] = cosines(matrix.reshape(len(there), -1), self._vector)
        return found

    def _learn(self, rows: Rows, found: NDArray[np.void]) -> Floats:
        """Keep what was found of these rows, and give it; NaN for those of which nothing was."""
        order = np.argsort(found["content"], kind="stable")
        contents, near = found["content"][order], np.clip(found["near"][order], -1.0, 1.0)
        asked = self._view.contents[rows]
        places = np.searchsorted(contents, asked)
        there = np.zeros(len(rows), dtype=np.bool_)
        within = places < len(contents)
        there[within] = contents[places[within]] == asked[within]
        learned = np.full(len(rows), np.nan)
        learned[there] = near[places[there]]
        self._near[rows[there]] = learned[there]
        return learned

    def _pairs(self, statement: sql.SQL, first: sql.Composed | None = None, **given: object) -> NDArray[np.void]:
        """Contents and their similarities, the first one first."""
        together = _TOGETHER.format(self._composed(statement, **given))

        def look(db: PostgresSession) -> bytes:
            if first is not None:
                db.composed(first)
            ((found,),) = db.composed(together)
            return found or b""

        return np.frombuffer(self._looked(look), dtype=_PAIR)

    def _composed(self, statement: sql.SQL, **given: object) -> sql.Composed:
        return statement.format(**self._marks, **{name: sql.Literal(value) for name, value in given.items()})

    def _looked(self, look: Callable[[PostgresSession], T]) -> T:
        """What is seen there, as long as the vectors are of the model that the question is of."""

        def once(db: PostgresSession) -> T:
            number, model = present_model(db)
            refuse_other_model(model, self._probe.encoder)
            if number != self._encoder:
                raise StoreBusy("all vectors were made anew while some were asked for; ask again")
            return look(db)

        return seen(self._database, Reach.of(self._probe.scope), once)
