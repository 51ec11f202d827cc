"""Log formatter: one JSON object per line, with the event and its fields."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from recollect.errors import list_frames

_STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
"""Attributes of every log record; all others are fields of the event."""


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON: time, level, event and fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES}
        entry: Mapping[str, Any] = {
            "time": at,
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_describe_error(record),
            **fields,
        }
        return json.dumps(entry, ensure_ascii=True, default=str)


def _describe_error(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the type and frames of an error, not its message, which could quote a memory."""
    error = record.exc_info[1] if record.exc_info else None
    return {} if error is None else {"error": type(error).__name__, "frames": list_frames(error)}
