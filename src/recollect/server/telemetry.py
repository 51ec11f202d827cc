"""Prometheus metrics and logging of a server."""

import logging
from collections.abc import Callable, Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

from recollect.api.dispatcher import RequestOutcome
from recollect.api.operations import OPERATIONS
from recollect.jobs.scheduler import JobFailure
from recollect.model.plan import JobOccurrence
from recollect.server.json_log import JsonFormatter
from recollect.version import __version__

UNKNOWN_OPERATION = "unknown"
"""Metric label of unknown operations, so that callers cannot create any number of labels."""


GetDegradedModes = Callable[[], Collection[str]]
"""Return the names of all degraded modes."""


class Metrics:
    """Counts requests and jobs of one server."""

    def __init__(
        self, count_pending: Callable[[], int], modes: Collection[str], get_degraded: GetDegradedModes
    ) -> None:
        """Create the metrics.

        `count_pending` counts unfinished requests. `modes` lists every degraded mode; `get_degraded` returns the
        present ones.
        """
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "recollect_requests",
            "Requests, by outcome.",
            ["face", "operation", "outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "recollect_request_seconds", "Duration of requests.", ["face", "operation"], registry=self._registry
        )
        self._jobs = Counter("recollect_jobs", "Finished jobs, by state.", ["job", "state"], registry=self._registry)
        self._failures = Counter("recollect_scheduler_failures", "Failures of the scheduler.", registry=self._registry)
        Gauge(
            "recollect_requests_under_way", "Requests that are running or queued.", registry=self._registry
        ).set_function(count_pending)
        self._modes, self._get_degraded = modes, get_degraded
        self._mode = Gauge(
            "recollect_degraded", "Whether the server is in a degraded mode.", ["mode"], registry=self._registry
        )
        Info("recollect", "Version of recollect.", registry=self._registry).info({"version": __version__})

    def count_request(self, request: RequestOutcome) -> None:
        """Count a request."""
        operation = request.operation if request.operation in OPERATIONS else UNKNOWN_OPERATION
        self._requests.labels(request.transport, operation, request.outcome).inc()
        self._seconds.labels(request.transport, operation).observe(request.seconds)

    def count_job(self, event: JobOccurrence | JobFailure) -> None:
        """Count a job that has ended, or a failure in a job."""
        match event:
            case JobFailure():
                self._failures.inc()
            case JobOccurrence() if event.ended_at is not None:
                self._jobs.labels(event.job, event.state.value).inc()
            case _:
                pass

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        degraded = self._get_degraded()
        for mode in self._modes:
            self._mode.labels(mode).set(mode in degraded)
        return generate_latest(self._registry)


_LOG = logging.getLogger(__name__)

OWN_LOGGER, LIBRARY_LOGGERS = "recollect", ("uvicorn.error", "uvicorn.asgi", "asyncio", "mcp", "grpc")
"""Events of recollect are logged from INFO on, events of libraries from WARNING on."""


def configure_logging() -> None:
    """Log to standard error as JSON from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name, level in ((OWN_LOGGER, logging.INFO), *((one, logging.WARNING) for one in LIBRARY_LOGGERS)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("uvicorn.error").addFilter(_is_no_upgrade_warning)


def _is_no_upgrade_warning(record: logging.LogRecord) -> bool:
    """Return False for uvicorn's warnings about an upgrade request, which it rightly ignores."""
    return record.funcName != "_unsupported_upgrade_warning"


def log_request(request: RequestOutcome) -> None:
    """Log a request: transport, operation, caller, outcome and duration."""
    _LOG.info(
        "request",
        extra={
            "face": request.transport,
            "operation": request.operation,
            "caller": request.caller,
            "outcome": request.outcome,
            "milliseconds": round(request.seconds * 1000, 3),
        },
    )
