"""Nearness in the database: similarities of vectors that stay there, and the nearest by the index of a scope."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from recollect.errors import StoreBusy
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.retrieval.evidence import EvidenceRequest, Vector
from recollect.retrieval.remote_similarity import NearestRows
from recollect.retrieval.vectors import cosine_error_bound, cosines
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.rls_scope import RlsScope
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.postgres.transaction_runner import read_with_retry
from recollect.stores.postgres.vector_index import index_name
from recollect.stores.sql.merged_columns import MergedColumns
from recollect.stores.sql.stats import read_current_encoder
from recollect.stores.sql.transaction import Transaction
from recollect.stores.write_checks import refuse_other_encoder

T = TypeVar("T")

MAX_NEAREST = 400
"""How many of the nearest the index of a scope is asked for, and among how many it looks for them: more find what fewer
pass over and leave fewer to be asked about, and take longer."""

HALF_PRECISION_ERROR = 2.0**-8
"""How far a cosine by the index may be from the true one. It has each vector at half precision, scaled to length 1 and
rounded again, and the question likewise: six roundings take a 2,048th each at most, and sums of 32 bits the rest."""

FULL_READ_DIVISOR = 8
"""If one in so many is asked about, or more, all are read instead, which is faster than looking for them one by one."""

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
"""The index is asked even where the planner thinks that sorting all would be faster."""

_PACK_PAIRS = sql.SQL(
    "SELECT string_agg(int8send(content) || float8send(near), ''::bytea) FROM ({}) found (content, near)"
)
_PAIR_DTYPE = np.dtype([("content", ">i8"), ("near", ">f8")])
"""Many contents with their similarities as one value: rows would each be taken apart by Python."""


def find_indexed_scope(db: Transaction, scope: Scope, encoder: int) -> int | None:
    """The number of the scope, if its vectors of this model have an index that is whole."""
    row = db.fetch_first("indexed_scope", path=str(scope), named=index_name(encoder, 0)[:-1])
    return None if row is None else int(row[0])


def _format_array(numbers: Iterable[int]) -> str:
    """Numbers as the server writes them, which the driver would do one by one."""
    return f"{{{','.join(map(str, numbers))}}}"


class PostgresVectorSearch:
    """What is near to one direction, in a view whose vectors stay in the database.

    What a content says never changes, nor does the direction that a model gave it, so each question is a transaction of
    its own; only what is erased meanwhile is no longer there.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        probe: EvidenceRequest,
        vector: Vector,
        view: MergedColumns,
        encoder: int,
        indexed: int | None,
    ) -> None:
        self._database = database
        self._probe = probe
        self._vector = vector
        self._view = view
        self._encoder = encoder
        self._indexed = indexed
        self._similarities = np.full(len(view.content_numbers), np.nan)
        self._remote_scopes = [str(shelf.scope) for shelf in view.parts if shelf.contents is not None]
        self._parameters: dict[str, sql.Composable] = {
            "vectors": sql.Identifier(database.vectors),
            "vector": sql.Literal(f"[{','.join(map(repr, vector.tolist()))}]"),
            "root": sql.Literal(probe.scope.parts[0]),
            "encoder": sql.Literal(encoder),
            "paths": sql.Literal(self._remote_scopes),
        }

    @property
    def rows(self) -> Rows:
        return np.flatnonzero(self._view.content_numbers)

    @property
    def error(self) -> float:
        return cosine_error_bound(len(self._vector))

    def nearest(self) -> NearestRows:
        """The nearest of the scope itself, if it has an index; of what others share it says nothing."""
        if self._indexed is None:
            return NearestRows(np.empty(0, dtype=np.intp), np.empty(0), 1.0)
        given = {"scope": self._indexed, "dimensions": len(self._vector), "count": MAX_NEAREST}
        found = self._fetch_pairs(_SELECT_NEAREST, _FORCE_INDEX.format(sql.Literal(str(MAX_NEAREST))), **given)
        rows = self._view.rows_of_contents(found["content"].astype(np.int64))
        told = len(found) > 0 and self._remote_scopes == [str(self._probe.scope)]
        ceiling = min(float(found["near"][-1]) + 2.0 * HALF_PRECISION_ERROR, 1.0) if told else 1.0
        return NearestRows(rows, self._record_similarities(rows, found), ceiling)

    def similarities(self, rows: Rows) -> Floats:
        if FULL_READ_DIVISOR * len(rows) >= len(self._similarities):
            return self._record_similarities(rows, self._fetch_pairs(_ALL_SIMILARITIES))
        return self._record_similarities(
            rows,
            self._fetch_pairs(
                _SOME_SIMILARITIES, contents=_format_array(np.unique(self._view.content_numbers[rows]).tolist())
            ),
        )

    def true_similarities(self, rows: Sequence[int]) -> Floats:
        """The similarities of these rows, to the last bit; of one that was erased since, what was known of it."""
        asked = np.asarray(rows, dtype=np.intp)
        found: Floats = self._similarities[asked]
        held = self._view.has_local_vectors[asked]
        if held.any():
            found[held] = self._view.compute_exact_similarities(self._vector[None, :], None, asked[held].tolist())
        contents: list[int] = self._view.content_numbers[asked].tolist()
        statement = self._compose(_SELECT_VECTORS, contents=_format_array(filter(None, contents)))
        vectors: dict[int, bytes] = dict(self._read(lambda db: db.fetch_composed(statement)))
        there = [place for place, content in enumerate(contents) if content in vectors]
        if there:
            matrix = np.frombuffer(b"".join(vectors[contents[place]] for place in there), dtype="<f4")
            found[there] = cosines(matrix.reshape(len(there), -1), self._vector)
        return found

    def _record_similarities(self, rows: Rows, found: NDArray[np.void]) -> Floats:
        """Keep what was found of these rows, and give it; NaN for those of which nothing was."""
        order = np.argsort(found["content"], kind="stable")
        contents, near = found["content"][order], np.clip(found["near"][order], -1.0, 1.0)
        asked = self._view.content_numbers[rows]
        places = np.searchsorted(contents, asked)
        there = np.zeros(len(rows), dtype=np.bool_)
        within = places < len(contents)
        there[within] = contents[places[within]] == asked[within]
        learned = np.full(len(rows), np.nan)
        learned[there] = near[places[there]]
        self._similarities[rows[there]] = learned[there]
        return learned

    def _fetch_pairs(self, statement: sql.SQL, first: sql.Composed | None = None, **given: object) -> NDArray[np.void]:
        """Contents and their similarities, the first one first."""
        together = _PACK_PAIRS.format(self._compose(statement, **given))

        def look(db: PostgresTransaction) -> bytes:
            if first is not None:
                db.fetch_composed(first)
            ((found,),) = db.fetch_composed(together)
            return found or b""

        return np.frombuffer(self._read(look), dtype=_PAIR_DTYPE)

    def _compose(self, statement: sql.SQL, **given: object) -> sql.Composed:
        return statement.format(**self._parameters, **{name: sql.Literal(value) for name, value in given.items()})

    def _read(self, look: Callable[[PostgresTransaction], T]) -> T:
        """What is seen there, as long as the vectors are of the model that the question is of."""

        def once(db: PostgresTransaction) -> T:
            number, model = read_current_encoder(db)
            refuse_other_encoder(model, self._probe.encoder)
            if number != self._encoder:
                raise StoreBusy("all vectors were made anew while some were asked for; ask again")
            return look(db)

        return read_with_retry(self._database, RlsScope.of(self._probe.scope), once)
