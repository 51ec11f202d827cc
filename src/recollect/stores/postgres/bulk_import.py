"""Receiving: another store comes here as it is, in parts; nobody uses the database before all of it is there."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from recollect.errors import Conflict, show
from recollect.model.archive import Inventory, Item
from recollect.model.validation import BUSY_TIMEOUT
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.transaction import PostgresSession
from recollect.stores.postgres.transaction_runner import EVERYTHING, changed_everywhere, reading
from recollect.stores.sql import rows
from recollect.stores.sql.archive import Loading, as_they_are, exported
from recollect.stores.sql.stats import present_model
from recollect.stores.write_checks import refuse_other_model

T = TypeVar("T")


class _Unlike(Exception):
    """What comes does not go with what is here."""


class PostgresReceiving:
    """What has come and how much of it is written in the same transaction, so that an interrupted move can go on."""

    def __init__(self, target: str, *, timeout: float = BUSY_TIMEOUT) -> None:
        self._database = Database(target, patience=timeout, whole=False)
        self._taken = 0
        self._moments: dict[int, int] = {}
        """When each commit of the other store was recorded; its numbers count over all of its roots."""

    def begin(self, source: str, inventory: Inventory) -> int:
        expected = _told(inventory)

        def change(db: PostgresSession) -> int:
            found = db.one("moving")
            if found is None:
                if db.one("any_root") is not None:
                    told = "has memories already; name an empty one, or import an export of the store"
                    raise Conflict(f"{self._database.name} {told}")
            elif found[0] != source:
                told = f"{show(found[0])} is being moved there; finish that first, or name another database"
                raise Conflict(f"{self._database.name}: {told}")
            elif found[1] == expected:
                self._moments = {number: recorded_at for _, number, recorded_at in db.each("all_commits")}
                return int(found[2])
            else:
                db.run("empty")  # the store that was to come has changed since
            db.run("begin_moving", source=source, inventory=expected)
            _, present = present_model(db)
            refuse_other_model(present, inventory.encoder)
            if present is None and inventory.encoder is not None:
                db.run("add_encoder", name=inventory.encoder.name, dimensions=inventory.encoder.dimensions)
            return 0

        self._taken = self._changed(change)
        return self._taken

    def take(self, items: Sequence[Item]) -> None:
        before, after = self._taken, self._taken + len(items)

        def change(db: PostgresSession) -> None:
            *_, taken = db.the("moving")
            if taken == after:  # it came through, though the answer did not
                return
            if taken != before:
                raise Conflict(f"{self._database.name}: somebody else moves a store there; wait until that is done")

            known: set[tuple[str, int]] = set()

            def as_there(commit: int, recorded_at: datetime) -> tuple[int, int]:
                recorded = rows.micros(recorded_at)
                if (db.realm, commit) not in known:
                    known.add((db.realm, commit))
                    self._moments.setdefault(commit, recorded)
                    db.run("load_commit", commit=commit, recorded_at=recorded)
                return commit, recorded

            try:
                with db.without_waiting():
                    encoder, _ = present_model(db)
                    Loading(db, as_there, lambda: True, encoder=encoder, moments=self._moments).load(items)
            except Conflict as error:
                raise _Unlike from error
            db.run("moved", taken=after)

        try:
            self._changed(change)
        except _Unlike as error:
            self.reject()
            told = f"what came before is of another store, or of this one before it changed ({error.__cause__})"
            raise Conflict(f"{self._database.name}: {told}; run it again, which begins anew") from error.__cause__
        self._taken = after

    def received(self) -> tuple[Inventory, Iterator[Item]]:
        return exported(reading(self._database, EVERYTHING), None, as_they_are)

    def reject(self) -> None:
        self._changed(lambda db: db.run("distrust"))

    def finish(self) -> None:
        self._changed(lambda db: db.run("end_moving"))

    def close(self) -> None:
        self._database.close()

    def _changed(self, change: Callable[[PostgresSession], T]) -> T:
        """What comes of a change while nobody else moves or writes anything."""

        def alone(db: PostgresSession) -> T:
            db.run("lock_moving")
            return change(db)

        return changed_everywhere(self._database, alone)


def _told(inventory: Inventory) -> str:
    """What is to come, in words that are the same as long as the other store has not changed."""
    encoder = None if inventory.encoder is None else [inventory.encoder.name, inventory.encoder.dimensions]
    until = None if inventory.until is None else inventory.until.isoformat()
    return json.dumps([encoder, inventory.memories, inventory.contexts, until])
