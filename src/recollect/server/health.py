"""Health of a server: its store, embedder, jobs and authentication.

Any client may ask, so the answer reveals nothing of the memories. `HealthMonitor` also logs each change.
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
from recollect.model.plan import JobOccurrence, JobState
from recollect.server.authenticator import AUTH_OK, DEGRADED_AUTH_MODES, AuthStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Health of a server: store, authentication, embedder and degraded modes."""

    store: bool
    accepts_callers: bool = True
    embedder: str | None
    degraded: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.store and self.accepts_callers

    def fields(self) -> dict[str, Any]:
        """Return it as JSON fields."""
        return {
            "ready": self.ready,
            "store": "reachable" if self.store else "unreachable",
            "embedder": self.embedder,
            "degraded": list(self.degraded),
        }


HealthCheck = Callable[[], Awaitable[Health]]
"""Return the present health."""

_LOG = logging.getLogger(__name__)

NO_STORE = "store unreachable"
NO_WRITES = "store takes no writes"
NO_EMBEDDER = "embedder absent"
EMBEDDER_FAILS = "embedder failing"
NO_SCHEDULER = "scheduler failing"

DEGRADED_MODES = (NO_STORE, NO_WRITES, NO_EMBEDDER, EMBEDDER_FAILS, NO_SCHEDULER, *DEGRADED_AUTH_MODES)
"""The names of all degraded modes."""

STORE_OUTCOMES = frozenset({ProblemCode.STORE.value, ProblemCode.BUSY.value, ProblemCode.OVERDUE.value})
"""Outcomes of requests after which the store is probed, because it may be unreachable."""

PROBE_TIMEOUT_SECONDS = 5.0
"""A store that does not answer a probe for so long counts as unreachable."""

PROBE_SCOPE, PROBE_ID = "recollect-health", "none"
"""The scope and the id that a probe reads; they need not exist."""


class HealthMonitor:
    """Probes the store when health is requested; concurrent requests share one probe."""

    def __init__(self, engine: Engine, embedder: str | None, get_auth_status: Callable[[], AuthStatus]) -> None:
        """Monitor an engine.

        `embedder` is None if the model is not available; `get_auth_status` returns the status of authentication.
        """
        self._engine, self._embedder, self._get_auth_status = engine, embedder, get_auth_status
        self._store_reachable, self._jobs_fail = True, False
        self._closed = False
        self._scheduler_fails: Callable[[], bool] = lambda: False
        self._logged: tuple[str, ...] = ()
        self._failures = engine.admin.embedder_failures
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-health")
        self._latest_probe: tuple[Future[bool], float] | None = None

    def watch_scheduler(self, scheduler_fails: Callable[[], bool]) -> None:
        """Include the state of a scheduler."""
        self._scheduler_fails = scheduler_fails

    def on_request(self, outcome: RequestOutcome) -> None:
        """Probe the store if a request suggests that it has become unreachable or is back."""
        with self._lock:
            if (outcome.outcome in STORE_OUTCOMES or not self._store_reachable) and not self._closed:
                self._start_probe()
        self.log_changes()

    def on_job(self, event: JobOccurrence | JobFailure) -> None:
        """Record whether jobs fail.

        Whether the scheduler can reach its store is not recorded here; the scheduler reports it.
        """
        match event:
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
        """Return the names of all present degraded modes."""
        modes = {
            NO_STORE: not self._store_reachable,
            NO_WRITES: not self._engine.admin.takes_writes,
            NO_EMBEDDER: self._embedder is None,
            EMBEDDER_FAILS: self._embedder is not None and self._engine.admin.embedder_fails,
            NO_SCHEDULER: self._jobs_fail or self._scheduler_fails(),
        }
        auth_mode = self._get_auth_status().degraded
        return (*(name for name, is_so in modes.items() if is_so), *(() if auth_mode is None else (auth_mode,)))

    def log_changes(self) -> None:
        """Log modes that degraded or recovered since the last call; nothing once closed.

        An embedder that failed and recovered between two calls is logged as both.
        """
        with self._lock:  # held while logging, too, so that the last log line is the latest check
            if self._closed:
                return
            failures = (
                self._engine.admin.embedder_failures
            )  # read first: a failure meanwhile is seen now or the next time
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
        """Return the present health."""
        probe, deadline = self._current_probe()
        try:
            remaining = deadline - time.monotonic()
            reachable = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(probe)), max(0.0, remaining))
        except TimeoutError:
            self._store_reachable = reachable = False
        return self._build_health(reachable)

    def health_now(self) -> Health:
        """Return the present health; blocks, so call it from a thread."""
        probe, deadline = self._current_probe()
        try:
            reachable = probe.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._store_reachable = reachable = False
        return self._build_health(reachable)

    def _build_health(self, reachable: bool) -> Health:
        self.log_changes()
        return Health(
            store=reachable,
            accepts_callers=self._get_auth_status().accepts_callers,
            embedder=self._embedder,
            degraded=self.degraded_modes(),
        )

    def _current_probe(self) -> "tuple[Future[bool], float]":
        """Return the running probe or a new one, and its deadline."""
        with self._lock:
            return self._start_probe()

    def _start_probe(self) -> "tuple[Future[bool], float]":
        if self._latest_probe is None or self._latest_probe[0].done():
            self._latest_probe = (self._thread.submit(self._probe), time.monotonic() + PROBE_TIMEOUT_SECONDS)
        return self._latest_probe

    def _probe(self) -> bool:
        self._store_reachable = reachable = self._is_store_reachable()
        self.log_changes()
        return reachable

    def _is_store_reachable(self) -> bool:
        try:
            self._engine.get(PROBE_ID, scope=PROBE_SCOPE)
        except NotFound:
            return True
        except RecollectError:
            return False
        return True

    def close(self) -> None:
        """Stop probing; the result of a running probe is not logged, as the store closes next."""
        with self._lock:
            self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)


def create_monitor(
    engine: Engine, settings: Settings | None = None, get_auth_status: Callable[[], AuthStatus] = lambda: AUTH_OK
) -> HealthMonitor:
    """Return a monitor for an engine that was opened with these settings."""
    has_model = config.load_settings(settings).embedder is not None or factory.is_model_available(engine.admin.embedder)
    return HealthMonitor(engine, engine.admin.embedder if has_model else None, get_auth_status)


def _difference(some: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    return [one for one in some if one not in others]
