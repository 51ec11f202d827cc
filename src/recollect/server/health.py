"""Health: whether a server can do its work, told to whoever asks; nothing of memories is in it.

Watch: how a server is, by what it sees of its store, its model, its jobs and its keys.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from recollect import config, factory
from recollect.api.dispatcher import RequestOutcome
from recollect.api.problems import ProblemCode
from recollect.config import Settings
from recollect.engine.engine import Engine
from recollect.errors import NotFound, RecollectError
from recollect.jobs.scheduler import JobFailure
from recollect.model.job_runs import JobOccurrence, JobState
from recollect.server.authenticator import AUTH_OK, AuthStatus
from recollect.server.authenticator import DEGRADED_AUTH_MODES as OF_LETTING


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the store can be reached, whether anybody can be let in, which model embeds, and what is degraded."""

    store: bool
    accepts_callers: bool = True
    embedder: str | None
    degraded: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.store and self.accepts_callers

    def fields(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "ready": self.ready,
            "store": "reachable" if self.store else "unreachable",
            "embedder": self.embedder,
            "degraded": list(self.degraded),
        }


HealthCheck = Callable[[], Awaitable[Health]]
"""How it is now."""

_LOG = logging.getLogger(__name__)

NO_STORE = "store unreachable"
NO_WRITES = "store takes no writes"
NO_EMBEDDER = "embedder absent"
EMBEDDER_FAILS = "embedder failing"
NO_SCHEDULER = "scheduler failing"

DEGRADED_MODES = (NO_STORE, NO_WRITES, NO_EMBEDDER, EMBEDDER_FAILS, NO_SCHEDULER, *OF_LETTING)
"""Every mode that is less than it should be."""

STORE_OUTCOMES = frozenset({ProblemCode.STORE.value, ProblemCode.BUSY.value, ProblemCode.OVERDUE.value})
"""What comes of a request whose store may be out of reach."""

PROBE_TIMEOUT_SECONDS = 5.0
"""After how many seconds without an answer a store counts as unreachable."""

PROBE_SCOPE, PROBE_ID = "recollect-health", "none"
"""A scope and an id that are asked for, whether or not they are there."""


class HealthMonitor:
    """Looks at a server when somebody wants to know; whoever asks meanwhile is told the same."""

    def __init__(self, engine: Engine, embedder: str | None, entrance: Callable[[], AuthStatus]) -> None:
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

    def watch_scheduler(self, scheduler_fails: Callable[[], bool]) -> None:
        """Ask a scheduler, too, whether it fails."""
        self._scheduler_fails = scheduler_fails

    def on_request(self, one: RequestOutcome) -> None:
        """Note what came of a request, by which it is seen first that the store may be gone."""
        with self._lock:
            if (one.outcome in STORE_OUTCOMES or not self._is_there) and not self._closed:
                self._start_probe()
        self.log_changes()

    def on_job(self, one: JobOccurrence | JobFailure) -> None:
        """Note what a scheduler tells of its jobs; whether it reaches its store, it is asked."""
        match one:
            case JobFailure(job=str()):
                self._jobs_fail = True
            case JobFailure():
                pass
            case JobOccurrence(state=JobState.DONE):
                self._jobs_fail = False
            case _:
                return
        self.log_changes()

    def degraded_modes(self) -> tuple[str, ...]:
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

    def log_changes(self) -> None:
        """Log what works less well than when it was last looked at, and what works again; nothing once it is closed.

        A model that failed since then and works again is both, though nobody looked while it did not.
        """
        with self._lock:  # while it is logged, too: of two who notice at once, the last to look has the last word
            if self._closed:
                return
            failures = self._engine.embedder_failures  # first, so that one meanwhile is seen now or the next time
            before, self._logged = self._logged, self.degraded_modes()
            worse, better = _difference(self._logged, before), _difference(before, self._logged)
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
        look, until = self._current_probe()
        try:
            rest = until - time.monotonic()
            there = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(look)), max(0.0, rest))
        except TimeoutError:
            self._is_there = there = False
        return self._build_health(there)

    def health_now(self) -> Health:
        """The same, for whoever waits in a thread."""
        look, until = self._current_probe()
        try:
            there = look.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            self._is_there = there = False
        return self._build_health(there)

    def _build_health(self, there: bool) -> Health:
        self.log_changes()
        return Health(
            store=there,
            accepts_callers=self._entrance().accepts_callers,
            embedder=self._embedder,
            degraded=self.degraded_modes(),
        )

    def _current_probe(self) -> "tuple[Future[bool], float]":
        """The look that is under way, or else a new one, and until when it is waited for."""
        with self._lock:
            return self._start_probe()

    def _start_probe(self) -> "tuple[Future[bool], float]":
        if self._look is None or self._look[0].done():
            self._look = (self._thread.submit(self._probe), time.monotonic() + PROBE_TIMEOUT_SECONDS)
        return self._look

    def _probe(self) -> bool:
        self._is_there = there = self._is_store_reachable()
        self.log_changes()
        return there

    def _is_store_reachable(self) -> bool:
        try:
            self._engine.get(PROBE_ID, scope=PROBE_SCOPE)
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


def create_monitor(
    engine: Engine, settings: Settings | None = None, entrance: Callable[[], AuthStatus] = lambda: AUTH_OK
) -> HealthMonitor:
    """A watch over an engine that was opened by these settings."""
    has_model = config.load_settings(settings).embedder is not None or factory.is_model_available(engine.embedder)
    return HealthMonitor(engine, engine.embedder if has_model else None, entrance)


def _difference(some: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    return [one for one in some if one not in others]
