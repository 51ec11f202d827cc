"""Connections to a PostgreSQL server: pools, URLs, driver errors and admin connections.

In reading order: single connections and the pools of a process; the database URL without its password; driver errors
translated into errors of recollect; and the exclusive connection for admin work on whole tables.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg import ProgrammingError, errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from recollect.errors import Conflict, InvalidInput, RecollectError, StoreBusy, StoreError
from recollect.fork_safety import ForkSafeLock, register_fork_aware

Connection = psycopg.Connection[Any]

MAX_CONNECTIONS = 8
"""Maximum connections of a process for reading, and as many again for writing.

The pools are separate, so reads never wait for writes.
"""

CONNECT_TIMEOUT_SECONDS = 10
"""How long to wait for a server that does not answer, unless the URL sets a timeout."""

RECONNECT_SECONDS = 0.2
"""Pause before the next connection attempt while a request waits for a connection."""

_TRANSIENT_MESSAGES = (
    *("too many clients", "connection slots", "starting up", "shutting down", "recovery mode", "recovery state"),
    *("Connection refused", "timeout expired", "Is the server running"),
)
"""Parts of driver messages after which another attempt may succeed.

The driver reports these conditions only in the message text, without a code.
"""

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # else its warnings go to stderr


@contextmanager
def connect(address: str, name: str, timeout: float = CONNECT_TIMEOUT_SECONDS) -> Iterator[Connection]:
    """Open a single autocommit connection, outside the pools.

    Raises StoreBusy if the server may be reachable in a moment, and StoreError otherwise.
    """
    try:
        db = psycopg.connect(address, **_connection_options(address, timeout))
    except psycopg.OperationalError as error:
        reason = " ".join(str(error).split())
        remedy = "check host, port, role, password and database, and that the server is up"
        error_class = StoreBusy if any(words in reason for words in _TRANSIENT_MESSAGES) else StoreError
        raise error_class(f"{name} cannot be reached ({reason}); {remedy}") from error
    with db:
        yield db


class ConnectionPools:
    """The connection pools of a process for one database: one for reads, one for writes.

    A forked child inherits none of the connections.
    """

    def __init__(self, address: str, name: str, timeout: float, configure: Callable[[Connection], None]) -> None:
        self._address = address
        self._name = name
        self._timeout = timeout
        self._configure = configure
        self._lock = ForkSafeLock()
        self._closed = False
        self._pools: dict[bool, ConnectionPool[Connection]] = {}
        self._waiting: list[None] = []
        self._inherited: list[object] = []
        register_fork_aware(self)

    @contextmanager
    def borrow(self, *, writes: bool) -> Iterator[Connection]:
        """Borrow a connection for one transaction."""
        with ExitStack() as stack:
            self._waiting.append(None)
            try:
                db = stack.enter_context(self._pool(writes=writes).connection())
            finally:
                self._waiting.pop()
            yield db

    def drop_dead_connections(self) -> None:
        """Check all idle connections and drop those that the server has closed."""
        with self._lock.rlock:
            pools = list(self._pools.values())
        for pool in pools:
            pool.check()

    def close(self) -> None:
        """Close all connections."""
        with self._lock.rlock:
            self._closed = True
            pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()

    def after_fork(self) -> None:
        """Start without connections in a forked child.

        The existing ones belong to the parent. The child must not even close them, so it keeps references to them.
        """
        self._inherited.append(self._pools)
        self._pools = {}
        self._waiting = []

    def _pool(self, *, writes: bool) -> "ConnectionPool[Connection]":
        with self._lock.rlock:
            if self._closed:
                raise StoreError(f"{self._name} is closed; open the store again")
            if writes not in self._pools:
                self._pools[writes] = ConnectionPool(
                    self._address,
                    connection_class=psycopg.Connection,
                    kwargs=_connection_options(self._address, self._timeout),
                    min_size=0,
                    max_size=MAX_CONNECTIONS,
                    timeout=max(self._timeout, 0.001),
                    configure=self._configure,
                    reconnect_timeout=0.0,
                    reconnect_failed=self._reconnect,
                    open=True,
                    name="recollect",
                )
            return self._pools[writes]

    def _reconnect(self, pool: "ConnectionPool[Connection]") -> None:
        """Try again to connect while a request waits for a connection.

        The pool's own retry would double its pause with each attempt.
        """
        if self._waiting:
            time.sleep(RECONNECT_SECONDS)
            pool.check()


def _connection_options(address: str, timeout: float) -> dict[str, Any]:
    """Return the options of a new connection.

    Options in the URL win over these defaults. The keepalive settings end a connection whose server stops answering.
    """
    second = max(int(timeout / 6), 1)
    defaults = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "keepalives_idle": min(2 * second, CONNECT_TIMEOUT_SECONDS),
        "keepalives_interval": min(second, CONNECT_TIMEOUT_SECONDS),
        "keepalives_count": 3,
        "tcp_user_timeout": max(int(timeout * 1000), 1000),
    }
    given = conninfo_to_dict(address)
    return {
        **{name: value for name, value in defaults.items() if name not in given},
        "client_encoding": "UTF8",  # overrides the role and the environment
        "autocommit": True,
        "prepare_threshold": None,
    }


_URL_REMEDY = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX"


def redact_url(address: str) -> str:
    """Return the URL without its password, as messages show it."""
    before = address.partition("://")[2].partition("?")[0]
    user, at, rest = before.partition("@")
    if "@" in rest or (at and "/" in user):  # the driver would read part of a password as a host or database
        raise _invalid_url()
    try:
        parts = conninfo_to_dict(address)
    except ProgrammingError:  # its text may contain the password
        raise _invalid_url() from None
    user_part = f"{parts['user']}@" if parts.get("user") else ""
    host = str(parts.get("host") or parts.get("hostaddr") or "")
    port = f":{parts['port']}" if parts.get("port") else ""
    host_and_port = f"{'' if host.startswith('/') else host}{port}"
    return f"postgresql://{user_part}{host_and_port}/{parts.get('dbname', '')}"


def _invalid_url() -> InvalidInput:
    return InvalidInput(f"the URL of the PostgreSQL database is invalid; {_URL_REMEDY}")


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Translate driver errors raised inside the block; `name` is the store in the message."""
    try:
        yield
    except psycopg.Error as error:
        raise translate_error(error, name) from error


_LOST_SQLSTATES = ("08", "57P", "25P03", "25P04")
"""Prefixes of the SQLSTATEs with which a server ends a connection.

The server is shutting down, or the connection was idle for too long.
"""


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is gone, so the result of the last statement is unknown."""
    state = error.sqlstate or ""
    if state.startswith(_LOST_SQLSTATES):
        return True
    ours = (PoolClosed, PoolTimeout, TooManyRequests)
    return isinstance(error, psycopg.OperationalError) and not state and not isinstance(error, ours)


def is_transient(error: psycopg.Error) -> bool:
    """Return whether the same transaction may succeed if it is retried at once."""
    collisions = (errors.SerializationFailure, errors.DeadlockDetected, errors.TooManyConnections)
    return is_lost(error) or isinstance(error, collisions)


def translate_error(error: psycopg.Error, name: str) -> RecollectError:
    """Return the error of recollect for a driver error; `name` is the store in the message."""
    message = str(error).strip().partition("\n")[0]
    match error:
        case PoolClosed():
            return StoreError(f"{name} is closed; open the store again")
        case errors.LockNotAvailable():
            return StoreBusy(f"{name}: another process is writing; try again in a moment")
        case PoolTimeout() | TooManyRequests():
            return StoreBusy(f"{name}: no connection was available in time; check that the server is up, and try again")
        case errors.TooManyConnections():
            return StoreBusy(f"{name}: the server has too many connections; try again, or raise its max_connections")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(f"{name}: another transaction changed the same rows; try again")
        case errors.ReadOnlySqlTransaction() | errors.FeatureNotSupported() if (
            "recovery" in message or "read-only" in message
        ):
            return StoreError(f"{name} is read-only; connect to the primary server as a role that can write")
        case errors.DiskFull():
            return StoreError(f"{name}: the server's disk is full, so nothing was written; make room and try again")
        case errors.InsufficientPrivilege():
            return StoreError(f"{name}: {message}; ask the owner of its tables to grant the missing privilege")
        case errors.UniqueViolation():
            return Conflict(f"{name}: {message}; read the row again, and retry the change")
        case errors.CharacterNotInRepertoire() | errors.UntranslatableCharacter():
            return InvalidInput(f"{name} cannot store a text with invalid characters ({message}); remove them")
        case _ if is_lost(error):
            return StoreBusy(f"{name} cannot be reached ({message}); try again in a moment")
        case _:
            return StoreError(f"{name}: {message}")


_ADMIN_LOCK_KEY = 0x696E646578696E67
"""Advisory lock key that keeps two admin operations on one database apart.

The lock is held until the end of a transaction.
"""

_TRY_ADMIN_LOCK = sql.SQL("SELECT pg_try_advisory_xact_lock({})").format(sql.Literal(_ADMIN_LOCK_KEY))
"""Try to take the admin lock.

The statement has no parameters: one with parameters would keep its snapshot until the next statement.
"""

_DISABLE_TIMEOUTS = """
    SELECT set_config(name, '0', %s) FROM pg_settings WHERE name IN (
        'statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'
    )
"""
"""Turn off all time limits until the transaction or the session ends.

Some server versions do not have all of these settings.
"""

_SET_BUILD_MEMORY = """
    SELECT set_config(
        'maintenance_work_mem',
        greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %s) / 1024 || 'kB',
        false
    )
"""


@contextmanager
def exclusive_connection(target: str, name: str, timeout: float) -> Iterator[Connection]:
    """Open an autocommit connection while holding the admin lock of the database.

    Meanwhile no other operator can build or drop an index or sweep; if one already does, StoreBusy is raised. A second
    connection holds the lock in a transaction, since a pooler may be in between. That transaction must not keep a
    snapshot: an index build waits for every older snapshot, and rows that a snapshot can see cannot be swept.
    """
    with (
        _translate_admin_errors(name),
        connect(target, name, timeout) as lock_connection,
        connect(target, name, timeout) as db,
    ):
        lock_connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        lock_connection.execute(_DISABLE_TIMEOUTS, [True])
        if lock_connection.execute(_TRY_ADMIN_LOCK).fetchone() != (True,):
            problem = "another process is creating or dropping an index, or sweeping"
            raise StoreBusy(f"{name}: {problem}; try again when it is done (`recollect admin index` shows it)")
        if not is_pooled(db):
            db.execute(_DISABLE_TIMEOUTS, [False])
        yield db


def is_pooled(db: Connection) -> bool:
    """Return whether a pooler is in between, which reports another backend pid.

    Session settings made through a pooler would affect other clients.
    """
    return db.execute("SELECT pg_backend_pid()").fetchone() != (db.info.backend_pid,)


def run_index_build(
    db: Connection, statement: sql.Composed, memory: int, *, clean_up: Callable[[], None] = lambda: None
) -> None:
    """Run a statement that builds indexes, with at least `memory` bytes of working memory.

    The connection must not go through a pooler. Parallel workers need shared memory, of which there may be too little.
    In that case `clean_up` removes what they left, and the build runs again in a single process.
    """
    db.execute(_SET_BUILD_MEMORY, [memory])
    try:
        db.execute(statement)
    except (errors.DiskFull, errors.OutOfMemory):
        db.execute("SET max_parallel_maintenance_workers = 0")
        clean_up()
        db.execute(statement)


@contextmanager
def _translate_admin_errors(name: str) -> Iterator[None]:
    """Translate driver errors; if the role's time limit ended the statement, suggest a remedy."""
    with translate_errors(name):
        try:
            yield
        except errors.QueryCanceled as error:
            reason = str(error).strip().partition("\n")[0]
            remedy = "run it again with the address of the server instead of a pooler"
            raise StoreError(f"{name}: the operation did not finish ({reason}); {remedy}") from error
