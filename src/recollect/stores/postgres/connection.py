"""Database: a PostgreSQL database that holds a store, and transactions that come back when its server does."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import TypeVar

import psycopg
from psycopg import sql

from recollect.errors import NotFound, StoreError
from recollect.stores.postgres import extension
from recollect.stores.postgres.adapters import register_vector_type
from recollect.stores.postgres.address import redact_url
from recollect.stores.postgres.driver_errors import is_transient, translate_error, translate_errors
from recollect.stores.postgres.migration_log import SCHEMA_NAME, SET_SEARCH_PATH, PostgresMigrationLog
from recollect.stores.postgres.pool import Connection, ConnectionPools, connect
from recollect.stores.sql.migrations import load_migrations, migrate

T = TypeVar("T")

MIGRATIONS = files("recollect.stores.postgres").joinpath("migrations")

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.05, 1.0
"""How many seconds pass before something is tried again, the first time and at most."""

UNFINISHED_IMPORT = (
    "the database has only a part of a store that is being moved there; "
    "run the `recollect admin migrate-store` again that was begun"
)

_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"


class PostgresDatabase:
    """A database that is open. Nothing is kept in a connection between two transactions, so a pooler may be between."""

    def __init__(self, address: str, *, patience: float, whole: bool = True, make: bool = True) -> None:
        """Open it; refused, unless it need not be `whole`, while another store is being moved there.

        A database that holds no store yet becomes one, if it is to `make` one.
        """
        self.name = redact_url(address)
        self.takes_writes = True
        """Whether it did not fail when something was last to be written."""
        self._address = address
        self._timeout = patience
        with translate_errors(self.name), connect(address, self.name, patience) as db:
            extension.check_server(db, self.name)
            vectors = extension.find_pgvector_schema(db, self.name, make=make)
            ledger = None if vectors is None else PostgresMigrationLog(db, self.name, vectors)
            if vectors is None or ledger is None or (not make and ledger.version() == 0):
                raise NotFound(f"there is no store in {self.name}; name a database that has one")
            self.schema = migrate(ledger, load_migrations(MIGRATIONS))
            self._read_only = _is_read_only(db)
            if whole and db.execute(f"SELECT FROM {SCHEMA_NAME}.moving").fetchone() is not None:
                raise StoreError(f"{self.name}: {UNFINISHED_IMPORT}")
        self.vectors = vectors
        """The schema that pgvector is in, which is on nobody's path."""
        self._vector_type = sql.SQL("{}.vector").format(sql.Identifier(vectors))
        longest = sql.Literal(f"{max(int(patience * 1000), 1)}ms")
        self._set_lock_timeout = sql.SQL("SET LOCAL lock_timeout = {}").format(longest)
        self._connections = ConnectionPools(address, self.name, patience, self._configure)

    @property
    def read_only(self) -> bool:
        """Whether it can only be read; asked again if it was so, since a follower may have become the primary."""
        if self._read_only:
            with (
                suppress(StoreError),
                translate_errors(self.name),
                connect(self._address, self.name, self._timeout) as db,
            ):
                self._read_only = _is_read_only(db)
        return self._read_only

    @contextmanager
    def read_transaction(self, reach: sql.Composed) -> Iterator[Connection]:
        """A transaction that sees the database as it is now, and of that what it may reach, whatever others write."""
        begin = sql.SQL("; ").join([sql.SQL(_BEGIN_READ), SET_SEARCH_PATH, self._set_lock_timeout, reach])
        with self._connections.borrow(writes=False) as db, _transaction(db, begin):
            yield db

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        """A transaction that is kept when it ends well."""
        begin = sql.SQL("; ").join([sql.SQL(_BEGIN_WRITE), SET_SEARCH_PATH, self._set_lock_timeout])
        with self._connections.borrow(writes=True) as db, _transaction(db, begin):
            yield db

    def retry(self, act: Callable[[], T]) -> T:
        """What comes of it; tried again while the server is away or transactions collide, for as long as may be."""
        over, pause = time.monotonic() + self._timeout, FIRST_RETRY_SECONDS
        while True:
            try:
                return act()
            except psycopg.Error as error:
                if not is_transient(error) or time.monotonic() + pause > over:
                    raise translate_error(error, self.name) from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)
            self._connections.drop_dead_connections()

    def refuse_if_read_only(self) -> None:
        """Nothing is written to a server that only follows another."""
        if self.read_only:
            self.takes_writes = False
            told = "can only be read by this role, or follows another server"
            raise StoreError(f"{self.name} {told}; write as a role that may, to the primary server")

    def close(self) -> None:
        """Let go of every connection."""
        self._connections.close()

    def _configure(self, db: Connection) -> None:
        row = db.execute("SELECT %s::regtype::oid::bigint", [self._vector_type.as_string(db)]).fetchone()
        register_vector_type(db, row[0] if row else 0)


def _is_read_only(db: Connection) -> bool:
    """Whether the server follows another, or the role is one that only reads."""
    if extension.read_setting(db, "transaction_read_only") == "on":
        return True
    row = db.execute("SELECT has_table_privilege(%s, 'INSERT')", [f"{SCHEMA_NAME}.commits"]).fetchone()
    return row is not None and not row[0]


def _commit(db: Connection) -> None:
    if db.execute("COMMIT").statusmessage != "COMMIT":
        raise StoreError("the transaction was undone: a statement of it failed, and whoever ran it did not mind")


@contextmanager
def _transaction(db: Connection, begin: sql.Composed) -> Iterator[None]:
    """What is done in between, all or nothing. The connection is in no transaction before and after."""
    try:
        db.execute(begin)
        yield
        _commit(db)
    except BaseException:
        with suppress(psycopg.Error):  # one that is broken is let go of by the pool
            db.execute("ROLLBACK")
        raise
