"""StoreContract: every promise of a store, as tests that a store inherits.

class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self, clock: Clock) -> Iterator[Store]:
        store = MyStore(clock)
        yield store
        store.close()
"""

from typing import ClassVar

import pytest

from recollect.protocols import Store
from recollect.testing.store_builders import Clock
from recollect.testing.variants import Variant

pytest.register_assert_rewrite("recollect.testing.contract")

from recollect.testing.contract.archives import Archives, Counts  # noqa: E402 — after what makes assertions tell more
from recollect.testing.contract.commit_history import Runs  # noqa: E402
from recollect.testing.contract.commits import AfterCommit, Departed, TakenIn  # noqa: E402
from recollect.testing.contract.concurrency import Threads  # noqa: E402
from recollect.testing.contract.entity_links import Links  # noqa: E402
from recollect.testing.contract.erasure import Erasure  # noqa: E402
from recollect.testing.contract.evidence import Eligibility, Evidence  # noqa: E402
from recollect.testing.contract.hostile_input import HostileTexts  # noqa: E402
from recollect.testing.contract.implicit_feedback import Signs  # noqa: E402
from recollect.testing.contract.records import Checkpoints, Levels, Sayings, Timelines  # noqa: E402
from recollect.testing.contract.scopes import Scopes  # noqa: E402
from recollect.testing.contract.time_travel import AsOf, KnownAt  # noqa: E402
from recollect.testing.contract.turn_context import Turns  # noqa: E402
from recollect.testing.contract.usage import Contexts, Keys, Uses, Votes  # noqa: E402
from recollect.testing.contract.versions import Transactions, Versions  # noqa: E402


class StoreContract(
    Scopes,
    Versions,
    Transactions,
    Runs,
    Uses,
    Votes,
    Signs,
    Keys,
    Contexts,
    Erasure,
    Counts,
    Archives,
    Eligibility,
    Evidence,
    HostileTexts,
    KnownAt,
    AsOf,
    AfterCommit,
    Departed,
    TakenIn,
    Threads,
    Turns,
    Links,
    Levels,
    Sayings,
    Timelines,
    Checkpoints,
):
    """What every store promises. A store supplies the fixture `store`, which is new for each test.

    `clock` is the clock that the store must be made with; `writer` may be another store on the same data, through
    which all is written while `store` reads it.
    """

    variant: ClassVar[Variant | None] = None
    """The way in which a subclass runs a store that keeps the whole contract elsewhere; see `variants.py`."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def writer(self, store: Store) -> Store:
        return store
