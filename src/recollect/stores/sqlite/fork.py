"""Forks: a child process lets go of every connection its parent had open, before it opens any of its own.

SQLite counts its file locks per process, in memory that a fork copies: as long as a child keeps an inherited
connection, SQLite there believes to hold the parent's locks, and a connection the child opens itself takes none.
Another process may then remove the write-ahead log under it. So the child closes what it inherited, which
gives nothing away that is the parent's. That is only safe while no thread is inside SQLite: a fork waits a moment
for them, and if one stays there, the child may not open a store at all.
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
"""How many seconds a fork waits for the threads that are reading or writing."""

ENTRY_WAIT_SECONDS = 1.0
"""How many seconds a thread that would begin to lets a fork go first, which would else wait for ever under load."""


class _ForkGuard:
    """What this process has open, and which of its threads are inside SQLite just now."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # entered by itself: an interrupt would leave the condition locked
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
        self.held_connections = list(self.connections)  # held on to, so that no heir closes one by forgetting it

    def after_in_parent(self) -> None:
        self.held_connections = []
        self.idle.notify_all()
        self.lock.release()

    def after_fork(self) -> None:
        """Let go of the parent's connections."""
        self.lock = threading.RLock()
        self.idle = threading.Condition(self.lock)
        self.is_unsafe = self.is_unsafe or bool(self.users)
        self.users = []
        self.forking = 0
        self.inherited, self.connections = self.connections, WeakSet()
        if not self.is_unsafe:  # else they are held on to for good: who closes one might wait for ever
            for connection in self.held_connections:
                _close_quietly(connection)
            self.held_connections = []


def _close_quietly(connection: apsw.Connection) -> None:
    """Close a parent's connection without touching the file."""
    with suppress(apsw.ConnectionClosedError):  # it may have been closed before, and still be in somebody's hands
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()


_GUARD = _ForkGuard()
fork_safety.register_fork_aware(_GUARD)
if hasattr(os, "register_at_fork"):  # behind what `members` registers: heirs may be added until all is calm
    os.register_at_fork(before=_GUARD.before_fork, after_in_parent=_GUARD.after_in_parent)


@contextmanager
def delay_forks() -> Iterator[None]:
    """Marks this thread as being inside SQLite, so that a fork waits until it is out again."""
    me = threading.get_ident()
    with _GUARD.lock:
        if _GUARD.forking and me not in _GUARD.users:
            _GUARD.idle.wait_for(lambda: not _GUARD.forking, ENTRY_WAIT_SECONDS)
        _GUARD.users.append(me)
    try:
        yield
    finally:
        with _GUARD.lock:
            if me in _GUARD.users:  # not in a child that was forked from inside
                _GUARD.users.remove(me)
            _GUARD.idle.notify_all()


def close_in_children(connection: apsw.Connection) -> None:
    """Remember a connection, to be closed in every child process."""
    with _GUARD.lock:
        _GUARD.connections.add(connection)


def is_inherited(connection: apsw.Connection) -> bool:
    """Whether it is the parent's, so that not even a rollback may be tried with it."""
    return connection in _GUARD.inherited


def refuse_unsafe_child() -> None:
    """No store is opened in a process that was forked while a thread was inside SQLite."""
    if _GUARD.is_unsafe:
        raise StoreError(
            "this process was forked while its parent was reading or writing a store, so it cannot open one safely; "
            "start processes with 'spawn', or fork before the store is used"
        )
