"""The dictionary store keeps the contract that it is the measure of."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from recollect.errors import RecollectError
from recollect.protocols import Store, WriteTransaction
from recollect.testing.builders import ManualClock, a_note, put
from recollect.testing.reference_store import ReferenceStore
from recollect.testing.store_contract import StoreContract


class TestDictionaryStore(StoreContract):
    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        store = ReferenceStore(clock)
        yield store
        store.close()


def test_a_closed_store_is_refused() -> None:
    store = ReferenceStore(ManualClock())
    store.close()
    with pytest.raises(RecollectError, match="closed"):
        put(store, a_note("a"))
    with pytest.raises(RecollectError, match="closed"):
        store.encoder()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # there is a thread, and that is the point
def test_a_child_does_not_wait_for_a_thread_of_its_parent_that_writes() -> None:
    store = ReferenceStore(ManualClock())
    begun, forked = threading.Event(), threading.Event()

    def wait(_: WriteTransaction) -> None:
        begun.set()
        forked.wait()

    writing = threading.Thread(target=store.write, args=(wait,))
    writing.start()
    begun.wait()
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(20)  # so that one that waits is ended
            put(store, a_note("a"))
            code = 0
        finally:
            os._exit(code)
    forked.set()
    writing.join()
    assert os.waitpid(child, 0)[1] == 0
