"""The days that a question names: dates and periods in English, as they are seen from one moment."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.table import MICROSECOND, to_microseconds

MAX_SPANS = 8
"""How many days or periods of one text are read; nobody asks for more at once."""

EARLY_WEIGHT = 2.0
"""What a day before a span counts: what happened on a day is told on it or later."""

MAX_LEAD_CHARS = 40
"""How much of a text before a day may say how long before or after it."""

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time from its start until just before its end, both aware."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.utcoffset() is None or self.end.utcoffset() is None:
            raise FieldError("has no time zone; give aware moments", field="span")
        if not self.start < self.end:
            told = f"{self.end.isoformat()} is not after {self.start.isoformat()}, where it starts"
            raise FieldError(told, field="span")


def find_time_spans(text: str, at: datetime) -> tuple[TimeSpan, ...]:
    """Every day and period that the text names, in order of first mention, each once; at most the first `MAX_SPANS`.

    Days are those of UTC, and weeks begin on Mondays. A day or month without its year is the latest that is not after
    `at`. "Last" week, month and year are those of the calendar before the current ones, "last night" is the day before,
    "last Friday" is before today, and "on Friday" may be today. "Three days ago" is that one day, "three weeks ago" the
    seven days around that day, "three months ago" and "three years ago" the month and year of the calendar. "Between
    March and June" is all of it, and what is "since" or "after" a day goes on until today. "The week before 8 May"
    reaches back from that day, and "two days after" it on; what is just "before" or "until" one may be any time, and is
    not given.

    What no calendar has (31 February), and what lies outside 1900..2199, where no memory can be, is not given.
    """
    today = validation.require_moment("at", at).date()
    found: dict[TimeSpan, None] = {}
    begun: _RangeStart | None = None
    for match in _DATE_EXPRESSION.finditer(text):
        goes_on = begun is not None and begun.continues_with(match)
        mention = _DateMention(match, today, goes_on)
        span = mention.resolve_span()
        if begun is not None and goes_on and span is not None:
            joined = begun.join(span, match)
            if joined is not None:
                del found[begun.span]
                span = joined
        if span is not None:
            found[span] = None
        begun = _RangeStart(span, mention) if span is not None and mention.begins_range else None
        if len(found) == MAX_SPANS:
            break
    return tuple(found)


def distance_in_days(spans: Sequence[TimeSpan], moment: datetime) -> float:
    """How many days the moment is from the nearest span: 0 inside, and days before its start count twice.

    From no span at all it is infinitely far. This is the oracle; `distances_in_days` computes the same over a column.
    """
    at, nearest = to_microseconds(moment), math.inf
    for span in spans:
        early = (to_microseconds(span.start) - at) * EARLY_WEIGHT
        late = at - to_microseconds(span.end)
        nearest = min(nearest, max(early, late, 0.0))
    return nearest / _MICROSECONDS_PER_DAY


def distances_in_days(spans: Sequence[TimeSpan], dates: NDArray[np.float64]) -> NDArray[np.float64]:
    """`distance_in_days` for dates in microseconds since 1970, equal to the last bit; NaN, for unknown, stays NaN."""
    nearest = np.where(np.isnan(dates), np.nan, np.inf)
    for span in spans:
        early = (to_microseconds(span.start) - dates) * EARLY_WEIGHT
        late = dates - to_microseconds(span.end)
        nearest = np.minimum(nearest, np.maximum(np.maximum(early, late), 0.0))
    nearest /= _MICROSECONDS_PER_DAY
    return nearest


@dataclass(frozen=True, slots=True)
class _RangeStart:
    """What may be the first of two between which a time lies: the span, and what was read as it."""

    span: TimeSpan
    mention: "_DateMention"

    def continues_with(self, match: re.Match[str]) -> bool:
        """Whether what is matched next is the second."""
        first, before = self.mention.match, (match["before"] or "").lower()
        between = first.string[first.end() : match.start()].strip().lower().removesuffix(" the")
        if before in _RANGE_ENDS:
            return between in {"", "and"}
        return between in _RANGE_JOINERS and not self.mention.is_open_ended

    def join(self, span: TimeSpan, match: re.Match[str]) -> TimeSpan | None:
        """From the first to the second; a first without its year is the latest before it. Not backwards."""
        end = span.start if (match["before"] or "").lower() == "before" else span.end
        first: TimeSpan | None = self.span
        if self.span.start >= end:
            first = replace(self.mention, seen_on=(end - ONE_DAY).date()).resolve_span()
        return TimeSpan(first.start, end) if first is not None and first.start < end else None


_MICROSECONDS_PER_DAY = ONE_DAY / MICROSECOND

_DayRange = tuple[date, date]
"""The first day, and the day after the last."""


@dataclass(frozen=True, slots=True)
class _DateMention:
    """What is spelled like a date, and the day on which it is read.

    Each group of the pattern has a method of its name that reads it: `None` where it is no date, and a `ValueError` or
    `OverflowError` where it is one that no calendar has.
    """

    match: re.Match[str]
    seen_on: date
    continues_range: bool = False
    """Whether it is the second of two between which a time lies, so that it is a date like the first."""

    @property
    def begins_range(self) -> bool:
        return self.is_open_ended or self._find_lead()[0] in {"between", "from"}

    @property
    def is_open_ended(self) -> bool:
        """Whether it reaches until today, unless it is said until when."""
        return self._find_lead()[0] in {"since", "after"}

    def resolve_span(self) -> TimeSpan | None:
        """The span, if it is one that a memory could be in."""
        try:
            days = _PARSERS[self.match.lastgroup or ""](self)
            return None if days is None else self._apply_lead(days)
        except (ValueError, OverflowError):
            return None

    def _apply_lead(self, days: _DayRange) -> TimeSpan | None:
        """The days, or the time before, after or since them, as the word before them has it."""
        start, end = (datetime.combine(day, time(), tzinfo=UTC) for day in days)
        tomorrow = datetime.combine(self.seen_on + ONE_DAY, time(), tzinfo=UTC)
        lead, begins = self._find_lead()
        reach = self._lead_duration(lead, begins)
        match lead:
            case "before" if reach:
                start -= reach
            case "after" if reach:
                end += reach
            case "before" | "until" | "till" if not self.continues_range:
                return None
            case "since":
                end = max(end, tomorrow)
            case "after" if end < tomorrow:
                start, end = end, tomorrow
            case _:
                pass
        return (
            TimeSpan(start, end)
            if start >= validation.EARLIEST_DATETIME and end <= validation.LATEST_DATETIME
            else None
        )

    def parse_iso(self) -> _DayRange:
        return _days_from(date.fromisoformat(self.match["iso"]))

    def parse_day_first(self) -> _DayRange | None:
        match = self.match
        sure = self._has_group("day_th", "day_of", "day_year", "before") or self._ends_clause()
        if not self._is_month("day_month", sure=sure) or (
            self._group_word("before") in _FUTURE_WORDS and not match["day_year"]
        ):
            return None
        first = self._resolve_day(match["day_year"], _MONTHS[self._group_word("day_month")], int(match["day"]))
        return _days_through(first, match["day_last"])

    def parse_month_first(self) -> _DayRange | None:
        match, before, name = self.match, self._group_word("before"), self._group_word("month")
        if before in _FUTURE_WORDS and not self._has_group("its_year", "only_year"):
            return None
        if match["its_day"]:
            sure = self._has_group("its_th", "its_year", "before") or self._ends_clause()
            if not self._is_month("month", sure=sure):
                return None
            return _days_through(
                self._resolve_day(match["its_year"], _MONTHS[name], int(match["its_day"])), match["its_last"]
            )
        if match["only_year"]:
            return _months_from(int(match["only_year"]) * 12 + _MONTHS[name] - 1)
        timely = before in _TIME_PREPOSITIONS or (before == "last" and self._ends_clause()) or self.continues_range
        if name in _SHORT_MONTHS or (
            name in _AMBIGUOUS_MONTHS and not ((before or timely) and self._is_month("month", sure=timely))
        ):
            return None
        asked = self.seen_on.year * 12 + _MONTHS[name] - 1
        latest = self._current_month() - (before == "last")
        return _months_from(asked if asked <= latest else asked - 12)

    def parse_year(self) -> _DayRange | None:
        return (
            _months_from(int(self.match["year"]) * 12, 12)
            if self._group_word("before") in _WORDS_BEFORE_YEARS
            else None
        )

    def parse_quarter(self) -> _DayRange:
        year, number = int(self.match["quarter_year"]), int(self.match["quarter_number"])
        return _months_from(year * 12 + (number - 1) * 3, 3)

    def parse_weekday(self) -> _DayRange | None:
        before, name = self._group_word("before"), self._group_word("weekday")
        is_short = not name.endswith("day")
        if before not in {"on", "last"} or (is_short and not self._has_capital("weekday")):
            return None
        latest = self.seen_on if before == "on" else self.seen_on - ONE_DAY
        return _days_from(latest - ONE_DAY * ((latest.weekday() - _WEEKDAYS.index(name[:3])) % 7))

    def parse_period(self) -> _DayRange | None:
        before = self._group_word("before")
        if before not in {"last", "this"}:
            return None
        back, monday = int(before == "last"), self.seen_on - ONE_DAY * self.seen_on.weekday()
        match self._group_word("period"):
            case "week":
                return _days_from(monday - 7 * back * ONE_DAY, 7)
            case "weekend":
                return _days_from(monday + (5 - 7 * back) * ONE_DAY, 2)
            case "month":
                return _months_from(self._current_month() - back)
            case "year":
                return _months_from((self.seen_on.year - back) * 12, 12)
            case "night":
                return _days_from(self.seen_on - back * ONE_DAY)
            case _:  # this morning, afternoon or evening; nobody says "last morning"
                return None if back else _days_from(self.seen_on)

    def parse_relative(self) -> _DayRange:
        named = self._group_word("relative")
        return _days_from(
            self.seen_on - ONE_DAY * (0 if named in {"today", "tonight"} else 1 if named == "yesterday" else 2)
        )

    def parse_ago(self) -> _DayRange:
        count = _parse_count(self._group_word("count"))
        match self._group_word("unit"):
            case "day":
                return _days_from(self.seen_on - count * ONE_DAY)
            case "week":
                return _days_from(self.seen_on - (7 * count + 3) * ONE_DAY, 7)
            case "month":
                return _months_from(self._current_month() - count)
            case _:
                return _months_from((self.seen_on.year - count) * 12, 12)

    def _lead_duration(self, lead: str, begins: int) -> timedelta | None:
        """How long "two weeks" is in "two weeks before 8 May", which begins there; nothing where no such word is."""
        found = _DURATION.search(self.match.string[max(begins - MAX_LEAD_CHARS, 0) : begins])
        # "the last weekend before 8 May" is as long as one, but "last year after March" and "a few days" are not
        if found is None or (found["vague"] and (lead, found["vague"].lower()) != ("before", "last")):
            return None
        count = _parse_count(found["times"].lower()) if found["times"] else 1
        return count * ONE_DAY * _LENGTH_DAYS.get(found["length"].lower(), 7)

    def _find_lead(self) -> tuple[str, int]:
        """The word that says how the time lies to what is named, also before "last March", and where it begins."""
        word, start = self._group_word("before"), self.match.start()
        if word not in {"", "last", "this"}:
            return word, start
        earlier = _LAST_WORD.search(self.match.string, max(start - MAX_LEAD_CHARS, 0), start)
        return (earlier[1].lower(), earlier.start()) if earlier else (word, start)

    def _group_word(self, group: str) -> str:
        return (self.match[group] or "").rstrip(".").lower()

    def _has_group(self, *groups: str) -> bool:
        return any(self.match[group] for group in groups)

    def _has_capital(self, group: str) -> bool:
        return self.match[group][0].isupper()

    def _is_month(self, group: str, *, sure: bool = False) -> bool:
        """Whether a word that may be a verb means the month: it has a capital, or something else makes it sure."""
        return sure or self._group_word(group) not in _VERB_MONTHS or self._has_capital(group)

    def _ends_clause(self) -> bool:
        """Whether no word comes next, as one does in "they march 5 miles"."""
        end = self.match.end()
        return not self.match.string[end : end + 3].lstrip()[:1].isalnum()

    def _current_month(self) -> int:
        """The current month, counted from the year 0."""
        return self.seen_on.year * 12 + self.seen_on.month - 1

    def _resolve_day(self, year: str | None, month: int, day: int) -> date:
        """The day of that year; without one, the latest such day that is not after today."""
        if year:
            return date(int(year), month, day)
        for before in range(9):  # around 1900, 29 February was eight years away
            found = date(self.seen_on.year - before, month, 1) + (day - 1) * ONE_DAY
            if found.month == month and found <= self.seen_on:
                return found
        raise ValueError("no year has this day")


_PARSERS: Mapping[str, Callable[[_DateMention], _DayRange | None]] = {
    "iso": _DateMention.parse_iso,
    "day_first": _DateMention.parse_day_first,
    "month_first": _DateMention.parse_month_first,
    "year": _DateMention.parse_year,
    "quarter": _DateMention.parse_quarter,
    "weekday": _DateMention.parse_weekday,
    "period": _DateMention.parse_period,
    "relative": _DateMention.parse_relative,
    "ago": _DateMention.parse_ago,
}


def _parse_count(written: str) -> int:
    """How many "two", "a couple of" and "14" are."""
    first = written.split()[0]
    return 2 if "couple" in written else _NUMBER_WORDS[first] if first in _NUMBER_WORDS else int(first)


def _days_through(first: date, last: str | None) -> _DayRange:
    """The day, or the days up to the last of the same month."""
    after = (first.replace(day=int(last)) if last else first) + ONE_DAY
    if after <= first:
        raise ValueError("the days run backwards")
    return first, after


def _days_from(first: date, many: int = 1) -> _DayRange:
    return first, first + many * ONE_DAY


def _months_from(first: int, many: int = 1) -> _DayRange:
    """The months from one on, counted from the year 0."""
    start, end = (date(month // 12, month % 12 + 1, 1) for month in (first, first + many))
    return start, end


_LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_SHORT_MONTHS = {name[:3]: number for number, name in enumerate(_LONG_MONTHS, 1) if name != "may"} | {"sept": 9}
_MONTHS = {name: number for number, name in enumerate(_LONG_MONTHS, 1)} | _SHORT_MONTHS
_VERB_MONTHS = {"march", "may"}
_AMBIGUOUS_MONTHS = {*_VERB_MONTHS, "april", "june", "august"}
"""Months that are verbs, names or adjectives: alone, they need a word before them that speaks of time."""

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_COUNT_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER_WORDS = {word: number for number, word in enumerate(_COUNT_WORDS, 1)} | {"a": 1, "an": 1}
_FUTURE_WORDS = {"next", "every", "each"}
_WORDS_BEFORE_YEARS = {"in", "of", "during", "since", "year", "early", "late", "mid"}
_TIME_PREPOSITIONS = {"in", "during", "of", "since", "between", "from", "early", "late", "mid"}
"""After these, even "march" and "may" in small letters are months."""

_RANGE_JOINERS, _RANGE_ENDS = {"and", "to", "-", "–"}, {"until", "till", "through", "before"}
"""What stands between the two of "from March to June", and before the second of them."""

_LEAD_WORDS = {
    *_FUTURE_WORDS,
    *_WORDS_BEFORE_YEARS,
    *("last", "this", "on", "by", "before", "after", "until", "till", "from", "around", "between", "through"),
}
"""Words before a date: some of them make it one, the others say that it is none of the past."""


def _ignore_case(*words: str) -> str:
    """The words in small letters or capitals; of ASCII, as `re` has other letters that equal these without case."""
    return f"(?ai:{'|'.join(sorted(words, reverse=True))})"


_MONTH = rf"(?:{_ignore_case(*_LONG_MONTHS)}|{_ignore_case(*_SHORT_MONTHS)}\.?)(?!\w)"
_COUNT = _ignore_case("[0-9]{1,4}", r"a\s{1,3}couple(?:\s{1,3}of)?", *_NUMBER_WORDS)
_NUMBER_ENDS = r"(?!\w|%|[.,:/]?[0-9])"
_ORDINAL_SUFFIX = _ignore_case("st", "nd", "rd", "th")
_OF, _AGO = _ignore_case("of"), _ignore_case("ago")
_THE = rf"(?:{_ignore_case('the')}\s{{1,3}})"
_LAST_WORD = re.compile(rf"(?<!\w)([A-Za-z]+)\s{{1,3}}{_THE}?\Z")
_YEAR_AFTER = rf"(?:\s{{1,3}}{_OF}\s{{1,3}}|,?\s{{1,3}}|[,-])"
_WEEKDAY = _ignore_case(
    "(?:mon|tues|wednes|thurs|fri|satur|sun)day", "mon", "tues?", "wed", "thu(?:rs?)?", "fri", "sat", "sun"
)
_PERIOD = _ignore_case("week", "weekend", "month", "year", "night", "morning", "afternoon", "evening")
_RELATIVE_DAY = _ignore_case("today", "tonight", "yesterday", r"day\s{1,3}before\s{1,3}yesterday")
_UNIT = _ignore_case("day", "week", "month", "year")
_BEFORE_WORD = _ignore_case("before")
_VAGUE_COUNT = _ignore_case(
    "[0-9]{1,4}[.,][0-9]{1,4}", "few", "several", "some", "many", "half", "last", "this", "every", "each"
)
_LENGTH_DAYS = {"day": 1, "night": 1, "morning": 1, "afternoon": 1, "evening": 1, "month": 31, "year": 366}
"""How many days these are; a week, a weekend and a weekday reach as far as a week."""

_DURATION = re.compile(
    rf"(?<!\w) (?: (?P<vague> {_VAGUE_COUNT} ) \s{{1,3}} )?"
    rf"(?: (?P<times> {_COUNT} ) \s{{1,3}} )? (?P<length> {_PERIOD} | {_UNIT} | {_WEEKDAY} ) [sS]? \s{{1,3}}\Z",
    re.VERBOSE,
)

# Every repetition has a small bound, so that no text takes more than a time in proportion to its length.
_DATE_EXPRESSION = re.compile(
    rf"""
    (?<![0-9A-Za-z_-]) (?P<iso> [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} ) (?: (?=[Tt][0-9]) | (?!-?[0-9A-Za-z_]) )
  | (?<!\w) (?=[0-9A-Za-z]) (?: (?P<before> {_ignore_case(*_LEAD_WORDS)} ) [\s-]{{1,3}} {_THE}? )?
    (?:
        (?P<day_first>
            (?<![0-9][.,:/-]) (?P<day> [0-9]{{1,2}} ) (?P<day_th> {_ORDINAL_SUFFIX} )?
            (?: \s?[-–]\s? (?P<day_last> [0-9]{{1,2}} ) {_ORDINAL_SUFFIX}? )?
            (?P<day_of> \s{{1,3}} {_OF} )? [\s-]{{1,3}}
            (?P<day_month> {_MONTH} ) (?: {_YEAR_AFTER} (?P<day_year> [0-9]{{4}} ) (?!\w) )?
        )
      | (?P<month_first>
            (?P<month> {_MONTH} )
            (?:
                \s{{1,3}} {_THE}? (?P<its_day> [0-9]{{1,2}} ) (?P<its_th> {_ORDINAL_SUFFIX} )?
                (?: \s?[-–]\s? (?P<its_last> [0-9]{{1,2}} ) {_ORDINAL_SUFFIX}? )?
                (?: {_YEAR_AFTER} (?P<its_year> [0-9]{{4}} ) (?!\w) | {_NUMBER_ENDS} )
              | {_YEAR_AFTER} (?P<only_year> [0-9]{{4}} ) (?!\w)
            )?
        )
      | (?P<year> [0-9]{{4}} ) (?!\w|[-–/.,]?[0-9])
      | (?P<quarter> [Qq] (?P<quarter_number> [1-4] ) {_YEAR_AFTER} (?P<quarter_year> [0-9]{{4}} ) (?!\w) )
      | (?P<weekday> {_WEEKDAY} ) (?!\w)
        (?! \.?,?\s{{1,3}} {_THE}? (?: [0-9] | {_OF} \s | {_MONTH} \s{{1,3}} [0-9] ) | \s{{1,3}} {_BEFORE_WORD} \s )
      | (?P<period> {_PERIOD} ) (?! \w | \s{{1,3}} (?:{_OF}|{_BEFORE_WORD}) \s )
      | (?P<relative> {_RELATIVE_DAY} ) (?!\w)
      | (?P<ago>
            (?<![0-9][.,]) (?<!-) (?<!half\s) (?P<count> {_COUNT} ) \s{{1,3}}
            (?P<unit> {_UNIT} ) [sS]? \s{{1,3}} {_AGO} (?!\w)
        )
    )
    """,
    re.VERBOSE,
)
