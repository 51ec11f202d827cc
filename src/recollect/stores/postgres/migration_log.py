"""Ledger: which migrations a PostgreSQL database has had, and the next one in a transaction."""

from typing import Any

import psycopg
from psycopg import errors, sql

from recollect.errors import StoreError
from recollect.stores.sql.migrations import Migration

SCHEMA_NAME = "recollect"
"""The schema that all our tables are in."""

SET_SEARCH_PATH = sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(SCHEMA_NAME))
"""Where names are looked up until the transaction ends. The schema of pgvector is not there: whoever may make functions
in it could put theirs in the place of those that our statements use."""

_MIGRATION_LOCK_KEY = 0x7265636F6C6C6563
"""What starters of one database wait for each other by, until the end of a transaction."""


class PostgresMigrationLog:
    """The ledger of a PostgreSQL database: a table with one row, written in the transaction of each step.

    Steps are taken by whoever comes first; the others wait for the end of that transaction, and find it taken.
    """

    def __init__(self, db: "psycopg.Connection[Any]", name: str, vectors: str) -> None:
        self.name = name
        self._db = db
        self._db.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # who has waited must see what others did
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
            remedy = "open the store once as a role that may create a schema in the database"
            told = f"migration {step.name} is not allowed ({_first_line(error)})"
            raise StoreError(f"{self.name}: {told}; {remedy}") from error
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
