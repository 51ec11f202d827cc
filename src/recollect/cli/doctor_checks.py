"""The checks of `recollect doctor`, apart from those of SQLite stores.

In this order: Python and the embedders, the model of a store, the packages and keys of the server, and a PostgreSQL
database.
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from recollect.api.keys import KeyFile, read_private_file
from recollect.config import Settings
from recollect.engine.dependencies import embed
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.factory import find_named_embedder
from recollect.model.encoder import Encoder, ScopeVectorIndex
from recollect.model.format import format_count
from recollect.server.authenticator import keys_path, token_path
from recollect.stores.postgres import inspect
from recollect.stores.postgres.inspect import (
    DatabaseCatalog,
    PgvectorInfo,
    PostgresRole,
    PostgresServer,
    StoreCatalog,
    StoreTable,
)
from recollect.version import __version__


class CheckStatus(StrEnum):
    """The status of a check."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; a warning or a problem comes with a remedy."""

    name: str
    finding: CheckStatus
    seen: str
    remedy: str | None = None

    def __post_init__(self) -> None:
        if (self.remedy is None) != (self.finding is CheckStatus.OK):
            raise InvalidInput(f"check {self.name!r} must have a remedy if it is not ok, and none if it is")


def ok(name: str, seen: str) -> Check:
    """Return a passed check."""
    return Check(name, CheckStatus.OK, seen)


def warning(name: str, seen: str, remedy: str) -> Check:
    """Return a check that found something to improve."""
    return Check(name, CheckStatus.WARNING, seen, remedy)


def problem(name: str, seen: str, remedy: str) -> Check:
    """Return a check that failed."""
    return Check(name, CheckStatus.PROBLEM, seen, remedy)


def check_from_error(name: str, error: RecollectError, finding: CheckStatus = CheckStatus.PROBLEM) -> Check:
    """Return the check for an error whose message ends in the remedy."""
    seen, _, remedy = str(error).rpartition("; ")
    return Check(name, finding, seen or remedy, remedy if seen else "see the message")


MIN_PYTHON = (3, 11)
SAMPLE_TEXT = "Ana prefers window seats"
REMOTE_MODEL_PREFIX = "http:"
"""Prefix of the recorded name of a remote model, which is called over HTTP."""


def check_platform(version: Sequence[int]) -> list[Check]:
    """Report the version of recollect and the system, and check that Python is new enough."""
    python, oldest = (".".join(map(str, one)) for one in (version, MIN_PYTHON))
    return [
        ok("recollect", f"{__version__} on {platform.system() or 'an unknown system'}"),
        problem("python", python, f"run recollect with Python {oldest} or later")
        if tuple(version) < MIN_PYTHON
        else ok("python", python),
    ]


def check_embedders(settings: Settings) -> list[Check]:
    """List the known embedders, check the one of a new store, and the folder in which built models are cached."""
    from recollect.providers import registry
    from recollect.providers.minilm import cache_folders

    known = [
        ok(f"embedder {one.name}", f"{one.model}: {one.about}")
        if one.fix is None
        else warning(f"embedder {one.name}", f"not installed: {one.about}", one.fix)
        for one in registry.list_embedders()
    ]
    return [*known, check_embedding(settings), check_cache_folders(cache_folders())]


def check_embedding(settings: Settings) -> Check:
    """Check that the embedder of a new store works; a remote embedder is not called."""
    try:
        found = find_named_embedder(settings.embedder or "auto", settings)
        if found.name.startswith(REMOTE_MODEL_PREFIX):
            return ok("embedding", f"{found.name} is a remote model; doctor does not call it")
        embed(found, [SAMPLE_TEXT], "memory")
        return ok("embedding", f"{Encoder(found.name, found.dimensions)} works")
    except RecollectError as error:
        return check_from_error("embedding", error)
    except (ImportError, OSError) as error:
        return problem("embedding", f"a required package cannot be loaded ({error})", "reinstall recollect")


def check_cache_folders(folders: Sequence[Path]) -> Check:
    """Return a check of the first folder that is writable, with what it contains."""
    name = "model cache"
    for folder in folders:
        seen = _describe_cache_folder(folder)
        if seen is not None:
            return ok(name, f"{folder} {seen}")
    tried = ", ".join(map(str, folders)) or "no folder is known"
    return warning(name, f"no folder is writable ({tried})", "set XDG_CACHE_HOME to a writable folder")


def format_megabytes(count: int) -> str:
    """Format a number of bytes as megabytes."""
    return f"{count / 1e6:,.1f} MB"


def _describe_cache_folder(folder: Path) -> str | None:
    """Describe what a cache folder contains, or return None if it is not writable."""
    try:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
            return None
        if existing != folder:
            return "is created when it is needed"
        return f"has {format_megabytes(sum(path.stat().st_size for path in folder.iterdir() if path.is_file()))}"
    except OSError:  # the folder may not even be readable
        return None


def check_model(encoder: Encoder, settings: Settings) -> Check:
    """Check that the model of the store's vectors can be used."""
    from recollect.providers import registry

    name, seen = "model", f"the vectors are from {encoder}"
    if settings.embedder is not None:
        try:
            found = find_named_embedder(settings.embedder, settings)
        except RecollectError as error:
            return check_from_error(name, error)
        if found.name != encoder.name:
            remedy = "set RECOLLECT_EMBEDDER to that model, or run `recollect admin re-embed --embedder NAME`"
            return problem(name, f"{seen}, but the settings name {found.name}", remedy)
        return ok(name, f"{seen}, as in the settings")
    try:
        registry.find_embedder_for_model(encoder.name)
    except NotFound:
        remedy = "open the store with the embedder that made them, or run `recollect admin re-embed --embedder NAME`"
        return warning(name, f"{seen}, which recollect does not provide", remedy)
    except InvalidInput:
        remedy = f"set RECOLLECT_EMBEDDER to https://host/v1#{encoder.name.removeprefix(REMOTE_MODEL_PREFIX)}"
        return warning(name, f"{seen}, a remote model", remedy)
    except RecollectError as error:
        return check_from_error(name, error)
    return ok(name, f"{seen}, which is installed")


def check_re_embedding(pending: Sequence[Encoder], dismissed: int) -> Iterator[Check]:
    """Warn about an unfinished re-embedding, or about vectors left from an earlier model."""
    command = "run `recollect admin re-embed --embedder NAME`"
    for encoder in pending:
        remedy = f"{command} with that embedder to finish it, or with the current one to cancel it"
        yield warning("re-embedding", f"started with {encoder}, but not finished", remedy)
    if dismissed:
        remedy = f"{command} with the current embedder"
        yield warning("re-embedding", "vectors of an earlier model have not been removed yet", remedy)


SERVER_PACKAGES: Sequence[str] = (
    *("grpcio", "grpcio-health-checking", "h11", "mcp", "prometheus-client", "protobuf", "starlette", "uvicorn"),
)
"""The packages of the `server` extra."""

FRAMEWORK_PACKAGES: Mapping[str, str] = {
    "langgraph": "langgraph",
    "openai-agents": "openai-agents",
    "anthropic": "anthropic",
    "pydantic-ai": "pydantic-ai-slim",
}
"""The package behind the extra of each agent framework."""


def check_serving(settings: Settings) -> list[Check]:
    """Check the packages and keys of a server, and report the agent frameworks, which few users need."""
    missing = [one for one in SERVER_PACKAGES if _installed_version(one) is None]
    remedy = "to serve agents, install recollect with its extra server (in its folder: pip install '.[server]')"
    return [
        warning("faces", f"not installed: {', '.join(missing)}", remedy)
        if missing
        else ok("faces", "HTTP, MCP and gRPC are installed"),
        check_keys(settings),
        ok("frameworks", "; ".join(_describe_frameworks())),
    ]


def check_keys(settings: Settings) -> Check:
    """Check that a server can read its API keys, and warn about expired ones."""
    try:
        file = KeyFile(keys_path(settings.server))
        keys = list(file.keys().values())
        if not keys:
            token = token_path(settings.server)
            if token.exists():
                read_private_file(token)
            return ok("keys", f"none in {file.path}; only local requests with the token in {token} are accepted")
    except RecollectError as error:
        return check_from_error("keys", error)
    at, seen = datetime.now(UTC), f"{len(keys)} in {file.path}"
    expired = [f"{key.id} of {key.name}" for key in keys if not key.is_valid(at)]
    if len(expired) == len(keys):
        seen = f"{seen}, all expired, so no request is accepted"
        return problem("keys", seen, "create one with `recollect keys add`")
    if expired:
        seen = f"{seen}; these have expired: {', '.join(expired)}"
        return warning("keys", seen, "run `recollect keys revoke ID` for each")
    return ok("keys", seen)


def _describe_frameworks() -> Iterator[str]:
    versions = {extra: _installed_version(package) for extra, package in FRAMEWORK_PACKAGES.items()}
    installed = [f"{extra} {number}" for extra, number in versions.items() if number is not None]
    missing = [extra for extra, number in versions.items() if number is None]
    if installed:
        yield f"installed: {', '.join(installed)}"
    if missing:
        yield f"not installed: {', '.join(missing)}; each is an extra of the same name"


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


POSTGRES_EXTRA = "install recollect with its extra postgres (in its folder: pip install '.[postgres]')"
"""How to install the PostgreSQL driver."""

REQUIRED_RIGHTS = (
    "USAGE ON SCHEMA recollect",
    "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA recollect",
    "USAGE ON ALL SEQUENCES IN SCHEMA recollect",
)
"""The rights that a role needs to remember and recall, if it does not own the tables."""

MAX_NAMED_TABLES = 4
"""Maximum number of tables that a message names."""


def check_database(address: str, settings: Settings) -> Iterator[Check]:
    """Check a PostgreSQL database and the store in it; nothing is created or changed."""
    yield (loaded := check_driver())
    if loaded.remedy is not None:
        return
    try:
        seen = inspect.read_catalog(address)
    except RecollectError as error:
        yield check_from_error("server", error)
        return
    yield from check_catalog(seen, settings)


def check_driver() -> Check:
    """Check that the PostgreSQL driver is installed."""
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        return problem("psycopg", f"cannot be loaded ({str(error).partition(chr(10))[0]})", POSTGRES_EXTRA)
    return ok("psycopg", f"{psycopg.__version__}, with psycopg_pool {psycopg_pool.__version__}")


def check_catalog(seen: DatabaseCatalog, settings: Settings) -> Iterator[Check]:
    """Check everything that was read from the catalog of a database."""
    from recollect.stores.postgres.connection import MIGRATIONS
    from recollect.stores.sql.migrations import load_migrations

    yield from check_server(seen.server, seen.vector, seen.role)
    yield check_database_store(seen, len(load_migrations(MIGRATIONS)))
    kept = seen.store
    if kept is None:
        return
    yield check_rights(kept, seen.role, seen.server)
    yield check_row_security(kept.tables)
    if kept.encoder is not None:
        yield check_model(kept.encoder, settings)
    yield from check_re_embedding(kept.pending_encoders, kept.dismissed_encoders)
    if kept.indexes:
        yield check_indexes(kept.indexes)
    if kept.unswept:
        yield check_unswept(kept)


def check_server(server: PostgresServer, vector: PgvectorInfo, role: PostgresRole) -> Iterator[Check]:
    """Check the server, its encoding, pgvector, whether row-level security applies, and whether it accepts writes."""
    from recollect.stores.postgres.connection import MIN_SERVER_VERSION

    shown = f"PostgreSQL {server.version}"
    if server.major < MIN_SERVER_VERSION:
        yield problem("server", f"{shown} is too old", f"use PostgreSQL {MIN_SERVER_VERSION} or newer")
    else:
        yield ok("server", f"{shown} answers")
    if server.encoding != "UTF8":
        yield problem("encoding", server.encoding, "create a database with ENCODING 'UTF8'")
    else:
        yield ok("encoding", server.encoding)
    yield check_pgvector(vector, role)
    if role.superuser or role.bypasses_security:
        seen = f"{role.name} {'is a superuser' if role.superuser else 'has BYPASSRLS'} and bypasses row-level security"
        yield warning("role", seen, "use a role that is NOSUPERUSER and NOBYPASSRLS")
    else:
        yield ok("role", f"{role.name} is subject to row-level security")
    if server.is_read_only:
        remedy = "connect to the primary server to store memories"
        yield warning("primary", "the server is read-only, like a replica", remedy)
    else:
        yield ok("primary", "the server accepts writes")


def check_pgvector(found: PgvectorInfo, role: PostgresRole) -> Check:
    """Check that the database has pgvector, or that the role may create the extension."""
    from recollect.stores.postgres.connection import MIN_PGVECTOR_VERSION, parse_version

    name, wanted = "pgvector", MIN_PGVECTOR_VERSION
    newer = f"install pgvector {wanted} or newer on the server"
    if found.version is not None:
        if parse_version(found.version) >= parse_version(MIN_PGVECTOR_VERSION):
            return ok(name, found.version)
        return problem(name, f"{found.version} is too old", f"{newer}, and run ALTER EXTENSION vector UPDATE")
    if found.available is None:
        return problem(name, "not available on the server", newer)
    if parse_version(found.available) < parse_version(MIN_PGVECTOR_VERSION):
        return problem(name, f"{found.available} on the server is too old", newer)
    if role.superuser or (found.trusted and role.may_create):
        return ok(name, f"{found.available} will be installed when the store is created")
    remedy = "run CREATE EXTENSION vector in the database as a superuser"
    return problem(name, f"not installed in the database, and {role.name} may not install it", remedy)


def check_database_store(seen: DatabaseCatalog, latest: int) -> Check:
    """Check that the database has a store with a known schema, or that one can be created."""
    from recollect.stores.sql.migrations import schema_mismatch

    kept, name = seen.store, "store"
    if kept is None:
        return _check_new_store(seen)
    if kept.schema is None:
        return problem(name, f"{seen.role.name} may not access {seen.name}", _grant_remedy(kept, seen.role))
    if kept.schema > latest:
        return check_from_error(name, schema_mismatch(seen.name, kept.schema, latest))
    if kept.moving:
        remedy = "run the same `recollect admin migrate-store` command again"
        return problem(name, f"the migration of a store to {seen.name} is not finished", remedy)
    if kept.schema < latest and (seen.server.is_read_only or not all(one.owned for one in kept.tables)):
        remedy = f"open it once on the primary server as {_find_owner(kept)}"
        return problem(name, f"{seen.name} must be migrated to schema {latest}", remedy)
    older = f", will be migrated to {latest} when it is next opened" if kept.schema < latest else ""
    bytes = format_megabytes(sum(one.bytes for one in kept.tables))
    return ok(name, f"{seen.name}, {bytes}, schema {kept.schema}{older}")


def check_rights(kept: StoreCatalog, role: PostgresRole, server: PostgresServer) -> Check:
    """Check that the role has the rights to remember and recall."""
    unreadable = [one.name for one in kept.tables if not one.readable]
    if unreadable:
        return problem("rights", f"{role.name} may not read {_name_some(unreadable)}", _grant_remedy(kept, role))
    unwritable = [*(one.name for one in kept.tables if not one.writable), *kept.closed_sequences]
    if unwritable and not server.is_read_only:
        seen = f"{role.name} may read all tables, but not write {_name_some(unwritable)}"
        to_read = f"for a read-only role, run ALTER ROLE {role.name} SET default_transaction_read_only = on"
        return warning("rights", seen, f"{to_read}; otherwise {_grant_remedy(kept, role)}")
    return ok("rights", f"{role.name} may {'read' if server.is_read_only else 'read and write'} all tables")


def check_row_security(tables: Sequence[StoreTable]) -> Check:
    """Check that row-level security is enabled and forced, which includes the table owner."""
    held = [one for one in tables if one.private]
    open_ones = [one.name for one in held if not one.secured]
    if open_ones:
        remedy = "run ALTER TABLE recollect.NAME ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY for each"
        return problem("row security", f"not enabled and forced on {_name_some(open_ones)}", remedy)
    return ok("row security", f"enabled and forced on {format_count(len(held), 'table')}")


def check_indexes(found: Sequence[ScopeVectorIndex]) -> Check:
    """Check that every vector index built by an operator can be used for searches."""
    useless = [one.name for one in found if not one.is_usable]
    if useless:
        why = "from an earlier model, from an erased scope, being built, or interrupted"
        remedy = "wait for a running build; otherwise run `recollect admin index --drop` as the owner of the tables"
        return warning(
            "indexes", f"{_name_some(useless)} ({len(useless)} of {len(found)}) cannot be used: {why}", remedy
        )
    return ok("indexes", f"in use for {_name_some([str(one.scope) for one in found])}")


def check_unswept(kept: StoreCatalog) -> Check:
    """Warn that bytes of erased memories remain in the files of the server."""
    told = f"the files of PostgreSQL still have bytes of {format_count(kept.unswept, 'erasure')}"
    return warning("erased", told, f"run `recollect admin sweep` as {_find_owner(kept)}, when the store is not busy")


def _check_new_store(seen: DatabaseCatalog) -> Check:
    if seen.server.is_read_only:
        return problem("store", f"{seen.name} has no store and is read-only", "create the store on the primary server")
    if not (seen.role.superuser or seen.role.may_create):
        remedy = "open it once as the owner of the database"
        return problem("store", f"{seen.name} has no store, and {seen.role.name} may not create a schema", remedy)
    return ok("store", f"{seen.name} has no store yet; the first memory creates it")


def _find_owner(kept: StoreCatalog) -> str:
    return next(iter(one.owner for one in kept.tables), "its owner")


def _grant_remedy(kept: StoreCatalog, role: PostgresRole) -> str:
    """Return the GRANT statements that give a role its missing rights."""
    return f"run as {_find_owner(kept)}: {'; '.join(f'GRANT {what} TO {role.name}' for what in REQUIRED_RIGHTS)}"


def _name_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED_TABLES} more" if len(names) > MAX_NAMED_TABLES else ""
    return f"{', '.join(names[:MAX_NAMED_TABLES])}{more}"
