"""The statements of the SQLite store, with what many of them have in common filled in once."""

from collections.abc import Mapping
from typing import Any

import apsw

from recollect.stores.sql.macros import always, filled
from recollect.stores.sql.rows import STATE
from recollect.stores.sql.statements import statements
from recollect.stores.sql.transaction import Row
from recollect.text.questions import END

_INSIDE = (
    "SELECT number FROM scopes WHERE path = :path "
    "UNION ALL SELECT number FROM scopes WHERE path >= :first AND path < :beyond"
)
"""The scopes that `inside` says; two queries, so that each is answered by the index and none reads them all."""


def _levels(table: str) -> str:
    """The level of a state, and behind it those that it stands for."""
    return f"{table}.level || coalesce({table}.more ->> '$.stands_for', '')"


def _standing(table: str) -> str:
    """The status of a state, or that no index has it though it might be recalled."""
    away = f"{table}.more ->> '$.unindexed' OR {_left(table)} = '{EVERY_INDEX}'"
    return f"iif(({away}) AND {table}.status IN ('active', 'superseded'), 'unindexed', {table}.status)"


def _worded(table: str) -> str:
    """The names in a content and its terms, unless the state has left the index of words."""
    return ", ".join(f"iif(instr({_left(table)}, 'text') > 0, {none}, c.{name})" for name, none in WORDED.items())


def _left(table: str) -> str:
    return f"iif({table}.level IS NULL, '', coalesce({table}.more ->> '$.left', ''))"


def _unembedded(table: str) -> str:
    """Whether a state has left the index of directions."""
    return f"instr({_left(table)}, 'vector') > 0"


_GONE = (
    "CASE WHEN EXISTS (SELECT 1 FROM memories s WHERE s.content = c.number)"  # noqa: S608 — names of ours
    f" THEN EXISTS (SELECT 1 FROM memories s WHERE s.content = c.number AND {_unembedded('s')})"
    f" ELSE EXISTS (SELECT 1 FROM versions s WHERE s.content = c.number AND {_unembedded('s')}) END"
)
"""Whether a content has no direction because who says it has left that index."""

WORDED = {"entities": "''", "terms": "x''"}
"""What a content is found by when somebody asks with its words, and what stands for nothing of it."""

EVERY_INDEX = '["text","vector"]'

_MARKS = {
    "values": always(", ".join(f":{name}" for name in STATE)),
    "inside": always(_INSIDE),
    "end": always(f"substr(c.text, -{END})"),
    "levels": _levels,
    "standing": _standing,
    "worded": _worded,
    "unembedded": _unembedded,
    "gone": always(f"({_GONE})"),
}

SQL: Mapping[str, str] = filled(
    statements("recollect.stores.sqlite", "queries.sql", "upkeep.sql", "reembedding.sql", "timetable.sql"), _MARKS
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
