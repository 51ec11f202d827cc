"""The SQLite store keeps the contract: on disk, in memory, with a small cache and with a second writer."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.errors import StoreError
from recollect.model.changeset import Changeset
from recollect.model.context import Use
from recollect.model.memory import MemoryId
from recollect.protocols import Store
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing import NOW
from recollect.testing.builders import (
    ENCODER,
    SCOPE,
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    candidates,
    count_uses,
    gather,
    ids,
    put,
    puts,
    visible_ids,
)
from recollect.testing.store_contract import StoreContract, Variant
from tests.contract.other_process import OtherProcess, OtherStore


class TestOnDisk(StoreContract):
    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memories.db", clock)
        yield store
        store.close()


class TestInMemory(StoreContract):
    variant = Variant.IN_MEMORY

    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        store = SqliteStore(":memory:", clock)
        yield store
        store.close()


class TestWithHardlyAnyCache(StoreContract):
    """A scope leaves the cache as soon as another one is read."""

    variant = Variant.SMALL_CACHE

    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memories.db", clock, cache_bytes=1)
        yield store
        store.close()


class TestWrittenThroughAnotherStore(TestOnDisk):
    """Two stores on one file: what one writes, the other reads."""

    variant = Variant.SECOND_WRITER

    @pytest.fixture
    def writer(self, store: Store, clock: ManualClock, tmp_path: Path) -> Iterator[Store]:
        writer = SqliteStore(tmp_path / "memories.db", clock)
        yield writer
        writer.close()


@pytest.fixture(scope="module")
def other_process() -> Iterator[OtherProcess]:
    process = OtherProcess()
    yield process
    process.end()


class TestWrittenByAnotherProcess(TestOnDisk):
    """What another process writes, this one reads."""

    variant = Variant.SECOND_WRITER
    ELSEWHERE = 1_000  # each is a call to the other process

    @pytest.fixture
    def writer(
        self, store: Store, clock: ManualClock, tmp_path: Path, other_process: OtherProcess
    ) -> Iterator[OtherStore]:
        writer = other_process.open(str(tmp_path / "memories.db"), clock)
        yield writer
        writer.close()


def test_a_store_that_is_opened_again_finds_what_it_found(tmp_path: Path) -> None:
    clock = ManualClock()
    first = SqliteStore(tmp_path / "memories.db", clock)
    put(first, a_note("a", importance=0.5), a_note("b", shared=True))
    clock.move(timedelta(days=1))
    put(first, a_note("a", text="changed"))
    first.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW, None))
    first.defer(Changeset(contexts=(a_context_record("context", "a"),)))
    probes = [a_probe("what b says"), a_probe("what a says", known_at=NOW)]
    before = [candidates(gather(first, probe)) for probe in probes]
    history = first.history(SCOPE, MemoryId("a"))
    first.close()

    again = SqliteStore(tmp_path / "memories.db", clock)
    assert [candidates(gather(again, probe)) for probe in probes] == before
    assert again.history(SCOPE, MemoryId("a")) == history
    assert again.context(SCOPE, "context") == a_context_record("context", "a")
    assert again.encoder() == ENCODER
    again.close()


def test_what_was_to_be_done_later_is_done_before_the_store_is_closed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memories.db", ManualClock())
    for number in range(10):
        store.defer(puts(a_note(f"{number}")))
    store.close()
    again = SqliteStore(tmp_path / "memories.db", ManualClock())
    assert visible_ids(again, SCOPE) == [f"{number}" for number in range(10)]
    again.close()


def test_a_closed_store_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memories.db", ManualClock())
    put(store, a_note("a"))
    found = gather(store, a_probe())
    store.close()
    for use in (store.encoder, lambda: put(store, a_note("b")), lambda: store.load(found.snapshot, [0])):
        with pytest.raises(StoreError, match="closed"):
            use()
