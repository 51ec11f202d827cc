"""Glance: what a file is, as far as can be seen without making, mending or migrating it."""

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from recollect.model.encoder import Encoder
from recollect.stores.migrate import migrations, newer
from recollect.stores.sqlite import forks
from recollect.stores.sqlite.connection import MIGRATIONS, Database, is_claimed, translated
from recollect.stores.sqlite.sql import all_rows, one_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """A file that is or may become a store: its schema and the last one there is, and its models.

    `begun` are models to which it is on its way, and `dismissed` says how many have had their day without all of
    their vectors being removed.
    """

    schema: int
    latest: int
    encoder: Encoder | None = None
    begun: tuple[Encoder, ...] = ()
    dismissed: int = 0


def glance(path: Path) -> Glance:
    """What the file at that path is; refused if it is none of ours, or of a newer program."""
    latest = len(migrations(MIGRATIONS))
    name = os.fspath(path)
    with forks.inside(), translated(name), closing(Database(name, path.resolve()).connect_reading()) as db:
        schema = int(db.pragma("user_version")) if is_claimed(db, name) else 0
        if schema > latest:
            raise newer(name, schema, latest)
        return _models(db, schema, latest) if schema else Glance(schema=0, latest=latest)


def _models(db: apsw.Connection, schema: int, latest: int) -> Glance:
    present = one_row(db, "present_encoder")
    waiting = all_rows(db, "waiting_encoders")
    return Glance(
        schema=schema,
        latest=latest,
        encoder=None if present is None else Encoder(present[1], present[2]),
        begun=tuple(Encoder(name, dimensions) for name, dimensions, dismissed in waiting if not dismissed),
        dismissed=sum(dismissed for _, _, dismissed in waiting),
    )
