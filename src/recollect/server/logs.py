"""Logs: who is heard on standard error, and what is said of each request."""

import logging

from recollect.api.dispatcher import RequestOutcome
from recollect.server.json_log import JsonFormatter

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
