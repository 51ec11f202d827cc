"""Heirs: what a forked child has from its parent and must begin anew, such as a lock that another thread held."""

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Heir(Protocol):
    """Something that must begin anew in a child process."""

    def after_fork(self) -> None:
        """Forget threads, locks and connections: they are the parent's. Must not wait for anything."""
        ...


class _Estate:
    """All heirs of this process. Nobody is added while a fork is under way, so that the child finds them whole."""

    def __init__(self) -> None:
        self.adding = threading.RLock()
        self.heirs: WeakSet[Heir] = WeakSet()

    def before(self) -> None:
        self.adding.acquire()

    def after_in_parent(self) -> None:
        self.adding.release()

    def after_in_child(self) -> None:
        self.adding = threading.RLock()
        for heir in list(self.heirs):
            heir.after_fork()


_ESTATE = _Estate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ESTATE.before, after_in_parent=_ESTATE.after_in_parent, after_in_child=_ESTATE.after_in_child
    )


def tell_children(heir: Heir) -> None:
    """Remember what must begin anew in every child process, for as long as anybody else has it."""
    with _ESTATE.adding:
        _ESTATE.heirs.add(heir)


class Lock:
    """A lock that is another one in a child process, and free there, whoever had it in the parent: `with lock.here:`.

    So it is for what is whole at every moment, like a dictionary: the child may find it between two steps, and so may
    a signal's handler, or the collector of garbage, that comes between them in the thread that has it.
    """

    __slots__ = ("__weakref__", "here")

    def __init__(self) -> None:
        self.after_fork()
        tell_children(self)

    def after_fork(self) -> None:
        """Be free."""
        self.here = threading.RLock()
