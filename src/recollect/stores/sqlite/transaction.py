"""Transactions of a SQLite file, the SQL statements they run, and the pool of readers.

The macros fill in what many statements share; `SQL` has every statement by name.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import apsw

from recollect.errors import StoreError
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.model.scope import Scope
from recollect.stores.sql.rows import STATE_COLUMNS, constant_macro, expand_macros
from recollect.stores.sql.transaction import Row, load_statements
from recollect.stores.sqlite import fork
from recollect.stores.sqlite.connection import SqliteDatabase, translate_errors
from recollect.text.questions import QUESTION_END_CHARS


class SqliteTransaction:
    """Runs statements on a connection inside a transaction; there is a single realm.

    Statements select the scopes they need.
    """

    realm = ""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def enter_scope(self, scope: Scope, *, wide: bool = False) -> None:
        """Do nothing: every statement can see all scopes."""

    def fetch_all(self, statement: str, /, **params: object) -> list[Row]:
        return fetch_all(self._db, statement, **params)

    def fetch_each(self, statement: str, /, **params: object) -> Iterator[Row]:
        return iter(self._db.execute(SQL[statement], params))

    def fetch_first(self, statement: str, /, **params: object) -> Row | None:
        return fetch_first(self._db, statement, **params)

    def fetch_one(self, statement: str, /, **params: object) -> Row:
        return fetch_one(self._db, statement, **params)

    def execute(self, statement: str, /, **params: object) -> None:
        self._db.execute(SQL[statement], params)


_SUBTREE_SQL = (
    "SELECT number FROM scopes WHERE path = :path "
    "UNION ALL SELECT number FROM scopes WHERE path >= :first AND path < :beyond"
)
"""The scopes of the macro `inside`; two queries, so that each can use the index."""


def _levels_sql(table: str) -> str:
    """Return SQL for the level of a state, followed by the levels it stands for."""
    return f"{table}.level || coalesce({table}.more ->> '$.stands_for', '')"


def _status_sql(table: str) -> str:
    """Return SQL for the status of a state, or 'unindexed' if a recallable state has no index."""
    away = f"{table}.more ->> '$.unindexed' OR {_left_indexes_sql(table)} = '{ALL_INDEXES_JSON}'"
    return f"iif(({away}) AND {table}.status IN ('active', 'superseded'), 'unindexed', {table}.status)"


def _terms_sql(table: str) -> str:
    """Return SQL for a content's names and terms, empty if the state left the text index."""
    return ", ".join(
        f"iif(instr({_left_indexes_sql(table)}, 'text') > 0, {none}, c.{name})" for name, none in TERM_COLUMNS.items()
    )


def _left_indexes_sql(table: str) -> str:
    return f"iif({table}.level IS NULL, '', coalesce({table}.more ->> '$.left', ''))"


def _vector_left_sql(table: str) -> str:
    """Return SQL for whether a state has left the vector index."""
    return f"instr({_left_indexes_sql(table)}, 'vector') > 0"


_VECTOR_GONE_SQL = (
    "CASE WHEN EXISTS (SELECT 1 FROM memories s WHERE s.content = c.number)"  # noqa: S608 — constant names
    f" THEN EXISTS (SELECT 1 FROM memories s WHERE s.content = c.number AND {_vector_left_sql('s')})"
    f" ELSE EXISTS (SELECT 1 FROM versions s WHERE s.content = c.number AND {_vector_left_sql('s')}) END"
)
"""Whether a content has no vector because a state with it left the vector index."""

TERM_COLUMNS = {"entities": "''", "terms": "x''"}
"""The columns of the text index, and the value that means empty."""

ALL_INDEXES_JSON = '["text","vector"]'

_MACROS = {
    "values": constant_macro(", ".join(f":{name}" for name in STATE_COLUMNS)),
    "inside": constant_macro(_SUBTREE_SQL),
    "end": constant_macro(f"substr(c.text, -{QUESTION_END_CHARS})"),
    "levels": _levels_sql,
    "standing": _status_sql,
    "worded": _terms_sql,
    "unembedded": _vector_left_sql,
    "gone": constant_macro(f"({_VECTOR_GONE_SQL})"),
}

SQL: Mapping[str, str] = expand_macros(
    load_statements("recollect.stores.sqlite", "queries.sql", "upkeep.sql", "reembedding.sql", "timetable.sql"), _MACROS
)
"""Every statement by its name."""


def fetch_all(db: apsw.Connection, name: str, /, **params: Any) -> list[Row]:
    """Return all rows of a statement."""
    return list(db.execute(SQL[name], params))


def fetch_first(db: apsw.Connection, name: str, /, **params: Any) -> Row | None:
    """Return the first row of a statement, or None."""
    return next(iter(db.execute(SQL[name], params)), None)


def fetch_one(db: apsw.Connection, name: str, /, **params: Any) -> Row:
    """Return the row of a statement that always has one."""
    return next(iter(db.execute(SQL[name], params)))


class ReaderPool:
    """A pool of read-only connections, each lent to one thread at a time.

    As many are opened as threads read at once, so no reader waits; up to `kept` stay open.
    """

    def __init__(self, database: SqliteDatabase, *, kept: int = 8) -> None:
        self._database = database
        self._max_idle = kept
        self._lock = ForkSafeLock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        register_fork_aware(self)

    @contextmanager
    def borrow(self) -> Iterator[apsw.Connection]:
        """Lend a connection whose statements all see one snapshot, whatever is written meanwhile."""
        with fork.delay_forks(), translate_errors(self._database.name):
            db = self._take_connection()
            try:
                self._database.refuse_if_written()
                db.execute("BEGIN")
                self._database.refuse_if_replaced(db)  # its first read also fixes the snapshot
                yield db
                self._database.refuse_if_written()  # meanwhile
            except apsw.Error:
                self._database.refuse_if_changed()
                raise
            finally:
                self._return_connection(db)

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        with self._lock.rlock:
            self._closed = True
            idle, self._idle = self._idle, []
        with ExitStack() as stack:
            for db in idle:
                stack.callback(self._database.disconnect, db)

    def after_fork(self) -> None:
        """Start without connections."""
        self._idle = []

    def _take_connection(self) -> apsw.Connection:
        with self._lock.rlock:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._idle:
                return self._idle.pop()
        return self._database.connect_reading()

    def _return_connection(self, db: apsw.Connection) -> None:
        if fork.is_inherited(db):
            return
        if db.in_transaction:
            db.execute("ROLLBACK")
        with self._lock.rlock:
            # an unfinished statement would keep the old snapshot
            keep = not self._closed and len(self._idle) < self._max_idle and db.txn_state() == apsw.SQLITE_TXN_NONE
            if keep:
                self._idle.append(db)
        if not keep:
            self._database.disconnect(db)
