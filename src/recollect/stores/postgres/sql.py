"""The statements of the PostgreSQL store, with what many of them have in common filled in once.

Reach: whose rows a transaction may see and touch, as it tells row-level security.
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
    """Of the root, or of whichever if it is NULL; the planner knows the value, and reads one partition if it can."""
    return f"(%(root)s::text IS NULL OR {table}.root = %(root)s)"


def _json_fields_sql(table: str) -> str:
    """What a state has beside its columns, parsed once for all that is asked of it, which OFFSET 0 sees to."""
    return f"(SELECT {table}.more::jsonb AS more OFFSET 0) n"


def _vector_content_sql(contents: str) -> str:
    """The number of a content, if it has a direction."""
    return _vector_sql(contents, "content")


def _vector_sql(contents: str, column: str = "value") -> str:
    """The direction of a content, if it has one; looked up, since the planner learns late how many a model has."""
    return (
        f"(SELECT w.{column} FROM vectors w WHERE {_root_filter_sql('w')}"  # noqa: S608 — of names that are ours
        f" AND (w.root, w.content, w.encoder) = ({contents}.root, {contents}.number, %(encoder)s))"
    )


def _levels_sql(table: str) -> str:
    """The level of a state, and behind it those that it stands for."""
    return f"{table}.level || coalesce(n.more ->> 'stands_for', '')"


def _status_sql(table: str) -> str:
    """The status of a state, or that no index has it though it might be recalled."""
    away = "(n.more ->> 'unindexed')::boolean OR jsonb_array_length(n.more -> 'left') = 2"
    held = f"{table}.status IN ('active', 'superseded')"
    return f"CASE WHEN ({away}) AND {held} THEN 'unindexed' ELSE {table}.status END"


def _vector_left_sql(table: str) -> str:
    """Whether a state has left the index of directions."""
    return f"({table}.level IS NOT NULL AND coalesce({table}.more::jsonb -> 'left' @> '\"vector\"', false))"


def _partition_sql(table: str) -> str:
    """The number that ends the name of the partition that a row is in, and of those of its root in every table."""
    return (
        "(SELECT substring(k.relname FROM '[0-9]+$')::smallint"  # noqa: S608 — of names that are ours
        f" FROM pg_class k WHERE k.oid = {table}.tableoid)"
    )


def _states_sql(states: str) -> str:
    """The states that say a content."""
    return f"SELECT FROM {states} s WHERE (s.root, s.content) = (c.root, c.number)"


_VECTOR_GONE_SQL = (
    f"CASE WHEN EXISTS ({_states_sql('memories')} OFFSET 0)"
    f" THEN EXISTS ({_states_sql('memories')} AND {_vector_left_sql('s')} OFFSET 0)"
    f" ELSE EXISTS ({_states_sql('versions')} AND {_vector_left_sql('s')} OFFSET 0) END"
)
"""Whether a content has no direction because who says it has left that index."""

_TERMS_SQL = ", ".join(
    f"CASE WHEN n.more -> 'left' @> '\"text\"' THEN {none} ELSE c.{name} END"
    for name, none in (("entities", "''"), ("terms", "''::bytea"))
)
"""The names in a content and its terms, unless the state has left the index of words."""

_SUBTREE_SQL = (
    "SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s) AND s.path = %(path)s "
    "UNION ALL SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s)"
    " AND s.path >= %(first)s AND s.path < %(beyond)s"
)
"""The scopes that `inside` says; two queries, so that each is answered by the index and none reads them all."""

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
"""The statement `entries` with the number of the content in place of its vector, if it has one."""

_BARE_STATEMENTS = expand_macros(
    {ENTRIES_WITHOUT_VECTORS: _TEMPLATES["entries"]}, {**_MACROS, "vector": _vector_content_sql}
)

SQL = cast("Mapping[str, LiteralString]", {**expand_macros(_TEMPLATES, _MACROS), **_BARE_STATEMENTS})
"""Every statement by its name; none has anything in it but what the files have."""

_RLS_SETTINGS = ("recollect.reach", "recollect.root", "recollect.paths")

_SET_SCOPE_NUMBERS = sql.SQL(
    "SELECT set_config('recollect.numbers', coalesce(array_agg(number)::text, '{{}}'), true)"
    " FROM scopes WHERE root = {root} AND path = ANY ({paths})"
)
"""Tells the policies the numbers of the scopes, as far as there are any yet."""


@dataclass(frozen=True, slots=True)
class RlsScope:
    """These scopes of a root, or all of the root if none is named, or everything if there is no root either."""

    root: str | None = None
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, scope: Scope | None, *, wide: bool = False) -> "RlsScope":
        """A scope and its ancestors; all of its root if it is `wide`; everything if there is no scope."""
        if scope is None:
            return cls()
        paths = () if wide else tuple(str(one) for one in (scope, *scope.ancestors))
        return cls(scope.parts[0], paths)

    @property
    def settings_statement(self) -> sql.Composed:
        """The statement that says so, until the transaction ends."""
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
        """The statement that tells which scopes these are, after their root has been taken by who writes."""
        if not self.paths:
            return sql.SQL("SELECT")
        return _SET_SCOPE_NUMBERS.format(root=sql.Literal(self.root), paths=sql.Literal(list(self.paths)))

    @property
    def full_statement(self) -> sql.Composed:
        """Both statements."""
        return sql.SQL("{}; {}").format(self.settings_statement, self.numbers_statement)
