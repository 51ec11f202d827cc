"""Timeline: records of what happened by their moments, and how far whoever sums them up got."""

import json
from collections.abc import Sequence
from datetime import datetime

from recollect.model import validation
from recollect.model.level import Level
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Transaction


def read_timeline(
    db: Transaction,
    scope: Scope,
    levels: Sequence[Level],
    since: datetime | None,
    before: datetime | None,
    statuses: Sequence[Status],
) -> list[Memory]:
    """The scope's own records of these levels within a stretch of time, in order of time and id."""
    found = db.fetch_all(
        "timeline",
        path=str(scope),
        levels=json.dumps([one.value for one in levels]),
        since=rows.to_micros(since or validation.EARLIEST_DATETIME),
        before=rows.to_micros(before or validation.LATEST_DATETIME),
        statuses=json.dumps([one.value for one in statuses]),
    )
    return [rows.parse_memory(row) for row in found]


def read_changed_dates(db: Transaction, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
    """The moments of the scope's records of a level that later commits wrote, and the last of these commits."""
    found = db.fetch_all("touched", path=str(scope), level=level.value, after=after)
    return [rows.from_micros(at) for at, _ in found], max((commit for _, commit in found), default=after)


def read_checkpoint(db: Transaction, scope: Scope, name: str) -> str | None:
    """How far something got with the scope, as it was last noted."""
    row = db.fetch_first("checkpoint", path=str(scope), name=name)
    return None if row is None else str(row[0])
