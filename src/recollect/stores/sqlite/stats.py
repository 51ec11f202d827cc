"""Stats: what a file is, without making, mending or migrating it."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from recollect.atomic_files import companion_path
from recollect.model.encoder import Encoder
from recollect.stores.sql.migrations import load_migrations, schema_mismatch
from recollect.stores.sql.stats import read_current_encoder
from recollect.stores.sqlite import descriptors, fork
from recollect.stores.sqlite.connection import MIGRATIONS, SqliteDatabase, is_claimed
from recollect.stores.sqlite.driver_errors import translate_errors
from recollect.stores.sqlite.sql import fetch_all
from recollect.stores.sqlite.transaction import SqliteTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFileInfo:
    """A file that is or may become a store: its schema and the last one there is, and its models.

    `pending_encoders` are models to which it is on its way, and `dismissed` says how many have had their day without
    all of their vectors being removed. `read_only` if it may only be read.
    """

    schema: int
    latest_schema: int
    encoder: Encoder | None = None
    pending_encoders: tuple[Encoder, ...] = ()
    retired_encoders: int = 0
    read_only: bool = False


def inspect_store_file(path: Path) -> StoreFileInfo:
    """What the file at that path is; refused if it is none of ours, of a newer program, or cannot be read as it is."""
    latest = len(load_migrations(MIGRATIONS))
    name = os.fspath(path)
    database = SqliteDatabase(name, path.resolve())
    database.refuse_if_written()
    logged = descriptors.file_size(companion_path(path.resolve(), "-wal")) > 0
    with fork.delay_forks(), translate_errors(name), closing(database.connect_reading()) as db:
        if logged:  # by a process that uses it or died: closing would move that into the file
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        schema = int(db.pragma("user_version")) if is_claimed(db, name) else 0
        if not 0 <= schema <= latest:
            raise schema_mismatch(name, schema, latest)
        seen = _inspect_encoders(db, schema, latest) if schema else StoreFileInfo(schema=0, latest_schema=latest)
        return replace(seen, read_only=database.read_only)


def _inspect_encoders(db: apsw.Connection, schema: int, latest: int) -> StoreFileInfo:
    _, encoder = read_current_encoder(SqliteTransaction(db))
    waiting = fetch_all(db, "waiting_encoders")
    return StoreFileInfo(
        schema=schema,
        latest_schema=latest,
        encoder=encoder,
        pending_encoders=tuple(Encoder(name, dimensions) for name, dimensions, dismissed in waiting if not dismissed),
        retired_encoders=sum(dismissed for _, _, dismissed in waiting),
    )
