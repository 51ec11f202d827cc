"""Eligibility: whether a memory may be recalled for a moment, and what stands in the way."""

from datetime import datetime
from enum import StrEnum

from recollect.model.memory import Memory, Status


class Barrier(StrEnum):
    """Why a memory that the scope may see is not recalled."""

    STATUS = "status"
    NOT_YET_KNOWN = "not_yet_known"
    NOT_YET_VALID = "not_yet_valid"
    NO_LONGER_VALID = "no_longer_valid"


def barrier(memory: Memory, at: datetime) -> Barrier | None:
    """What keeps the memory from being recalled for this moment, or `None`.

    A superseded memory held until it was replaced, so it may be recalled as of before that.
    """
    held = memory.status is Status.SUPERSEDED and memory.valid_until is not None
    if memory.status is not Status.ACTIVE and not held:
        return Barrier.STATUS
    if memory.created_at > at:
        return Barrier.NOT_YET_KNOWN
    if memory.valid_from is not None and memory.valid_from > at:
        return Barrier.NOT_YET_VALID
    if memory.valid_until is not None and memory.valid_until <= at:
        return Barrier.NO_LONGER_VALID
    return None
