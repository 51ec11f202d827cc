"""The catalogue of a PostgreSQL database: what it tells of the server, the role that asks, and the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.model.encoder import Encoder
from recollect.model.vector_index import Indexed

if TYPE_CHECKING:
    import psycopg

_SERVER = """
    SELECT
        current_setting('server_version'), current_setting('server_encoding'),
        pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'
"""

_ROLE = """
    SELECT quote_ident(rolname), rolsuper, rolbypassrls, has_database_privilege(current_database(), 'CREATE')
    FROM pg_roles WHERE rolname = current_user
"""

_VECTOR = """
    SELECT e.extversion, a.default_version, coalesce(v.trusted, false)
    FROM (SELECT 'vector'::name) AS wanted (name)
    LEFT JOIN pg_extension e ON e.extname = wanted.name
    LEFT JOIN pg_available_extensions a ON a.name = wanted.name
    LEFT JOIN pg_available_extension_versions v ON v.name = a.name AND v.version = a.default_version
"""

_HAS_STORE = """
    SELECT EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'recollect' AND c.relname = 'migrated'
    )
"""

_TABLES = """
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

_SEQUENCES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'recollect' AND CASE WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') END
    ORDER BY c.relname
"""

_MODELS = "SELECT name, dimensions, present, name LIKE ' %' FROM recollect.encoders ORDER BY number"


@dataclass(frozen=True, slots=True)
class Server:
    """A server: its version, as it is told and as it is compared, and how its database is kept.

    `follows` if it can only be read.
    """

    version: str
    major: int
    encoding: str
    follows: bool


@dataclass(frozen=True, slots=True)
class Role:
    """Who asks, as statements spell it; `may_create` schemas in the database."""

    name: str
    superuser: bool
    bypasses_security: bool
    may_create: bool


@dataclass(frozen=True, slots=True)
class Vector:
    """pgvector: the version that the database has, and the one that it could get, from any owner if that is trusted."""

    version: str | None
    available: str | None
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a store, with what the role may do to it; of a partition it needs no rights.

    `private` if what is in it is somebody's, `secured` if row-level security holds all others from it, and its owner.
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
class Kept:
    """A store: its tables, the sequences that are closed to the role, and its schema and models if they can be seen.

    `moving` while another store is on its way here, so that it is not whole yet. `indexes` are those of the nearest.
    `unswept` counts erasures of which something is left in the files of the server.
    """

    tables: tuple[Table, ...]
    closed: tuple[str, ...] = ()
    schema: int | None = None
    moving: bool = False
    encoder: Encoder | None = None
    begun: tuple[Encoder, ...] = ()
    dismissed: int = 0
    indexes: tuple[Indexed, ...] = ()
    unswept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All that a database tells without being changed; `kept` is the store, if there is one."""

    name: str
    server: Server
    role: Role
    vector: Vector
    kept: Kept | None


def has_store(address: str) -> bool:
    """Whether there is a store in the database."""
    with _asked(address) as (_, db):
        (found,) = _the(db, _HAS_STORE)
        return bool(found)


def read(address: str) -> Catalogue:
    """What the database tells; refused if it cannot be reached."""
    with _asked(address) as (name, db):
        version, encoding, follows = _the(db, _SERVER)
        return Catalogue(
            name=name,
            server=Server(version, db.info.server_version // 10_000, encoding, follows),
            role=Role(*_the(db, _ROLE)),
            vector=Vector(*_the(db, _VECTOR)),
            kept=_kept(db),
        )


def _kept(db: "psycopg.Connection[Any]") -> Kept | None:
    (found,) = _the(db, _HAS_STORE)
    if not found:
        return None
    fields = ("name", "owner", "owned", "private", "secured", "readable", "writable", "bytes")
    tables = tuple(Table(**dict(zip(fields, row, strict=True))) for row in db.execute(_TABLES))
    closed = tuple(str(name) for (name,) in db.execute(_SEQUENCES))
    if not all(one.readable for one in tables):
        return Kept(tables=tables, closed=closed)
    (schema,) = _the(db, "SELECT coalesce(max(number), 0) FROM recollect.migrated")
    if schema == 0:
        return Kept(tables=tables, closed=closed, schema=0)
    models = db.execute(_MODELS).fetchall()
    (moving,) = _the(db, "SELECT EXISTS (SELECT FROM recollect.moving)")
    return Kept(
        tables=tables,
        closed=closed,
        schema=schema,
        moving=moving,
        encoder=next((Encoder(name, size) for name, size, present, _ in models if present), None),
        begun=tuple(Encoder(name, size) for name, size, present, left in models if not present and not left),
        dismissed=sum(1 for *_, left in models if left),
        indexes=_indexes(db),
        unswept=_unswept(db),
    )


def _unswept(db: "psycopg.Connection[Any]") -> int:
    (there,) = _the(db, "SELECT to_regclass('recollect.unswept') IS NOT NULL")  # a former schema has none
    return int(_the(db, "SELECT count(*) FROM recollect.unswept")[0]) if there else 0


def _indexes(db: "psycopg.Connection[Any]") -> tuple[Indexed, ...]:
    from recollect.stores.postgres.migration_log import PATH
    from recollect.stores.postgres.transaction_runner import EVERYTHING
    from recollect.stores.postgres.vector_index import all_indexes

    db.execute(PATH)
    db.execute(EVERYTHING.whole)  # for the names of their scopes
    return tuple(all_indexes(db))


@contextmanager
def _asked(address: str) -> Iterator[tuple[str, "psycopg.Connection[Any]"]]:
    """What messages call the database, and a transaction in which nothing of it can be changed."""
    from recollect.stores.postgres.address import name_of
    from recollect.stores.postgres.driver_errors import translated
    from recollect.stores.postgres.pool import connected

    name = name_of(address)
    with translated(name), connected(address, name) as db:
        db.autocommit = False
        db.read_only = True
        yield name, db


def _the(db: "psycopg.Connection[Any]", statement: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(statement.encode()).fetchone()
    if row is None:
        raise LookupError(statement)
    return row
