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
from recollect.testing.store_builders import ManualClock
from recollect.testing.variants import Variant

pytest.register_assert_rewrite("recollect.testing.contract")

from recollect.testing.contract.archives import ArchiveContract, StatsContract  # noqa: E402 — after what makes assertions tell more
from recollect.testing.contract.commit_history import CommitHistoryContract  # noqa: E402
from recollect.testing.contract.commits import AfterCommitContract, DroppedVectorContract, ImportedContextContract  # noqa: E402
from recollect.testing.contract.concurrency import ConcurrencyContract  # noqa: E402
from recollect.testing.contract.entity_links import EntityLinkContract  # noqa: E402
from recollect.testing.contract.erasure import ErasureContract  # noqa: E402
from recollect.testing.contract.evidence import EligibilityContract, EvidenceContract  # noqa: E402
from recollect.testing.contract.hostile_input import HostileTextContract  # noqa: E402
from recollect.testing.contract.implicit_feedback import ImplicitFeedbackContract  # noqa: E402
from recollect.testing.contract.records import (  # noqa: E402
    CheckpointContract,
    RecordDuplicateContract,
    RecordLevelContract,
    TimelineContract,
)
from recollect.testing.contract.scopes import ScopeContract  # noqa: E402
from recollect.testing.contract.time_travel import AsOfContract, KnownAtContract  # noqa: E402
from recollect.testing.contract.turn_context import TurnContextContract  # noqa: E402
from recollect.testing.contract.usage import ContextRecordContract, IdempotencyKeyContract, UseContract, VoteContract  # noqa: E402
from recollect.testing.contract.versions import TransactionContract, VersionContract  # noqa: E402


class StoreContract(
    ScopeContract,
    VersionContract,
    TransactionContract,
    CommitHistoryContract,
    UseContract,
    VoteContract,
    ImplicitFeedbackContract,
    IdempotencyKeyContract,
    ContextRecordContract,
    ErasureContract,
    StatsContract,
    ArchiveContract,
    EligibilityContract,
    EvidenceContract,
    HostileTextContract,
    KnownAtContract,
    AsOfContract,
    AfterCommitContract,
    DroppedVectorContract,
    ImportedContextContract,
    ConcurrencyContract,
    TurnContextContract,
    EntityLinkContract,
    RecordLevelContract,
    RecordDuplicateContract,
    TimelineContract,
    CheckpointContract,
):
    """What every store promises. A store supplies the fixture `store`, which is new for each test.

    `clock` is the clock that the store must be made with; `writer` may be another store on the same data, through
    which all is written while `store` reads it.
    """

    variant: ClassVar[Variant | None] = None
    """The way in which a subclass runs a store that keeps the whole contract elsewhere; see `variants.py`."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def writer(self, store: Store) -> Store:
        return store
