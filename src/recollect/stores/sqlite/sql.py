"""The statements of the SQLite store, with the columns of a version filled in once."""

import re
from collections.abc import Mapping
from typing import Any

import apsw

from recollect.stores.sqlite.rows import STATE, Row
from recollect.stores.statements import statements

_COLUMNS = re.compile(r"\{state:(\w*)\}")


def _columns(match: "re.Match[str]") -> str:
    table = f"{match[1]}." if match[1] else ""
    return ", ".join(f"{table}{name}" for name in STATE)


_VALUES = ", ".join(f":{name}" for name in STATE)

SQL: Mapping[str, str] = {
    name: _COLUMNS.sub(_columns, text).replace("{values}", _VALUES)
    for name, text in statements("recollect.stores.sqlite", "queries.sql", "upkeep.sql", "reembedding.sql").items()
}
"""Every statement by its name."""


def all_rows(db: apsw.Connection, name: str, **given: Any) -> list[Row]:
    """All rows of a statement."""
    return list(db.execute(SQL[name], given))


def one_row(db: apsw.Connection, name: str, **given: Any) -> Row | None:
    """The first row of a statement, if there is one."""
    return next(iter(db.execute(SQL[name], given)), None)


def the_row(db: apsw.Connection, name: str, **given: Any) -> Row:
    """The row of a statement that always has one."""
    return next(iter(db.execute(SQL[name], given)))
