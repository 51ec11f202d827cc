"""Watch: how a server is, by what it sees of its store, its model, its jobs and its keys."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from recollect import config, factory
from recollect.api.dispatcher import Asked
from recollect.api.health import Health
from recollect.api.problems import Code
from recollect.config import Settings
from recollect.engine.engine import Engine
from recollect.errors import NotFound, RecollectError
from recollect.jobs.runner import Failure
from recollect.model.job_runs import Occurrence, State
from recollect.server.authenticator import MODES as OF_LETTING
from recollect.server.authenticator import OPEN, Entrance

_LOG = logging.getLogger(__name__)

NO_STORE = "store unreachable"
NO_WRITES = "store takes no writes"
NO_EMBEDDER = "embedder absent"
EMBEDDER_FAILS = "embedder failing"
NO_SCHEDULER = "scheduler failing"

MODES = (NO_STORE, NO_WRITES, NO_EMBEDDER, EMBEDDER_FAILS, NO_SCHEDULER, *OF_LETTING)
"""Every mode that is less than it should be."""

OF_THE_STORE = frozenset({Code.STORE.value, Code.BUSY.value, Code.OVERDUE.value})
"""What comes of a request whose store may be out of reach."""

LONGEST_LOOK = 5.0
"""After how many seconds without an answer a store counts as unreachable."""

NOWHERE, NOTHING = "recollect-health", "none"
"""A scope and an id that are asked for, whether or not they are there."""


class Watch:
    """Looks at a server when somebody wants to know; whoever asks meanwhile is told the same."""

    def __init__(self, engine: Engine, embedder: str | None, entrance: Callable[[], Entrance]) -> None:
        """A watch over an engine; `embedder` is the model if it is to be had, `entrance` who can come in now."""
        self._engine, self._embedder, self._entrance = engine, embedder, entrance
        self._is_there, self._jobs_fail = True, False
        self._closed = False
        self._scheduler_fails: Callable[[], bool] = lambda: False
        self._logged: tuple[str, ...] = ()
        self._failures = engine.embedder_failures
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-health")
        self._look: tuple[Future[bool], float] | None = None

    def look_after(self, scheduler_fails: Callable[[], bool]) -> None:
        """Ask a scheduler, too, whether it fails."""
        self._scheduler_fails = scheduler_fails

    def heard(self, one: Asked) -> None:
        """Note what came of a request, by which it is seen first that the store may be gone."""
        with self._lock:
            if (one.outcome in OF_THE_STORE or not self._is_there) and not self._closed:
                self._look_now()
        self.notice()

    def worked(self, one: Occurrence | Failure) -> None:
        """Note what a scheduler tells of its jobs; whether it reaches its store, it is asked."""
        match one:
            case Failure(job=str()):
                self._jobs_fail = True
            case Failure():
                pass
            case Occurrence(state=State.DONE):
                self._jobs_fail = False
            case _:
                return
        self.notice()

    def degraded(self) -> tuple[str, ...]:
        """All that does not work as it should, by name."""
        found = {
            NO_STORE: not self._is_there,
            NO_WRITES: not self._engine.takes_writes,
            NO_EMBEDDER: self._embedder is None,
            EMBEDDER_FAILS: self._embedder is not None and self._engine.embedder_fails,
            NO_SCHEDULER: self._jobs_fail or self._scheduler_fails(),
        }
        here = self._entrance().degraded
        return (*(name for name, is_so in found.items() if is_so), *(() if here is None else (here,)))

    def notice(self) -> None:
        """Log what works less well than when it was last looked at, and what works again; nothing once it is closed.

        A model that failed since then and works again is both, though nobody looked while it did not.
        """
        with self._lock:  # while it is logged, too: of two who notice at once, the last to look has the last word
            if self._closed:
                return
            failures = self._engine.embedder_failures  # first, so that one meanwhile is seen now or the next time
            before, self._logged = self._logged, self.degraded()
            worse, better = _without(self._logged, before), _without(before, self._logged)
            if failures > self._failures and self._embedder and EMBEDDER_FAILS not in (*before, *self._logged):
                worse.append(EMBEDDER_FAILS)
                better.append(EMBEDDER_FAILS)
            self._failures = failures
            if worse:
                _LOG.warning("degraded", extra={"modes": worse})
            if better:
                _LOG.warning("recovered", extra={"modes": better})

    async def health(self) -> Health:
        """How it is now."""
        look, until = self._begun()
        try:
            rest = until - time.monotonic()
            there = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(look)), max(0.0, rest))
        except TimeoutError:
            self._is_there = there = False
        return self._health(there)

    def health_now(self) -> Health:
        """The same, for whoever waits in a thread."""
        look, until = self._begun()
        try:
            there = look.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            self._is_there = there = False
        return self._health(there)

    def _health(self, there: bool) -> Health:
        self.notice()
        return Health(store=there, lets_in=self._entrance().is_open, embedder=self._embedder, degraded=self.degraded())

    def _begun(self) -> "tuple[Future[bool], float]":
        """The look that is under way, or else a new one, and until when it is waited for."""
        with self._lock:
            return self._look_now()

    def _look_now(self) -> "tuple[Future[bool], float]":
        if self._look is None or self._look[0].done():
            self._look = (self._thread.submit(self._reaches), time.monotonic() + LONGEST_LOOK)
        return self._look

    def _reaches(self) -> bool:
        self._is_there = there = self._is_reached()
        self.notice()
        return there

    def _is_reached(self) -> bool:
        try:
            self._engine.get(NOTHING, scope=NOWHERE)
        except NotFound:
            return True
        except RecollectError:
            return False
        return True

    def close(self) -> None:
        """Look no more; what a look finds that is still under way is no news, for the store is closed next."""
        with self._lock:
            self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)


def watching(
    engine: Engine, settings: Settings | None = None, entrance: Callable[[], Entrance] = lambda: OPEN
) -> Watch:
    """A watch over an engine that was opened by these settings."""
    has_model = config.settings(settings).embedder is not None or factory.is_to_be_had(engine.embedder)
    return Watch(engine, engine.embedder if has_model else None, entrance)


def _without(some: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    return [one for one in some if one not in others]
