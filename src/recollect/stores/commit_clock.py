"""Moments: when a store says it took something in."""

from datetime import datetime

from recollect.model.validation import MOST_AHEAD


def recorded(now: datetime, last: datetime | None) -> datetime:
    """When what comes now is recorded: not before the last commit, unless that came by a clock far ahead.

    If it were followed for ever, nothing written since would be known at any moment of this life.
    """
    return now if last is None or last - now > MOST_AHEAD else max(now, last)
