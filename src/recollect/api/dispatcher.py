"""Front: what every face holds: who is it, may they, how long, how many at once, and what came of it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from recollect.api.auth import Caller
from recollect.api.host_policy import HostPolicy
from recollect.api.keys import Authenticator
from recollect.api.operation import Answer
from recollect.api.operation_runner import OperationRunner
from recollect.api.problems import ProblemCode, problem_of
from recollect.errors import Overdue, RecollectError, ServerBusy

OK = "ok"
"""What came of a request that was answered."""

UNIDENTIFIED = "-"
"""Who asks, and for what, before either is known."""

CANCELLED = "cancelled"
"""What came of a request that nobody waits for any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """How much a server takes at once, and how long it lets anybody wait."""

    body_bytes: int = 8_388_608
    seconds: float = 30.0
    threads: int = 8
    waiting: int = 256


DEFAULT_LIMITS = RequestLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """That something was asked: through which face, by whom, and what came of it; never a word of what it was."""

    transport: str
    operation: str
    caller: str
    outcome: str
    seconds: float


OutcomeListener = Callable[[RequestOutcome], object]
"""Whoever is told of each request."""


class Dispatcher:
    """Answers requests of every face by one policy; the faces only parse and render."""

    def __init__(
        self,
        service: OperationRunner,
        authenticate: Authenticator,
        gate: HostPolicy,
        *,
        limits: RequestLimits = DEFAULT_LIMITS,
        heard: OutcomeListener = lambda _: None,
    ) -> None:
        self.service, self.gate, self.limits = service, gate, limits
        self.authenticate = authenticate
        self._heard = heard
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="recollect-asked")
        self._under_way: set[Future[Answer]] = set()
        self._counting = threading.Lock()  # nothing is begun that whoever closes does not know of

    @property
    def pending_count(self) -> int:
        """How many requests are being answered, or wait for that."""
        return len(self._under_way)

    def submit(self, name: str, given: Mapping[str, Any], caller: Caller) -> "Future[Answer]":
        """Have an operation answered in a thread of ours; refused if too many wait already."""
        with self._counting:
            if self.pending_count >= self.limits.threads + self.limits.waiting:
                raise ServerBusy(f"{self.pending_count} requests are waiting already; try again in a moment")
            work = self._threads.submit(self.service.run, name, given, caller)
            self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        return work

    async def dispatch(self, face: str, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """What the operation gives; given up on after a while."""
        with self.record_outcome(face, name, caller.name):
            work = self.submit(name, given, caller)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await asyncio.wrap_future(work)  # to cancel it keeps only what has not begun from doing so
            except TimeoutError as error:
                raise timeout_error(work, self.limits.seconds) from error

    @contextmanager
    def record_outcome(self, face: str, name: str, caller: str) -> Iterator[None]:
        """Have it heard what came of a request, and how long that took."""
        began, outcome = time.perf_counter(), ProblemCode.INTERNAL.value
        try:
            yield
            outcome = OK
        except RecollectError as error:
            outcome = problem_of(error).code.value
            raise
        except (asyncio.CancelledError, CancelledError):
            outcome = CANCELLED
            raise
        finally:
            took = time.perf_counter() - began
            self._heard(RequestOutcome(transport=face, operation=name, caller=caller, outcome=outcome, seconds=took))

    def record_refusal(self, face: str, name: str, caller: str, error: RecollectError) -> None:
        """Have it heard that something was refused before it was asked."""
        outcome = problem_of(error).code.value
        self._heard(RequestOutcome(transport=face, operation=name, caller=caller, outcome=outcome, seconds=0.0))

    def close(self, seconds: float | None = None) -> int:
        """Take nothing more and wait for what has begun, so many seconds at most; gives how much is still at it."""
        with self._counting:
            self._threads.shutdown(wait=False, cancel_futures=True)
            left = set(self._under_way)
        begun = {one for one in left if not one.cancelled()}  # of others nobody would ever tell the end
        return len(wait(begun, seconds).not_done)


def timeout_error(work: "Future[Answer]", seconds: float) -> Overdue:
    """What is said of work that takes too long; it is not begun any more, if it has not been."""
    rest = "it was not begun" if work.cancel() else "what it writes may still come"
    return Overdue(f"it takes longer than {seconds:g} seconds, or than was allowed it; {rest}")
