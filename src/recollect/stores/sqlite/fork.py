"""Make forks safe: a child closes inherited SQLite connections before it opens its own.

SQLite counts its file locks per process, in memory that a fork copies. While a child keeps an inherited connection, its
SQLite believes that it holds the parent's locks, so a new connection takes none, and another process may remove the
write-ahead log in use. Closing the inherited connections releases nothing of the parent's. It is safe only while no
thread is inside SQLite: a fork waits a moment for such threads, and if one remains, the child may not open a store.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakSet

import apsw

from recollect import fork_safety
from recollect.errors import StoreError

FORK_WAIT_SECONDS = 5.0
"""Seconds that a fork waits for threads that are reading or writing."""

ENTRY_WAIT_SECONDS = 1.0
"""Seconds that a thread entering SQLite lets a fork go first.

Under load a fork might wait forever otherwise.
"""


class _ForkGuard:
    """The open connections of this process, and the threads that are inside SQLite."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # entered directly: an interrupt would leave the condition locked
        self.idle = threading.Condition(self.lock)
        self.users: list[int] = []
        self.forking = 0
        self.connections: WeakSet[apsw.Connection] = WeakSet()
        self.inherited: WeakSet[apsw.Connection] = WeakSet()
        self.held_connections: list[apsw.Connection] = []
        self.is_unsafe = False

    def before_fork(self) -> None:
        self.lock.acquire()
        me = threading.get_ident()
        self.forking += 1
        try:
            self.idle.wait_for(lambda: all(user == me for user in self.users), FORK_WAIT_SECONDS)
        finally:
            self.forking -= 1
        self.held_connections = list(self.connections)  # referenced, so that resetting other objects closes none

    def after_in_parent(self) -> None:
        self.held_connections = []
        self.idle.notify_all()
        self.lock.release()

    def after_fork(self) -> None:
        """Close the parent's connections."""
        self.lock = threading.RLock()
        self.idle = threading.Condition(self.lock)
        self.is_unsafe = self.is_unsafe or bool(self.users)
        self.users = []
        self.forking = 0
        self.inherited, self.connections = self.connections, WeakSet()
        if not self.is_unsafe:  # else they are kept for good: closing one might block forever
            for connection in self.held_connections:
                with suppress(apsw.ConnectionClosedError):  # it may be closed already, but still referenced
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # do not touch the file
                    connection.close()
            self.held_connections = []


_GUARD = _ForkGuard()
fork_safety.register_fork_aware(_GUARD)
if hasattr(os, "register_at_fork"):  # after `fork_safety`: objects may register until all is quiet
    os.register_at_fork(before=_GUARD.before_fork, after_in_parent=_GUARD.after_in_parent)


@contextmanager
def delay_forks() -> Iterator[None]:
    """Mark this thread as inside SQLite, so that a fork waits until it has left."""
    me = threading.get_ident()
    with _GUARD.lock:
        if _GUARD.forking and me not in _GUARD.users:
            _GUARD.idle.wait_for(lambda: not _GUARD.forking, ENTRY_WAIT_SECONDS)
        _GUARD.users.append(me)
    try:
        yield
    finally:
        with _GUARD.lock:
            if me in _GUARD.users:  # absent in a child that was forked inside this block
                _GUARD.users.remove(me)
            _GUARD.idle.notify_all()


def close_in_children(connection: apsw.Connection) -> None:
    """Register a connection to be closed in every child process."""
    with _GUARD.lock:
        _GUARD.connections.add(connection)


def is_inherited(connection: apsw.Connection) -> bool:
    """Whether the connection is the parent's, so that not even a rollback is allowed."""
    return connection in _GUARD.inherited


def refuse_unsafe_child() -> None:
    """Raise StoreError if this process was forked while a thread was inside SQLite."""
    if _GUARD.is_unsafe:
        raise StoreError(
            "this process was forked while its parent was reading or writing a store, so it cannot open one safely; "
            "start processes with 'spawn', or fork before the store is used"
        )
