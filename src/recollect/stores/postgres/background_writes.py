"""PutOff: changes that nobody waits for, made soon by a thread of their own."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from weakref import WeakMethod, finalize

from recollect.errors import StoreBusy, StoreError
from recollect.fork_safety import tell_children
from recollect.stores.sql.atexit_flush import before_the_end, wait_for_at_the_end

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

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def is_idle(self) -> bool:
        return not self.waiting and not self.busy

    def serve(self, failed: "WeakMethod[Callable[[Exception, int], None]]", name: str) -> None:
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
                lost = 1 + self._given_up(error)
                _LOG.exception("change_put_off_failed", extra={"store": name, "changes": lost})
                if (tell := failed()) is not None:
                    tell(error, lost)
            del act

    def _given_up(self, error: Exception) -> int:
        """How many are not even tried: whoever closes a store whose server is away does not wait for each of them."""
        with self.changed:
            if not (self.closed and isinstance(error, StoreBusy)):
                return 0
            left = len(self.waiting)
            self.waiting.clear()
            return left


class PutOff:
    """Changes of one store that are made soon, in the order they came; at the latest when it is closed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._farewell: finalize[[_Line, threading.Thread], PutOff] | None = None
        self._thread: threading.Thread | None = None
        self._first: Exception | None = None
        self._failures = 0
        self.after_fork()
        tell_children(self)

    def add(self, act: Act) -> None:
        """Do it soon; where too much waits already, the caller waits too."""
        with self._line.changed:
            self._start()
            if threading.current_thread() is not self._thread:
                self._line.changed.wait_for(lambda: len(self._line.waiting) < MOST or self._line.closed)
            self._refuse_closed()
            self._line.waiting.append(act)
            self._line.changed.notify_all()

    def settle(self) -> None:
        """Returns when all of it has been done, or has failed."""
        if threading.current_thread() is not self._thread:
            with self._line.changed:
                self._line.changed.wait_for(self._line.is_idle)

    def flush(self) -> None:
        """The same; raises if any of it failed."""
        self.settle()
        first, self._first = self._first, None
        count, self._failures = self._failures, 0
        if first is not None:
            error = StoreBusy if isinstance(first, StoreBusy) else StoreError
            told = f"{count} of the changes put off failed, the first with: {first}"
            raise error(f"{self._name}: {told}") from first

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
        with self._line.changed:
            self._line.waiting.append(lambda: promise.set_result(None))
            self._line.changed.notify_all()
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
        self._first, self._failures = None, 0

    def _refuse_closed(self) -> None:
        if self._line.closed:
            raise StoreError(f"{self._name} is closed; open the store again")

    def _start(self) -> None:
        self._refuse_closed()
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

    def _failed(self, error: Exception, times: int) -> None:
        self._first = self._first or error
        self._failures += times


def _dismiss(line: _Line, thread: threading.Thread) -> None:
    """Have a thread end when it has done what is left to do."""
    with suppress(RuntimeError):
        wait_for_at_the_end(thread)
        line.close()
