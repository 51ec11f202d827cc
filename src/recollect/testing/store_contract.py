"""StoreContract: the tests that every store must pass. Inherit them to test your own.

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

pytest.register_assert_rewrite("recollect.testing.contract")  # before the imports: a failed assertion shows its values

from recollect.testing.contract import Variant, is_affected  # noqa: E402
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

__all__ = ["StoreContract", "Variant", "is_affected"]


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
    """The tests of a store. A subclass supplies the fixture `store`, new for each test.

    The store must be created with the fixture `clock`. The fixture `writer` may be another store on the same data: the
    tests write through `writer` and read through `store`.
    """

    variant: ClassVar[Variant | None] = None
    """The variant under which a subclass runs its store; another subclass must run the whole contract without it."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def writer(self, store: Store) -> Store:
        return store
