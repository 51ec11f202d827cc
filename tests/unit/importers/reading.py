"""Reading as tests do it: values as lines, for one scope at one moment."""

import json
from datetime import UTC, datetime
from typing import Any

from recollect.importers import FORMATS
from recollect.importers.base import DraftStream
from recollect.model.draft import Draft
from recollect.model.scope import Scope

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ANA = Scope.parse("acme/ana")


def reading(name: str, *records: Any, skip_bad: bool = False, source: str | None = "notes.jsonl") -> DraftStream:
    """The records, each a line; a text is a line as it is."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    return FORMATS[name].read(lines, ANA, source=source, now=NOW, skip_bad=skip_bad)


def drafts(name: str, *records: Any) -> list[Draft]:
    """What becomes of the records."""
    return list(reading(name, *records))
