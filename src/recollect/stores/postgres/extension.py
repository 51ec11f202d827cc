"""Extension: pgvector in a database, and whether that and its server are such as a store can be kept in."""

from psycopg import errors

from recollect.errors import StoreBusy, StoreError
from recollect.stores.postgres.pool import Connection

MIN_SERVER_VERSION = 15
MIN_PGVECTOR_VERSION = "0.8.2"
"""Before, building an index with several processes could write past the end of a buffer."""


def check_server(db: Connection, name: str) -> None:
    """Refuse a server that is too old, and a database that cannot keep every text."""
    server = db.info.server_version // 10_000
    if server < MIN_SERVER_VERSION:
        raise StoreError(f"{name}: PostgreSQL {server} is too old; version {MIN_SERVER_VERSION} or newer is needed")
    if (encoding := read_setting(db, "server_encoding")) != "UTF8":
        raise StoreError(f"{name} is encoded in {encoding}; make a database with ENCODING 'UTF8'")


def find_pgvector_schema(db: Connection, name: str, *, make: bool) -> str | None:
    """The schema that pgvector is in; made where it is missing, if it is to be, and refused where it is too old."""
    found = _find_pgvector(db) or (_install_pgvector(db, name) if make else None)
    if found is None:
        return None
    schema, version = found
    if parse_version(version) < parse_version(MIN_PGVECTOR_VERSION):
        remedy = "install a newer one on the server, and run ALTER EXTENSION vector UPDATE"
        raise StoreError(f"{name} has pgvector {version}, and {MIN_PGVECTOR_VERSION} or newer is needed; {remedy}")
    return schema


def parse_version(version: str) -> tuple[int, ...]:
    """A version, to be compared with others."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def read_setting(db: Connection, setting: str) -> str:
    """What a setting is."""
    row = db.execute("SELECT current_setting(%s)", [setting]).fetchone()
    return str(row[0]) if row else ""


def _find_pgvector(db: Connection) -> tuple[str, str] | None:
    row = db.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    return None if row is None else (row[0], row[1])


def _install_pgvector(db: Connection, name: str) -> tuple[str, str]:
    """Make the extension in this database; others may do so at the same moment."""
    try:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.UniqueViolation, errors.DuplicateObject):
        pass
    except errors.FeatureNotSupported as error:
        told = f"the server has no pgvector; install it there, version {MIN_PGVECTOR_VERSION} or newer"
        raise StoreError(f"{name}: {told}") from error
    except errors.InsufficientPrivilege as error:
        remedy = "run CREATE EXTENSION vector in it as a role that may"
        raise StoreError(f"{name}: the database has no pgvector, and this role may not create it; {remedy}") from error
    found = _find_pgvector(db)
    if found is None:
        raise StoreBusy(f"{name}: the extension vector is just being made; try again")
    return found
