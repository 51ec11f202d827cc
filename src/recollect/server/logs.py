"""Logs: one JSON object a line on standard error, of events with their fields."""

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from recollect.service.front import Asked

_LOG = logging.getLogger(__name__)

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
"""What every record has; all else is a field that whoever logged it gave."""

OURS, THEIRS = "recollect", ("uvicorn.error", "uvicorn.asgi", "asyncio", "mcp", "grpc")
"""Who logs: we, from info on, and what we are made of, from warnings on."""


class Lines(logging.Formatter):
    """A record as JSON: when, how grave, what, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        given = {name: value for name, value in vars(record).items() if name not in _USUAL}
        told: Mapping[str, Any] = {
            "time": at,
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_broken(record),
            **given,
        }
        return json.dumps(told, ensure_ascii=True, default=str)


def _broken(record: logging.LogRecord) -> Mapping[str, Any]:
    """What broke and where; without its message, which could quote a memory."""
    if not record.exc_info or record.exc_info[0] is None:
        return {}
    frames = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(record.exc_info[2])]
    return {"error": record.exc_info[0].__name__, "frames": frames}


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
