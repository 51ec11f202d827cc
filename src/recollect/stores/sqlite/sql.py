"""The statements of the SQLite store, with what many of them have in common filled in once."""

from collections.abc import Mapping
from typing import Any

import apsw

from recollect.evidence.asking import END
from recollect.stores.relational.marks import always, filled
from recollect.stores.relational.rows import STATE
from recollect.stores.relational.session import Row
from recollect.stores.statements import statements

_INSIDE = (
    "SELECT number FROM scopes WHERE path = :path "
    "UNION ALL SELECT number FROM scopes WHERE path >= :first AND path < :beyond"
)
"""The scopes that `inside` says; two queries, so that each is answered by the index and none reads them all."""

_MARKS = {
    "values": always(", ".join(f":{name}" for name in STATE)),
    "inside": always(_INSIDE),
    "end": always(f"substr(c.text, -{END})"),
}

SQL: Mapping[str, str] = filled(
    statements("recollect.stores.sqlite", "queries.sql", "upkeep.sql", "reembedding.sql"), _MARKS
)
"""Every statement by its name."""


def all_rows(db: apsw.Connection, name: str, /, **given: Any) -> list[Row]:
    """All rows of a statement."""
    return list(db.execute(SQL[name], given))


def one_row(db: apsw.Connection, name: str, /, **given: Any) -> Row | None:
    """The first row of a statement, if there is one."""
    return next(iter(db.execute(SQL[name], given)), None)


def the_row(db: apsw.Connection, name: str, /, **given: Any) -> Row:
    """The row of a statement that always has one."""
    return next(iter(db.execute(SQL[name], given)))
