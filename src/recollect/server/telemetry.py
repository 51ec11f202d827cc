"""Metrics: what was asked and what came of it, counted for Prometheus.

Logs: who is heard on standard error, and what is said of each request.
"""

import logging
from collections.abc import Callable, Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

from recollect.api.dispatcher import RequestOutcome
from recollect.api.operations import OPERATIONS
from recollect.jobs.scheduler import JobFailure
from recollect.model.job_runs import JobOccurrence
from recollect.server.json_log import JsonFormatter
from recollect.version import __version__

UNKNOWN_OPERATION = "unknown"
"""What is counted for an operation that there is not, so that nobody makes up names without end."""


GetDegradedModes = Callable[[], Collection[str]]
"""All that does not work as it should, by name."""


class Metrics:
    """Counts requests and jobs of one server."""

    def __init__(self, under_way: Callable[[], int], modes: Collection[str], degraded: GetDegradedModes) -> None:
        """Of so many requests under way; of all modes that are less than they should be, and which of them are so."""
        self._all = CollectorRegistry()
        self._requests = Counter(
            "recollect_requests",
            "Requests, by what came of them.",
            ["face", "operation", "outcome"],
            registry=self._all,
        )
        self._seconds = Histogram(
            "recollect_request_seconds", "How long requests took.", ["face", "operation"], registry=self._all
        )
        self._jobs = Counter("recollect_jobs", "Jobs that ended, by how.", ["job", "state"], registry=self._all)
        self._failures = Counter("recollect_scheduler_failures", "What failed in jobs.", registry=self._all)
        Gauge("recollect_requests_under_way", "Requests being answered or waiting.", registry=self._all).set_function(
            under_way
        )
        self._modes, self._degraded = modes, degraded
        self._mode = Gauge(
            "recollect_degraded", "Whether a mode is less than it should be.", ["mode"], registry=self._all
        )
        Info("recollect", "Which version this is.", registry=self._all).info({"version": __version__})

    def count_request(self, one: RequestOutcome) -> None:
        """Count a request."""
        operation = one.operation if one.operation in OPERATIONS else UNKNOWN_OPERATION
        self._requests.labels(one.transport, operation, one.outcome).inc()
        self._seconds.labels(one.transport, operation).observe(one.seconds)

    def count_job(self, one: JobOccurrence | JobFailure) -> None:
        """Count what a scheduler tells."""
        match one:
            case JobFailure():
                self._failures.inc()
            case JobOccurrence() if one.ended_at is not None:
                self._jobs.labels(one.job, one.state.value).inc()
            case _:
                pass

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        found = self._degraded()
        for one in self._modes:
            self._mode.labels(one).set(one in found)
        return generate_latest(self._all)


_LOG = logging.getLogger(__name__)

OWN_LOGGER, LIBRARY_LOGGERS = "recollect", ("uvicorn.error", "uvicorn.asgi", "asyncio", "mcp", "grpc")
"""Who logs: we, from info on, and what we are made of, from warnings on."""


def configure_logging() -> None:
    """Have everything logged so from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name, level in ((OWN_LOGGER, logging.INFO), *((one, logging.WARNING) for one in LIBRARY_LOGGERS)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def log_request(one: RequestOutcome) -> None:
    """Log a request: through which face, what, by whom, what came of it and how long it took."""
    _LOG.info(
        "asked",
        extra={
            "face": one.transport,
            "operation": one.operation,
            "caller": one.caller,
            "outcome": one.outcome,
            "milliseconds": round(one.seconds * 1000, 3),
        },
    )
