"""Move: all of a store goes to another one as it is, and is compared there piece by piece before that one is used."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice

from recollect.engine.archive_format import encode_item
from recollect.errors import Conflict
from recollect.model.archive import ArchiveInfo, ArchiveItem
from recollect.model.move_report import MoveReport
from recollect.protocols import ProgressListener, Store, StoreImport

MOVE_BATCH_ITEMS = 200
"""How many items go in one transaction: as much as is lost by a kill."""

MOVE_REMEDY = "see that nobody writes to the store that is moved, and run it again, which begins anew"


def move_store(source: Store, name: str, receiving: StoreImport, report: ProgressListener) -> MoveReport:
    """Move all that the source of that name knows. What arrived is counted and compared before it becomes a store.

    It may be stopped at any moment: the next run goes on from there, or begins anew if the source has changed since.
    """
    inventory, items = source.export(None)
    total = inventory.memories + inventory.contexts
    resumed = done = receiving.begin(name, inventory)
    left = islice(items, resumed, None)
    while batch := list(islice(left, MOVE_BATCH_ITEMS)):
        receiving.take(batch)
        done += len(batch)
        report(done, total)

    expected, found = _checksum_items(*source.export(None)), _checksum_items(*receiving.received())
    if found != expected:
        receiving.reject()
        (memories, contexts, _), (memories_here, contexts_here, _) = expected, found
        told = f"{memories} memories and {contexts} contexts were to come, {memories_here} and {contexts_here} are here"
        raise Conflict(f"what arrived is not what is there: {told}; {MOVE_REMEDY}")
    receiving.finish()
    *_, checksum = found
    return MoveReport(memories=inventory.memories, contexts=inventory.contexts, resumed=resumed, checksum=checksum)


def _checksum_items(inventory: ArchiveInfo, items: Iterator[ArchiveItem]) -> tuple[int, int, str]:
    """How many memories and contexts there are, and the sum of all that is known of them."""
    digest = sha256()
    for item in items:
        digest.update(encode_item(item).encode())
    return inventory.memories, inventory.contexts, digest.hexdigest()
