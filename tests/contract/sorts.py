"""Sorts of store that are tried against the plain dictionary, each with the histories it can live and how many."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

from hypothesis import settings

from recollect.protocols import Store
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import ManualClock
from recollect.testing.reference_store import ReferenceStore
from tests.contract.histories import ONE_ROOT, TWO_ROOTS, Land
from tests.postgres import Server


@dataclass(frozen=True, kw_only=True)
class Sort:
    """A sort of store. What takes longer is tried with one in `share` of the examples, and with fewer memories."""

    new: Callable[[ManualClock], AbstractContextManager[Store]]
    land: Land
    share: int
    many: int

    @property
    def looking(self) -> settings:
        """How hard Hypothesis looks."""
        return settings(max_examples=max(settings().max_examples // self.share, 1))

    @contextmanager
    def both(self, clock: ManualClock) -> Iterator[tuple[ReferenceStore, Store]]:
        """A plain store and one of this sort, both new, and by the same clock."""
        with self.new(clock) as tried:
            yield ReferenceStore(clock), tried


def sqlite(*, thorough: bool = False) -> Sort:
    """Stores in memory; even the fewer memories are enough to look for the best 20 block by block."""
    many = 20_000 if thorough else 4_000
    return Sort(new=lambda clock: closing(SqliteStore(":memory:", clock)), land=TWO_ROOTS, share=1, many=many)


def postgres(server: Server, template: str, *, share: int = 4) -> Sort:
    """Stores on a server, which counts commits within each root as the dictionary does over all: there is only one."""

    @contextmanager
    def new(clock: ManualClock) -> Iterator[Store]:
        with server.store_database(template) as name, closing(PostgresStore(server.url(name), clock)) as store:
            yield store

    return Sort(new=new, land=ONE_ROOT, share=share, many=2_000)
