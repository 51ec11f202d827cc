"""Transactions of a PostgreSQL database that run statements by name, with retries.

In reading order: `PostgresTransaction`, one transaction with row-level security, root locks and pipelining; then
functions that run a callback in a read or write transaction, and run it again if the server was away.
"""

import select
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, LiteralString, TypeVar
from uuid import uuid4

import psycopg
from psycopg import sql

from recollect.errors import InvalidInput, ScopeError, StoreError, show
from recollect.model.scope import Scope
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.postgres.connection import UNFINISHED_IMPORT, PostgresDatabase
from recollect.stores.postgres.pool import translate_errors
from recollect.stores.postgres.sql import SQL, RlsScope
from recollect.stores.sql.duplicate_guard import explain_conflict
from recollect.stores.sql.transaction import Row

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

    def __init__(self, db: "psycopg.Connection[Any]", reach: RlsScope | None = None) -> None:
        """Start a reader of the rows in `reach`, or without it a writer that has no scope yet."""
        self._db = db
        self._writes = reach is None
        self._scope = self._applied_scope = reach
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
            raise InvalidInput("a transaction has a date and a commit once it is asked for something of a scope")
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

    def switch_scope(self, reach: RlsScope) -> None:
        """Continue in another scope.

        It is sent with the next statement, unless the database already has it. A writing transaction then locks the
        root.
        """
        self._scope = reach

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
            raise psycopg.OperationalError("the connection ended before all was answered") from failed
        if failed is not None:
            raise failed

    def fetch_all(self, statement: str, /, **given: object) -> list[Row]:
        return self._fetch_rows(self._query(statement, given))

    def fetch_each(self, statement: str, /, **given: object) -> Iterator[Row]:
        cursor = sql.Identifier(f"each_{next(self._cursors)}")  # a cursor on the server
        declared = sql.SQL("DECLARE {} NO SCROLL CURSOR FOR ").format(cursor)
        self._set_sorting(statement)
        self._execute(declared + sql.SQL(SQL[statement]), given)
        fetch = sql.SQL("FETCH {} FROM {}").format(sql.Literal(PAGE_ROWS), cursor)
        while rows := self._fetch_rows(self._execute(fetch, {})):
            yield from rows
        self._execute(sql.SQL("CLOSE {}").format(cursor), {})

    def fetch_first(self, statement: str, /, **given: object) -> Row | None:
        if statement in _NUMBERED_STATEMENTS:
            number = self._next_number(_NUMBERED_STATEMENTS[statement])
            self.execute(statement, number=number, **given)
            return (number,)
        done = self._query(statement, given)
        self._flush_pipeline()
        row = done.fetchone()
        self._check_inserts()
        return row

    def fetch_one(self, statement: str, /, **given: object) -> Row:
        row = self.fetch_first(statement, **given)
        if row is None:
            raise LookupError(statement)
        return row

    def execute(self, statement: str, /, **given: object) -> None:
        done = self._execute(SQL[statement], given)
        if statement in _ONE_ROW_STATEMENTS:
            self._pending_inserts.append(_PendingInsert(done, statement, given, self._scope))
            if self._pipeline is None:
                self._check_inserts()

    def fetch_composed(self, statement: sql.Composed) -> list[Row]:
        """Return the rows of a statement composed at run time, with its parameters filled in."""
        self._apply_scope()
        return self._fetch_rows(self._db.execute(statement, binary=True))

    def _query(self, statement: str, given: dict[str, object]) -> "psycopg.Cursor[Row]":
        self._set_sorting(statement)
        return self._execute(SQL[statement], given)

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

    def _execute(self, statement: "LiteralString | sql.Composed", given: dict[str, object]) -> "psycopg.Cursor[Row]":
        self._apply_scope()
        return self._db.execute(statement, self._with_root(given), binary=True)

    def _fetch_rows(self, done: "psycopg.Cursor[Row]") -> list[Row]:
        self._flush_pipeline()
        rows = done.fetchall()
        self._check_inserts()
        return rows

    def _check_inserts(self) -> None:
        """Check that every pending insert added its row; raise the error of the first that did not.

        This runs once the answers have arrived.
        """
        sent, self._pending_inserts = self._pending_inserts, []
        for one in sent:
            if one.cursor.rowcount:
                continue
            if one.statement == "add_commit":
                raise StoreError(UNFINISHED_IMPORT)
            if one.statement == "add_key":
                raise StoreError(f"there is no memory {show(one.parameters['id'])} to keep a key of; put it first")
            self._scope = one.rls_scope
            raise explain_conflict(self, one.parameters)

    def _apply_scope(self) -> None:
        reach = self._scope
        if reach is None or reach == self._applied_scope:
            return
        parts: list[sql.Composable] = [reach.settings_statement]
        if self._writes and reach.root is not None and reach.root not in self._locked_roots:
            root = sql.Literal(reach.root)
            parts += [one.format(root=root) for one in _LOCK_ROOT]
            self._locked_roots.add(reach.root)
            self._numbers = (deque(), deque())  # other writers may have used the root since these were reserved
        parts.append(reach.numbers_statement)
        self._applied_scope = reach
        for together in [[part] for part in parts] if self._pipeline else [parts]:  # a pipeline takes them one by one
            self._db.execute(sql.SQL("; ").join(together))

    def _next_number(self, place: int) -> int:
        """Return the number of the next content or memory; each reserved batch is twice the last, up to a limit."""
        if not self._numbers[place]:
            found = self.fetch_all("next_numbers", count=self._batch_size)
            self._numbers = tuple(deque(numbers) for numbers in zip(*found, strict=True))
            self._batch_size = min(2 * self._batch_size, MAX_RESERVED_NUMBERS)
        return self._numbers[place].popleft()

    def _with_root(self, given: dict[str, object]) -> dict[str, object]:
        return {**given, "root": None if self._scope is None else self._scope.root, "token": self.token}


T = TypeVar("T")

ALL_SCOPES = RlsScope()


@contextmanager
def open_snapshot(database: PostgresDatabase, reach: RlsScope) -> Iterator[PostgresTransaction]:
    """Open a transaction that sees the rows in `reach` as of one moment.

    For rows that are read only once and in parts: the transaction is not retried.
    """
    with translate_errors(database.name), _begin_read(database, reach) as session:
        yield session


@contextmanager
def _begin_read(database: PostgresDatabase, reach: RlsScope) -> Iterator[PostgresTransaction]:
    with database.read_transaction(reach.full_statement) as db:
        yield PostgresTransaction(db, reach)


def read_with_retry(database: PostgresDatabase, reach: RlsScope, look: Callable[[PostgresTransaction], T]) -> T:
    """Return what `look` reads of the rows in `reach`; it may run more than once."""

    def once() -> T:
        with _begin_read(database, reach) as session:
            return look(session)

    return database.retry(once)


def write_everywhere(database: PostgresDatabase, change: Callable[[PostgresTransaction], T]) -> T:
    """Return what `change` returns after a write that covers all roots.

    It may run again after a lost connection, and must then find done what its first run did.
    """
    database.refuse_if_read_only()

    def once() -> T:
        with database.write_transaction() as db:
            session = PostgresTransaction(db)
            session.switch_scope(ALL_SCOPES)
            return change(session)

    return database.retry(once)


class PostgresTransactionRunner:
    """Runs transactions that cover all roots or none in an open PostgreSQL database."""

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS, make: bool = True) -> None:
        self._database = PostgresDatabase(target, patience=timeout, make=make)

    def read(self, look: Callable[[PostgresTransaction], T]) -> T:
        return read_with_retry(self._database, ALL_SCOPES, look)

    def write(self, change: Callable[[PostgresTransaction], T]) -> T:
        return write_everywhere(self._database, change)

    def close(self) -> None:
        self._database.close()
