"""PutOff: changes that nobody waits for, made soon by a thread of their own."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from weakref import WeakMethod, finalize

from recollect.errors import StoreError
from recollect.heirs import tell_children
from recollect.stores.ending import before_the_end, wait_for_at_the_end

_LOG = logging.getLogger(__name__)

MOST = 512
"""How many changes may wait before who adds another waits with them."""

Act = Callable[[], object]


class _Line:
    """What waits; a thread takes from the front until the line is closed and empty."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: deque[Act] = deque()
        self.busy = False
        self.closed = False

    def add(self, act: Act) -> None:
        with self.changed:
            self.waiting.append(act)
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def is_idle(self) -> bool:
        return not self.waiting and not self.busy

    def serve(self, failed: "WeakMethod[Callable[[BaseException], None]]", name: str) -> None:
        """Do one after another, until nothing is left and nothing will come."""
        while True:
            with self.changed:
                self.busy = False
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.waiting or self.closed)
                if not self.waiting:
                    return
                self.busy, act = True, self.waiting.popleft()
            try:
                act()
            except Exception as error:
                _LOG.exception("change_put_off_failed", extra={"store": name})
                if (tell := failed()) is not None:
                    tell(error)
            del act


class PutOff:
    """Changes of one store that are made soon, in the order they came; at the latest when it is closed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._farewell: finalize[[_Line, threading.Thread], PutOff] | None = None
        self._thread: threading.Thread | None = None
        self._failures: list[BaseException] = []
        self.after_fork()
        tell_children(self)

    def add(self, act: Act) -> None:
        """Do it soon; where too much waits already, the caller waits too."""
        with self._line.changed:
            self._start()
            if threading.current_thread() is not self._thread:
                self._line.changed.wait_for(lambda: len(self._line.waiting) < MOST)
        self._line.add(act)

    def flush(self) -> None:
        """Returns when all of it has been done; raises if any of it failed."""
        if threading.current_thread() is not self._thread:
            with self._line.changed:
                self._line.changed.wait_for(self._line.is_idle)
        failures, self._failures = self._failures, []
        if failures:
            told = f"{len(failures)} of the changes put off failed, the first with: {failures[0]}"
            raise StoreError(f"{self._name}: {told}") from failures[0]

    def close(self) -> None:
        """Do what is left, and end."""
        self._line.close()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        self.flush()

    def leave(self) -> "Future[None] | None":
        """The promise that all of it was tried, for a process that ends."""
        if self._thread is None or not self._thread.is_alive():
            return None
        promise: Future[None] = Future()
        self._line.add(lambda: promise.set_result(None))
        return promise

    def give_up(self) -> None:
        """Tell that what was put off is not written, since the process ends."""
        if changes := len(self._line.waiting):
            _LOG.warning("changes_put_off_not_written", extra={"store": self._name, "changes": changes})

    def after_fork(self) -> None:
        """Begin with nothing: the thread is the parent's, and so is what waits for it."""
        if self._farewell is not None:
            self._farewell.detach()
        self._line = _Line()
        self._thread = None
        self._failures = []

    def _start(self) -> None:
        if self._line.closed:
            raise StoreError(f"{self._name} is closed; open the store again")
        if self._thread is not None:
            return
        serve = self._line.serve
        self._thread = threading.Thread(
            target=serve, args=(WeakMethod(self._failed), self._name), name="recollect-put-off", daemon=True
        )
        self._thread.start()
        self._farewell = finalize(self, _dismiss, self._line, self._thread)
        self._farewell.atexit = False
        before_the_end(self)

    def _failed(self, error: BaseException) -> None:
        self._failures.append(error)


def _dismiss(line: _Line, thread: threading.Thread) -> None:
    """Have a thread end when it has done what is left to do."""
    with suppress(RuntimeError):
        wait_for_at_the_end(thread)
        line.close()
