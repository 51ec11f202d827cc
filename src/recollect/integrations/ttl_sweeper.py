"""A sweeper: a thread that does one thing again and again, until it is stopped or there is nothing left to do it on."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from recollect.errors import RecollectError, list_frames
from recollect.fork_safety import ForkSafeLock

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _SweepThread:
    """A thread that sweeps: what stops it, and what is done when it has ended."""

    thread: threading.Thread
    stop_event: threading.Event
    done: Future[None]


class TtlSweeper:
    """Sweeps in a thread of its own, at most one; what fails is tried again the next time, unless `is_over`.

    A child process has no such thread until it starts one.
    """

    def __init__(self, sweep: Callable[[], object], is_over: Callable[[], bool]) -> None:
        self._sweep = sweep
        self._is_over = is_over
        self._lock = ForkSafeLock()
        self._round: _SweepThread | None = None

    def start(self, every: timedelta) -> Future[None]:
        """Sweep at that interval from now on, or as somebody started it before; to cancel the future stops it."""
        with self._lock.rlock:
            if self._round is None or self._round.stop_event.is_set() or not self._round.thread.is_alive():
                self._round = self._start_thread(every)
            return self._round.done

    def stop(self, timeout: float | None) -> bool:
        """Sweep no more; whether that has ended within so many seconds, or at all if none are given."""
        with self._lock.rlock:
            latest = self._round
        if latest is None or not latest.thread.is_alive():
            return True
        latest.stop_event.set()
        latest.thread.join(timeout)
        return not latest.thread.is_alive()

    def _start_thread(self, every: timedelta) -> _SweepThread:
        stopping, ended = threading.Event(), Future[None]()
        given = (every, stopping, ended)
        thread = threading.Thread(target=self._run, args=given, name="recollect-sweeper", daemon=True)
        ended.add_done_callback(lambda _: stopping.set())
        thread.start()
        return _SweepThread(thread, stopping, ended)

    def _run(self, every: timedelta, stopping: threading.Event, ended: Future[None]) -> None:
        problem: Exception | None = None
        try:
            self._sweep_until(stopping, every)
        except Exception as error:  # which nobody would hear of: this thread is nobody's
            problem = error
            _LOG.error("sweeper_ended", extra={"error": type(error).__name__, "frames": list_frames(error)})
        with suppress(InvalidStateError):  # whoever stopped it has cancelled this
            ended.set_result(None) if problem is None else ended.set_exception(problem)

    def _sweep_until(self, stopping: threading.Event, every: timedelta) -> None:
        while not stopping.wait(every.total_seconds()) and not self._is_over():
            try:
                self._sweep()
            except RecollectError as error:  # the store may be back the next time
                if not self._is_over():
                    _LOG.warning("sweep_failed", extra={"error": type(error).__name__})
