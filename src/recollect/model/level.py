"""Level: how coarse a record of what happened is, from an event to a whole year; and of what was done, and sessions."""

from enum import StrEnum

from recollect.errors import FieldError, remedy, show, spelled


class Level(StrEnum):
    """The levels of what happened, the finest first, of what was done, and of sessions; other memories have none."""

    EVENT = "event"
    SEGMENT = "segment"
    GRIP = "grip"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    ACTION = "action"
    EPISODE = "episode"
    SESSION = "session"


PLAIN = "plain"
"""What memories are called that are no record of what happened."""

RECALLED: frozenset[Level | None] = frozenset({None, Level.EVENT})
"""What is recalled where nothing else is said: plain memories and events, each in its own words."""

BRIEFED: frozenset[Level | None] = frozenset({None})
"""The same without a question: what is known, and not all that was said."""

HAPPENED = (Level.EVENT, Level.SEGMENT, Level.GRIP, Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels of what happened; the others are of what was done for a task, and of sessions."""

UNFOUND = (Level.ACTION, Level.SESSION)
"""The levels that are in no index: who wants them asks for them by what they are of."""

NODES = (Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels that are of a time of the calendar."""


def a_level(field: str, value: str) -> Level | None:
    """The level of that name, none of which plain memories have; refused with the nearest known one."""
    if value == PLAIN:
        return None
    try:
        return Level(value)
    except ValueError:
        known = [PLAIN, *(level.value for level in Level)]
        raise FieldError(f"{show(value)} is no level; {remedy(spelled(value), known)}", field=field) from None
