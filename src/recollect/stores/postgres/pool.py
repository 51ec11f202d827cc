"""Connecting: how a process reaches a PostgreSQL server, and the connections that it keeps."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from recollect.errors import StoreBusy, StoreError
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
