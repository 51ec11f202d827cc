"""Logs: who is heard on standard error, and what is said of each request."""

import logging

from recollect.api.dispatcher import Asked
from recollect.server.json_log import Lines

_LOG = logging.getLogger(__name__)

OURS, THEIRS = "recollect", ("uvicorn.error", "uvicorn.asgi", "asyncio", "mcp", "grpc")
"""Who logs: we, from info on, and what we are made of, from warnings on."""


def begin() -> None:
    """Have everything logged so from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    for name, level in ((OURS, logging.INFO), *((one, logging.WARNING) for one in THEIRS)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def asked(one: Asked) -> None:
    """Log a request: through which face, what, by whom, what came of it and how long it took."""
    _LOG.info(
        "asked",
        extra={
            "face": one.face,
            "operation": one.operation,
            "caller": one.caller,
            "outcome": one.outcome,
            "milliseconds": round(one.seconds * 1000, 3),
        },
    )
