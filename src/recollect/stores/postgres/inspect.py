"""Read what a PostgreSQL database says about its server, the role and the store.

Nothing is changed: everything is read in a read-only transaction.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.model.encoder import Encoder, ScopeVectorIndex

if TYPE_CHECKING:
    import psycopg


_SERVER_QUERY = """
    SELECT
        current_setting('server_version'), current_setting('server_encoding'),
        pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'
"""

_ROLE_QUERY = """
    SELECT quote_ident(rolname), rolsuper, rolbypassrls, has_database_privilege(current_database(), 'CREATE')
    FROM pg_roles WHERE rolname = current_user
"""

_VECTOR_QUERY = """
    SELECT e.extversion, a.default_version, coalesce(v.trusted, false)
    FROM (SELECT 'vector'::name) AS wanted (name)
    LEFT JOIN pg_extension e ON e.extname = wanted.name
    LEFT JOIN pg_available_extensions a ON a.name = wanted.name
    LEFT JOIN pg_available_extension_versions v ON v.name = a.name AND v.version = a.default_version
"""

_HAS_STORE_QUERY = """
    SELECT EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'recollect' AND c.relname = 'migrated'
    )
"""

_TABLES_QUERY = """
    SELECT
        c.relname, quote_ident(pg_get_userbyid(c.relowner)), pg_has_role(c.relowner, 'USAGE'),
        EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'root'),
        c.relrowsecurity AND c.relforcerowsecurity,
        has_schema_privilege(n.oid, 'USAGE') AND (c.relispartition OR has_table_privilege(c.oid, 'SELECT')),
        c.relispartition OR c.relname = 'migrated' OR has_table_privilege(c.oid, 'INSERT')
            AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'),
        pg_total_relation_size(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'recollect' AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""

_SEQUENCES_QUERY = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'recollect' AND CASE WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') END
    ORDER BY c.relname
"""

_MODELS_QUERY = "SELECT name, dimensions, present, name LIKE ' %' FROM recollect.encoders ORDER BY number"


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server: its version as text and as a major number, and the encoding of the database.

    `is_read_only` if the server is a replica or allows only reads by default.
    """

    version: str
    major: int
    encoding: str
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class PostgresRole:
    """The role of the connection, quoted for SQL; `may_create` is about schemas."""

    name: str
    superuser: bool
    bypasses_security: bool
    may_create: bool


@dataclass(frozen=True, slots=True)
class PgvectorInfo:
    """pgvector: the installed version, and the version that the server could install.

    If it is `trusted`, the owner of the database may install it.
    """

    version: str | None
    available: str | None
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTable:
    """A table of a store, its owner, and what the role may do with it.

    The role needs no rights on a partition. `private` tables have rows that belong to a root; `secured` ones have
    row-level security that also binds the owner.
    """

    name: str
    owner: str
    owned: bool
    private: bool
    secured: bool
    readable: bool
    writable: bool
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCatalog:
    """A store: its tables, the sequences the role may not use, its schema version and models.

    Schema and models are missing if the role may not read all tables. `moving` while another store is being moved here,
    so this one is incomplete. `indexes` are the vector indexes. `unswept` counts erasures of which bytes may remain in
    the server's files.
    """

    tables: tuple[StoreTable, ...]
    closed_sequences: tuple[str, ...] = ()
    schema: int | None = None
    moving: bool = False
    encoder: Encoder | None = None
    pending_encoders: tuple[Encoder, ...] = ()
    dismissed_encoders: int = 0
    indexes: tuple[ScopeVectorIndex, ...] = ()
    unswept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseCatalog:
    """All that can be read of a database without changing it; `store` is None without a store."""

    name: str
    server: PostgresServer
    role: PostgresRole
    vector: PgvectorInfo
    store: StoreCatalog | None


def has_store(address: str) -> bool:
    """Return whether the database has a store."""
    with _connect_read_only(address) as (_, db):
        (found,) = _fetch_row(db, _HAS_STORE_QUERY)
        return bool(found)


def read_catalog(address: str) -> DatabaseCatalog:
    """Read the catalog of a database; raise an error if the server cannot be reached."""
    with _connect_read_only(address) as (name, db):
        version, encoding, follows = _fetch_row(db, _SERVER_QUERY)
        return DatabaseCatalog(
            name=name,
            server=PostgresServer(version, db.info.server_version // 10_000, encoding, follows),
            role=PostgresRole(*_fetch_row(db, _ROLE_QUERY)),
            vector=PgvectorInfo(*_fetch_row(db, _VECTOR_QUERY)),
            store=_read_store(db),
        )


def _read_store(db: "psycopg.Connection[Any]") -> StoreCatalog | None:
    (found,) = _fetch_row(db, _HAS_STORE_QUERY)
    if not found:
        return None
    fields = ("name", "owner", "owned", "private", "secured", "readable", "writable", "bytes")
    tables = tuple(StoreTable(**dict(zip(fields, row, strict=True))) for row in db.execute(_TABLES_QUERY))
    closed = tuple(str(name) for (name,) in db.execute(_SEQUENCES_QUERY))
    if not all(one.readable for one in tables):
        return StoreCatalog(tables=tables, closed_sequences=closed)
    (schema,) = _fetch_row(db, "SELECT coalesce(max(number), 0) FROM recollect.migrated")
    if schema == 0:
        return StoreCatalog(tables=tables, closed_sequences=closed, schema=0)
    models = db.execute(_MODELS_QUERY).fetchall()
    (moving,) = _fetch_row(db, "SELECT EXISTS (SELECT FROM recollect.moving)")
    (has_unswept,) = _fetch_row(db, "SELECT to_regclass('recollect.unswept') IS NOT NULL")  # not in an older schema
    return StoreCatalog(
        tables=tables,
        closed_sequences=closed,
        schema=schema,
        moving=moving,
        encoder=next((Encoder(name, size) for name, size, present, _ in models if present), None),
        pending_encoders=tuple(Encoder(name, size) for name, size, present, left in models if not present and not left),
        dismissed_encoders=sum(1 for *_, left in models if left),
        indexes=_read_indexes(db),
        unswept=int(_fetch_row(db, "SELECT count(*) FROM recollect.unswept")[0]) if has_unswept else 0,
    )


def _read_indexes(db: "psycopg.Connection[Any]") -> tuple[ScopeVectorIndex, ...]:
    from recollect.stores.postgres.connection import SET_SEARCH_PATH
    from recollect.stores.postgres.transaction import ALL_SCOPES
    from recollect.stores.postgres.vector_index import list_indexes

    db.execute(SET_SEARCH_PATH)
    db.execute(ALL_SCOPES.full_statement)  # row-level security would hide the scopes' names
    return tuple(list_indexes(db))


@contextmanager
def _connect_read_only(address: str) -> Iterator[tuple[str, "psycopg.Connection[Any]"]]:
    """Open a read-only transaction; yield the database's name for messages and the connection."""
    from recollect.stores.postgres.pool import connect, redact_url, translate_errors

    name = redact_url(address)
    with translate_errors(name), connect(address, name) as db:
        db.autocommit = False
        db.read_only = True
        yield name, db


def _fetch_row(db: "psycopg.Connection[Any]", statement: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(statement.encode()).fetchone()
    if row is None:
        raise LookupError(statement)
    return row
