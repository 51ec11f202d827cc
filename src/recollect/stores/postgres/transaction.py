"""Transactions of a PostgreSQL database that run statements by name, with retries.

In reading order: the SQL statements with their macros expanded, and the fragments that many of them share; `RlsScope`,
which tells row-level security what a transaction may see; `PostgresTransaction`, one transaction with row-level
security, root locks and pipelining; then functions that run a callback in a read or write transaction, and run it again
if the server was away.
"""

import select
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, LiteralString, TypeVar, cast
from uuid import uuid4

import psycopg
from psycopg import sql

from recollect.errors import InvalidInput, ScopeError, StoreError, show
from recollect.model.scope import Scope
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.postgres.connection import UNFINISHED_IMPORT, PostgresDatabase
from recollect.stores.postgres.pool import translate_errors
from recollect.stores.sql.duplicate_guard import explain_conflict
from recollect.stores.sql.rows import STATE_COLUMNS, constant_macro, expand_macros
from recollect.stores.sql.transaction import Row, load_statements
from recollect.text.questions import QUESTION_END_CHARS


def _root_filter_sql(table: str) -> str:
    """Match rows of the root, or of any root if it is NULL.

    The planner knows the value, so it reads a single partition where it can.
    """
    return f"(%(root)s::text IS NULL OR {table}.root = %(root)s)"


def _json_fields_sql(table: str) -> str:
    """The fields of a state that have no column of their own.

    The JSON is parsed once for all fields of a row. OFFSET 0 keeps the planner from inlining the subquery.
    """
    return f"(SELECT {table}.more::jsonb AS more OFFSET 0) n"


def _vector_content_sql(contents: str) -> str:
    """The number of a content, if it has a vector."""
    return _vector_sql(contents, "content")


def _vector_sql(contents: str, column: str = "value") -> str:
    """The vector of a content, if it has one.

    It is a lookup for each row, since the planner learns too late how many vectors a model has.
    """
    return (
        f"(SELECT w.{column} FROM vectors w WHERE {_root_filter_sql('w')}"  # noqa: S608 — constant names
        f" AND (w.root, w.content, w.encoder) = ({contents}.root, {contents}.number, %(encoder)s))"
    )


def _levels_sql(table: str) -> str:
    """The level of a state, followed by the levels that it stands for."""
    return f"{table}.level || coalesce(n.more ->> 'stands_for', '')"


def _status_sql(table: str) -> str:
    """The status of a state, or 'unindexed' if it could be recalled but is in no index."""
    unindexed = "(n.more ->> 'unindexed')::boolean OR jsonb_array_length(n.more -> 'left') = 2"
    recallable = f"{table}.status IN ('active', 'superseded')"
    return f"CASE WHEN ({unindexed}) AND {recallable} THEN 'unindexed' ELSE {table}.status END"


def _vector_left_sql(table: str) -> str:
    """Whether a state was removed from the vector index."""
    return f"({table}.level IS NOT NULL AND coalesce({table}.more::jsonb -> 'left' @> '\"vector\"', false))"


def _partition_sql(table: str) -> str:
    """The number at the end of a row's partition name; a root has the same one in every table."""
    return (
        "(SELECT substring(k.relname FROM '[0-9]+$')::smallint"  # noqa: S608 — constant names
        f" FROM pg_class k WHERE k.oid = {table}.tableoid)"
    )


def _states_sql(states: str) -> str:
    """The states that have a content."""
    return f"SELECT FROM {states} s WHERE (s.root, s.content) = (c.root, c.number)"


_VECTOR_GONE_SQL = (
    f"CASE WHEN EXISTS ({_states_sql('memories')} OFFSET 0)"
    f" THEN EXISTS ({_states_sql('memories')} AND {_vector_left_sql('s')} OFFSET 0)"
    f" ELSE EXISTS ({_states_sql('versions')} AND {_vector_left_sql('s')} OFFSET 0) END"
)
"""Whether a content has no vector because its states were removed from the vector index."""

_TERMS_SQL = ", ".join(
    f"CASE WHEN n.more -> 'left' @> '\"text\"' THEN {none} ELSE c.{name} END"
    for name, none in (("entities", "''"), ("terms", "''::bytea"))
)
"""The entities and terms of a content, or empty if its state left the text index."""

_SUBTREE_SQL = (
    "SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s) AND s.path = %(path)s "
    "UNION ALL SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s)"
    " AND s.path >= %(first)s AND s.path < %(beyond)s"
)
"""The scopes matched by the macro `inside`: one scope and all below it.

These are two queries, so that the index answers each and neither reads all scopes.
"""

_ANCESTORS_SQL = (
    "ARRAY(SELECT s.number FROM scopes s WHERE s.root = %(root)s"
    " AND s.path = ANY (ARRAY(SELECT json_array_elements_text(%(ancestors)s::json))))"
)

_MACROS = {
    "values": constant_macro(", ".join(f"%({name})s" for name in STATE_COLUMNS)),
    "inside": constant_macro(_SUBTREE_SQL),
    "end": constant_macro(f"right(c.text, {QUESTION_END_CHARS})"),
    "within": _root_filter_sql,
    "noted": _json_fields_sql,
    "part": _partition_sql,
    "levels": _levels_sql,
    "standing": _status_sql,
    "worded": constant_macro(_TERMS_SQL),
    "unembedded": _vector_left_sql,
    "gone": constant_macro(f"({_VECTOR_GONE_SQL})"),
    "vector": _vector_sql,
    "scope": constant_macro("(SELECT s.number FROM scopes s WHERE s.root = %(root)s AND s.path = %(path)s)"),
    "ancestors": constant_macro(_ANCESTORS_SQL),
    "memories": constant_macro("ARRAY(SELECT json_array_elements_text(%(memories)s::json)::bigint)"),
}

_TEMPLATES = load_statements(
    *("recollect.stores.postgres", "queries.sql", "upkeep.sql", "reembedding.sql", "moving.sql", "timetable.sql")
)

ENTRIES_WITHOUT_VECTORS = "bare_entries"
"""The statement `entries` with the content's number in place of its vector, if it has one."""

_BARE_STATEMENTS = expand_macros(
    {ENTRIES_WITHOUT_VECTORS: _TEMPLATES["entries"]}, {**_MACROS, "vector": _vector_content_sql}
)

SQL = cast("Mapping[str, LiteralString]", {**expand_macros(_TEMPLATES, _MACROS), **_BARE_STATEMENTS})
"""Every statement by its name; its text comes only from the SQL files and these fragments."""

_RLS_SETTINGS = ("recollect.reach", "recollect.root", "recollect.paths")

_SET_SCOPE_NUMBERS = sql.SQL(
    "SELECT set_config('recollect.numbers', coalesce(array_agg(number)::text, '{{}}'), true)"
    " FROM scopes WHERE root = {root} AND path = ANY ({paths})"
)
"""Tell the row-level security policies the numbers of the scopes that exist so far."""


@dataclass(frozen=True, slots=True)
class RlsScope:
    """The rows a transaction may see: some scopes of a root, a whole root, or everything.

    Without `paths` it is the whole root, and without `root` everything.
    """

    root: str | None = None
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, scope: Scope | None, *, wide: bool = False) -> "RlsScope":
        """Return a scope with its ancestors, its whole root if `wide`, or everything if None."""
        if scope is None:
            return cls()
        paths = () if wide else tuple(str(one) for one in (scope, *scope.ancestors))
        return cls(scope.parts[0], paths)

    @property
    def settings_statement(self) -> sql.Composed:
        """The statement that sets this scope until the transaction ends."""
        reach = "all" if self.root is None else "scopes" if self.paths else "root"
        values = (reach, self.root or "", "\n".join(self.paths))
        return sql.SQL("SELECT {}").format(
            sql.SQL(", ").join(
                sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
                for name, value in zip(_RLS_SETTINGS, values, strict=True)
            )
        )

    @property
    def numbers_statement(self) -> sql.Composable:
        """The statement that sets the numbers of the scopes.

        A writing transaction runs it after it has locked the root.
        """
        if not self.paths:
            return sql.SQL("SELECT")
        return _SET_SCOPE_NUMBERS.format(root=sql.Literal(self.root), paths=sql.Literal(list(self.paths)))

    @property
    def full_statement(self) -> sql.Composed:
        """Both statements in one."""
        return sql.SQL("{}; {}").format(self.settings_statement, self.numbers_statement)


MAX_SCOPE_BYTES = 2_000
"""The longest scope that PostgreSQL can keep in an index, in bytes."""

PAGE_ROWS = 2_000
"""How many rows a cursor fetches at a time."""

MAX_RESERVED_NUMBERS = 256
"""How many row numbers are reserved at a time at most."""

_LOCK_ROOT = (
    sql.SQL("INSERT INTO roots (root) VALUES ({root}) ON CONFLICT DO NOTHING"),
    sql.SQL("SELECT FROM roots WHERE root = {root} FOR UPDATE"),
)
"""Lock a root. The next writer of the root waits until this transaction ends."""

_NUMBERED_STATEMENTS = {"add_content": 0, "add_memory": 1}
"""Statements that need the number of the row they add, and which counter it comes from."""

_ONE_ROW_STATEMENTS = {"add_commit", "add_memory", "add_key"}
"""Statements that have failed if they wrote no row."""

_ORDERED_STATEMENT = "heard_of"
"""The statement whose rows an index already returns in order.

The planner would assume that sorting a whole scope is as fast, so sorting is disabled while this statement runs.
"""

_SET_SORT = sql.SQL("SELECT set_config('enable_sort', {}, true)")


@dataclass(frozen=True, slots=True)
class _PendingInsert:
    """An insert that was sent, and its scope; whether it added a row is not known yet."""

    cursor: "psycopg.Cursor[Row]"
    statement: str
    parameters: Mapping[str, object]
    rls_scope: RlsScope | None


class PostgresTransaction:
    """One transaction on a connection, whose statements are called by name.

    Row-level security hides all rows until a scope is entered. A writing transaction locks each root that it enters. So
    the commits of a root come one after another, and what the transaction reads there stays true until it ends.
    """

    def __init__(self, db: "psycopg.Connection[Any]", rls_scope: RlsScope | None = None) -> None:
        """Start a reader of the rows in `rls_scope`, or without it a writer that has no scope yet."""
        self._db = db
        self._writes = rls_scope is None
        self._scope = self._applied_scope = rls_scope
        self._locked_roots: set[str] = set()
        self._cursors = count()
        self._pipeline: psycopg.Pipeline | None = None
        self._pending_inserts: list[_PendingInsert] = []
        self._numbers: tuple[deque[int], ...] = (deque(), deque())
        self._batch_size = 1
        self._sorts = True
        self.token = uuid4()

    @property
    def realm(self) -> str:
        if self._scope is None or self._scope.root is None:
            raise InvalidInput(
                "the transaction has no scope yet, so it has no time and commit; read something of a scope first"
            )
        return self._scope.root

    @property
    def locked_roots(self) -> frozenset[str]:
        """The roots that this transaction has locked."""
        return frozenset(self._locked_roots)

    def enter_scope(self, scope: Scope, *, wide: bool = False) -> None:
        if self._writes and len(str(scope).encode()) > MAX_SCOPE_BYTES:
            raise ScopeError(
                f"a scope of more than {MAX_SCOPE_BYTES} bytes is too long for PostgreSQL; shorten its parts"
            )
        self.switch_scope(RlsScope.of(scope, wide=wide))

    def switch_scope(self, rls_scope: RlsScope) -> None:
        """Continue in another scope.

        It is sent with the next statement, unless the database already has it. A writing transaction then locks the
        root.
        """
        self._scope = rls_scope

    @contextmanager
    def use_pipeline(self) -> Iterator[None]:
        """Send statements inside the block without waiting for the answer of each.

        Answers arrive with the next statement whose rows are read, or at the end of the block. The first error among
        them is raised then, as if that statement had been waited for.
        """
        failed: BaseException | None = None
        try:
            with self._db.pipeline() as self._pipeline:
                try:
                    yield
                except BaseException as error:
                    failed = error
                if failed is None or (isinstance(failed, Exception) and not isinstance(failed, psycopg.Error)):
                    try:
                        self._flush_pipeline()
                        self._pipeline.sync()
                        self._check_inserts()
                    except BaseException as error:  # it happened before the error that was raised
                        failed = error
        except psycopg.Error as error:  # the driver would log it if the first error had passed through here
            failed = failed or error
        finally:
            self._pipeline = None
        if isinstance(failed, IndexError) and self._db.closed:  # the driver loses count of its answers
            raise psycopg.OperationalError("the connection ended before all answers arrived") from failed
        if failed is not None:
            raise failed

    def fetch_all(self, statement: str, /, **params: object) -> list[Row]:
        return self._fetch_rows(self._query(statement, params))

    def fetch_each(self, statement: str, /, **params: object) -> Iterator[Row]:
        cursor = sql.Identifier(f"each_{next(self._cursors)}")  # a cursor on the server
        declared = sql.SQL("DECLARE {} NO SCROLL CURSOR FOR ").format(cursor)
        self._set_sorting(statement)
        self._execute(declared + sql.SQL(SQL[statement]), params)
        fetch = sql.SQL("FETCH {} FROM {}").format(sql.Literal(PAGE_ROWS), cursor)
        while rows := self._fetch_rows(self._execute(fetch, {})):
            yield from rows
        self._execute(sql.SQL("CLOSE {}").format(cursor), {})

    def fetch_first(self, statement: str, /, **params: object) -> Row | None:
        if statement in _NUMBERED_STATEMENTS:
            number = self._next_number(_NUMBERED_STATEMENTS[statement])
            self.execute(statement, number=number, **params)
            return (number,)
        cursor = self._query(statement, params)
        self._flush_pipeline()
        row = cursor.fetchone()
        self._check_inserts()
        return row

    def fetch_one(self, statement: str, /, **params: object) -> Row:
        row = self.fetch_first(statement, **params)
        if row is None:
            raise LookupError(statement)
        return row

    def execute(self, statement: str, /, **params: object) -> None:
        cursor = self._execute(SQL[statement], params)
        if statement in _ONE_ROW_STATEMENTS:
            self._pending_inserts.append(_PendingInsert(cursor, statement, params, self._scope))
            if self._pipeline is None:
                self._check_inserts()

    def fetch_composed(self, statement: sql.Composed) -> list[Row]:
        """Return the rows of a statement composed at run time, with its parameters filled in."""
        self._apply_scope()
        return self._fetch_rows(self._db.execute(statement, binary=True))

    def _query(self, statement: str, params: dict[str, object]) -> "psycopg.Cursor[Row]":
        self._set_sorting(statement)
        return self._execute(SQL[statement], params)

    def _flush_pipeline(self) -> None:
        """Send everything that is queued before waiting for an answer.

        The driver does not do this in a pipeline. If the queue exceeds the socket buffer, driver and server would wait
        for each other forever.
        """
        pgconn = self._db.pgconn
        if self._pipeline is None or not pgconn.flush():
            return
        ready = select.poll()
        ready.register(pgconn.socket, select.POLLIN | select.POLLOUT)
        while pgconn.flush():
            for _, event in ready.poll():
                if event & ~select.POLLOUT:  # the server may need to send answers first
                    pgconn.consume_input()

    def _set_sorting(self, statement: str) -> None:
        sorts = statement != _ORDERED_STATEMENT
        if sorts is not self._sorts:
            self._sorts = sorts
            self._db.execute(_SET_SORT.format(sql.Literal("on" if sorts else "off")))

    def _execute(self, statement: "LiteralString | sql.Composed", params: dict[str, object]) -> "psycopg.Cursor[Row]":
        self._apply_scope()
        root = None if self._scope is None else self._scope.root
        return self._db.execute(statement, {**params, "root": root, "token": self.token}, binary=True)

    def _fetch_rows(self, cursor: "psycopg.Cursor[Row]") -> list[Row]:
        self._flush_pipeline()
        rows = cursor.fetchall()
        self._check_inserts()
        return rows

    def _check_inserts(self) -> None:
        """Check that every pending insert added its row; raise the error of the first that did not.

        This runs once the answers have arrived.
        """
        inserts, self._pending_inserts = self._pending_inserts, []
        for insert in inserts:
            if insert.cursor.rowcount:
                continue
            if insert.statement == "add_commit":
                raise StoreError(UNFINISHED_IMPORT)
            if insert.statement == "add_key":
                raise StoreError(f"the memory {show(insert.parameters['id'])} does not exist; put it before its key")
            self._scope = insert.rls_scope
            raise explain_conflict(self, insert.parameters)

    def _apply_scope(self) -> None:
        rls_scope = self._scope
        if rls_scope is None or rls_scope == self._applied_scope:
            return
        parts: list[sql.Composable] = [rls_scope.settings_statement]
        if self._writes and rls_scope.root is not None and rls_scope.root not in self._locked_roots:
            root = sql.Literal(rls_scope.root)
            parts += [one.format(root=root) for one in _LOCK_ROOT]
            self._locked_roots.add(rls_scope.root)
            self._numbers = (deque(), deque())  # other writers may have used the root since these were reserved
        parts.append(rls_scope.numbers_statement)
        self._applied_scope = rls_scope
        for statements in [[part] for part in parts] if self._pipeline else [parts]:  # a pipeline takes them one by one
            self._db.execute(sql.SQL("; ").join(statements))

    def _next_number(self, counter: int) -> int:
        """Return the number of the next content or memory; each reserved batch is twice the last, up to a limit."""
        if not self._numbers[counter]:
            found = self.fetch_all("next_numbers", count=self._batch_size)
            self._numbers = tuple(deque(numbers) for numbers in zip(*found, strict=True))
            self._batch_size = min(2 * self._batch_size, MAX_RESERVED_NUMBERS)
        return self._numbers[counter].popleft()


T = TypeVar("T")

ALL_SCOPES = RlsScope()


@contextmanager
def open_snapshot(database: PostgresDatabase, rls_scope: RlsScope) -> Iterator[PostgresTransaction]:
    """Open a transaction that sees the rows in `rls_scope` as of one moment.

    For rows that are read only once and in parts: the transaction is not retried.
    """
    with translate_errors(database.name), _begin_read(database, rls_scope) as transaction:
        yield transaction


@contextmanager
def _begin_read(database: PostgresDatabase, rls_scope: RlsScope) -> Iterator[PostgresTransaction]:
    with database.read_transaction(rls_scope.full_statement) as db:
        yield PostgresTransaction(db, rls_scope)


def read_with_retry(database: PostgresDatabase, rls_scope: RlsScope, read: Callable[[PostgresTransaction], T]) -> T:
    """Return what `read` returns from the rows in `rls_scope`; it may run more than once."""

    def once() -> T:
        with _begin_read(database, rls_scope) as transaction:
            return read(transaction)

    return database.retry(once)


def write_everywhere(database: PostgresDatabase, change: Callable[[PostgresTransaction], T]) -> T:
    """Return what `change` returns after a write that covers all roots.

    It may run again after a lost connection, and must then find done what its first run did.
    """
    database.refuse_if_read_only()

    def once() -> T:
        with database.write_transaction() as db:
            transaction = PostgresTransaction(db)
            transaction.switch_scope(ALL_SCOPES)
            return change(transaction)

    return database.retry(once)


class PostgresTransactionRunner:
    """Runs transactions that cover all roots or none in an open PostgreSQL database."""

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS, create: bool = True) -> None:
        self._database = PostgresDatabase(target, timeout=timeout, create=create)

    def read(self, read: Callable[[PostgresTransaction], T]) -> T:
        return read_with_retry(self._database, ALL_SCOPES, read)

    def write(self, change: Callable[[PostgresTransaction], T]) -> T:
        return write_everywhere(self._database, change)

    def close(self) -> None:
        self._database.close()
