"""Decide whether a memory may be recalled as of a moment, and name what prevents it."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from recollect.model.enums import Status
from recollect.model.memory import Memory
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
    KIND = "kind"
    LEVEL = "level"


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
