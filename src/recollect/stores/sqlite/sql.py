"""The statements of the SQLite store, with what many of them have in common filled in once."""

from collections.abc import Mapping
from typing import Any

import apsw

from recollect.stores.sql.macros import constant_macro, expand_macros
from recollect.stores.sql.rows import STATE_COLUMNS
from recollect.stores.sql.statements import load_statements
from recollect.stores.sql.transaction import Row
from recollect.text.questions import QUESTION_END_CHARS

_SUBTREE_SQL = (
    "SELECT number FROM scopes WHERE path = :path "
    "UNION ALL SELECT number FROM scopes WHERE path >= :first AND path < :beyond"
)
"""The scopes that `inside` says; two queries, so that each is answered by the index and none reads them all."""


def _levels_sql(table: str) -> str:
    """The level of a state, and behind it those that it stands for."""
    return f"{table}.level || coalesce({table}.more ->> '$.stands_for', '')"


def _status_sql(table: str) -> str:
    """The status of a state, or that no index has it though it might be recalled."""
    away = f"{table}.more ->> '$.unindexed' OR {_left_indexes_sql(table)} = '{ALL_INDEXES_JSON}'"
    return f"iif(({away}) AND {table}.status IN ('active', 'superseded'), 'unindexed', {table}.status)"


def _terms_sql(table: str) -> str:
    """The names in a content and its terms, unless the state has left the index of words."""
    return ", ".join(
        f"iif(instr({_left_indexes_sql(table)}, 'text') > 0, {none}, c.{name})" for name, none in TERM_COLUMNS.items()
    )


def _left_indexes_sql(table: str) -> str:
    return f"iif({table}.level IS NULL, '', coalesce({table}.more ->> '$.left', ''))"


def _vector_left_sql(table: str) -> str:
    """Whether a state has left the index of directions."""
    return f"instr({_left_indexes_sql(table)}, 'vector') > 0"


_VECTOR_GONE_SQL = (
    "CASE WHEN EXISTS (SELECT 1 FROM memories s WHERE s.content = c.number)"  # noqa: S608 — names of ours
    f" THEN EXISTS (SELECT 1 FROM memories s WHERE s.content = c.number AND {_vector_left_sql('s')})"
    f" ELSE EXISTS (SELECT 1 FROM versions s WHERE s.content = c.number AND {_vector_left_sql('s')}) END"
)
"""Whether a content has no direction because who says it has left that index."""

TERM_COLUMNS = {"entities": "''", "terms": "x''"}
"""What a content is found by when somebody asks with its words, and what stands for nothing of it."""

ALL_INDEXES_JSON = '["text","vector"]'

_MACROS = {
    "values": constant_macro(", ".join(f":{name}" for name in STATE_COLUMNS)),
    "inside": constant_macro(_SUBTREE_SQL),
    "end": constant_macro(f"substr(c.text, -{QUESTION_END_CHARS})"),
    "levels": _levels_sql,
    "standing": _status_sql,
    "worded": _terms_sql,
    "unembedded": _vector_left_sql,
    "gone": constant_macro(f"({_VECTOR_GONE_SQL})"),
}

SQL: Mapping[str, str] = expand_macros(
    load_statements("recollect.stores.sqlite", "queries.sql", "upkeep.sql", "reembedding.sql", "timetable.sql"), _MACROS
)
"""Every statement by its name."""


def fetch_all(db: apsw.Connection, name: str, /, **given: Any) -> list[Row]:
    """All rows of a statement."""
    return list(db.execute(SQL[name], given))


def fetch_first(db: apsw.Connection, name: str, /, **given: Any) -> Row | None:
    """The first row of a statement, if there is one."""
    return next(iter(db.execute(SQL[name], given)), None)


def fetch_one(db: apsw.Connection, name: str, /, **given: Any) -> Row:
    """The row of a statement that always has one."""
    return next(iter(db.execute(SQL[name], given)))
