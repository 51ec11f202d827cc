"""Database: a PostgreSQL database that holds a store, its connections, and transactions that come back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg_pool import ConnectionPool

from recollect.errors import NotFound, StoreBusy, StoreError
from recollect.heirs import Lock, tell_children
from recollect.stores.migrate import migrate, migrations
from recollect.stores.postgres.adapters import register
from recollect.stores.postgres.address import name_of
from recollect.stores.postgres.ledger import SCHEMA, Ledger
from recollect.stores.postgres.translation import is_passing, ours, translated

T = TypeVar("T")

MIGRATIONS = files("recollect.stores.postgres").joinpath("migrations")

OLDEST_SERVER = 15
OLDEST_VECTOR = (0, 8, 2)
"""Before, building an index with several processes could write past the end of a buffer."""

MOST_CONNECTIONS = 8
"""How many connections of a process there are at a time, unless the address is a pooler's that has fewer."""

CONNECTING = 10
"""How many seconds a server is waited for that does not answer."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""How many seconds pass before something is tried again, the first time and at most."""

_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"

Connection = psycopg.Connection[Any]


class Database:
    """A database that is open. Nothing is kept in a connection between two transactions, so a pooler may be between."""

    def __init__(self, address: str, *, patience: float, whole: bool = True, make: bool = True) -> None:
        """Open it; refused, unless it need not be `whole`, while another store is being moved there.

        A database that holds no store yet becomes one, if it is to `make` one.
        """
        self.name = name_of(address)
        self._address = address
        self._patience = patience
        self._starting = Lock()
        self._closed = False
        with translated(self.name), self._connected() as db:
            self._vectors = _extension(db, self.name)
            ledger = Ledger(db, self.name, self._vectors)
            if not make and ledger.version() == 0:
                raise NotFound(f"there is no store in {self.name}; name a database that has one")
            self.schema = migrate(ledger, migrations(MIGRATIONS))
            self.read_only = _shown(db, "transaction_read_only") == "on"
            if whole and db.execute(f"SELECT FROM {SCHEMA}.moving").fetchone() is not None:
                remedy = "run the `recollect admin migrate-store` again that was begun"
                raise StoreError(f"{self.name} has only a part of a store that is being moved there; {remedy}")
        self._path = sql.SQL("SET LOCAL search_path = {}, {}").format(
            sql.Identifier(SCHEMA), sql.Identifier(self._vectors)
        )
        self._pool: ConnectionPool[Connection] | None = None
        self._inherited: list[object] = []
        tell_children(self)

    @contextmanager
    def reading(self, reach: sql.Composed) -> Iterator[Connection]:
        """A transaction that sees the database as it is now, and of that what it may reach, whatever others write."""
        with self._lent() as db, _transaction(db, sql.SQL("; ").join([sql.SQL(_READING), self._path, reach])):
            yield db

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept when it ends well."""
        waiting = sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(f"{max(int(self._patience * 1000), 1)}ms"))
        with (
            self._lent() as db,
            _transaction(db, sql.SQL("; ").join([sql.SQL(_WRITING), self._path, waiting])),
        ):
            yield db

    def until_done(self, act: Callable[[], T]) -> T:
        """What comes of it; tried again while the server is away or transactions collide, for as long as may be."""
        over, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                return act()
            except psycopg.Error as error:
                if not is_passing(error) or time.monotonic() + pause > over:
                    raise ours(error, self.name) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            self._forget_the_dead()

    def refuse_if_read_only(self) -> None:
        """Nothing is written to a server that only follows another."""
        if self.read_only:
            raise StoreError(f"{self.name} can only be read; write to its primary server")

    def close(self) -> None:
        """Let go of every connection."""
        with self._starting.here:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def after_fork(self) -> None:
        """Begin with no connection: those there are, are the parent's, and must not even be closed."""
        self._inherited.append(self._pool)
        self._pool = None

    @contextmanager
    def _lent(self) -> Iterator[Connection]:
        with self._open_pool().connection() as db:
            yield db

    def _open_pool(self) -> "ConnectionPool[Connection]":
        with self._starting.here:
            if self._closed:
                raise StoreError(f"{self.name} is closed; open the store again")
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._address,
                    connection_class=psycopg.Connection,
                    kwargs={"autocommit": True, "prepare_threshold": None, "connect_timeout": CONNECTING},
                    min_size=0,
                    max_size=MOST_CONNECTIONS,
                    timeout=max(self._patience, 0.001),
                    configure=self._configured,
                    open=True,
                    name="recollect",
                )
            return self._pool

    def _configured(self, db: Connection) -> None:
        kind = sql.SQL("{}.vector").format(sql.Identifier(self._vectors)).as_string(db)
        row = db.execute("SELECT %s::regtype::oid::bigint", [kind]).fetchone()
        register(db, row[0] if row else 0)

    def _forget_the_dead(self) -> None:
        """Let go of connections that the server no longer knows."""
        with self._starting.here:
            pool = self._pool
        if pool is not None:
            pool.check()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            db = psycopg.connect(self._address, autocommit=True, prepare_threshold=None, connect_timeout=CONNECTING)
        except psycopg.OperationalError as error:
            said = str(error).strip().replace("\n", " ")
            remedy = "check host, port, role, password and database, and that the server is up"
            raise StoreError(f"{self.name} cannot be reached ({said}); {remedy}") from error
        with db:
            yield db


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


def _extension(db: Connection, name: str) -> str:
    """The schema that pgvector is in; it is made where it is missing and refused where it is too old."""
    server = db.info.server_version // 10_000
    if server < OLDEST_SERVER:
        raise StoreError(f"{name}: PostgreSQL {server} is too old; version {OLDEST_SERVER} or newer is needed")
    if (encoding := _shown(db, "server_encoding")) != "UTF8":
        raise StoreError(f"{name} is encoded in {encoding}; make a database with ENCODING 'UTF8'")
    found = _installed(db) or _install(db, name)
    schema, version = found
    if _numbers(version) < OLDEST_VECTOR:
        wanted = ".".join(map(str, OLDEST_VECTOR))
        remedy = "install a newer one on the server, and run ALTER EXTENSION vector UPDATE"
        raise StoreError(f"{name} has pgvector {version}, and {wanted} or newer is needed; {remedy}")
    return schema


def _installed(db: Connection) -> tuple[str, str] | None:
    row = db.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    return None if row is None else (row[0], row[1])


def _install(db: Connection, name: str) -> tuple[str, str]:
    """Make the extension in this database; others may do so at the same moment."""
    try:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.UniqueViolation, errors.DuplicateObject):
        pass
    except errors.FeatureNotSupported as error:
        raise StoreError(f"{name}: the server has no pgvector; install it there, version 0.8.2 or newer") from error
    except errors.InsufficientPrivilege as error:
        remedy = "run CREATE EXTENSION vector in it as a role that may"
        raise StoreError(f"{name}: the database has no pgvector, and this role may not create it; {remedy}") from error
    found = _installed(db)
    if found is None:
        raise StoreBusy(f"{name}: the extension vector is just being made; try again")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _shown(db: Connection, setting: str) -> str:
    row = db.execute("SELECT current_setting(%s)", [setting]).fetchone()
    return str(row[0]) if row else ""
