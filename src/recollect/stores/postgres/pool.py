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
from recollect.fork_safety import Lock, tell_children

Connection = psycopg.Connection[Any]

MOST_CONNECTIONS = 8
"""How many connections of a process read at a time, and how many write: nobody waits to read because others write."""

CONNECTING = 10
"""How many seconds a server is waited for that does not answer, unless the address says it."""

AGAIN = 0.2
"""How many seconds pass before a server is asked again for a connection that somebody waits for."""

_PASSING = (
    *("too many clients", "connection slots", "starting up", "shutting down", "recovery mode", "recovery state"),
    *("Connection refused", "timeout expired", "Is the server running"),
)
"""What is said of a server to which the next attempt may find a way; the driver tells it in words alone."""

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # it would talk to whoever has no log


@contextmanager
def connected(address: str, name: str, patience: float = CONNECTING) -> Iterator[Connection]:
    """A connection of its own, outside of any transaction."""
    try:
        db = psycopg.connect(address, **_how(address, patience))
    except psycopg.OperationalError as error:
        said = " ".join(str(error).split())
        remedy = "check host, port, role, password and database, and that the server is up"
        kind = StoreBusy if any(words in said for words in _PASSING) else StoreError
        raise kind(f"{name} cannot be reached ({said}); {remedy}") from error
    with db:
        yield db


class Connections:
    """The connections of a process to one database, for reading and for writing; none of them is inherited."""

    def __init__(self, address: str, name: str, patience: float, configure: Callable[[Connection], None]) -> None:
        self._address = address
        self._name = name
        self._patience = patience
        self._configure = configure
        self._lock = Lock()
        self._closed = False
        self._pools: dict[bool, ConnectionPool[Connection]] = {}
        self._waiting: list[None] = []
        self._inherited: list[object] = []
        tell_children(self)

    @contextmanager
    def lent(self, *, writes: bool) -> Iterator[Connection]:
        """A connection for a transaction."""
        with ExitStack() as lent:
            self._waiting.append(None)
            try:
                db = lent.enter_context(self._pool(writes=writes).connection())
            finally:
                self._waiting.pop()
            yield db

    def forget_the_dead(self) -> None:
        """Let go of connections that the server no longer knows."""
        with self._lock.here:
            pools = list(self._pools.values())
        for pool in pools:
            pool.check()

    def close(self) -> None:
        """Let go of every connection."""
        with self._lock.here:
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
        with self._lock.here:
            if self._closed:
                raise StoreError(f"{self._name} is closed; open the store again")
            if writes not in self._pools:
                self._pools[writes] = ConnectionPool(
                    self._address,
                    connection_class=psycopg.Connection,
                    kwargs=_how(self._address, self._patience),
                    min_size=0,
                    max_size=MOST_CONNECTIONS,
                    timeout=max(self._patience, 0.001),
                    configure=self._configure,
                    reconnect_timeout=0.0,
                    reconnect_failed=self._connect_again,
                    open=True,
                    name="recollect",
                )
            return self._pools[writes]

    def _connect_again(self, pool: "ConnectionPool[Connection]") -> None:
        """Go on asking for a connection while somebody waits: the pool itself would pause twice as long each time."""
        if self._waiting:
            time.sleep(AGAIN)
            pool.check()


def _how(address: str, patience: float) -> dict[str, Any]:
    """How a connection is made: what the address says of it holds, and a server that falls silent is given up."""
    second = max(int(patience / 6), 1)
    unless_said = {
        "connect_timeout": CONNECTING,
        "keepalives_idle": min(2 * second, CONNECTING),
        "keepalives_interval": min(second, CONNECTING),
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
