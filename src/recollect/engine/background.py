"""Background: what is done soon in a thread of its own, and can be waited for."""

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from recollect.fork_safety import ForkSafeLock, register_fork_aware

T = TypeVar("T")


class Pending(Generic[T]):
    """Something that is being done: `result()` waits for it, and so does `await`."""

    def __init__(self, future: "Future[T]") -> None:
        self._future = future

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'under way'}>"

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio  # which whoever awaits has loaded

        return asyncio.wrap_future(self._future).__await__()

    @property
    def done(self) -> bool:
        """Whether it came to an end, good or bad."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """What came of it, once it has; raises what went wrong, or `TimeoutError` after so many seconds."""
        return self._future.result(timeout)


class BackgroundWorker:
    """One thread that does one thing after the other; begun when something is first to be done."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        register_fork_aware(self)

    def submit(self, what: Callable[[], T]) -> Pending[T]:
        """Have it done after all that was asked for before."""
        with self._lock.rlock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-background")
            return Pending(self._pool.submit(what))

    def finish(self) -> None:
        """Wait until all of it is done."""
        with self._lock.rlock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def after_fork(self) -> None:
        """The thread is the parent's, and so is what it has to do."""
        self._pool = None
