"""Level: how coarse a record of what happened is, from an event to a whole year; and of what was done, and sessions."""

from enum import StrEnum

from recollect.errors import FieldError, show, show_name, suggest


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


PLAIN_LEVEL_NAME = "plain"
"""What memories are called that are no record of what happened."""

RECALL_LEVELS: frozenset[Level | None] = frozenset({None, Level.EVENT})
"""What is recalled where nothing else is said: plain memories and events, each in its own words."""

BRIEF_LEVELS: frozenset[Level | None] = frozenset({None})
"""The same without a question: what is known, and not all that was said."""

TIMELINE_LEVELS = (Level.EVENT, Level.SEGMENT, Level.GRIP, Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels of what happened; the others are of what was done for a task, and of sessions."""

UNINDEXED_LEVELS = (Level.ACTION, Level.SESSION)
"""The levels that are in no index: who wants them asks for them by what they are of."""

CALENDAR_LEVELS = (Level.DAY, Level.WEEK, Level.MONTH, Level.YEAR)
"""The levels that are of a time of the calendar."""


def parse_level(field: str, value: str) -> Level | None:
    """The level of that name, none of which plain memories have; refused with the nearest known one."""
    if value == PLAIN_LEVEL_NAME:
        return None
    try:
        return Level(value)
    except ValueError:
        known = [PLAIN_LEVEL_NAME, *(level.value for level in Level)]
        raise FieldError(f"{show(value)} is no level; {suggest(show_name(value), known)}", field=field) from None
