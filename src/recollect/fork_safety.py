"""Heirs: what a forked child has from its parent and must begin anew, such as a lock that another thread held."""

import os
import threading
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """Something that must begin anew in a child process."""

    def after_fork(self) -> None:
        """Forget threads, locks and connections: they are the parent's. Must not wait for anything."""
        ...


class _ForkRegistry:
    """All heirs of this process. Nobody is added while a fork is under way, so that the child finds them whole."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.members: WeakSet[ForkAware] = WeakSet()

    def before_fork(self) -> None:
        self.lock.acquire()

    def after_in_parent(self) -> None:
        self.lock.release()

    def after_in_child(self) -> None:
        self.lock = threading.RLock()
        for heir in list(self.members):
            heir.after_fork()


_REGISTRY = _ForkRegistry()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_REGISTRY.before_fork, after_in_parent=_REGISTRY.after_in_parent, after_in_child=_REGISTRY.after_in_child
    )


def register_fork_aware(heir: ForkAware) -> None:
    """Remember what must begin anew in every child process, for as long as anybody else has it."""
    with _REGISTRY.lock:
        _REGISTRY.members.add(heir)


class ForkSafeLock:
    """A lock that is another one in a child process, and free there, whoever had it in the parent: `with lock.here:`.

    So it is for what is whole at every moment, like a dictionary: the child may find it between two steps, and so may
    a signal's handler, or the collector of garbage, that comes between them in the thread that has it.
    """

    __slots__ = ("__weakref__", "rlock")

    def __init__(self) -> None:
        self.after_fork()
        register_fork_aware(self)

    def after_fork(self) -> None:
        """Be free."""
        self.rlock = threading.RLock()
