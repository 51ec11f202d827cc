"""Objects that are reset in a forked child, such as a lock that another thread held."""

import os
import threading
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object that must be reset in a child process."""

    def after_fork(self) -> None:
        """Drop threads, locks and connections: they belong to the parent. Must not block."""
        ...


class _ForkRegistry:
    """All fork-aware objects of this process.

    No object is added while a fork is under way, so that the child finds the registry intact.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.members: WeakSet[ForkAware] = WeakSet()

    def before_fork(self) -> None:
        self.lock.acquire()

    def after_in_parent(self) -> None:
        self.lock.release()

    def after_in_child(self) -> None:
        self.lock = threading.RLock()
        for member in list(self.members):
            member.after_fork()


_REGISTRY = _ForkRegistry()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_REGISTRY.before_fork, after_in_parent=_REGISTRY.after_in_parent, after_in_child=_REGISTRY.after_in_child
    )


def register_fork_aware(member: ForkAware) -> None:
    """Reset the object in every child process, as long as it is referenced elsewhere."""
    with _REGISTRY.lock:
        _REGISTRY.members.add(member)


class ForkSafeLock:
    """A lock that is new and unlocked in a child process: `with lock.rlock:`.

    Use it only for data that is consistent at every moment, like a dictionary. A child may see the data between two
    steps, and so may a signal handler or the garbage collector running in the thread that holds the lock.
    """

    __slots__ = ("__weakref__", "rlock")

    def __init__(self) -> None:
        self.after_fork()
        register_fork_aware(self)

    def after_fork(self) -> None:
        """Reset to unlocked."""
        self.rlock = threading.RLock()
