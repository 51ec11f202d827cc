"""PostgresSession: a transaction of a PostgreSQL database, asked by the names of statements."""

from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from recollect.errors import InvalidInput, ScopeError, StoreError
from recollect.model.scope import Scope
from recollect.stores.postgres.connection import BEING_MOVED
from recollect.stores.postgres.reach import Reach
from recollect.stores.postgres.sql import SQL
from recollect.stores.relational.session import Row

LONGEST_SCOPE = 2_000
"""How many bytes of a scope PostgreSQL can keep in an index."""

PAGE = 2_000
"""How many rows of a statement that has many are on their way at a time."""

_TAKE = sql.SQL(
    "{reach}; INSERT INTO roots (root) VALUES ({root}) ON CONFLICT DO NOTHING;"
    " SELECT FROM roots WHERE root = {root} FOR UPDATE; {numbers}"
)
"""Take the turn of a root. Whoever writes there next waits until this transaction ends."""


class PostgresSession:
    """What a connection does inside its transaction.

    Row-level security lets it see nothing before a scope is entered. One that writes takes the turn of each root it
    enters, so that the commits of a root come one after another, and what it reads there stays true until it ends.
    """

    def __init__(self, db: "psycopg.Connection[Any]", reach: Reach | None = None) -> None:
        """A session that reads what its transaction was begun for, or one that writes, and has entered nothing yet."""
        self._db = db
        self._writes = reach is None
        self._reach = reach
        self._taken: set[str] = set()
        self._cursors = count()
        self.token = uuid4()

    @property
    def realm(self) -> str:
        if self._reach is None or self._reach.root is None:
            raise InvalidInput("a transaction has a date and a commit once it is asked for something of a scope")
        return self._reach.root

    @property
    def taken(self) -> frozenset[str]:
        """The roots whose turn it has."""
        return frozenset(self._taken)

    def enter(self, scope: Scope, *, wide: bool = False) -> None:
        if self._writes and len(str(scope).encode()) > LONGEST_SCOPE:
            raise ScopeError(
                f"a scope of more than {LONGEST_SCOPE} bytes is too long for PostgreSQL; shorten its parts"
            )
        self.go(Reach.of(scope, wide=wide))

    def go(self, reach: Reach) -> None:
        """Tell the database for whom it is from now on, unless it knows; one that writes takes the turn of the root."""
        if reach == self._reach:
            return
        if self._writes and reach.root is not None and reach.root not in self._taken:
            root = sql.Literal(reach.root)
            self._db.execute(_TAKE.format(reach=reach.said, root=root, numbers=reach.numbered))
            self._taken.add(reach.root)
        else:
            self._db.execute(reach.whole)
        self._reach = reach

    def all(self, statement: str, /, **given: object) -> list[Row]:
        return self._executed(statement, given).fetchall()

    def each(self, statement: str, /, **given: object) -> Iterator[Row]:
        with self._db.cursor(f"each_{next(self._cursors)}", binary=True) as cursor:  # which the server keeps
            cursor.itersize = PAGE
            yield from cursor.execute(SQL[statement], self._with_root(given))

    def one(self, statement: str, /, **given: object) -> Row | None:
        return self._executed(statement, given).fetchone()

    def the(self, statement: str, /, **given: object) -> Row:
        row = self.one(statement, **given)
        if row is None:
            raise LookupError(statement)
        return row

    def run(self, statement: str, /, **given: object) -> None:
        done = self._executed(statement, given)
        if statement == "add_commit" and not done.rowcount:
            raise StoreError(BEING_MOVED)

    def _executed(self, statement: str, given: dict[str, object]) -> "psycopg.Cursor[Row]":
        return self._db.execute(SQL[statement], self._with_root(given), binary=True)

    def _with_root(self, given: dict[str, object]) -> dict[str, object]:
        return {**given, "root": None if self._reach is None else self._reach.root, "token": self.token}
