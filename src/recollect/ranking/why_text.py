"""A fate and a change in words: where a candidate stands or fell, and what would have put it in."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import assert_never

from recollect.model.format import format_moment
from recollect.model.memory import Memory, Status
from recollect.ranking.why import Barred, BelowMinimum, Fate, Gated, Outranked, Ranked, SignalChange, Unpacked
from recollect.retrieval.eligibility import Barrier


def describe_fate(fate: Fate, memory: Memory | None = None, by: str | None = None) -> str:
    """What is said of a candidate behind its name; `by` is how one speaks of what took its place, if not by its id."""
    match fate:
        case Barred(barrier, status):
            replacement = _describe_replacement(barrier, memory, by)
            return f"is not recalled: {_describe_barrier(barrier, status, memory)}{replacement}"
        case Gated(signal, value, at_least, otherwise):
            found = (
                f"{signal} is {_format_below(value, at_least)}"
                if value is not None
                else f"it has no evidence for {signal}"
            )
            return f"did not pass the gate: {found}, and {at_least:g} is needed{_describe_alternatives(otherwise)}"
        case BelowMinimum(min_score):
            return f"is below the minimum score of {min_score:g}"
        case Outranked(place, limit):
            return f"is at place {place}, and the limit is {limit}"
        case Unpacked(reason, cost, room, None, _):
            left = tokens_left(room)
            return f"was ranked but not packed: it costs {cost} tokens, {left} were left, and {reason} decided"
        case Unpacked(_, cost, room, budget, _):
            left = tokens_left(room)
            return f"was ranked but not packed: it costs {cost} tokens, {left} were left; {budget} in all would do"
        case Ranked(place):
            return f"is in, at place {place}"
        case _ as unknown:
            assert_never(unknown)


def describe_change(change: SignalChange) -> str:
    """What a signal would have had to be, rounded to the side that is still enough, and what it is."""
    needed = math.ceil(change.needed * 1000.0) / 1000.0
    means = f" ({change.means})" if change.means else ""
    now = "none at all" if change.value is None else _format_below(change.value, needed)
    return f"{change.signal} {needed:.3f} instead of {now}{means}"


def format_start(at: datetime) -> str:
    """The day, where it is the beginning of one, or else the moment."""
    shown = format_moment(at)
    return shown.removesuffix(" 00:00:00Z")


def tokens_left(room: int) -> int:
    """The room as people count it: where what is already in takes more than there is, nothing is left."""
    return max(room, 0)


def _describe_barrier(barrier: Barrier, status: Status, memory: Memory | None) -> str:
    since, until = (None, None) if memory is None else (memory.valid_from, memory.valid_until)
    match barrier:
        case Barrier.STATUS:
            return f"it is {status.value}"
        case Barrier.UNINDEXED:
            if memory is not None and memory.left:
                return "it was old enough to leave the indexes; a coarser record is found in its place"
            return "it is an event like another, kept without being indexed"
        case Barrier.NOT_YET_KNOWN:
            return "it was not known yet"
        case Barrier.NOT_YET_VALID:
            return "it holds only from later on" if since is None else f"it holds only from {format_start(since)} on"
        case Barrier.NO_LONGER_VALID:
            return "it held only until before" if until is None else f"it held only until {format_start(until)}"
        case Barrier.KIND:
            return "only other kinds were asked for"
        case Barrier.LEVEL:
            return "only other levels were asked for"
        case _ as unknown:
            assert_never(unknown)


def _describe_replacement(barrier: Barrier, memory: Memory | None, by: str | None) -> str:
    """What took its place, if that is why it is out."""
    ended = barrier in (Barrier.STATUS, Barrier.NO_LONGER_VALID)
    if memory is None or memory.superseded_by is None or not ended:
        return ""
    return f"; it was replaced by {memory.superseded_by if by is None else by}"


def _describe_alternatives(ways: Mapping[str, float]) -> str:
    """What else would have opened a gate."""
    return "".join(f", or {at_least:g} of {signal}" for signal, at_least in ways.items())


def _format_below(value: float, needed: float) -> str:
    """A value that was not enough, rounded, but never to what was needed."""
    near = f"{value:.3f}"
    return near if float(near) < needed else f"{math.floor(value * 1000.0) / 1000.0:.3f}"
