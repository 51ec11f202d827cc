"""Stats: what a file is, without making, mending or migrating it."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from recollect.atomic_files import beside
from recollect.model.encoder import Encoder
from recollect.stores.sql.migrations import migrations, mismatch
from recollect.stores.sql.stats import present_model
from recollect.stores.sqlite import descriptors, fork
from recollect.stores.sqlite.connection import MIGRATIONS, Database, is_claimed
from recollect.stores.sqlite.driver_errors import translated
from recollect.stores.sqlite.sql import all_rows
from recollect.stores.sqlite.transaction import SqliteSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """A file that is or may become a store: its schema and the last one there is, and its models.

    `begun` are models to which it is on its way, and `dismissed` says how many have had their day without all of
    their vectors being removed. `read_only` if it may only be read.
    """

    schema: int
    latest: int
    encoder: Encoder | None = None
    begun: tuple[Encoder, ...] = ()
    dismissed: int = 0
    read_only: bool = False


def glance(path: Path) -> Glance:
    """What the file at that path is; refused if it is none of ours, of a newer program, or cannot be read as it is."""
    latest = len(migrations(MIGRATIONS))
    name = os.fspath(path)
    database = Database(name, path.resolve())
    database.refuse_if_written()
    logged = descriptors.size(beside(path.resolve(), "-wal")) > 0
    with fork.inside(), translated(name), closing(database.connect_reading()) as db:
        if logged:  # by a process that uses it or died: closing would move that into the file
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        schema = int(db.pragma("user_version")) if is_claimed(db, name) else 0
        if not 0 <= schema <= latest:
            raise mismatch(name, schema, latest)
        seen = _models(db, schema, latest) if schema else Glance(schema=0, latest=latest)
        return replace(seen, read_only=database.read_only)


def _models(db: apsw.Connection, schema: int, latest: int) -> Glance:
    _, encoder = present_model(SqliteSession(db))
    waiting = all_rows(db, "waiting_encoders")
    return Glance(
        schema=schema,
        latest=latest,
        encoder=encoder,
        begun=tuple(Encoder(name, dimensions) for name, dimensions, dismissed in waiting if not dismissed),
        dismissed=sum(dismissed for _, _, dismissed in waiting),
    )
