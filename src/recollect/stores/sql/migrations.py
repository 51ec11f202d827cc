"""Schema migrations: numbered .sql files, applied in order, each in its own transaction."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Protocol

from recollect.errors import SchemaMismatch, StoreError, show

_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a schema version to the next."""

    number: int
    name: str
    script: str


class MigrationLog(Protocol):
    """A database that records the number of its last migration."""

    @property
    def name(self) -> str:
        """The name of the database in messages."""
        ...

    def version(self) -> int:
        """Return the number of the last migration; 0 before the first."""
        ...

    def advance(self, step: Migration) -> int:
        """Apply the step in one transaction if it is the next one; return the number recorded then.

        Another process may migrate first, so only a check inside the transaction is reliable.
        """
        ...


def load_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """Read the migrations of a folder: `0001_first.sql`, `0002_….sql` and so on, without a gap."""
    try:
        scripts = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}
    except OSError as error:
        raise StoreError(f"the migrations in {folder} cannot be read ({error.strerror})") from error
    names = sorted(scripts)
    numbers = [int(match[1]) if (match := _FILE_NAME.fullmatch(name)) else None for name in names]
    if numbers != list(range(1, len(names) + 1)):
        raise SchemaMismatch(f"the migrations {show(names)} are not numbered 0001_, 0002_, … without a gap")
    return tuple(Migration(number, name, scripts[name]) for number, name in enumerate(names, 1))


def migrate(log: MigrationLog, steps: Sequence[Migration]) -> int:
    """Apply all missing migrations and return the last number; refuse a newer database."""
    version = log.version()
    while 0 <= version < len(steps):
        version = log.advance(steps[version])
    if version != len(steps):
        raise schema_mismatch(log.name, version, len(steps))
    return version


def schema_mismatch(name: str, version: int, known: int) -> SchemaMismatch:
    """Return the error for a database with a newer schema or without a valid schema number."""
    if version < known:
        remedy = "restore a backup of it, or use another file"
        return SchemaMismatch(f"store {name!r} has schema {version} instead of {known}; {remedy}")
    problem = f"store {name!r} was written by a newer recollect (schema {version}; this version reads up to {known})"
    return SchemaMismatch(f"{problem}; upgrade recollect")
