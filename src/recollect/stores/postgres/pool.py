"""Connecting: how a process reaches a PostgreSQL server, and the connections that it keeps.

Address: where a PostgreSQL database is, and what messages call it.

Translation: what the driver raises, as an error of ours that says what to do.

Operating: a connection for what an operator does to whole tables, one operator at a time.
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
"""How many connections of a process read at a time, and how many write: nobody waits to read because others write."""

CONNECT_TIMEOUT_SECONDS = 10
"""How many seconds a server is waited for that does not answer, unless the address says it."""

RECONNECT_SECONDS = 0.2
"""How many seconds pass before a server is asked again for a connection that somebody waits for."""

_TRANSIENT_MESSAGES = (
    *("too many clients", "connection slots", "starting up", "shutting down", "recovery mode", "recovery state"),
    *("Connection refused", "timeout expired", "Is the server running"),
)
"""What is said of a server to which the next attempt may find a way; the driver tells it in words alone."""

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # it would talk to whoever has no log


@contextmanager
def connect(address: str, name: str, patience: float = CONNECT_TIMEOUT_SECONDS) -> Iterator[Connection]:
    """A connection of its own, outside of any transaction."""
    try:
        db = psycopg.connect(address, **_connection_options(address, patience))
    except psycopg.OperationalError as error:
        said = " ".join(str(error).split())
        remedy = "check host, port, role, password and database, and that the server is up"
        kind = StoreBusy if any(words in said for words in _TRANSIENT_MESSAGES) else StoreError
        raise kind(f"{name} cannot be reached ({said}); {remedy}") from error
    with db:
        yield db


class ConnectionPools:
    """The connections of a process to one database, for reading and for writing; none of them is inherited."""

    def __init__(self, address: str, name: str, patience: float, configure: Callable[[Connection], None]) -> None:
        self._address = address
        self._name = name
        self._timeout = patience
        self._configure = configure
        self._lock = ForkSafeLock()
        self._closed = False
        self._pools: dict[bool, ConnectionPool[Connection]] = {}
        self._waiting: list[None] = []
        self._inherited: list[object] = []
        register_fork_aware(self)

    @contextmanager
    def borrow(self, *, writes: bool) -> Iterator[Connection]:
        """A connection for a transaction."""
        with ExitStack() as lent:
            self._waiting.append(None)
            try:
                db = lent.enter_context(self._pool(writes=writes).connection())
            finally:
                self._waiting.pop()
            yield db

    def drop_dead_connections(self) -> None:
        """Let go of connections that the server no longer knows."""
        with self._lock.rlock:
            pools = list(self._pools.values())
        for pool in pools:
            pool.check()

    def close(self) -> None:
        """Let go of every connection."""
        with self._lock.rlock:
            self._closed = True
            pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()

    def after_fork(self) -> None:
        """Begin with no connection: those there are, are the parent's, and must not even be closed."""
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
        """Go on asking for a connection while somebody waits: the pool itself would pause twice as long each time."""
        if self._waiting:
            time.sleep(RECONNECT_SECONDS)
            pool.check()


def _connection_options(address: str, patience: float) -> dict[str, Any]:
    """How a connection is made: what the address says of it holds, and a server that falls silent is given up."""
    second = max(int(patience / 6), 1)
    unless_said = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "keepalives_idle": min(2 * second, CONNECT_TIMEOUT_SECONDS),
        "keepalives_interval": min(second, CONNECT_TIMEOUT_SECONDS),
        "keepalives_count": 3,
        "tcp_user_timeout": max(int(patience * 1000), 1000),
    }
    said = conninfo_to_dict(address)
    return {
        **{name: value for name, value in unless_said.items() if name not in said},
        "client_encoding": "UTF8",  # whatever the role or the environment would have
        "autocommit": True,
        "prepare_threshold": None,
    }


_URL_REMEDY = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX"


def redact_url(address: str) -> str:
    """The address without its password, as messages have it."""
    before = address.partition("://")[2].partition("?")[0]
    user, at, rest = before.partition("@")
    if "@" in rest or (at and "/" in user):  # the driver would take part of a password for a host or a database
        raise _invalid_url()
    try:
        parts = conninfo_to_dict(address)
    except ProgrammingError:  # whose text may have the password
        raise _invalid_url() from None
    named = f"{parts['user']}@" if parts.get("user") else ""
    host = str(parts.get("host") or parts.get("hostaddr") or "")
    port = f":{parts['port']}" if parts.get("port") else ""
    where = f"{'' if host.startswith('/') else host}{port}"
    return f"postgresql://{named}{where}/{parts.get('dbname', '')}"


def _invalid_url() -> InvalidInput:
    return InvalidInput(f"the address of the PostgreSQL database cannot be read; {_URL_REMEDY}")


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Whatever the driver raises inside comes out as an error of ours, about the store of that name."""
    try:
        yield
    except psycopg.Error as error:
        raise translate_error(error, name) from error


_LOST_SQLSTATES = ("08", "57P", "25P03", "25P04")
"""How the states begin by which a server says that it ends a connection, be it that it ends or that one was idle."""


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that nobody knows what the server did last."""
    state = error.sqlstate or ""
    if state.startswith(_LOST_SQLSTATES):
        return True
    ours = (PoolClosed, PoolTimeout, TooManyRequests)
    return isinstance(error, psycopg.OperationalError) and not state and not isinstance(error, ours)


def is_transient(error: psycopg.Error) -> bool:
    """Whether the same may go well when it is tried again at once."""
    collisions = (errors.SerializationFailure, errors.DeadlockDetected, errors.TooManyConnections)
    return is_lost(error) or isinstance(error, collisions)


def translate_error(error: psycopg.Error, name: str) -> RecollectError:
    """What a driver's error means to somebody who keeps memories in the store of that name."""
    said = str(error).strip().partition("\n")[0]
    match error:
        case PoolClosed():
            return StoreError(f"{name} is closed; open the store again")
        case errors.LockNotAvailable():
            return StoreBusy(f"{name}: others are writing; try again in a moment")
        case PoolTimeout() | TooManyRequests():
            return StoreBusy(f"{name}: no connection could be had in time; see that the server is up, and try again")
        case errors.TooManyConnections():
            return StoreBusy(f"{name}: the server has no connection left; try again, or raise its max_connections")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(f"{name}: others wrote the same at the same time; try again")
        case errors.ReadOnlySqlTransaction() | errors.FeatureNotSupported() if (
            "recovery" in said or "read-only" in said
        ):
            return StoreError(f"{name} can only be read; write as a role that may, to the primary server")
        case errors.DiskFull():
            return StoreError(f"{name}: the server's disk is full, so nothing was written; make room and try again")
        case errors.InsufficientPrivilege():
            return StoreError(f"{name}: {said}; have the owner of its tables grant what is missing")
        case errors.UniqueViolation():
            return Conflict(f"{name}: {said}; read it again, and say what is to become of it")
        case errors.CharacterNotInRepertoire() | errors.UntranslatableCharacter():
            return InvalidInput(f"{name} cannot keep a text with characters that are none ({said})")
        case _ if is_lost(error):
            return StoreBusy(f"{name} cannot be reached ({said}); try again in a moment")
        case _:
            return StoreError(f"{name}: {said}")


_ADMIN_LOCK_KEY = 0x696E646578696E67
"""What operators of one database keep each other out by, until the end of a transaction."""

_TRY_ADMIN_LOCK = sql.SQL("SELECT pg_try_advisory_xact_lock({})").format(sql.Literal(_ADMIN_LOCK_KEY))
"""Takes the lock. It has no parameters: what a statement that has some saw is kept until the next one."""

_DISABLE_TIMEOUTS = """
    SELECT set_config(name, '0', %s) FROM pg_settings WHERE name IN (
        'statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'
    )
"""
"""Lets nothing end for the time that it takes, until the transaction or the session ends; not every server has all."""

_SET_BUILD_MEMORY = """
    SELECT set_config(
        'maintenance_work_mem',
        greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %s) / 1024 || 'kB',
        false
    )
"""


@contextmanager
def exclusive_connection(target: str, name: str, timeout: float) -> Iterator[Connection]:
    """A connection outside of any transaction, while nobody else makes or drops an index or sweeps here.

    The lock is held in a transaction beside: a pooler may be between. It must see nothing: a build waits for all that
    see what was before it, and what they see cannot be swept.
    """
    with (
        _translate_admin_errors(name),
        connect(target, name, timeout) as turn,
        connect(target, name, timeout) as db,
    ):
        turn.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        turn.execute(_DISABLE_TIMEOUTS, [True])
        if turn.execute(_TRY_ADMIN_LOCK).fetchone() != (True,):
            told = "somebody else makes or drops an index just now, or sweeps"
            raise StoreBusy(f"{name}: {told}; try again when that is done, as `recollect admin index` shows it")
        if not is_pooled(db):
            db.execute(_DISABLE_TIMEOUTS, [False])
        yield db


def is_pooled(db: Connection) -> bool:
    """Whether a pooler is between, which gives a number of its own: what is set for a session would be for others."""
    return db.execute("SELECT pg_backend_pid()").fetchone() != (db.info.backend_pid,)


def run_index_build(
    db: Connection, statement: sql.Composed, memory: int, *, tidy: Callable[[], None] = lambda: None
) -> None:
    """Run a statement that builds indexes, on a connection that is no pooler's, with so much memory.

    Processes that build together need memory that they share, which may be little: if so, one builds alone, after what
    the others left is tidied up.
    """
    db.execute(_SET_BUILD_MEMORY, [memory])
    try:
        db.execute(statement)
    except (errors.DiskFull, errors.OutOfMemory):
        db.execute("SET max_parallel_maintenance_workers = 0")
        tidy()
        db.execute(statement)


@contextmanager
def _translate_admin_errors(name: str) -> Iterator[None]:
    """What the driver raises comes out as an error of ours; for the time limit of a role there is a way around."""
    with translate_errors(name):
        try:
            yield
        except errors.QueryCanceled as error:
            said = str(error).strip().partition("\n")[0]
            remedy = "run it again, with the address of the server itself and not of a pooler"
            raise StoreError(f"{name}: it was not finished ({said}); {remedy}") from error
