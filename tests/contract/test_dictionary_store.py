"""The dictionary store keeps the contract that it is the measure of."""

from collections.abc import Iterator

import pytest

from recollect.errors import RecollectError
from recollect.ports import Store
from recollect.stores.dictionary import DictionaryStore
from recollect.testing.keeping import Clock, a_note, put
from recollect.testing.store_contract import StoreContract


class TestDictionaryStore(StoreContract):
    @pytest.fixture
    def store(self, clock: Clock) -> Iterator[Store]:
        store = DictionaryStore(clock)
        yield store
        store.close()


def test_a_closed_store_is_refused() -> None:
    store = DictionaryStore(Clock())
    store.close()
    with pytest.raises(RecollectError, match="closed"):
        put(store, a_note("a"))
    with pytest.raises(RecollectError, match="closed"):
        store.encoder()
