"""The statements of the PostgreSQL store, with what many of them have in common filled in once."""

from collections.abc import Mapping
from typing import LiteralString, cast

from recollect.stores.sql.macros import always, filled
from recollect.stores.sql.rows import STATE
from recollect.stores.sql.statements import statements
from recollect.text.questions import END


def _within(table: str) -> str:
    """Of the root, or of whichever if it is NULL; the planner knows the value, and reads one partition if it can."""
    return f"(%(root)s::text IS NULL OR {table}.root = %(root)s)"


def _noted(table: str) -> str:
    """What a state has beside its columns, parsed once for all that is asked of it, which OFFSET 0 sees to."""
    return f"(SELECT {table}.more::jsonb AS more OFFSET 0) n"


def _embedded(contents: str) -> str:
    """The number of a content, if it has a direction."""
    return _vector(contents, "content")


def _vector(contents: str, column: str = "value") -> str:
    """The direction of a content, if it has one; looked up, since the planner learns late how many a model has."""
    return (
        f"(SELECT w.{column} FROM vectors w WHERE {_within('w')}"  # noqa: S608 — of names that are ours
        f" AND (w.root, w.content, w.encoder) = ({contents}.root, {contents}.number, %(encoder)s))"
    )


def _levels(table: str) -> str:
    """The level of a state, and behind it those that it stands for."""
    return f"{table}.level || coalesce(n.more ->> 'stands_for', '')"


def _standing(table: str) -> str:
    """The status of a state, or that no index has it though it might be recalled."""
    away = "(n.more ->> 'unindexed')::boolean OR jsonb_array_length(n.more -> 'left') = 2"
    held = f"{table}.status IN ('active', 'superseded')"
    return f"CASE WHEN ({away}) AND {held} THEN 'unindexed' ELSE {table}.status END"


def _unembedded(table: str) -> str:
    """Whether a state has left the index of directions."""
    return f"({table}.level IS NOT NULL AND coalesce({table}.more::jsonb -> 'left' @> '\"vector\"', false))"


def _part(table: str) -> str:
    """The number that ends the name of the partition that a row is in, and of those of its root in every table."""
    return (
        "(SELECT substring(k.relname FROM '[0-9]+$')::smallint"  # noqa: S608 — of names that are ours
        f" FROM pg_class k WHERE k.oid = {table}.tableoid)"
    )


def _saying(states: str) -> str:
    """The states that say a content."""
    return f"SELECT FROM {states} s WHERE (s.root, s.content) = (c.root, c.number)"


_GONE = (
    f"CASE WHEN EXISTS ({_saying('memories')} OFFSET 0)"
    f" THEN EXISTS ({_saying('memories')} AND {_unembedded('s')} OFFSET 0)"
    f" ELSE EXISTS ({_saying('versions')} AND {_unembedded('s')} OFFSET 0) END"
)
"""Whether a content has no direction because who says it has left that index."""

_WORDED = ", ".join(
    f"CASE WHEN n.more -> 'left' @> '\"text\"' THEN {none} ELSE c.{name} END"
    for name, none in (("entities", "''"), ("terms", "''::bytea"))
)
"""The names in a content and its terms, unless the state has left the index of words."""

_INSIDE = (
    "SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s) AND s.path = %(path)s "
    "UNION ALL SELECT s.number FROM scopes s WHERE (%(root)s::text IS NULL OR s.root = %(root)s)"
    " AND s.path >= %(first)s AND s.path < %(beyond)s"
)
"""The scopes that `inside` says; two queries, so that each is answered by the index and none reads them all."""

_ANCESTORS = (
    "ARRAY(SELECT s.number FROM scopes s WHERE s.root = %(root)s"
    " AND s.path = ANY (ARRAY(SELECT json_array_elements_text(%(ancestors)s::json))))"
)

_MARKS = {
    "values": always(", ".join(f"%({name})s" for name in STATE)),
    "inside": always(_INSIDE),
    "end": always(f"right(c.text, {END})"),
    "within": _within,
    "noted": _noted,
    "part": _part,
    "levels": _levels,
    "standing": _standing,
    "worded": always(_WORDED),
    "unembedded": _unembedded,
    "gone": always(f"({_GONE})"),
    "vector": _vector,
    "scope": always("(SELECT s.number FROM scopes s WHERE s.root = %(root)s AND s.path = %(path)s)"),
    "ancestors": always(_ANCESTORS),
    "memories": always("ARRAY(SELECT json_array_elements_text(%(memories)s::json)::bigint)"),
}

_WRITTEN = statements(
    *("recollect.stores.postgres", "queries.sql", "upkeep.sql", "reembedding.sql", "moving.sql", "timetable.sql")
)

BARE_ENTRIES = "bare_entries"
"""The statement `entries` with the number of the content in place of its vector, if it has one."""

_BARE = filled({BARE_ENTRIES: _WRITTEN["entries"]}, {**_MARKS, "vector": _embedded})

SQL = cast("Mapping[str, LiteralString]", {**filled(_WRITTEN, _MARKS), **_BARE})
"""Every statement by its name; none has anything in it but what the files have."""
