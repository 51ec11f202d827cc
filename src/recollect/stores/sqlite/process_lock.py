"""Turn: whose turn it is to write among the processes that share a file, first come, first served.

SQLite lets one process write at a time, but who waits asks again after a pause, so that luck decides who is next, and
some wait for seconds. Here processes stand in line at a companion file, with locks that the kernel hands on and that
vanish with a process that dies. The line is a courtesy: SQLite's own lock is still what keeps writers apart, so that
a process that jumps the line does no harm. So who stands behind one that does not move, as when it was suspended,
waits for a moment and then goes past it.
"""

import os
import struct
import sys
import threading
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, Protocol

from recollect.fork_safety import register_fork_aware

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
"""The file locks of Unix; Windows has none of them."""

STALLED_SECONDS = 1.0
"""For how many seconds nobody leaves the line before those who wait go past whoever they wait for."""


class WriteLock(Protocol):
    """The right to write, which one process has at a time, unless one of them does not move."""

    def acquire(self) -> bool:
        """Wait in line; says no if the line stands still: then we may go on, and so may others."""
        ...

    def release(self) -> None:
        """Let the next one write."""
        ...

    def close(self) -> None:
        """Leave the line for good."""
        ...


class NoWriteLock:
    """No line at all: for a database that no other process can see, and where there are no file locks."""

    def acquire(self) -> bool:
        """Nobody is before us."""
        return True

    def release(self) -> None:
        """Nobody is behind us."""

    def close(self) -> None:
        """Nothing is open."""


class _FileLock(Protocol):
    """A lock on the file, or on a part of it."""

    def __call__(self, file: int, *, wait: bool) -> object:
        """Have it, or raise `OSError`; who waits does so for as long as it takes."""
        ...


class _LockFile:
    """The companion file, open, and a thread that waits for its locks, since the kernel lets nobody who waits give up.

    A child process closes the file: a lock lives as long as anyone has it open.
    """

    def __init__(self, path: str, mode: int) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        self._requests: SimpleQueue[tuple[_FileLock, Future[None]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        register_fork_aware(self)

    def request(self, lock: _FileLock) -> "Future[None]":
        """The promise of a lock. Who cancels it leaves the file to the thread, which closes it when the lock comes."""
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="recollect-line", daemon=True)
            thread.start()
            self._thread = thread
        promise: Future[None] = Future()
        self._requests.put((lock, promise))
        return promise

    def close(self) -> None:
        """Let go of the file, and of every lock on it."""
        if self._thread is not None:
            self._requests.put(None)
            self._thread.join()
        self._close()

    def after_fork(self) -> None:
        """Leave the parent alone in line."""
        self._close()

    def _serve(self) -> None:
        while asked := self._requests.get():
            lock, promise = asked
            failure = _wait_for_lock(lock, self.file)
            if not promise.set_running_or_notify_cancel():
                self._close()
                return
            if failure is None:
                promise.set_result(None)
            else:
                promise.set_exception(failure)

    def _close(self) -> None:
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)


def _wait_for_lock(lock: _FileLock, file: int) -> OSError | None:
    """Why the lock cannot be had; nothing once it is ours."""
    try:
        lock(file, wait=True)
    except OSError as error:
        return error
    return None


class _QueuedLock:
    """What the ways to stand in line have in common: the file, and that nobody waits for long where nothing moves."""

    def __init__(self, path: str, mode: int) -> None:
        self._path = path
        self._mode = mode
        self._lock_file: _LockFile | None = _LockFile(path, mode)
        self._is_patient = True

    def close(self) -> None:
        """Leave the line for good."""
        companion, self._lock_file = self._lock_file, None
        if companion is not None:
            companion.close()

    def _open_lock_file(self) -> _LockFile:
        """The file; another one if the one before was left behind."""
        if self._lock_file is None:
            self._lock_file = _LockFile(self._path, self._mode)
        return self._lock_file

    def _try_lock(self, lock: _FileLock) -> bool:
        try:
            lock(self._open_lock_file().file, wait=False)
        except (BlockingIOError, PermissionError):  # which of them depends on the system
            return False
        return True

    def _lock_unless_stalled(self, lock: _FileLock) -> bool:
        """For a lock that all need: if one was suspended with it, the others wait for that once, and not every time."""
        self._is_patient = self._try_lock(lock) or (self._is_patient and self._lock_in_turn(lock))
        return self._is_patient

    def _lock_in_turn(self, lock: _FileLock) -> bool:
        """Whether we have the lock; if not, because the line stands still, we have left it."""
        companion = self._open_lock_file()
        try:
            promise = companion.request(lock)
        except RuntimeError:  # no thread can be started, as when the interpreter ends
            self.close()
            return False
        while True:
            try:
                failure = promise.exception(STALLED_SECONDS)
            except TimeoutError:
                if self._is_stalled(companion) and self._give_up(companion, promise):
                    return False
            else:
                if failure is not None:
                    raise failure
                return True

    def _give_up(self, companion: _LockFile, promise: "Future[None]") -> bool:
        """Leave the line and the file, unless the lock comes at this moment."""
        self._release_next(companion)
        if promise.cancel():
            self._lock_file = None
        return promise.cancelled()

    def _is_stalled(self, companion: _LockFile) -> bool:
        """Whether nothing has happened since this was last asked that brings us nearer to our turn."""
        return True

    def _release_next(self, companion: _LockFile) -> None:
        """Let go of what others wait for."""


class FlockLock(_QueuedLock):
    """One lock for all. The kernel wakes who waited longest, but whoever comes by just then may be quicker."""

    def acquire(self) -> bool:
        """Wait until the gate is free."""
        return self._lock_unless_stalled(_lock_all)

    def release(self) -> None:
        """Open the gate."""
        if self._lock_file is not None:
            fcntl.flock(self._lock_file.file, fcntl.LOCK_UN)


class TicketLock(_QueuedLock):
    """A number for everyone: each holds a lock of its own number, and waits for the lock of the number before.

    The next in line is woken, and nobody else can come between. If one dies while it waits, its lock goes, and who
    waits behind it does not know that others are still before it: the two then meet at SQLite's own lock. The same
    happens behind one that was gone past.
    """

    _COUNTER_OFFSET = 0
    _RELEASED_OFFSET = 8
    """Where the file has the number that was last drawn, and the one that last left; eight bytes each."""

    _TICKETS_OFFSET = 8
    """Where the locks of the numbers begin; that of the counter is before them."""

    def __init__(self, path: str, mode: int) -> None:
        super().__init__(path, mode)
        self._ticket = 0
        self._last_released = 0

    def acquire(self) -> bool:
        """Draw a number, and wait until the one before has left."""
        if not (self._lock_unless_stalled(_byte_lock(self._COUNTER_OFFSET)) and self._draw_ticket()):
            return False
        before = _byte_lock(self._TICKETS_OFFSET + self._ticket - 1)
        return self._try_lock(before) or self._lock_in_turn(before)

    def release(self) -> None:
        """Wake the one behind."""
        if self._lock_file is not None:
            _write_number(self._lock_file.file, self._RELEASED_OFFSET, self._ticket)
            self._release_next(self._lock_file)

    def _draw_ticket(self) -> bool:
        """Draw a number; says no if it is somebody's, as after the file was cut."""
        file = self._open_lock_file().file
        try:
            self._ticket = _read_number(file, self._COUNTER_OFFSET) % 2**62 + 1
            _write_number(file, self._COUNTER_OFFSET, self._ticket)
            self._last_released = _read_number(file, self._RELEASED_OFFSET)
            return self._try_lock(_byte_lock(self._TICKETS_OFFSET + self._ticket))
        finally:
            _unlock(file, self._COUNTER_OFFSET)

    def _is_stalled(self, companion: _LockFile) -> bool:
        """Whether nobody has left who was before us, or somebody has who was behind us."""
        before, self._last_released = self._last_released, _read_number(companion.file, self._RELEASED_OFFSET)
        return self._last_released == before or self._last_released > self._ticket

    def _release_next(self, companion: _LockFile) -> None:
        _unlock(companion.file, self._TICKETS_OFFSET + self._ticket - 1, 2)


def _read_number(file: int, place: int) -> int:
    return int.from_bytes(os.pread(file, 8, place), "little")


def _write_number(file: int, place: int, number: int) -> None:
    os.pwrite(file, number.to_bytes(8, "little"), place)


def _lock_all(file: int, *, wait: bool) -> object:
    return fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _unlock(file: int, place: int, length: int = 1) -> None:
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, _flock_struct(fcntl.F_UNLCK, place, length))


def _byte_lock(place: int) -> _FileLock:
    """The lock of one byte."""
    return partial(_lock_byte, place)


def _lock_byte(place: int, file: int, *, wait: bool) -> object:
    return fcntl.fcntl(file, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, _flock_struct(fcntl.F_WRLCK, place))


def _flock_struct(kind: int, place: int, length: int = 1) -> bytes:
    """A `struct flock` that names bytes of the file."""
    return struct.pack("hhqqi", kind, os.SEEK_SET, place, length, 0)


def open_process_lock(path: str, mode: int) -> WriteLock:
    """The best line that this platform has, at the companion file of that path."""
    if fcntl is None:  # who waits asks SQLite again and again
        return NoWriteLock()
    return TicketLock(path, mode) if _has_open_file_locks(path, mode) else FlockLock(path, mode)


def _has_open_file_locks(path: str, mode: int) -> bool:
    """Whether the kernel and the file system know locks that belong to an open file instead of a process."""
    if not sys.platform.startswith("linux") or not hasattr(fcntl, "F_OFD_GETLK"):
        return False  # other systems lay out `struct flock` differently
    companion = _LockFile(path, mode)
    try:
        fcntl.fcntl(companion.file, fcntl.F_OFD_GETLK, _flock_struct(fcntl.F_WRLCK, 0))
    except OSError:
        return False
    finally:
        companion.close()
    return True
