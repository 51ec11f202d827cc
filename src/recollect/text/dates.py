"""Parser for days and periods in English questions, relative to a given moment."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.table import MICROSECOND, to_microseconds
from recollect.text.data_files import load_data_file
from recollect.text.lexicon import LEXICON, MONTHS, ORDINAL_SUFFIXES, SHORT_MONTHS, VERB_MONTHS, WEEKDAYS

MAX_SPANS = 8
"""Maximum number of days or periods read from one text."""

EARLY_WEIGHT = 2.0
"""Factor for days before a span: people speak of a day on that day or later."""

MAX_LEAD_CHARS = 40
"""Characters before a date that are searched for a lead such as "two weeks before"."""

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time from `start` until just before `end`; both have a time zone."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.utcoffset() is None or self.end.utcoffset() is None:
            raise FieldError("has no time zone; pass aware datetimes", field="span")
        if not self.start < self.end:
            raise FieldError(
                f"ends at {self.end.isoformat()}, which is not after its start {self.start.isoformat()}", field="span"
            )


def find_time_spans(text: str, at: datetime) -> tuple[TimeSpan, ...]:
    """Return the days and periods that a text names, each once, in order of first mention.

    At most the first `MAX_SPANS`. Days are UTC days, and weeks begin on Mondays. A day or month without a year is the
    latest that is not after `at`. "Last" week, month and year are the calendar ones before the current ones, "last
    night" is the day before, "last Friday" is before today, and "on Friday" may be today. "Three days ago" is that one
    day, "three weeks ago" the seven days around that day, "three months ago" and "three years ago" the calendar month
    and year. "Between March and June" is all of it, and "since" or "after" a day goes on until today. "The week before
    8 May" reaches back from that day, "two days after" reaches on. A bare "before" or "until" may be any time and is
    ignored.

    Dates that no calendar has (31 February), or outside 1900..2199, where no memory can be, are ignored.
    """
    today = validation.require_moment("at", at).date()
    spans: dict[TimeSpan, None] = {}
    range_start: _RangeStart | None = None
    for match in _DATE_EXPRESSION.finditer(text):
        continues = range_start is not None and range_start.continues_with(match)
        mention = _DateMention(match, today, continues)
        span = mention.resolve_span()
        if range_start is not None and continues and span is not None:
            joined = range_start.join(span, match)
            if joined is not None:
                del spans[range_start.span]
                span = joined
        if span is not None:
            spans[span] = None
        range_start = _RangeStart(span, mention) if span is not None and mention.begins_range else None
        if len(spans) == MAX_SPANS:
            break
    return tuple(spans)


def distances_in_days(spans: Sequence[TimeSpan], dates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many days each date is from the nearest span: 0 inside, infinity without any.

    Dates are in microseconds since 1970. Days before a span's start count `EARLY_WEIGHT` times. NaN, for an unknown
    date, stays NaN.
    """
    nearest = np.where(np.isnan(dates), np.nan, np.inf)
    for span in spans:
        early = (to_microseconds(span.start) - dates) * EARLY_WEIGHT
        late = dates - to_microseconds(span.end)
        nearest = np.minimum(nearest, np.maximum(np.maximum(early, late), 0.0))
    nearest /= _MICROSECONDS_PER_DAY
    return nearest


@dataclass(frozen=True, slots=True)
class _RangeStart:
    """The possible first half of a range such as "from March to June": its span and mention."""

    span: TimeSpan
    mention: "_DateMention"

    def continues_with(self, match: re.Match[str]) -> bool:
        """Return whether this match is the second half of the range."""
        first, lead = self.mention.match, _lead_role(match["before"])
        between = first.string[first.end() : match.start()].strip().lower().removesuffix(f" {_WORDS['the']}")
        if lead in _RANGE_END_LEADS:
            return between in _RANGE_END_JOINERS
        return between in _RANGE_JOINERS and not self.mention.is_open_ended

    def join(self, span: TimeSpan, match: re.Match[str]) -> TimeSpan | None:
        """Return the span from the first half to the second; None if it would run backwards.

        A first half without a year is the latest one before the second half.
        """
        end = span.start if _lead_role(match["before"]) == "before" else span.end
        first: TimeSpan | None = self.span
        if self.span.start >= end:
            first = replace(self.mention, seen_on=(end - ONE_DAY).date()).resolve_span()
        return TimeSpan(first.start, end) if first is not None and first.start < end else None


_MICROSECONDS_PER_DAY = ONE_DAY / MICROSECOND

_DayRange = tuple[date, date]
"""The first day, and the day after the last."""


@dataclass(frozen=True, slots=True)
class _DateMention:
    """A match that is spelled like a date, and the day on which it is read.

    Each named group of the pattern has its own parser method. It returns `None` if the match is not a date, and raises
    `ValueError` or `OverflowError` if no calendar has that date.
    """

    match: re.Match[str]
    seen_on: date
    continues_range: bool = False
    """Whether it is the second half of a range, and so a date like the first half."""

    @property
    def begins_range(self) -> bool:
        return self.is_open_ended or self._find_lead()[0] == "range"

    @property
    def is_open_ended(self) -> bool:
        """Whether it extends until today, as after "since", unless an end follows."""
        return self._find_lead()[0] in {"since", "after"}

    def resolve_span(self) -> TimeSpan | None:
        """Return the span; None if no memory can lie in it."""
        try:
            days = _PARSERS[self.match.lastgroup or ""](self)
            return None if days is None else self._apply_lead(days)
        except (ValueError, OverflowError):
            return None

    def _apply_lead(self, days: _DayRange) -> TimeSpan | None:
        """Return the days, or the time before, after or since them if the word in front says so."""
        start, end = (datetime.combine(day, time(), tzinfo=UTC) for day in days)
        tomorrow = datetime.combine(self.seen_on + ONE_DAY, time(), tzinfo=UTC)
        lead, begins = self._find_lead()
        reach = self._lead_duration(lead, begins)
        match lead:
            case "before" if reach:
                start -= reach
            case "after" if reach:
                end += reach
            case "before" | "until" if not self.continues_range:
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
        if not self._is_month("day_month", sure=sure) or (self._lead in _FUTURE_LEADS and not match["day_year"]):
            return None
        first = self._resolve_day(match["day_year"], _MONTHS[self._group_word("day_month")], int(match["day"]))
        return _days_through(first, match["day_last"])

    def parse_month_first(self) -> _DayRange | None:
        match, lead, name = self.match, self._lead, self._group_word("month")
        if lead in _FUTURE_LEADS and not self._has_group("its_year", "only_year"):
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
        timely = lead in _MONTH_LEADS or (lead == "last" and self._ends_clause()) or self.continues_range
        if name in _SHORT_MONTHS or (
            name in _AMBIGUOUS_MONTHS and not ((lead or timely) and self._is_month("month", sure=timely))
        ):
            return None
        asked = self.seen_on.year * 12 + _MONTHS[name] - 1
        latest = self._current_month() - (lead == "last")
        return _months_from(asked if asked <= latest else asked - 12)

    def parse_year(self) -> _DayRange | None:
        return _months_from(int(self.match["year"]) * 12, 12) if self._lead in _YEAR_LEADS else None

    def parse_quarter(self) -> _DayRange:
        year, number = int(self.match["quarter_year"]), int(self.match["quarter_number"])
        return _months_from(year * 12 + (number - 1) * 3, 3)

    def parse_weekday(self) -> _DayRange | None:
        lead, name = self._lead, self._group_word("weekday")
        is_short = name not in WEEKDAYS
        if lead not in {"on", "last"} or (is_short and not self._has_capital("weekday")):
            return None
        latest = self.seen_on if lead == "on" else self.seen_on - ONE_DAY
        return _days_from(latest - ONE_DAY * ((latest.weekday() - _WEEKDAYS.index(name[:3])) % 7))

    def parse_period(self) -> _DayRange | None:
        if self._lead not in {"last", "this"}:
            return None
        back, monday = int(self._lead == "last"), self.seen_on - ONE_DAY * self.seen_on.weekday()
        match _UNITS[self._group_word("period")]:
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
            case _:
                return None if back else _days_from(self.seen_on)

    def parse_relative(self) -> _DayRange:
        named = " ".join(self._group_word("relative").split())
        return _days_from(self.seen_on - ONE_DAY * _RELATIVE_DAYS[named])

    def parse_ago(self) -> _DayRange:
        count = _parse_count(self._group_word("count"))
        match _UNITS[self._group_word("unit")]:
            case "day":
                return _days_from(self.seen_on - count * ONE_DAY)
            case "week":
                return _days_from(self.seen_on - (7 * count + 3) * ONE_DAY, 7)
            case "month":
                return _months_from(self._current_month() - count)
            case _:
                return _months_from((self.seen_on.year - count) * 12, 12)

    def _lead_duration(self, lead: str, begins: int) -> timedelta | None:
        """Return how long "two weeks" in "two weeks before 8 May" is; None without such words.

        `lead` is the role of the lead word, and `begins` is where it starts.
        """
        duration = _DURATION.search(self.match.string[max(begins - MAX_LEAD_CHARS, 0) : begins])
        # "the last weekend before 8 May" has a length, but "last year after March" and "a few days" have none
        if duration is None or (duration["vague"] and (lead, _lead_role(duration["vague"])) != ("before", "last")):
            return None
        count = _parse_count(duration["times"].lower()) if duration["times"] else 1
        return count * ONE_DAY * _LENGTH_DAYS.get(duration["length"].lower(), _DAYS_PER_WEEK)

    def _find_lead(self) -> tuple[str, int]:
        """Return the role of the word before the date ("since", "before" …) and where the word begins.

        It also looks in front of "last" and "this", as in "before last March".
        """
        lead, start = self._lead, self.match.start()
        if lead not in {"", "last", "this"}:
            return lead, start
        earlier = _LAST_WORD.search(self.match.string, max(start - MAX_LEAD_CHARS, 0), start)
        return (_lead_role(earlier[1]), earlier.start()) if earlier else (lead, start)

    @property
    def _lead(self) -> str:
        """The role of the word before the date; empty without one."""
        return _lead_role(self.match["before"])

    def _group_word(self, group: str) -> str:
        return (self.match[group] or "").rstrip(".").lower()

    def _has_group(self, *groups: str) -> bool:
        return any(self.match[group] for group in groups)

    def _has_capital(self, group: str) -> bool:
        return self.match[group][0].isupper()

    def _is_month(self, group: str, *, sure: bool = False) -> bool:
        """Return whether the word means the month.

        "March" and "may" may be verbs: they need a capital, or `sure` because something else proves it.
        """
        return sure or self._group_word(group) not in VERB_MONTHS or self._has_capital(group)

    def _ends_clause(self) -> bool:
        """Return whether no word follows, as one does in "they march 5 miles"."""
        end = self.match.end()
        return not self.match.string[end : end + 3].lstrip()[:1].isalnum()

    def _current_month(self) -> int:
        """Return the current month, counted from year 0."""
        return self.seen_on.year * 12 + self.seen_on.month - 1

    def _resolve_day(self, year: str | None, month: int, day: int) -> date:
        """Return the day in that year; without a year, the latest such day that is not after today."""
        if year:
            return date(int(year), month, day)
        for before in range(9):  # around 1900, 29 February was eight years away
            candidate = date(self.seen_on.year - before, month, 1) + (day - 1) * ONE_DAY
            if candidate.month == month and candidate <= self.seen_on:
                return candidate
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


def _lead_role(word: str | None) -> str:
    """Return what the word says about the date after it; empty if it says nothing."""
    return _LEAD_ROLES.get((word or "").lower(), "")


def _lead_words(*roles: str) -> tuple[str, ...]:
    return tuple(word for word, role in _LEAD_ROLES.items() if role in roles)


def _parse_count(written: str) -> int:
    """Return the number that "two", "a couple of" or "14" means."""
    if _TWO.fullmatch(written):
        return 2
    return _NUMBER_WORDS[written] if written in _NUMBER_WORDS else int(written)


def _days_through(first: date, last: str | None) -> _DayRange:
    """Return the day, or the days up to the last one of the same month."""
    after = (first.replace(day=int(last)) if last else first) + ONE_DAY
    if after <= first:
        raise ValueError("the days run backwards")
    return first, after


def _days_from(first: date, many: int = 1) -> _DayRange:
    return first, first + many * ONE_DAY


def _months_from(first: int, many: int = 1) -> _DayRange:
    """Return `many` months from the first on, counted from year 0."""
    start, end = (date(month // 12, month % 12 + 1, 1) for month in (first, first + many))
    return start, end


_ENGLISH = load_data_file("recollect.text", "en/dates.toml", LEXICON)

_SHORT_MONTHS = {
    short: number for number, name in enumerate(MONTHS, 1) for short in SHORT_MONTHS if name.startswith(short)
}
_MONTHS = {name: number for number, name in enumerate(MONTHS, 1)} | _SHORT_MONTHS
_AMBIGUOUS_MONTHS = VERB_MONTHS.union(_ENGLISH.words("months.names"))
"""Months that are also verbs, names or adjectives; alone, they need a word about time before them."""

_WORDS = _ENGLISH.mapping("words")
_RELATIVE_DAYS = {words: int(days) for words, days in _ENGLISH.mapping("relative_days").items()}

_UNIT_ROWS = _ENGLISH.rows("unit")
_UNITS: Mapping[str, str] = {row["word"]: row["unit"] for row in _UNIT_ROWS}
"""The unit that each word means."""

_LENGTH_DAYS: Mapping[str, int] = {row["word"]: row["days"] for row in _UNIT_ROWS}
"""Length of units in days; the weekdays are not among them and reach as far as a week."""

_DAYS_PER_WEEK = 7
_WEEKDAYS = tuple(name[:3] for name in WEEKDAYS)
_NUMBER_WORDS = {word: number for number, word in enumerate(_ENGLISH.lexicon_words("numbers"), 1)} | dict.fromkeys(
    _ENGLISH.lexicon_words("articles"), 1
)

_LEAD_ROLES = _ENGLISH.mapping("leads") | {word: "year" for word, unit in _UNITS.items() if unit == "year"}
"""Words before a date, and what they say about it: some make it a date, others show that it is not in the past."""

_FUTURE_LEADS = {"next", "each"}
_YEAR_LEADS = {"within", "of", "since", "year"}
"""A four-digit number after these words is a year."""

_MONTH_LEADS = {"within", "of", "since", "range"}
"""After these, even lower-case "march" and "may" are months."""

_RANGE_END_LEADS = {"until", "through", "before"}
"""These stand before the second half of a range."""

_RANGE_END_JOINERS = {"", _ENGLISH.text("ranges.conjunction")}
"""What may stand between the first half and such a word."""

_RANGE_JOINERS = {*_ENGLISH.words("ranges.joiners"), _ENGLISH.text("ranges.conjunction")}
"""What stands between the halves of "from March to June"."""


def _ignore_case(*words: str) -> str:
    """Return a pattern for the words in any case; ASCII only.

    Without the ASCII flag, `re` matches some other letters case-insensitively.
    """
    return f"(?ai:{'|'.join(sorted(words, reverse=True))})"


_MONTH = rf"(?:{_ignore_case(*MONTHS)}|{_ignore_case(*_SHORT_MONTHS)}\.?)(?!\w)"
_TWO = re.compile(_ENGLISH.text("counts.two"))
_COUNT = _ignore_case("[0-9]{1,4}", _TWO.pattern, *_NUMBER_WORDS)
_NUMBER_ENDS = r"(?!\w|%|[.,:/]?[0-9])"
_ORDINAL_SUFFIX = _ignore_case(*ORDINAL_SUFFIXES)
_OF, _BEFORE_WORD = (_ignore_case(*_lead_words(role)) for role in ("of", "before"))
_AGO = _ignore_case(_WORDS["ago"])
_THE = rf"(?:{_ignore_case(_WORDS['the'])}\s{{1,3}})"
_LAST_WORD = re.compile(rf"(?<!\w)([A-Za-z]+)\s{{1,3}}{_THE}?\Z")
_YEAR_AFTER = rf"(?:\s{{1,3}}{_OF}\s{{1,3}}|,?\s{{1,3}}|[,-])"
_WEEKDAY = _ignore_case(*WEEKDAYS, *_ENGLISH.words("weekdays.short"))
_PERIOD = _ignore_case(*(row["word"] for row in _UNIT_ROWS if row.get("named")))
_RELATIVE_DAY = _ignore_case(*(words.replace(" ", r"\s{1,3}") for words in _RELATIVE_DAYS))
_UNIT = _ignore_case(*(row["word"] for row in _UNIT_ROWS if row.get("counted")))
_VAGUE_COUNT = _ignore_case(
    "[0-9]{1,4}[.,][0-9]{1,4}", _WORDS["half"], *_ENGLISH.words("counts.vague"), *_lead_words("last", "this", "each")
)

_DURATION = re.compile(
    rf"(?<!\w) (?: (?P<vague> {_VAGUE_COUNT} ) \s{{1,3}} )?"
    rf"(?: (?P<times> {_COUNT} ) \s{{1,3}} )? (?P<length> {_PERIOD} | {_UNIT} | {_WEEKDAY} ) [sS]? \s{{1,3}}\Z",
    re.VERBOSE,
)

# Every repetition has a small bound, so that the time to match is proportional to the length of the text.
_DATE_EXPRESSION = re.compile(
    rf"""
    (?<![0-9A-Za-z_-]) (?P<iso> [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} ) (?: (?=[Tt][0-9]) | (?!-?[0-9A-Za-z_]) )
  | (?<!\w) (?=[0-9A-Za-z]) (?: (?P<before> {_ignore_case(*_LEAD_ROLES)} ) [\s-]{{1,3}} {_THE}? )?
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
            (?<![0-9][.,]) (?<!-) (?<!{_WORDS["half"]}\s) (?P<count> {_COUNT} ) \s{{1,3}}
            (?P<unit> {_UNIT} ) [sS]? \s{{1,3}} {_AGO} (?!\w)
        )
    )
    """,
    re.VERBOSE,
)
