"""Calendar periods: the days, weeks, months and years of a time zone.

A day begins when its date first shows on the clocks of the zone, and ends when the next one begins. So every moment is
in exactly one period of each level, even where clocks change around midnight. A day that was left out, such as 30
December 2011 in Samoa, begins and ends at the same moment and has no moments.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.enums import CALENDAR_LEVELS, Level, require_choice
from recollect.text.lexicon import MONTHS, WEEKDAYS

_DAY = timedelta(days=1)
_WEEK = timedelta(weeks=1)
_INSTANT = timedelta(microseconds=1)

_YEARS = range(validation.EARLIEST_DATETIME.year - 1, validation.LATEST_DATETIME.year + 1)
"""The years a moment can be in; in some zones its first or last hours are in another year."""

_EXAMPLE = date(2026, 3, 1)


@dataclass(frozen=True, slots=True)
class Period:
    """A calendar level and the first local date of one of its periods."""

    level: Level
    first: date

    def __post_init__(self) -> None:
        if type(self.first) is not date:
            raise FieldError(f"{show(self.first)} is not a date; pass a date without a time", field="first")
        if self.first != (expected := _first_day(_require_calendar_level(self.level), self.first)):
            problem = f"{self.first} is not the first day of its {self.level.value}, which is {expected}"
            raise FieldError(problem, field="first")

    @classmethod
    def of(cls, moment: datetime, level: Level, zone: tzinfo) -> "Period":
        """Return the period of that level that contains the moment."""
        at = validation.require_moment("moment", moment)
        period = cls(level, _first_day(_require_calendar_level(level), at.astimezone(zone).date()))
        while period.is_over_by(at, zone):  # the clocks were put back and show a day again that is over
            period = cls(level, _next_first_day(level, period.first))
        return period

    @classmethod
    def parse(cls, level: Level, key: str) -> "Period":
        """Parse the key of a period; raise FieldError if the key is of another level."""
        _require_calendar_level(level)
        try:
            first = _parse_key(level, validation.require_text("key", key))
        except ValueError as error:
            example = cls(level, _first_day(level, _EXAMPLE)).key
            raise FieldError(f"{show(key)} is not a {level.value}; use one such as {example}", field="key") from error
        if first.year not in _YEARS:
            raise FieldError(f"{show(key)} is not within 1900..2199", field="key")
        return cls(level, first)

    @property
    def key(self) -> str:
        """The key in the style of ISO 8601: 2026-03-01, 2026-W09, 2026-03 or 2026."""
        match self.level:
            case Level.WEEK:
                year, week, _ = self.first.isocalendar()
                return f"{year:04}-W{week:02}"
            case Level.MONTH:
                return f"{self.first.year:04}-{self.first.month:02}"
            case Level.YEAR:
                return f"{self.first.year:04}"
            case _:
                return self.first.isoformat()

    def begins(self, zone: tzinfo) -> datetime:
        """Return when it begins in the zone, in UTC."""
        return _start_of_day(self.first, zone)

    def ends(self, zone: tzinfo) -> datetime:
        """Return when the next period begins, the first moment outside this one, in UTC."""
        return _start_of_day(_next_first_day(self.level, self.first), zone)

    def is_over_by(self, moment: datetime, zone: tzinfo) -> bool:
        """Return whether it has ended at that moment."""
        return self.ends(zone) <= validation.require_moment("moment", moment)

    def days(self) -> "tuple[Period, ...]":
        """The days of the period, in order."""
        return self._periods_of_level(Level.DAY)

    def parts(self) -> "tuple[Period, ...]":
        """The periods one level down that overlap it, in order; none for a day."""
        return (
            ()
            if self.level is Level.DAY
            else self._periods_of_level(CALENDAR_LEVELS[CALENDAR_LEVELS.index(self.level) - 1])
        )

    @property
    def parents(self) -> "tuple[Period, ...]":
        """The periods one level up that overlap it, in order: two for a week across two months."""
        return (
            ()
            if self.level is Level.YEAR
            else self._periods_of_level(CALENDAR_LEVELS[CALENDAR_LEVELS.index(self.level) + 1])
        )

    def _periods_of_level(self, level: Level) -> "tuple[Period, ...]":
        """Return all periods of the level that share a day with this one."""
        periods, first, end = list[Period](), _first_day(level, self.first), _next_first_day(self.level, self.first)
        while first < end:
            periods.append(Period(level, first))
            first = _next_first_day(level, first)
        return tuple(periods)

    def __str__(self) -> str:
        match self.level:
            case Level.WEEK:
                year, week, _ = self.first.isocalendar()
                last = _next_first_day(self.level, self.first) - _DAY
                return f"week {week} of {year} ({_format_days(self.first, last)})"
            case Level.MONTH:
                return f"{_MONTHS[self.first.month - 1]} {self.first.year}"
            case Level.YEAR:
                return str(self.first.year)
            case _:
                return f"{_WEEKDAYS[self.first.weekday()]}, {_format_day(self.first)} {self.first.year}"


def _require_calendar_level(level: Level) -> Level:
    """Return the level, or raise FieldError if it is not a calendar level."""
    if require_choice("level", level, Level) not in CALENDAR_LEVELS:
        known = ", ".join(node.value for node in CALENDAR_LEVELS)
        raise FieldError(f"{level.value} is not a calendar level; use one of {known}", field="level")
    return level


def _first_day(level: Level, day: date) -> date:
    """Return the first day of the period that contains the day."""
    match level:
        case Level.WEEK:
            return day - _DAY * day.weekday()
        case Level.MONTH:
            return day.replace(day=1)
        case Level.YEAR:
            return day.replace(month=1, day=1)
        case _:
            return day


def _next_first_day(level: Level, first: date) -> date:
    """Return the first day of the period after the one that begins on that day."""
    match level:
        case Level.WEEK:
            return first + _WEEK
        case Level.MONTH:
            return (first + 31 * _DAY).replace(day=1)
        case Level.YEAR:
            return first.replace(year=first.year + 1)
        case _:
            return first + _DAY


def _start_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the first moment at which clocks in the zone show that date or a later one."""
    midnight = datetime.combine(day, time(), zone)
    start = midnight.astimezone(UTC)  # the first, if there are two midnights
    if start.astimezone(zone).replace(tzinfo=None) == midnight.replace(tzinfo=None):
        return start
    before = midnight.replace(fold=1).astimezone(UTC)  # the clocks skip midnight: search for the moment between
    while start - before > _INSTANT:
        between = before + (start - before) // 2
        if between.astimezone(zone).date() < day:
            before = between
        else:
            start = between
    return start


_KEY_PATTERNS = {
    Level.DAY: re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"),
    Level.WEEK: re.compile(r"([0-9]{4})-W([0-9]{2})"),
    Level.MONTH: re.compile(r"([0-9]{4})-([0-9]{2})"),
    Level.YEAR: re.compile(r"([0-9]{4})"),
}


def _parse_key(level: Level, key: str) -> date:
    """Return the first day that the key names, or raise ValueError for an impossible date."""
    match = _KEY_PATTERNS[level].fullmatch(key)
    if match is None:
        raise ValueError("has another format")
    year, *rest = map(int, match.groups())
    if level is Level.WEEK:
        return date.fromisocalendar(year, rest[0], 1)
    month, day, *_ = *rest, 1, 1
    return date(year, month, day)


_MONTHS = tuple(name.capitalize() for name in MONTHS)
_WEEKDAYS = tuple(name.capitalize() for name in WEEKDAYS)
"""English names in any locale."""


def _format_day(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]}"


def _format_days(first: date, last: date) -> str:
    """Format both days without repeating what they share."""
    if first.year != last.year:
        return f"{_format_day(first)} {first.year} to {_format_day(last)} {last.year}"
    return f"{first.day if first.month == last.month else _format_day(first)} to {_format_day(last)}"
