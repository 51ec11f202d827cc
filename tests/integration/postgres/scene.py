"""What these tests have in common: engines on a database, roles beside its owner, and raw transactions."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

import recollect
from tests.postgres import ROLE, Server

AGENT = "agent"
"""A role that reads and writes, and owns nothing."""

Db = psycopg.Connection[tuple[Any, ...]]


def an_engine(url: str, **given: Any) -> recollect.Engine:
    """The engine of a database, with the embedder that needs nothing."""
    return recollect.open(url, **{"embedder": "hashing", **given})


def a_role(server: Server, name: str, *more: str) -> None:
    """Make a role that may log in, unless there is one."""
    with server.admin() as admin:
        if admin.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).fetchone() is None:
            words = sql.SQL(" ".join(more))
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN NOBYPASSRLS {}").format(sql.Identifier(name), words))


def grant(server: Server, database: str, role: str = AGENT) -> None:
    """Let a role read and write what the owner has made, as the guide says."""
    with server.admin(database) as admin:
        admin.execute(f"SET ROLE {ROLE}")
        for what in (
            "USAGE ON SCHEMA recollect",
            "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA recollect",
            "USAGE ON ALL SEQUENCES IN SCHEMA recollect",
        ):
            admin.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(what), sql.Identifier(role)))
        admin.execute(f"REVOKE INSERT, UPDATE, DELETE ON recollect.migrated FROM {role}")


@contextmanager
def undone(db: Db, *first: sql.Composed | str) -> Iterator[Db]:
    """A transaction that leaves nothing behind, begun with these statements."""
    with db.transaction(force_rollback=True):
        db.execute("SET LOCAL search_path = recollect, public")
        for statement in first:
            db.execute(statement)
        yield db


def until(holds: Callable[[], bool], patience: float = 60.0) -> None:
    """Wait until something holds that is bound to; it fails the test if it does not."""
    over = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < over, "what was waited for did not come"
        time.sleep(0.01)


def named(url: str) -> str:
    """The name of the database in an address through a socket."""
    return url.partition("@/")[2].partition("?")[0]
