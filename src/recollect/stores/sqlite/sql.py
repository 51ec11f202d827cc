"""The statements of the SQLite store, with what many of them have in common filled in once."""

import json
import re
from collections.abc import Mapping
from typing import Any

import apsw

from recollect.evidence.asking import END
from recollect.model.scope import Scope
from recollect.stores.sqlite.rows import STATE, Row
from recollect.stores.statements import statements

_COLUMNS = re.compile(r"\{state:(\w*)\}")


def _columns(match: "re.Match[str]") -> str:
    table = f"{match[1]}." if match[1] else ""
    return ", ".join(f"{table}{name}" for name in STATE)


_VALUES = ", ".join(f":{name}" for name in STATE)

_INSIDE = (
    "SELECT number FROM scopes WHERE path = :path "
    "UNION ALL SELECT number FROM scopes WHERE path >= :first AND path < :beyond"
)
"""The scopes that `inside` says; two queries, so that each is answered by the index and none reads them all."""

_BEYOND_ALL = chr(0x10FFFF)
"""What no path begins with, because it is no character."""

_FRAGMENTS = {"{values}": _VALUES, "{inside}": _INSIDE, "{end}": f"substr(c.text, -{END})"}


def _filled(text: str) -> str:
    text = _COLUMNS.sub(_columns, text)
    for mark, fragment in _FRAGMENTS.items():
        text = text.replace(mark, fragment)
    return text


SQL: Mapping[str, str] = {
    name: _filled(text)
    for name, text in statements("recollect.stores.sqlite", "queries.sql", "upkeep.sql", "reembedding.sql").items()
}
"""Every statement by its name."""


def inside(scope: Scope | None, *, below: bool) -> dict[str, str | None]:
    """The parameters that say which scopes a statement is about: one, with those below it if asked, or all."""
    if scope is None:
        return {"path": None, "first": "", "beyond": _BEYOND_ALL}
    path = str(scope)
    return {"path": path, "first": f"{path}/", "beyond": f"{path}0" if below else f"{path}/"}  # "0" comes after "/"


def seen(scope: Scope, **given: object) -> dict[str, object]:
    """The parameters that say whose memories may be seen, and others."""
    return {"path": str(scope), "ancestors": json.dumps([str(one) for one in scope.ancestors]), **given}


def all_rows(db: apsw.Connection, name: str, **given: Any) -> list[Row]:
    """All rows of a statement."""
    return list(db.execute(SQL[name], given))


def one_row(db: apsw.Connection, name: str, **given: Any) -> Row | None:
    """The first row of a statement, if there is one."""
    return next(iter(db.execute(SQL[name], given)), None)


def the_row(db: apsw.Connection, name: str, **given: Any) -> Row:
    """The row of a statement that always has one."""
    return next(iter(db.execute(SQL[name], given)))
