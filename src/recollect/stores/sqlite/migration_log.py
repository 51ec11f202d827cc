"""Ledger: which migrations a SQLite database has had, and the next one in a transaction."""

from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.stores.sql.migrations import Migration
from recollect.stores.sqlite import checksum


class SqliteMigrationLog:
    """The ledger of a SQLite database: the number is its `user_version`, written in the transaction of each step."""

    def __init__(self, db: apsw.Connection, name: str, path: Path | None) -> None:
        self.name = name
        self._path = path
        self._db = db

    def version(self) -> int:
        return int(self._db.pragma("user_version"))

    def advance(self, step: Migration) -> int:
        self._db.execute(
            "PRAGMA foreign_keys = OFF"
        ).fetchall()  # so that a step may build a table anew that others point to
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self.version() == step.number - 1:
                self._apply(step)
            version = self.version()
            self._db.execute("COMMIT")
        except apsw.SQLError as error:
            raise StoreError(f"{self.name}: migration {step.name} failed: {error}") from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        return version

    def _apply(self, step: Migration) -> None:
        if self._path:
            checksum.remove_checksum(self._path)
        self._db.execute(step.script).fetchall()
        if not self._db.in_transaction:
            raise StoreError(f"{self.name}: migration {step.name} ends its own transaction; take its COMMIT out")
        if broken := self._db.execute("PRAGMA foreign_key_check").fetchall():
            raise StoreError(f"{self.name}: migration {step.name} leaves {len(broken)} rows that point to nothing")
        self._db.pragma("user_version", step.number)
