"""The SQLite store: reads through shelves, writes through one writer, and keeps the contract of every store."""

import json
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TypeVar

import apsw
import numpy as np

from recollect.model.archive import Inventory, Item
from recollect.model.encoder import Encoder
from recollect.model.erasure import Search
from recollect.model.kept import Kept
from recollect.model.limits import BUSY_TIMEOUT, CACHE_BYTES
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.probe import Found, Probe
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.trace import Trace
from recollect.model.usage import UNUSED, Usage
from recollect.model.wording import printable
from recollect.ports import Progress, Writing
from recollect.stores.refusals import refuse_other_model
from recollect.stores.sqlite import descriptors, rows
from recollect.stores.sqlite.archive import inventory, saved
from recollect.stores.sqlite.backup import backup
from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.library import Library
from recollect.stores.sqlite.readers import Readers
from recollect.stores.sqlite.remains import scrub
from recollect.stores.sqlite.sql import all_rows, one_row, seen, the_row
from recollect.stores.sqlite.stats import count, present_model
from recollect.stores.sqlite.view import View
from recollect.stores.sqlite.writer import Writer
from recollect.stores.sqlite.writing import SqliteWriting

T = TypeVar("T")

PAGE = 500
"""How many memories are read at a time when all of a scope are listed."""


class SqliteStore:
    """Keeps memories in one SQLite file, for many threads and processes at once."""

    def __init__(
        self,
        target: str | PathLike[str],
        clock: Callable[[], datetime],
        *,
        timeout: float = BUSY_TIMEOUT,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._clock = clock
        self._timeout = timeout
        self._database = Database.open(target, patience=timeout)
        self._readers = Readers(self._database)
        self._writer = Writer(self._database, timeout=timeout)
        self._library = Library(cache_bytes)

    def __str__(self) -> str:
        return printable(self._database.name)

    def encoder(self) -> Encoder | None:
        with self._readers.reading() as db:
            return present_model(db)[1]

    def speakers(self, probe: Probe) -> frozenset[str]:
        with self._readers.reading() as db:
            view, _ = self._library.view(db, probe, _encoder_number(db, probe.encoder))
        return view.said_by(view.eligible(probe.at, present=probe.present, past=probe.past)[0])

    def mentions(self, probe: Probe) -> dict[MemoryId, list[str]]:
        with self._readers.reading() as db:
            view, _ = self._library.view(db, probe, _encoder_number(db, probe.encoder))
        mask, _ = view.eligible(probe.at, present=probe.present, past=probe.past)
        return {view.ids[row]: names for row, names in view.mentions.mentions(mask).items()}

    def gather(self, probe: Probe) -> Found:
        with self._readers.reading() as db:
            number = _encoder_number(db, probe.encoder)
            view, commit = self._library.view(db, probe, number)
        mask, barred = view.eligible(probe.at, present=probe.present, past=probe.past)
        vectors = probe.vectors if number else None
        said = view.turns(mask) if probe.in_turns else None
        near, error = (None, 0.0) if vectors is None else view.similarities(vectors, said)
        shares = view.shares(probe.terms, mask, said) if probe.terms else None
        settings = view.settings(probe.terms, mask) if probe.terms and said is not None else None
        links = view.mentions.linked(probe.names, mask) if probe.names else None
        linked, link = (None, None) if links is None else links
        return Found(
            table=view.table.with_evidence(
                similarity=near, lexical=shares, setting=settings, linked=linked, link=link, similarity_error=error
            ),
            rows=np.arange(len(view.ids)) if mask is None else np.flatnonzero(mask),
            pinned=view.pinned if mask is None else view.pinned[mask[view.pinned]],
            barred=barred,
            commit=commit,
            memories=lambda asked: self._memories(view, asked, commit),
            true_similarities=None if vectors is None else lambda asked: view.true_similarities(vectors, said, asked),
        )

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        with self._readers.reading() as db:
            if known_at is None:
                found = [one_row(db, "memory_by_id", **seen(scope, id=id)) for id in ids]
            else:
                (commit,) = the_row(db, "commit_known_at", at=rows.micros(known_at))
                found = [one_row(db, "memory_known_at", **seen(scope, id=id, commit=commit)) for id in ids]
        return [rows.memory(row) for row in found if row is not None]

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        with self._readers.reading() as db:
            found = [one_row(db, "usage_of", **seen(scope, id=id)) for id in ids]
        return [UNUSED if row is None else rows.usage(row) for row in found]

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        with self._readers.reading() as db:
            present = one_row(db, "memory_by_id", **seen(scope, id=id))
            former = all_rows(db, "history", id=id) if present else []
        versions = [rows.memory(row) for row in (*former, present)] if present else []
        return [one for one in versions if one.scope == scope or one.shared]

    def memories(self, scope: Scope, *, below: bool, statuses: Sequence[Status]) -> Iterator[Memory]:
        wanted = json.dumps([one.value for one in statuses])
        with self._readers.reading() as db:
            numbers = [row[0] for row in all_rows(db, "numbers_below", path=str(scope), below=below, statuses=wanted)]
        for first in range(0, len(numbers), PAGE):
            page = json.dumps(numbers[first : first + PAGE])
            with self._readers.reading() as db:
                found = all_rows(db, "memories_numbered", numbers=page, statuses=wanted)
            yield from map(rows.memory, found)

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        with self._readers.reading() as db:
            row = one_row(db, "topic", path=str(scope), topic_key=topic_key)
        return None if row is None else rows.memory(row)

    def context(self, scope: Scope, id: str) -> Trace | None:
        with self._readers.reading() as db:
            row = one_row(db, "context", id=id, path=str(scope))
        return None if row is None else rows.trace(row[0])

    def kept(self, scope: Scope, key: str) -> Kept | None:
        with self._readers.reading() as db:
            row = one_row(db, "key", path=str(scope), key=key)
        return None if row is None else rows.kept(scope, key, row)

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        path = self._database.path
        size = sum(map(descriptors.size, descriptors.files_of(path))) if path else 0
        with self._readers.reading() as db:
            return count(db, scope, below=below, size=size)

    def export(self, scope: Scope | None) -> tuple[Inventory, Iterator[Item]]:
        opened = ExitStack()
        db = opened.enter_context(self._readers.reading())
        with ExitStack() as unless_given:
            unless_given.push(opened)
            found = inventory(db, scope), _until_read(opened, saved(db, scope))
            unless_given.pop_all()
        return found

    def backup(self, path: Path, progress: Progress) -> None:
        mode = self._database.path.stat().st_mode & 0o666 if self._database.path else 0o600
        with self._readers.reading() as db:
            backup(db, path, mode, progress)

    def scrub(self, pieces: Set[bytes]) -> Search:
        self._library.forget()
        path = self._database.path
        return scrub(path, self._writer, pieces, patience=self._timeout) if path else Search()

    def write(self, change: Callable[[Writing], T]) -> T:
        return self._writer.write(lambda db: change(SqliteWriting(db, self._clock())))

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def later(self, change: Callable[[Writing], object]) -> None:
        self._writer.later(lambda db: change(SqliteWriting(db, self._clock())))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            whatever_happens.callback(self._readers.close)
            self._writer.close()

    def _memories(self, view: View, asked: Sequence[int], commit: int) -> list[Memory | None]:
        """The memories of these rows as they were in their commits or former versions; `None` where one was erased."""
        with self._readers.reading() as db:
            found = [
                one_row(db, "memory_in_version", memory=number, version=-changed, commit=commit)
                if changed < 0
                else one_row(db, "memory_now", memory=number, changed=changed)
                or one_row(db, "memory_then", memory=number, changed=changed)
                for number, changed in view.places(asked)
            ]
        memories = [None if row is None else rows.memory(row) for row in found]
        return [one and view.as_ranked(row, one) for row, one in zip(asked, memories, strict=True)]


def _until_read(opened: ExitStack, items: Iterator[Item]) -> Iterator[Item]:
    """The items; what they are read from is let go of at their end."""
    with opened:
        yield from items


def _encoder_number(db: apsw.Connection, wanted: Encoder | None) -> int:
    """The number of the present model, which must be the one that is wanted; 0 if there is none yet."""
    number, model = present_model(db)
    refuse_other_model(model, wanted)
    return number
