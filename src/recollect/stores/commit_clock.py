"""Moments: when a store says it took something in."""

from datetime import datetime

from recollect.model.validation import MAX_CLOCK_LEAD


def next_commit_time(now: datetime, last: datetime | None) -> datetime:
    """When what comes now is recorded: not before the last commit, unless that came by a clock far ahead.

    If it were followed for ever, nothing written since would be known at any moment of this life.
    """
    return now if last is None or last - now > MAX_CLOCK_LEAD else max(now, last)
