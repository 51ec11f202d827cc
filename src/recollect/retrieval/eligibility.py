"""Eligibility: whether a memory may be recalled for a moment, and what stands in the way."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from recollect.model.enums import Status
from recollect.model.memory import Memory
from recollect.model.validation import copy_with

RECALLABLE_STATUSES = (Status.ACTIVE, Status.SUPERSEDED)
"""The standings of what may be recalled for some moment."""


class Barrier(StrEnum):
    """Why a memory that the scope may see is not recalled: what it is, or that only other kinds were asked for."""

    STATUS = "status"
    UNINDEXED = "unindexed"
    NOT_YET_KNOWN = "not_yet_known"
    NOT_YET_VALID = "not_yet_valid"
    NO_LONGER_VALID = "no_longer_valid"
    KIND = "kind"
    LEVEL = "level"


def was_revised_since(memory: Memory, at: datetime) -> bool:
    """Whether the memory was known at the moment, but has another text now."""
    return memory.created_at <= at < (memory.updated_at or memory.created_at)


def version_at(versions: Sequence[Memory], at: datetime) -> Memory | None:
    """What a memory was at the moment, from its versions, the oldest first; `None` if nothing is known of then.

    Its text and judgements are those of then. Its standing is that of now: what is forgotten stays forgotten. What was
    put away by then and only came back by being said again later was not to be recalled.
    """
    now = versions[-1]
    if not was_revised_since(now, at):
        return now
    then = next((one for one in reversed(versions) if (one.updated_at or one.created_at) <= at), None)
    if then is None:
        return None
    until = then.valid_until or now.valid_until  # which may be before its beginning: then it never held
    status = then.status if _was_withdrawn(then, at) else now.status
    standing = {"status": status, "pinned": now.pinned, "indexed": now.findable, "left": (), "stands_for": ()}
    return copy_with(then, valid_until=until, **standing)


def _was_withdrawn(version: Memory, at: datetime) -> bool:
    """Whether the version stood where nothing recalls it, and did so by the moment."""
    return version.status not in RECALLABLE_STATUSES and version.recorded_at is not None and version.recorded_at <= at


def find_barrier(memory: Memory, at: datetime, *, present: bool = False, past: bool = False) -> Barrier | None:
    """What keeps the memory from being recalled for this moment, or `None`.

    If the moment is the `present`, whatever is there is known, also if a clock that went back dates it later; and what
    was superseded is over, also if such a clock says that it is not yet.

    A superseded memory held until it was replaced, so it may be recalled as of before that. A text that was observed
    later was not known, though its memory was: `version_at` has what it said then. If the `past` is asked for too, what
    held before is as good as what holds.
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
