"""The database: whether PostgreSQL, pgvector, the role and the store in it are as they have to be."""

from collections.abc import Iterator, Sequence

from recollect.config import Settings
from recollect.diagnosis import postgres_catalog
from recollect.diagnosis.installation import megabytes
from recollect.diagnosis.models import model, unfinished
from recollect.diagnosis.postgres_catalog import Catalogue, Kept, Role, Server, Table, Vector
from recollect.errors import RecollectError
from recollect.model.diagnosis import Check, ok, problem, told, warning
from recollect.model.format import counted
from recollect.model.vector_index import Indexed

EXTRA = "install recollect with its extra postgres (in its folder: pip install '.[postgres]')"
"""How to get what speaks to PostgreSQL."""

RIGHTS = (
    "USAGE ON SCHEMA recollect",
    "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA recollect",
    "USAGE ON ALL SEQUENCES IN SCHEMA recollect",
)
"""What a role needs that remembers and recalls, beside the owner of the tables."""

MOST_NAMED = 4
"""How many tables are named one by one."""


def checks(address: str, settings: Settings) -> Iterator[Check]:
    """What there is to say of a database and of the store in it. Nothing is made or changed there."""
    yield (loaded := driver())
    if loaded.remedy is not None:
        return
    try:
        seen = postgres_catalog.read(address)
    except RecollectError as error:
        yield told("server", error)
        return
    yield from of_catalogue(seen, settings)


def driver() -> Check:
    """Whether what speaks to PostgreSQL is there."""
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        return problem("psycopg", f"it cannot be loaded ({str(error).partition(chr(10))[0]})", EXTRA)
    return ok("psycopg", f"{psycopg.__version__}, with psycopg_pool {psycopg_pool.__version__}")


def of_catalogue(seen: Catalogue, settings: Settings) -> Iterator[Check]:
    """What there is to say of what a database tells."""
    from recollect.stores.postgres.connection import MIGRATIONS
    from recollect.stores.sql.migrations import migrations

    yield version(seen.server)
    yield encoding(seen.server)
    yield vector(seen.vector, seen.role)
    yield role(seen.role)
    yield primary(seen.server)
    yield store(seen, len(migrations(MIGRATIONS)))
    kept = seen.kept
    if kept is None:
        return
    yield rights(kept, seen.role, seen.server)
    yield security(kept.tables)
    if kept.encoder is not None:
        yield model(kept.encoder, settings)
    yield from unfinished(kept.begun, kept.dismissed)
    if kept.indexes:
        yield indexes(kept.indexes)
    if kept.unswept:
        yield unswept(kept)


def version(server: Server) -> Check:
    """Whether the server is new enough."""
    from recollect.stores.postgres.extension import OLDEST_SERVER

    seen = f"PostgreSQL {server.version}"
    if server.major < OLDEST_SERVER:
        return problem("server", f"{seen} is too old", f"use PostgreSQL {OLDEST_SERVER} or newer")
    return ok("server", f"{seen} answers")


def encoding(server: Server) -> Check:
    """Whether the database takes every character."""
    if server.encoding != "UTF8":
        return problem("encoding", server.encoding, "make a database with ENCODING 'UTF8'")
    return ok("encoding", server.encoding)


def vector(found: Vector, role: Role) -> Check:
    """Whether the database has pgvector, or the role may create it there."""
    from recollect.stores.postgres.extension import OLDEST_VECTOR, numbers

    name, wanted = "pgvector", OLDEST_VECTOR
    newer = f"install pgvector {wanted} or newer on the server"
    if found.version is not None:
        if numbers(found.version) >= numbers(OLDEST_VECTOR):
            return ok(name, found.version)
        return problem(name, f"{found.version} is too old", f"{newer}, and run ALTER EXTENSION vector UPDATE")
    if found.available is None:
        return problem(name, "the server has none", newer)
    if numbers(found.available) < numbers(OLDEST_VECTOR):
        return problem(name, f"the {found.available} of the server is too old", newer)
    if role.superuser or (found.trusted and role.may_create):
        return ok(name, f"the database gets {found.available} when the store is made")
    remedy = "run CREATE EXTENSION vector in the database as a superuser"
    return problem(name, f"the database has none, and {role.name} may not create it", remedy)


def role(role: Role) -> Check:
    """Whether row-level security holds the role."""
    remedy = "use a role that is NOSUPERUSER and NOBYPASSRLS"
    if role.superuser:
        return warning("role", f"{role.name} is a superuser, whom row-level security does not hold", remedy)
    if role.bypasses_security:
        return warning("role", f"{role.name} has BYPASSRLS, so row-level security does not hold it", remedy)
    return ok("role", f"{role.name}, whom row-level security holds")


def primary(server: Server) -> Check:
    """Whether anything can be written."""
    if server.follows:
        remedy = "name the primary server, if anything is to be remembered"
        return warning("primary", "it can only be read, as a server that follows another", remedy)
    return ok("primary", "it can be written")


def store(seen: Catalogue, latest: int) -> Check:
    """Whether there is a store that this program knows, or one could be made."""
    from recollect.stores.sql.migrations import mismatch

    kept, name = seen.kept, "store"
    if kept is None:
        return _to_be_made(seen)
    if kept.schema is None:
        return problem(name, f"{seen.name} is closed to {seen.role.name}", _granted(kept, seen.role))
    if kept.schema > latest:
        return told(name, mismatch(seen.name, kept.schema, latest))
    if kept.moving:
        remedy = "run the same `recollect admin migrate-store` again"
        return problem(name, f"a store is being moved to {seen.name}, and it is not whole yet", remedy)
    if kept.schema < latest and (seen.server.follows or not all(one.owned for one in kept.tables)):
        remedy = f"open it once on the primary server as {_owner(kept)}"
        return problem(name, f"{seen.name} has to be brought up to schema {latest}", remedy)
    older = f", brought up to {latest} when it is next opened" if kept.schema < latest else ""
    bytes = megabytes(sum(one.bytes for one in kept.tables))
    return ok(name, f"{seen.name}, {bytes}, schema {kept.schema}{older}")


def rights(kept: Kept, role: Role, server: Server) -> Check:
    """Whether the role may do what remembering and recalling take."""
    unreadable = [one.name for one in kept.tables if not one.readable]
    if unreadable:
        return problem("rights", f"{role.name} may not read {_few(unreadable)}", _granted(kept, role))
    unwritable = [*(one.name for one in kept.tables if not one.writable), *kept.closed]
    if unwritable and not server.follows:
        seen = f"{role.name} may read all tables, but not write {_few(unwritable)}"
        to_read = f"if it is only to read, run ALTER ROLE {role.name} SET default_transaction_read_only = on"
        return warning("rights", seen, f"{to_read}; else {_granted(kept, role)}")
    return ok("rights", f"{role.name} may {'read' if server.follows else 'read and write'} all tables")


def security(tables: Sequence[Table]) -> Check:
    """Whether row-level security holds everybody, the owner too."""
    held = [one for one in tables if one.private]
    open_ones = [one.name for one in held if not one.secured]
    if open_ones:
        remedy = "run ALTER TABLE recollect.NAME ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY for each"
        return problem("row security", f"not enabled and forced on {_few(open_ones)}", remedy)
    return ok("row security", f"enabled and forced on {counted(len(held), 'table')}")


def indexes(found: Sequence[Indexed]) -> Check:
    """Whether questions can be answered by each index that an operator had made."""
    useless = [one.name for one in found if not one.of_use]
    if useless:
        why = "of a former model, of an erased scope, being built, or interrupted"
        remedy = "wait for a build that goes on, else run `recollect admin index --drop` as the owner of the tables"
        return warning("indexes", f"{_few(useless)}, of {len(found)}, cannot be used: {why}", remedy)
    return ok("indexes", f"of {_few([str(one.scope) for one in found])}")


def unswept(kept: Kept) -> Check:
    """Tells of erasures of which something is left in the files of the server."""
    told = f"{counted(kept.unswept, 'erasure')} of which PostgreSQL still has bytes in its files"
    return warning("erased", told, f"run `recollect admin sweep` as {_owner(kept)}, when others can wait")


def _to_be_made(seen: Catalogue) -> Check:
    if seen.server.follows:
        return problem("store", f"{seen.name} has none, and can only be read", "make it on the primary server")
    if not (seen.role.superuser or seen.role.may_create):
        remedy = "open it once as the owner of the database"
        return problem("store", f"{seen.name} has none, and {seen.role.name} may not make a schema there", remedy)
    return ok("store", f"{seen.name} has none yet, the first memory makes it")


def _owner(kept: Kept) -> str:
    return next(iter(one.owner for one in kept.tables), "its owner")


def _granted(kept: Kept, role: Role) -> str:
    """What to do about rights that are lacking."""
    return f"run as {_owner(kept)}: {'; '.join(f'GRANT {what} TO {role.name}' for what in RIGHTS)}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
