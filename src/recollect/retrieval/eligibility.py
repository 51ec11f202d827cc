"""Decide whether a memory may be recalled as of a moment, and name what prevents it.

`View` is what a reader may see. The functions below it decide for one memory; `snapshot.py` decides for all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.model.encoder import Encoder
from recollect.model.enums import Level, Status
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.model.validation import copy_with

RECALLABLE_STATUSES = (Status.ACTIVE, Status.SUPERSEDED)
"""The statuses of memories that may be recalled for some moment."""


class Barrier(StrEnum):
    """Why a memory in scope is not recalled: its own state, or a filter of the request."""

    STATUS = "status"
    UNINDEXED = "unindexed"
    NOT_YET_KNOWN = "not_yet_known"
    NOT_YET_VALID = "not_yet_valid"
    NO_LONGER_VALID = "no_longer_valid"
    LEVEL = "level"
    KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a reader may see: a scope at a moment, as far as it was known.

    `present` says that `at` is now: everything in the store is known, even what a clock that went back dates later.
    `past` also shows memories that were valid before the moment. `known_at` shows what was known then. `commit` is the
    last known commit and goes before `known_at`, because several commits may have the same time. `levels`, if given,
    are the only levels that are shown; plain memories have none.

    `encoder` is the model of the reader's query, and must be that of the stored vectors; it is None without a query.
    `remote_vectors` says that vectors may stay in the database, which then compares them (`VectorSearch`). `use_index`
    says that an approximate index of them is good enough.
    """

    scope: Scope
    at: datetime
    present: bool = False
    past: bool = False
    known_at: datetime | None = None
    commit: int | None = None
    levels: frozenset[Level | None] | None = None
    encoder: Encoder | None = None
    remote_vectors: bool = False
    use_index: bool = False

    @property
    def is_latest(self) -> bool:
        """Whether everything that is stored counts as known."""
        return self.commit is None and self.known_at is None


def was_revised_since(memory: Memory, at: datetime) -> bool:
    """Return whether the memory was known at the moment but has a different text now."""
    return memory.created_at <= at < (memory.updated_at or memory.created_at)


def version_at(versions: Sequence[Memory], at: datetime) -> Memory | None:
    """Return the memory as it was at the moment, or `None` if it was unknown then.

    `versions` are sorted from oldest to newest. Text and judgments are those of the moment. The status is the current
    one, so a forgotten memory stays forgotten. A memory that was withdrawn by the moment, and restored only because
    it was stated again later, was not recallable then.
    """
    now = versions[-1]
    if not was_revised_since(now, at):
        return now
    then = next((one for one in reversed(versions) if (one.updated_at or one.created_at) <= at), None)
    if then is None:
        return None
    until = then.valid_until or now.valid_until  # may be before valid_from: then it was never valid
    withdrawn = then.status not in RECALLABLE_STATUSES and then.recorded_at is not None and then.recorded_at <= at
    status = then.status if withdrawn else now.status
    standing = {"status": status, "pinned": now.pinned, "indexed": now.findable, "left": (), "stands_for": ()}
    return copy_with(then, valid_until=until, **standing)


def find_barrier(memory: Memory, at: datetime, *, present: bool = False, past: bool = False) -> Barrier | None:
    """Return what keeps the memory from being recalled as of the moment, or `None`.

    With `present`, every stored memory counts as known, even if a clock that went back dates it later, and a
    superseded memory counts as ended, even if such a clock says it has not ended yet.

    A superseded memory was valid until it was replaced, so it may be recalled as of an earlier moment. A text that
    was observed later was not known, although its memory was: `version_at` has the text of that time. With `past`,
    memories that were valid before count as valid.
    """
    if memory.status not in RECALLABLE_STATUSES:
        return Barrier.STATUS
    if not memory.findable:
        return Barrier.UNINDEXED
    held = past or memory.valid_until is not None
    if memory.status is Status.SUPERSEDED and not held:
        return Barrier.STATUS
    if not present and (memory.created_at > at or was_revised_since(memory, at)):
        return Barrier.NOT_YET_KNOWN
    if memory.valid_from is not None and memory.valid_from > at:
        return Barrier.NOT_YET_VALID
    replaced = present and memory.status is Status.SUPERSEDED
    if (replaced or memory.ended_by(at)) and not past:
        return Barrier.NO_LONGER_VALID
    return None
