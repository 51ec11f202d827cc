"""A fair write lock between processes that share a file: first come, first served.

SQLite's own lock makes waiting processes retry after pauses, so luck decides and some wait for seconds. Here they queue
with locks on a companion file, which the kernel hands on and which vanish when a process dies. The queue is only a
courtesy: SQLite's lock still keeps writers apart, so a process that ignores the queue does no harm. A process that
waits for a stalled one, such as a suspended one, therefore waits only a moment and then passes it; the log event for
that is `write_queue_stalled`.
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
"""The file locks of Unix; None on Windows."""

STALLED_SECONDS = 1.0
"""Seconds without movement in the queue after which waiting processes pass the stalled one."""


class WriteLock(Protocol):
    """The right to write, held by one process at a time unless a process has stalled."""

    def acquire(self) -> bool:
        """Wait for the lock; return False if the queue stalls, so that several may proceed."""
        ...

    def release(self) -> None:
        """Let the next process write."""
        ...

    def close(self) -> None:
        """Leave the queue for good."""
        ...


class NoWriteLock:
    """No lock: for in-memory databases, and for systems without file locks."""

    def acquire(self) -> bool:
        """Return True at once."""
        return True

    def release(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _FileLock(Protocol):
    """A lock on the file or on a part of it."""

    def __call__(self, file: int, *, wait: bool) -> object:
        """Take the lock, or raise `OSError`; with `wait`, block until it is free."""
        ...


class _LockFile:
    """The companion file, and a thread that waits for its locks.

    A thread is needed because a blocking lock call cannot be given up. A child process closes the file: a lock lives as
    long as any process has the file open.
    """

    def __init__(self, path: str, mode: int) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        self._requests: SimpleQueue[tuple[_FileLock, Future[None]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        register_fork_aware(self)

    def request(self, lock: _FileLock) -> "Future[None]":
        """Return the future of a lock.

        Cancelling it leaves the file to the thread, which closes the file when the lock comes.
        """
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="recollect-write-lock", daemon=True)
            thread.start()
            self._thread = thread
        future: Future[None] = Future()
        self._requests.put((lock, future))
        return future

    def close(self) -> None:
        """Close the file, which releases every lock on it."""
        if self._thread is not None:
            self._requests.put(None)
            self._thread.join()
        self._close()

    def after_fork(self) -> None:
        """Close the file in a child process; the parent keeps its place in the queue."""
        self._close()

    def _serve(self) -> None:
        while request := self._requests.get():
            lock, future = request
            error = _wait_for_lock(lock, self.file)
            if not future.set_running_or_notify_cancel():
                self._close()
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    def _close(self) -> None:
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)


def _wait_for_lock(lock: _FileLock, file: int) -> OSError | None:
    """Wait for the lock; return the error if it cannot be taken."""
    try:
        lock(file, wait=True)
    except OSError as error:
        return error
    return None


class _QueuedLock:
    """What both queueing locks share: the file, and limited waiting when the queue stalls."""

    def __init__(self, path: str, mode: int) -> None:
        self._path = path
        self._mode = mode
        self._lock_file: _LockFile | None = _LockFile(path, mode)
        self._is_patient = True

    def close(self) -> None:
        """Leave the queue for good."""
        lock_file, self._lock_file = self._lock_file, None
        if lock_file is not None:
            lock_file.close()

    def _open_lock_file(self) -> _LockFile:
        """Return the lock file; open it again if the last one was abandoned."""
        if self._lock_file is None:
            self._lock_file = _LockFile(self._path, self._mode)
        return self._lock_file

    def _try_lock(self, lock: _FileLock) -> bool:
        try:
            lock(self._open_lock_file().file, wait=False)
        except (BlockingIOError, PermissionError):  # which of the two depends on the system
            return False
        return True

    def _lock_unless_stalled(self, lock: _FileLock) -> bool:
        """Take a lock that all processes need, such as that of the ticket counter.

        If its holder is suspended, the others wait for it once and not every time.
        """
        self._is_patient = self._try_lock(lock) or (self._is_patient and self._lock_in_turn(lock))
        return self._is_patient

    def _lock_in_turn(self, lock: _FileLock) -> bool:
        """Wait for the lock; return False after leaving a stalled queue."""
        lock_file = self._open_lock_file()
        try:
            future = lock_file.request(lock)
        except RuntimeError:  # no thread can start, e.g. as the interpreter ends
            self.close()
            return False
        while True:
            try:
                error = future.exception(STALLED_SECONDS)
            except TimeoutError:
                if self._is_stalled(lock_file) and self._give_up(lock_file, future):
                    return False
            else:
                if error is not None:
                    raise error
                return True

    def _give_up(self, lock_file: _LockFile, future: "Future[None]") -> bool:
        """Leave the queue and abandon the file, unless the lock arrives at this moment."""
        self._release_next(lock_file)
        if future.cancel():
            self._lock_file = None
        return future.cancelled()

    def _is_stalled(self, lock_file: _LockFile) -> bool:
        """Whether the queue has not moved since the last call."""
        return True

    def _release_next(self, lock_file: _LockFile) -> None:
        """Release what other processes wait for."""


class FlockLock(_QueuedLock):
    """One lock for all processes.

    The kernel wakes the longest-waiting process, but one that arrives at that moment may be faster.
    """

    def acquire(self) -> bool:
        """Wait for the lock; return False if the queue stalls."""
        return self._lock_unless_stalled(_lock_all)

    def release(self) -> None:
        """Release the lock."""
        if self._lock_file is not None:
            fcntl.flock(self._lock_file.file, fcntl.LOCK_UN)


class TicketLock(_QueuedLock):
    """Gives each process a number; each waits for the lock of the number before its own.

    Only the next process is woken, and no other can come between. If a waiting process dies, its lock goes, and the
    process behind it does not notice those further ahead; the two then meet at SQLite's own lock. The same happens
    behind a process that was passed because it stalled.
    """

    _COUNTER_OFFSET = 0
    _RELEASED_OFFSET = 8
    """Where the file has the last number drawn and the last one released; eight bytes each."""

    _TICKETS_OFFSET = 8
    """Where the locks of the numbers begin; the lock of the counter comes before them."""

    def __init__(self, path: str, mode: int) -> None:
        super().__init__(path, mode)
        self._ticket = 0
        self._last_released = 0

    def acquire(self) -> bool:
        """Draw a number and wait for the one before; return False if the queue stalls."""
        if not (self._lock_unless_stalled(_byte_lock(self._COUNTER_OFFSET)) and self._draw_ticket()):
            return False
        before = _byte_lock(self._TICKETS_OFFSET + self._ticket - 1)
        return self._try_lock(before) or self._lock_in_turn(before)

    def release(self) -> None:
        """Wake the next process."""
        if self._lock_file is not None:
            _write_number(self._lock_file.file, self._RELEASED_OFFSET, self._ticket)
            self._release_next(self._lock_file)

    def _draw_ticket(self) -> bool:
        """Draw a number; return False if it is taken, as after the file was truncated."""
        file = self._open_lock_file().file
        try:
            self._ticket = _read_number(file, self._COUNTER_OFFSET) % 2**62 + 1
            _write_number(file, self._COUNTER_OFFSET, self._ticket)
            self._last_released = _read_number(file, self._RELEASED_OFFSET)
            return self._try_lock(_byte_lock(self._TICKETS_OFFSET + self._ticket))
        finally:
            _unlock(file, self._COUNTER_OFFSET)

    def _is_stalled(self, lock_file: _LockFile) -> bool:
        """Whether no process ahead has released since the last call, or one behind us has."""
        before, self._last_released = self._last_released, _read_number(lock_file.file, self._RELEASED_OFFSET)
        return self._last_released == before or self._last_released > self._ticket

    def _release_next(self, lock_file: _LockFile) -> None:
        _unlock(lock_file.file, self._TICKETS_OFFSET + self._ticket - 1, 2)


def _read_number(file: int, offset: int) -> int:
    return int.from_bytes(os.pread(file, 8, offset), "little")


def _write_number(file: int, offset: int, number: int) -> None:
    os.pwrite(file, number.to_bytes(8, "little"), offset)


def _lock_all(file: int, *, wait: bool) -> object:
    return fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _unlock(file: int, offset: int, length: int = 1) -> None:
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, _flock_struct(fcntl.F_UNLCK, offset, length))


def _byte_lock(offset: int) -> _FileLock:
    """Return the lock of one byte."""
    return partial(_lock_byte, offset)


def _lock_byte(offset: int, file: int, *, wait: bool) -> object:
    return fcntl.fcntl(file, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, _flock_struct(fcntl.F_WRLCK, offset))


def _flock_struct(kind: int, offset: int, length: int = 1) -> bytes:
    """Return a `struct flock` for bytes of the file."""
    return struct.pack("hhqqi", kind, os.SEEK_SET, offset, length, 0)


def open_process_lock(path: str, mode: int) -> WriteLock:
    """Return the best lock of this platform, using the companion file at this path."""
    if fcntl is None:  # waiting writers retry SQLite's own lock
        return NoWriteLock()
    return TicketLock(path, mode) if _has_open_file_locks(path, mode) else FlockLock(path, mode)


def _has_open_file_locks(path: str, mode: int) -> bool:
    """Whether kernel and file system have locks that belong to an open file, not a process."""
    if not sys.platform.startswith("linux") or not hasattr(fcntl, "F_OFD_GETLK"):
        return False  # `struct flock` differs on other systems
    lock_file = _LockFile(path, mode)
    try:
        fcntl.fcntl(lock_file.file, fcntl.F_OFD_GETLK, _flock_struct(fcntl.F_WRLCK, 0))
    except OSError:
        return False
    finally:
        lock_file.close()
    return True
