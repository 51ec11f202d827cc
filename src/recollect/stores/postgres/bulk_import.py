"""Receiving: another store comes here as it is, in parts; nobody uses the database before all of it is there."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from recollect.errors import Conflict, show
from recollect.model.archive import ArchiveInfo, ArchiveItem
from recollect.model.validation import BUSY_TIMEOUT_SECONDS
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.postgres.transaction_runner import ALL_SCOPES, open_snapshot, write_everywhere
from recollect.stores.sql import rows
from recollect.stores.sql.archive import ArchiveLoader, keep_items, open_export
from recollect.stores.sql.stats import read_current_encoder
from recollect.stores.write_checks import refuse_other_encoder

T = TypeVar("T")


class _SourceMismatch(Exception):
    """What comes does not go with what is here."""


class PostgresImport:
    """What has come and how much of it is written in the same transaction, so that an interrupted move can go on."""

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self._database = PostgresDatabase(target, patience=timeout, whole=False)
        self._item_count = 0
        self._commit_times: dict[int, int] = {}
        """When each commit of the other store was recorded; its numbers count over all of its roots."""

    def begin(self, source: str, inventory: ArchiveInfo) -> int:
        expected = _describe_inventory(inventory)

        def change(db: PostgresTransaction) -> int:
            found = db.fetch_first("moving")
            if found is None:
                if db.fetch_first("any_root") is not None:
                    told = "has memories already; name an empty one, or import an export of the store"
                    raise Conflict(f"{self._database.name} {told}")
            elif found[0] != source:
                told = f"{show(found[0])} is being moved there; finish that first, or name another database"
                raise Conflict(f"{self._database.name}: {told}")
            elif found[1] == expected:
                self._commit_times = {number: recorded_at for _, number, recorded_at in db.fetch_each("all_commits")}
                return int(found[2])
            else:
                db.execute("empty")  # the store that was to come has changed since
            db.execute("begin_moving", source=source, inventory=expected)
            _, present = read_current_encoder(db)
            refuse_other_encoder(present, inventory.encoder)
            if present is None and inventory.encoder is not None:
                db.execute("add_encoder", name=inventory.encoder.name, dimensions=inventory.encoder.dimensions)
            return 0

        self._item_count = self._write_exclusively(change)
        return self._item_count

    def take(self, items: Sequence[ArchiveItem]) -> None:
        before, after = self._item_count, self._item_count + len(items)

        def change(db: PostgresTransaction) -> None:
            *_, taken = db.fetch_one("moving")
            if taken == after:  # it came through, though the answer did not
                return
            if taken != before:
                raise Conflict(f"{self._database.name}: somebody else moves a store there; wait until that is done")

            known: set[tuple[str, int]] = set()

            def as_there(commit: int, recorded_at: datetime) -> tuple[int, int]:
                recorded = rows.to_micros(recorded_at)
                if (db.realm, commit) not in known:
                    known.add((db.realm, commit))
                    self._commit_times.setdefault(commit, recorded)
                    db.execute("load_commit", commit=commit, recorded_at=recorded)
                return commit, recorded

            try:
                with db.use_pipeline():
                    encoder, _ = read_current_encoder(db)
                    ArchiveLoader(db, as_there, lambda: True, encoder=encoder, moments=self._commit_times).load(items)
            except Conflict as error:
                raise _SourceMismatch from error
            db.execute("moved", taken=after)

        try:
            self._write_exclusively(change)
        except _SourceMismatch as error:
            self.reject()
            told = f"what came before is of another store, or of this one before it changed ({error.__cause__})"
            raise Conflict(f"{self._database.name}: {told}; run it again, which begins anew") from error.__cause__
        self._item_count = after

    def received(self) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        return open_export(open_snapshot(self._database, ALL_SCOPES), None, keep_items)

    def reject(self) -> None:
        self._write_exclusively(lambda db: db.execute("distrust"))

    def finish(self) -> None:
        self._write_exclusively(lambda db: db.execute("end_moving"))

    def close(self) -> None:
        self._database.close()

    def _write_exclusively(self, change: Callable[[PostgresTransaction], T]) -> T:
        """What comes of a change while nobody else moves or writes anything."""

        def alone(db: PostgresTransaction) -> T:
            db.execute("lock_moving")
            return change(db)

        return write_everywhere(self._database, alone)


def _describe_inventory(inventory: ArchiveInfo) -> str:
    """What is to come, in words that are the same as long as the other store has not changed."""
    encoder = None if inventory.encoder is None else [inventory.encoder.name, inventory.encoder.dimensions]
    until = None if inventory.until is None else inventory.until.isoformat()
    return json.dumps([encoder, inventory.memories, inventory.contexts, until])
