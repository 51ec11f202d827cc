"""The PostgreSQL store: reads through shelves, writes in the database, and keeps the contract of every store."""

from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack
from datetime import datetime
from typing import TypeVar

from recollect.model.archive import Inventory, Item
from recollect.model.erasure import ON_A_SERVER, Search
from recollect.model.format import printable
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.validation import BUSY_TIMEOUT, CACHE_BYTES
from recollect.protocols import Writing
from recollect.retrieval.evidence import Probe
from recollect.stores.postgres.background_writes import PutOff
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.renumbering import numbers, renumbered
from recollect.stores.postgres.rls_scope import Reach
from recollect.stores.postgres.sql import BARE_ENTRIES
from recollect.stores.postgres.table_rewrite import Sweeper
from recollect.stores.postgres.transaction_runner import reading, seen
from recollect.stores.postgres.vector_search import PostgresNearby, indexed_scope
from recollect.stores.postgres.writer import Writer
from recollect.stores.sql.archive import exported
from recollect.stores.sql.column_cache import Bare
from recollect.stores.sql.reader import RelationalReading, Seen
from recollect.stores.sql.stats import count
from recollect.stores.sql.transaction import Session

T = TypeVar("T")


class PostgresStore(RelationalReading):
    """Keeps memories in a PostgreSQL database, for any number of processes on any number of machines."""

    def __init__(
        self,
        target: str,
        clock: Callable[[], datetime],
        *,
        timeout: float = BUSY_TIMEOUT,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(cache_bytes)
        self._database = Database(target, patience=timeout)
        self._writer = Writer(self._database, clock)
        self._sweeper = Sweeper(self._database, target, timeout)
        self._put_off = PutOff(self._database.name)

    def __str__(self) -> str:
        return printable(self._database.name)

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        def look(db: Session) -> Stats:
            (size,) = db.the("bytes")
            return count(db, scope, below=below, schema=self._database.schema, size=size)

        return self._read(scope, look, below=below)

    def export(self, scope: Scope | None) -> tuple[Inventory, Iterator[Item]]:
        def told(db: Session, items: Iterator[Item]) -> Iterator[Item]:
            new = numbers(db.each("all_commits")) if scope is None else None
            return items if new is None else renumbered(items, new)

        return exported(reading(self._database, Reach.of(scope, wide=True)), scope, told)

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> Search:
        self._library.forget()
        return self._sweeper.scrub(scope, pieces) if pieces else Search(out_of_reach=ON_A_SERVER)

    def write(self, change: Callable[[Writing], T]) -> T:
        return self._writer.write(change)

    def later(self, change: Callable[[Writing], object]) -> None:
        self._database.refuse_if_read_only()
        self._put_off.add(lambda: self._writer.write(change))

    @property
    def takes_writes(self) -> bool:
        return self._database.takes_writes

    def settle(self) -> None:
        self._put_off.settle()

    def flush(self) -> None:
        self._put_off.flush()

    def close(self) -> None:
        with ExitStack() as whatever_happens:
            whatever_happens.callback(self._database.close)
            self._put_off.close()

    def _bare(self, db: Session, probe: Probe, encoder: int) -> Bare | None:
        return Bare(BARE_ENTRIES, indexed_scope(db, probe.scope, encoder) if probe.indexed else None)

    def _nearby(self, probe: Probe, seen: Seen) -> PostgresNearby | None:
        if probe.vectors is None:
            return None
        indexed = None if seen.bare is None else seen.bare.indexed
        return PostgresNearby(self._database, probe, probe.vectors[0], seen.view, seen.encoder, indexed)

    def _read(self, scope: Scope | None, look: Callable[[Session], T], *, below: bool = False) -> T:
        return seen(self._database, Reach.of(scope, wide=below), look)
