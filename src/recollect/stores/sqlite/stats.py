"""Stats: how much a SQLite store holds; and what a file is, without making, mending or migrating it."""

import os
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from recollect.evidence import analysis
from recollect.files import beside
from recollect.model.encoder import Encoder
from recollect.model.memory import Kind, Status
from recollect.model.scope import Scope
from recollect.model.stats import MOST_SCOPES, Stats
from recollect.model.usage import Use
from recollect.stores.migrate import migrations, mismatch
from recollect.stores.sqlite import descriptors, forks
from recollect.stores.sqlite.connection import MIGRATIONS, Database, is_claimed
from recollect.stores.sqlite.sql import all_rows, inside, one_row, the_row
from recollect.stores.sqlite.translation import translated


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


def count(db: apsw.Connection, scope: Scope | None, *, below: bool, size: int) -> Stats:
    """The figures of a scope, with those of the scopes below it if asked, or of all."""
    wanted = inside(scope, below=below)
    model, encoder = present_model(db)
    scopes, statuses, kinds = Counter[str](), Counter[Status](), Counter[Kind]()
    unembedded = 0
    for path, status, kind, times, without in all_rows(db, "counts", encoder=model, **wanted):
        scopes[path] += times
        statuses[Status(status)] += times
        kinds[Kind(kind)] += times
        unembedded += without if status == Status.ACTIVE else 0
    former, contexts, served, echoed, helped, misled = the_row(db, "more_counts", **wanted)
    largest = sorted(scopes.items(), key=lambda one: (-one[1], one[0]))[:MOST_SCOPES]
    return Stats(
        memories=scopes.total(),
        statuses=dict(sorted(statuses.items())),
        kinds=dict(sorted(kinds.items())),
        scopes=len(scopes),
        largest=tuple((Scope.parse(path), times) for path, times in largest),
        versions=scopes.total() + former,
        contexts=contexts,
        uses={
            Use.SERVED: int(served),
            Use.HELPED: int(helped),
            Use.MISLED: int(misled),
            Use.ECHOED: int(echoed),
        },
        unembedded=unembedded,
        encoder=encoder,
        analyser=analysis.VERSION,
        schema=db.pragma("user_version"),
        bytes=size,
    )


def present_model(db: apsw.Connection) -> tuple[int, Encoder | None]:
    """The model that the vectors come from, with its number; 0 and nothing before the first vector."""
    row = one_row(db, "present_encoder")
    return (0, None) if row is None else (int(row[0]), Encoder(row[1], row[2]))


def glance(path: Path) -> Glance:
    """What the file at that path is; refused if it is none of ours, of a newer program, or cannot be read as it is."""
    latest = len(migrations(MIGRATIONS))
    name = os.fspath(path)
    database = Database(name, path.resolve())
    database.refuse_if_written()
    logged = descriptors.size(beside(path.resolve(), "-wal")) > 0
    with forks.inside(), translated(name), closing(database.connect_reading()) as db:
        if logged:  # by a process that uses it or died: closing would move that into the file
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        schema = int(db.pragma("user_version")) if is_claimed(db, name) else 0
        if not 0 <= schema <= latest:
            raise mismatch(name, schema, latest)
        seen = _models(db, schema, latest) if schema else Glance(schema=0, latest=latest)
        return replace(seen, read_only=database.read_only)


def _models(db: apsw.Connection, schema: int, latest: int) -> Glance:
    _, encoder = present_model(db)
    waiting = all_rows(db, "waiting_encoders")
    return Glance(
        schema=schema,
        latest=latest,
        encoder=encoder,
        begun=tuple(Encoder(name, dimensions) for name, dimensions, dismissed in waiting if not dismissed),
        dismissed=sum(dismissed for _, _, dismissed in waiting),
    )
