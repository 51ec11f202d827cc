"""A PostgreSQL database that holds a store: transactions, retries, pgvector and migrations.

In reading order: the open database, whose transactions are retried while the server is away; conversion of vectors
between pgvector's binary format (big-endian) and the store's little-endian floats; checks of the server and the
pgvector version; and the log of migrations, each applied in a transaction.
"""

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
import psycopg
from psycopg import errors, sql
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

from recollect.errors import NotFound, StoreBusy, StoreError
from recollect.stores.postgres.pool import (
    Connection,
    ConnectionPools,
    connect,
    is_transient,
    redact_url,
    translate_error,
    translate_errors,
)
from recollect.stores.sql.migrations import Migration, load_migrations, migrate
from recollect.stores.sql.rows import VectorBytes

T = TypeVar("T")

MIGRATIONS = files("recollect.stores.postgres").joinpath("migrations")

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.05, 1.0
"""Pause before the first retry, and the longest pause; the pause doubles each time."""

UNFINISHED_IMPORT = (
    "the database has only part of a store that is being moved into it; "
    "run the same `recollect admin migrate-store` command again"
)

_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"


class PostgresDatabase:
    """An open database. No session state outlives a transaction, so a pooler may be in between."""

    def __init__(self, address: str, *, timeout: float, require_complete: bool = True, create: bool = True) -> None:
        """Open the database and apply pending migrations.

        If `create` is true, a database without a store gets one; otherwise NotFound is raised. If `require_complete` is
        true, StoreError is raised while another store is being moved into the database.
        """
        self.name = redact_url(address)
        self.takes_writes = True
        """False after a write has failed, until one succeeds. A busy store is not a failure."""
        self._address = address
        self._timeout = timeout
        with translate_errors(self.name), connect(address, self.name, timeout) as db:
            check_server(db, self.name)
            vectors = find_pgvector_schema(db, self.name, create=create)
            log = None if vectors is None else PostgresMigrationLog(db, self.name, vectors)
            if vectors is None or log is None or (not create and log.version() == 0):
                raise NotFound(f"there is no store in {self.name}; use a database that has one")
            self.schema = migrate(log, load_migrations(MIGRATIONS))
            self._read_only = _is_read_only(db)
            if require_complete and db.execute(f"SELECT FROM {SCHEMA_NAME}.moving").fetchone() is not None:
                raise StoreError(f"{self.name}: {UNFINISHED_IMPORT}")
        self.vectors = vectors
        """The schema that contains pgvector. It is on no search path."""
        self._vector_type = sql.SQL("{}.vector").format(sql.Identifier(vectors))
        lock_timeout = sql.Literal(f"{max(int(timeout * 1000), 1)}ms")
        self._set_lock_timeout = sql.SQL("SET LOCAL lock_timeout = {}").format(lock_timeout)
        self._connections = ConnectionPools(address, self.name, timeout, self._configure)

    @property
    def read_only(self) -> bool:
        """Whether the database can only be read.

        If it was read-only, the server is asked again, since a replica may have become the primary.
        """
        if self._read_only:
            with (
                suppress(StoreError),
                translate_errors(self.name),
                connect(self._address, self.name, self._timeout) as db,
            ):
                self._read_only = _is_read_only(db)
        return self._read_only

    @contextmanager
    def read_transaction(self, set_scope: sql.Composed) -> Iterator[Connection]:
        """Begin a transaction that sees one snapshot of the rows that `set_scope` admits."""
        begin = sql.SQL("; ").join([sql.SQL(_BEGIN_READ), SET_SEARCH_PATH, self._set_lock_timeout, set_scope])
        with self._connections.borrow(writes=False) as db, _transaction(db, begin):
            yield db

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        """Begin a write transaction. It is committed if the block ends without an error."""
        begin = sql.SQL("; ").join([sql.SQL(_BEGIN_WRITE), SET_SEARCH_PATH, self._set_lock_timeout])
        with self._connections.borrow(writes=True) as db, _transaction(db, begin):
            yield db

    def retry(self, action: Callable[[], T]) -> T:
        """Return what `action` returns; retry it until the timeout if an error is transient.

        Transient errors are a lost connection, a server that is away or has too many connections, and colliding
        transactions.
        """
        deadline, pause = time.monotonic() + self._timeout, FIRST_RETRY_SECONDS
        while True:
            try:
                return action()
            except psycopg.Error as error:
                if not is_transient(error) or time.monotonic() + pause > deadline:
                    raise translate_error(error, self.name) from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)
            self._connections.drop_dead_connections()

    def refuse_if_read_only(self) -> None:
        """Raise StoreError if the database can only be read."""
        if self.read_only:
            self.takes_writes = False
            problem = "is read-only for this role, or is a replica"
            raise StoreError(f"{self.name} {problem}; connect to the primary server as a role that can write")

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def _configure(self, db: Connection) -> None:
        row = db.execute("SELECT %s::regtype::oid::bigint", [self._vector_type.as_string(db)]).fetchone()
        register_vector_type(db, row[0] if row else 0)


def _is_read_only(db: Connection) -> bool:
    """Return whether the server is a replica or the role may not insert rows."""
    if read_setting(db, "transaction_read_only") == "on":
        return True
    row = db.execute("SELECT has_table_privilege(%s, 'INSERT')", [f"{SCHEMA_NAME}.commits"]).fetchone()
    return row is not None and not row[0]


def _commit(db: Connection) -> None:
    if db.execute("COMMIT").statusmessage != "COMMIT":
        raise StoreError("transaction rolled back: an earlier statement failed and its error was ignored")


@contextmanager
def _transaction(db: Connection, begin: sql.Composed) -> Iterator[None]:
    """Run the block in a transaction: all of it or nothing is kept.

    The connection is outside any transaction before and after.
    """
    try:
        db.execute(begin)
        yield
        _commit(db)
    except BaseException:
        with suppress(psycopg.Error):  # the pool drops a broken connection
            db.execute("ROLLBACK")
        raise


_VECTOR_HEADER = struct.Struct(">HH")
"""The header of pgvector's binary format: the number of dimensions, and a reserved field."""


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: VectorBytes) -> bytes:
        numbers = np.frombuffer(obj, dtype="<f4")
        return _VECTOR_HEADER.pack(len(numbers), 0) + numbers.astype(">f4").tobytes()


class _VectorLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, dtype=">f4", offset=_VECTOR_HEADER.size).astype("<f4").tobytes()


def register_vector_type(db: "psycopg.Connection[Any]", vector: int) -> None:
    """Register the vector type with a connection; `vector` is the type's OID in the database."""
    dumper = type("_DirectionDumper", (_VectorDumper,), {"oid": vector})
    db.adapters.register_dumper(VectorBytes, dumper)
    db.adapters.register_loader(vector, _VectorLoader)


MIN_SERVER_VERSION = 15
MIN_PGVECTOR_VERSION = "0.8.2"
"""The oldest supported version of pgvector.

In older ones, a parallel index build could write past the end of a buffer.
"""


def check_server(db: Connection, name: str) -> None:
    """Raise StoreError if the server is too old or the database is not encoded in UTF-8."""
    server = db.info.server_version // 10_000
    if server < MIN_SERVER_VERSION:
        raise StoreError(f"{name}: PostgreSQL {server} is too old; version {MIN_SERVER_VERSION} or newer is needed")
    if (encoding := read_setting(db, "server_encoding")) != "UTF8":
        raise StoreError(f"{name} has the encoding {encoding}; create a database with ENCODING 'UTF8'")


def find_pgvector_schema(db: Connection, name: str, *, create: bool) -> str | None:
    """Return the schema that contains pgvector, or None if the database does not have it.

    If `create` is true, a missing extension is created. An extension that is too old raises StoreError.
    """
    found = _find_pgvector(db) or (_install_pgvector(db, name) if create else None)
    if found is None:
        return None
    schema, version = found
    if parse_version(version) < parse_version(MIN_PGVECTOR_VERSION):
        remedy = "install a newer version on the server, and run ALTER EXTENSION vector UPDATE"
        raise StoreError(f"{name} has pgvector {version}, but {MIN_PGVECTOR_VERSION} or newer is needed; {remedy}")
    return schema


def parse_version(version: str) -> tuple[int, ...]:
    """Return a version as a tuple of numbers, for comparison."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def read_setting(db: Connection, setting: str) -> str:
    """Return the value of a server setting."""
    row = db.execute("SELECT current_setting(%s)", [setting]).fetchone()
    return str(row[0]) if row else ""


def _find_pgvector(db: Connection) -> tuple[str, str] | None:
    row = db.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    return None if row is None else (row[0], row[1])


def _install_pgvector(db: Connection, name: str) -> tuple[str, str]:
    """Create the extension in this database; another process may do so at the same moment."""
    try:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.UniqueViolation, errors.DuplicateObject):
        pass
    except errors.FeatureNotSupported as error:
        remedy = f"install version {MIN_PGVECTOR_VERSION} or newer on it"
        raise StoreError(f"{name}: the server does not have pgvector; {remedy}") from error
    except errors.InsufficientPrivilege as error:
        remedy = "run CREATE EXTENSION vector in it as a role that can"
        raise StoreError(
            f"{name}: the database does not have pgvector, and this role cannot create it; {remedy}"
        ) from error
    found = _find_pgvector(db)
    if found is None:
        raise StoreBusy(f"{name}: another process is creating the extension vector; try again")
    return found


SCHEMA_NAME = "recollect"
"""The schema that contains all tables of the store."""

SET_SEARCH_PATH = sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(SCHEMA_NAME))
"""Set the search path until the transaction ends.

It leaves out the schema of pgvector. A role that may create functions there could otherwise replace the functions that
the store's statements call.
"""

_MIGRATION_LOCK_KEY = 0x7265636F6C6C6563
"""Advisory lock key by which processes that open a database at once migrate it in turn.

The lock is held until the end of a transaction.
"""


class PostgresMigrationLog:
    """Which migrations a PostgreSQL database has; a row is added in each step's transaction.

    The first process to arrive takes a step. The others wait for the end of its transaction, and find the step done.
    """

    def __init__(self, db: "psycopg.Connection[Any]", name: str, vectors: str) -> None:
        self.name = name
        self._db = db
        self._db.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # sees commits made while it waits
        self._vectors = sql.Identifier(vectors).as_string(db)

    def version(self) -> int:
        with self._db.transaction():
            return self._read_version()

    def advance(self, step: Migration) -> int:
        try:
            with self._db.transaction():
                self._db.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK_KEY])
                if self._read_version() == step.number - 1:
                    self._apply(step)
                return self._read_version()
        except errors.InsufficientPrivilege as error:
            remedy = "open the store once as a role that can create a schema in the database"
            problem = f"migration {step.name} is not allowed ({_first_line(error)})"
            raise StoreError(f"{self.name}: {problem}; {remedy}") from error
        except (psycopg.ProgrammingError, psycopg.NotSupportedError) as error:
            raise StoreError(f"{self.name}: migration {step.name} failed: {_first_line(error)}") from error

    def _read_version(self) -> int:
        row = self._db.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{SCHEMA_NAME}.migrated"]).fetchone()
        if row is None or not row[0]:
            return 0
        found = self._db.execute(sql.SQL("SELECT max(number) FROM {}.migrated").format(sql.Identifier(SCHEMA_NAME)))
        number = found.fetchone()
        return int(number[0]) if number is not None and number[0] is not None else 0

    def _apply(self, step: Migration) -> None:
        if step.number == 1:
            self._db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA_NAME)))
        self._db.execute(SET_SEARCH_PATH)
        if step.number == 1:
            self._db.execute("CREATE TABLE migrated (number integer PRIMARY KEY)")
        self._db.execute(step.script.replace("{vectors}", self._vectors).encode())
        self._db.execute("INSERT INTO migrated (number) VALUES (%s)", [step.number])


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0]
