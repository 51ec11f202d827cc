"""PostgresSession: a transaction of a PostgreSQL database, asked by the names of statements."""

import select
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
from psycopg import sql

from recollect.errors import InvalidInput, ScopeError, StoreError, show
from recollect.model.scope import Scope
from recollect.stores.postgres.connection import BEING_MOVED
from recollect.stores.postgres.rls_scope import Reach
from recollect.stores.postgres.sql import SQL
from recollect.stores.sql.duplicate_guard import refusal
from recollect.stores.sql.transaction import Row

LONGEST_SCOPE = 2_000
"""How many bytes of a scope PostgreSQL can keep in an index."""

PAGE = 2_000
"""How many rows of a statement that has many are on their way at a time."""

MOST_NUMBERS = 256
"""How many numbers are taken at a time at most for rows that are to be added."""

_TAKE = (
    sql.SQL("INSERT INTO roots (root) VALUES ({root}) ON CONFLICT DO NOTHING"),
    sql.SQL("SELECT FROM roots WHERE root = {root} FOR UPDATE"),
)
"""Take the turn of a root. Whoever writes there next waits until this transaction ends."""

_NUMBERED = {"add_content": 0, "add_memory": 1}
"""The statements that are given the number of the row they add, and which of the numbers it is."""

_ONE_ROW = {"add_commit", "add_memory", "add_key"}
"""The statements that went wrong if they wrote no row."""

_IN_ORDER = "heard_of"
"""The statement that has all it asks for in order by an index. The planner would think that to sort a whole scope were
as fast, so it may not sort while this is read."""

_SORT = sql.SQL("SELECT set_config('enable_sort', {}, true)")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A statement that is to add a row, and whose it was to be; whether it did is not known yet."""

    done: "psycopg.Cursor[Row]"
    statement: str
    given: Mapping[str, object]
    reach: Reach | None


class PostgresSession:
    """What a connection does inside its transaction.

    Row-level security lets it see nothing before a scope is entered. One that writes takes the turn of each root it
    enters, so that the commits of a root come one after another, and what it reads there stays true until it ends.
    """

    def __init__(self, db: "psycopg.Connection[Any]", reach: Reach | None = None) -> None:
        """A session that reads what its transaction was begun for, or one that writes, and has entered nothing yet."""
        self._db = db
        self._writes = reach is None
        self._reach = self._told = reach
        self._taken: set[str] = set()
        self._cursors = count()
        self._pipeline: psycopg.Pipeline | None = None
        self._sent: list[_Sent] = []
        self._numbers: tuple[deque[int], ...] = (deque(), deque())
        self._more = 1
        self._sorts = True
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
        """Go on for whom it reaches. The database is told with the next statement, unless it knows; one that writes
        takes the turn of the root.
        """
        self._reach = reach

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Send what is only done, inside of this, without waiting for the answer: it comes with the next that is read,
        or at the end. What was not done is raised then, the first of it, as if it had been waited for.
        """
        failed: BaseException | None = None
        try:
            with self._db.pipeline() as self._pipeline:
                try:
                    yield
                except BaseException as error:
                    failed = error
                if failed is None or (isinstance(failed, Exception) and not isinstance(failed, psycopg.Error)):
                    try:
                        self._drain()
                        self._pipeline.sync()
                        self._heard()
                    except BaseException as error:  # it came before whatever was raised
                        failed = error
        except psycopg.Error as error:  # the driver would log it if the other one had gone through here
            failed = failed or error
        finally:
            self._pipeline = None
        if isinstance(failed, IndexError) and self._db.closed:  # the driver loses count of its answers
            raise psycopg.OperationalError("the connection ended before all was answered") from failed
        if failed is not None:
            raise failed

    def all(self, statement: str, /, **given: object) -> list[Row]:
        return self._rows(self._asked(statement, given))

    def each(self, statement: str, /, **given: object) -> Iterator[Row]:
        cursor = sql.Identifier(f"each_{next(self._cursors)}")  # which the server keeps
        declared = sql.SQL("DECLARE {} NO SCROLL CURSOR FOR ").format(cursor)
        self._let_sort(statement)
        self._execute(declared + sql.SQL(SQL[statement]), given)
        fetch = sql.SQL("FETCH {} FROM {}").format(sql.Literal(PAGE), cursor)
        while rows := self._rows(self._execute(fetch, {})):
            yield from rows
        self._execute(sql.SQL("CLOSE {}").format(cursor), {})

    def one(self, statement: str, /, **given: object) -> Row | None:
        if statement in _NUMBERED:
            number = self._number(_NUMBERED[statement])
            self.run(statement, number=number, **given)
            return (number,)
        done = self._asked(statement, given)
        self._drain()
        row = done.fetchone()
        self._heard()
        return row

    def the(self, statement: str, /, **given: object) -> Row:
        row = self.one(statement, **given)
        if row is None:
            raise LookupError(statement)
        return row

    def run(self, statement: str, /, **given: object) -> None:
        done = self._execute(SQL[statement], given)
        if statement in _ONE_ROW:
            self._sent.append(_Sent(done, statement, given, self._reach))
            if self._pipeline is None:
                self._heard()

    def composed(self, statement: sql.Composed) -> list[Row]:
        """What a statement gives that is made for the occasion, with all it is given in it."""
        self._tell()
        return self._rows(self._db.execute(statement, binary=True))

    def _asked(self, statement: str, given: dict[str, object]) -> "psycopg.Cursor[Row]":
        self._let_sort(statement)
        return self._execute(SQL[statement], given)

    def _drain(self) -> None:
        """Send all that waits to be sent before an answer is waited for.

        The driver does not in a pipeline: with more than the socket has room for, it and the server would wait for each
        other for ever.
        """
        pgconn = self._db.pgconn
        if self._pipeline is None or not pgconn.flush():
            return
        ready = select.poll()
        ready.register(pgconn.socket, select.POLLIN | select.POLLOUT)
        while pgconn.flush():
            for _, event in ready.poll():
                if event & ~select.POLLOUT:  # the server may have to get rid of answers first
                    pgconn.consume_input()

    def _let_sort(self, statement: str) -> None:
        sorts = statement != _IN_ORDER
        if sorts is not self._sorts:
            self._sorts = sorts
            self._db.execute(_SORT.format(sql.Literal("on" if sorts else "off")))

    def _execute(self, statement: "LiteralString | sql.Composed", given: dict[str, object]) -> "psycopg.Cursor[Row]":
        self._tell()
        return self._db.execute(statement, self._with_root(given), binary=True)

    def _rows(self, done: "psycopg.Cursor[Row]") -> list[Row]:
        self._drain()
        rows = done.fetchall()
        self._heard()
        return rows

    def _heard(self) -> None:
        """See, once the answers are there, that every row was added; the first that was not is told of."""
        sent, self._sent = self._sent, []
        for one in sent:
            if one.done.rowcount:
                continue
            if one.statement == "add_commit":
                raise StoreError(BEING_MOVED)
            if one.statement == "add_key":
                raise StoreError(f"there is no memory {show(one.given['id'])} to keep a key of; put it first")
            self._reach = one.reach
            raise refusal(self, one.given)

    def _tell(self) -> None:
        reach = self._reach
        if reach is None or reach == self._told:
            return
        parts: list[sql.Composable] = [reach.said]
        if self._writes and reach.root is not None and reach.root not in self._taken:
            root = sql.Literal(reach.root)
            parts += [one.format(root=root) for one in _TAKE]
            self._taken.add(reach.root)
            self._numbers = (deque(), deque())  # others may have written there since these were taken
        parts.append(reach.numbered)
        self._told = reach
        for together in [[part] for part in parts] if self._pipeline else [parts]:  # where one is sent at a time
            self._db.execute(sql.SQL("; ").join(together))

    def _number(self, place: int) -> int:
        """The number of the next content or memory; the more were asked for, the more are taken at a time."""
        if not self._numbers[place]:
            found = self.all("next_numbers", count=self._more)
            self._numbers = tuple(deque(numbers) for numbers in zip(*found, strict=True))
            self._more = min(2 * self._more, MOST_NUMBERS)
        return self._numbers[place].popleft()

    def _with_root(self, given: dict[str, object]) -> dict[str, object]:
        return {**given, "root": None if self._reach is None else self._reach.root, "token": self.token}
