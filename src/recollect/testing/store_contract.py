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
from recollect.testing.builders import ManualClock
from recollect.testing.variants import Variant

pytest.register_assert_rewrite("recollect.testing.contract")  # before the imports: a failed assertion shows its values

from recollect.testing.contract.archives import ArchiveContract, StatsContract  # noqa: E402
from recollect.testing.contract.entity_links import EntityLinkContract  # noqa: E402
from recollect.testing.contract.erasure import ErasureContract  # noqa: E402
from recollect.testing.contract.evidence import EligibilityContract, EvidenceContract  # noqa: E402
from recollect.testing.contract.history import (  # noqa: E402
    AfterCommitContract,
    AsOfContract,
    DroppedVectorContract,
    ImportedContextContract,
    KnownAtContract,
)
from recollect.testing.contract.memories import (  # noqa: E402
    CommitHistoryContract,
    TransactionContract,
    VersionContract,
)
from recollect.testing.contract.records import (  # noqa: E402
    CheckpointContract,
    RecordDuplicateContract,
    RecordLevelContract,
    TimelineContract,
)
from recollect.testing.contract.robustness import (  # noqa: E402
    ConcurrencyContract,
    HostileTextContract,
)
from recollect.testing.contract.scopes import ScopeContract  # noqa: E402
from recollect.testing.contract.turn_context import TurnContextContract  # noqa: E402
from recollect.testing.contract.usage import (  # noqa: E402
    ContextRecordContract,
    IdempotencyKeyContract,
    ImplicitFeedbackContract,
    UseContract,
    VoteContract,
)


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
