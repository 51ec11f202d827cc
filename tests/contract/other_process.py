"""A store in another process: changes are made here, call by call, inside a transaction over there."""

import multiprocessing
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from recollect.model.changeset import Changeset
from recollect.protocols import Store, WriteTransaction
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import ManualClock

T = TypeVar("T")


class OtherProcess:
    """A process that opens stores, one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def open(self, target: str, clock: ManualClock) -> "OtherStore":
        """A store over there, with the clock of here."""
        self.call("open", target)
        return OtherStore(self, clock)

    def call(self, name: str, *given: object) -> Any:
        """What comes of a call over there; what it raises is raised here."""
        self._pipe.send((name, given))
        worked, found = self._pipe.recv()
        if not worked:
            raise found
        return found

    def end(self) -> None:
        self._pipe.send(("end", ()))
        self._process.join()


class OtherStore:
    """Writes to a store of the other process; whoever wants to read opens it here."""

    def __init__(self, process: OtherProcess, clock: ManualClock) -> None:
        self._process = process
        self._clock = clock
        self._lock = threading.Lock()

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        with self._lock:
            self._process.call("begin", self._clock())
            try:
                result = change(cast(WriteTransaction, _Calls(self._process)))
            except BaseException:
                self._process.call("undo")
                raise
            self._process.call("commit")
            return result

    def defer(self, changes: Changeset) -> None:
        self.write(lambda writing: writing.apply(changes))

    def flush(self) -> None:
        """Nothing is put off over there."""

    def close(self) -> None:
        self._process.call("close")


class _Calls:
    """A writing whose every call is made over there."""

    def __init__(self, process: OtherProcess) -> None:
        self._process = process

    at = property(lambda self: self._process.call("at"))
    commit = property(lambda self: self._process.call("commit_number"))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: self._process.call("call", name, named, *given)


class _Undone(Exception):
    """The change was given up."""


def _opened(target: str, clock: ManualClock) -> Store:
    """The store at an address, or in a file."""
    return PostgresStore(target, clock) if target.startswith("postgresql://") else SqliteStore(target, clock)


def _serve(pipe: Connection) -> None:
    clock = ManualClock()
    store: Store | None = None
    while (message := pipe.recv())[0] != "end":
        match message:
            case ("open", (target,)):
                store = _opened(target, clock)
                pipe.send((True, None))
            case ("close", ()):
                cast(Store, store).close()
                pipe.send((True, None))
            case ("begin", (now,)):
                _transaction(cast(Store, store), clock, now, pipe)


def _transaction(store: Store, clock: ManualClock, now: datetime, pipe: Connection) -> None:
    clock.now = now
    attempts = count(1)

    def change(writing: WriteTransaction) -> None:
        if next(attempts) > 1:
            raise AssertionError("the change was made again, and the calls it is made of come only once")
        _follow(writing, pipe)

    try:
        with suppress(_Undone):
            store.write(change)
    except Exception as error:
        pipe.send((False, error))
    else:
        pipe.send((True, None))


def _follow(writing: WriteTransaction, pipe: Connection) -> None:
    """Make the calls that come through the pipe, until they are to be kept or undone."""
    pipe.send((True, None))
    while True:
        match pipe.recv():
            case ("commit", ()):
                return
            case ("undo", ()):
                raise _Undone
            case ("at", ()):
                pipe.send((True, writing.at))
            case ("commit_number", ()):
                pipe.send((True, writing.commit))
            case ("call", (name, named, *given)):
                pipe.send(_outcome(lambda: getattr(writing, name)(*given, **named)))


def _outcome(call: Callable[[], object]) -> tuple[bool, object]:
    try:
        return True, call()
    except Exception as error:  # whatever it is, it is told on the other side
        return False, error
