"""The SQL statements of the PostgreSQL store, with their macros expanded once.

The functions and constants at the top are the fragments that many statements share. `RlsScope` at the end tells
row-level security which rows a transaction may see and change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString, cast

from psycopg import sql

from recollect.model.scope import Scope
from recollect.stores.sql.rows import STATE_COLUMNS, constant_macro, expand_macros
from recollect.stores.sql.transaction import load_statements
from recollect.text.questions import QUESTION_END_CHARS


def _root_filter_sql(table: str) -> str:
    """Match rows of the root, or of any root if it is NULL.

    The planner knows the value, so it reads a single partition where it can.
    """
    return f"(%(root)s::text IS NULL OR {table}.root = %(root)s)"


def _json_fields_sql(table: str) -> str:
    """The fields of a state that have no column of their own.

    The JSON is parsed once for all fields of a row. OFFSET 0 keeps the planner from inlining the subquery.
    """
    return f"(SELECT {table}.more::jsonb AS more OFFSET 0) n"


def _vector_content_sql(contents: str) -> str:
    """The number of a content, if it has a vector."""
    return _vector_sql(contents, "content")


def _vector_sql(contents: str, column: str = "value") -> str:
    """The vector of a content, if it has one.

    It is a lookup for each row, since the planner learns too late how many vectors a model has.
    """
    return (
        f"(SELECT w.{column} FROM vectors w WHERE {_root_filter_sql('w')}"  # noqa: S608 — of names that are ours
        f" AND (w.root, w.content, w.encoder) = ({contents}.root, {contents}.number, %(encoder)s))"
    )


def _levels_sql(table: str) -> str:
    """The level of a state, followed by the levels that it stands for."""
    return f"{table}.level || coalesce(n.more ->> 'stands_for', '')"


def _status_sql(table: str) -> str:
    """The status of a state, or 'unindexed' if it could be recalled but is in no index."""
    away = "(n.more ->> 'unindexed')::boolean OR jsonb_array_length(n.more -> 'left') = 2"
    held = f"{table}.status IN ('active', 'superseded')"
    return f"CASE WHEN ({away}) AND {held} THEN 'unindexed' ELSE {table}.status END"


def _vector_left_sql(table: str) -> str:
    """Whether a state was removed from the vector index."""
    return f"({table}.level IS NOT NULL AND coalesce({table}.more::jsonb -> 'left' @> '\"vector\"', false))"


def _partition_sql(table: str) -> str:
    """The number at the end of a row's partition name; a root has the same one in every table."""
    return (
        "(SELECT substring(k.relname FROM '[0-9]+$')::smallint"  # noqa: S608 — of names that are ours
        f" FROM pg_class k WHERE k.oid = {table}.tableoid)"
    )


def _states_sql(states: str) -> str:
    """The states that have a content."""
    return f"SELECT FROM {states} s WHERE (s.root, s.content) = (c.root, c.number)"


_VECTOR_GONE_SQL = (
    f"CASE WHEN EXISTS ({_states_sql('memories')} OFFSET 0)"
    f" THEN EXISTS ({_states_sql('memories')} AND {_vector_left_sql('s')} OFFSET 0)"
    f" ELSE EXISTS ({_states_sql('versions')} AND {_vector_left_sql('s')} OFFSET 0) END"
)
"""Whether a content has no vector because its states were removed from the vector index."""

_TERMS_SQL = ", ".join(
    f"CASE WHEN n.more -> 'left' @> '\"text\"' THEN {none} ELSE c.{name} END"
    for name, none in (("entities", "''"), ("terms", "''::bytea"))
)
"""The entities and terms of a content, or empty if its state left the text index."""

_SUBTREE_SQL = (
    "SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s) AND s.path = %(path)s "
    "UNION ALL SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s)"
    " AND s.path >= %(first)s AND s.path < %(beyond)s"
)
"""The scopes matched by the macro `inside`: one scope and all below it.

These are two queries, so that the index answers each and neither reads all scopes.
"""

_ANCESTORS_SQL = (
    "ARRAY(SELECT s.number FROM scopes s WHERE s.root = %(root)s"
    " AND s.path = ANY (ARRAY(SELECT json_array_elements_text(%(ancestors)s::json))))"
)

_MACROS = {
    "values": constant_macro(", ".join(f"%({name})s" for name in STATE_COLUMNS)),
    "inside": constant_macro(_SUBTREE_SQL),
    "end": constant_macro(f"right(c.text, {QUESTION_END_CHARS})"),
    "within": _root_filter_sql,
    "noted": _json_fields_sql,
    "part": _partition_sql,
    "levels": _levels_sql,
    "standing": _status_sql,
    "worded": constant_macro(_TERMS_SQL),
    "unembedded": _vector_left_sql,
    "gone": constant_macro(f"({_VECTOR_GONE_SQL})"),
    "vector": _vector_sql,
    "scope": constant_macro("(SELECT s.number FROM scopes s WHERE s.root = %(root)s AND s.path = %(path)s)"),
    "ancestors": constant_macro(_ANCESTORS_SQL),
    "memories": constant_macro("ARRAY(SELECT json_array_elements_text(%(memories)s::json)::bigint)"),
}

_TEMPLATES = load_statements(
    *("recollect.stores.postgres", "queries.sql", "upkeep.sql", "reembedding.sql", "moving.sql", "timetable.sql")
)

ENTRIES_WITHOUT_VECTORS = "bare_entries"
"""The statement `entries` with the content's number in place of its vector, if it has one."""

_BARE_STATEMENTS = expand_macros(
    {ENTRIES_WITHOUT_VECTORS: _TEMPLATES["entries"]}, {**_MACROS, "vector": _vector_content_sql}
)

SQL = cast("Mapping[str, LiteralString]", {**expand_macros(_TEMPLATES, _MACROS), **_BARE_STATEMENTS})
"""Every statement by its name; its text comes only from the SQL files and these fragments."""

_RLS_SETTINGS = ("recollect.reach", "recollect.root", "recollect.paths")

_SET_SCOPE_NUMBERS = sql.SQL(
    "SELECT set_config('recollect.numbers', coalesce(array_agg(number)::text, '{{}}'), true)"
    " FROM scopes WHERE root = {root} AND path = ANY ({paths})"
)
"""Tell the row-level security policies the numbers of the scopes that exist so far."""


@dataclass(frozen=True, slots=True)
class RlsScope:
    """The rows a transaction may see: some scopes of a root, a whole root, or everything.

    Without `paths` it is the whole root, and without `root` everything.
    """

    root: str | None = None
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, scope: Scope | None, *, wide: bool = False) -> "RlsScope":
        """Return a scope with its ancestors, its whole root if `wide`, or everything if None."""
        if scope is None:
            return cls()
        paths = () if wide else tuple(str(one) for one in (scope, *scope.ancestors))
        return cls(scope.parts[0], paths)

    @property
    def settings_statement(self) -> sql.Composed:
        """The statement that sets this scope until the transaction ends."""
        how = "all" if self.root is None else "scopes" if self.paths else "root"
        values = (how, self.root or "", "\n".join(self.paths))
        return sql.SQL("SELECT {}").format(
            sql.SQL(", ").join(
                sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
                for name, value in zip(_RLS_SETTINGS, values, strict=True)
            )
        )

    @property
    def numbers_statement(self) -> sql.Composable:
        """The statement that sets the numbers of the scopes.

        A writing transaction runs it after it has locked the root.
        """
        if not self.paths:
            return sql.SQL("SELECT")
        return _SET_SCOPE_NUMBERS.format(root=sql.Literal(self.root), paths=sql.Literal(list(self.paths)))

    @property
    def full_statement(self) -> sql.Composed:
        """Both statements in one."""
        return sql.SQL("{}; {}").format(self.settings_statement, self.numbers_statement)
