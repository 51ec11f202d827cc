"""Dates: which days a question names, and how far memories are from them."""

import inspect
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import FieldError
from recollect.model.table import MICROSECOND, to_microseconds
from recollect.model.validation import EARLIEST_DATETIME, LATEST_DATETIME
from recollect.text import dates
from recollect.text.data_files import load_data_file
from recollect.text.dates import EARLY_WEIGHT, MAX_SPANS, TimeSpan, distances_in_days, find_time_spans
from tests.tables import table

AT = datetime(2023, 6, 14, 15, 30, tzinfo=UTC)
"""A Wednesday."""

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
LONG = 100_000


def distance_in_days(spans: Sequence[TimeSpan], moment: datetime) -> float:
    """The plain definition of `distances_in_days`, for one moment."""
    at, nearest = to_microseconds(moment), math.inf
    for span in spans:
        early = (to_microseconds(span.start) - at) * EARLY_WEIGHT
        late = at - to_microseconds(span.end)
        nearest = min(nearest, max(early, late, 0.0))
    return nearest / (DAY / MICROSECOND)


def a_span(first: str, last: str | None = None) -> TimeSpan:
    """The days from the first to the last, which it contains."""
    start, end = (datetime.combine(date.fromisoformat(day), time(), UTC) for day in (first, last or first))
    return TimeSpan(start, end + DAY)


@table(
    "text",
    [
        *("2023-05-08", "on 2023-05-08.", "(2023-05-08T10:00:00Z)", "は2023-05-08に"),
        *("8 May 2023", "8 May, 2023", "on the 8th of May 2023", "8th of May, 2023", "8-May-2023", "8 may 2023"),
        *("May 8, 2023", "May 8 2023", "May 8th, 2023", "MAY 8,2023", "May the 8th of 2023", "may 8, 2023"),
        *("8th of May", "8th May", "May 8th", "May 8", "8 May", "8\u00a0May", "may 8th", "on may 8 with Ana", "may 8?"),
        *("on 8 may with Ana", "the 8th of may", "Monday, May 8", "on Monday, 8 May", "On Monday the 8th of May"),
    ],
)
def test_a_day_is_named_in_many_ways(text: str) -> None:
    assert find_time_spans(text, AT) == (a_span("2023-05-08"),)


@table(
    ("text", "day"),
    [
        ("14 June", "2023-06-14"),
        ("15 June", "2022-06-15"),
        ("Dec. 5", "2022-12-05"),
        ("5 Sept", "2022-09-05"),
        ("on 29 February", "2020-02-29"),
        ("on 5 June 2030", "2030-06-05"),
        ("next June 5, 2030", "2030-06-05"),
        ("1900-01-01", "1900-01-01"),
        ("31 December 2199", "2199-12-31"),
    ],
)
def test_a_day_without_a_year_is_the_latest_and_one_with_its_year_is_as_it_is(text: str, day: str) -> None:
    assert find_time_spans(text, AT) == (a_span(day),)


@table(
    ("text", "first", "last"),
    [
        ("May 2023", "2023-05-01", "2023-05-31"),
        ("may 2023", "2023-05-01", "2023-05-31"),
        ("in May, 2022", "2022-05-01", "2022-05-31"),
        ("February of 2024", "2024-02-01", "2024-02-29"),
        ("in May", "2023-05-01", "2023-05-31"),
        ("mid-May", "2023-05-01", "2023-05-31"),
        ("of last March", "2023-03-01", "2023-03-31"),
        ("in may", "2023-05-01", "2023-05-31"),
        ("at the end of march", "2023-03-01", "2023-03-31"),
        ("what was last march?", "2023-03-01", "2023-03-31"),
        ("In june", "2023-06-01", "2023-06-30"),
        ("last June", "2022-06-01", "2022-06-30"),
        ("by July", "2022-07-01", "2022-07-31"),
        ("the January report", "2023-01-01", "2023-01-31"),
        ("in Dec. 2022", "2022-12-01", "2022-12-31"),
        ("the last Friday of May", "2023-05-01", "2023-05-31"),
        ("8-10 May 2023", "2023-05-08", "2023-05-10"),
        ("May 8th – 10th", "2023-05-08", "2023-05-10"),
        ("In 2022", "2022-01-01", "2022-12-31"),
        ("the summer of 2022?", "2022-01-01", "2022-12-31"),
        ("the year 2022", "2022-01-01", "2022-12-31"),
        ("late 1999", "1999-01-01", "1999-12-31"),
        ("Q3 2022", "2022-07-01", "2022-09-30"),
        ("q4 of 2022", "2022-10-01", "2022-12-31"),
    ],
)
def test_months_years_and_quarters_are_whole(text: str, first: str, last: str) -> None:
    assert find_time_spans(text, AT) == (a_span(first, last),)


@table(
    ("text", "first", "last"),
    [
        ("today", "2023-06-14", "2023-06-14"),
        ("this morning", "2023-06-14", "2023-06-14"),
        ("Yesterday", "2023-06-13", "2023-06-13"),
        ("the day before yesterday", "2023-06-12", "2023-06-12"),
        ("last night", "2023-06-13", "2023-06-13"),
        ("this week", "2023-06-12", "2023-06-18"),
        ("in the last week", "2023-06-05", "2023-06-11"),
        ("last weekend", "2023-06-10", "2023-06-11"),
        ("this month's", "2023-06-01", "2023-06-30"),
        ("LAST MONTH", "2023-05-01", "2023-05-31"),
        ("this year", "2023-01-01", "2023-12-31"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("3 days ago", "2023-06-11", "2023-06-11"),
        ("a day ago", "2023-06-13", "2023-06-13"),
        ("twelve days ago", "2023-06-02", "2023-06-02"),
        ("a week ago", "2023-06-04", "2023-06-10"),
        ("a couple of weeks ago", "2023-05-28", "2023-06-03"),
        ("Two months ago", "2023-04-01", "2023-04-30"),
        ("six months ago", "2022-12-01", "2022-12-31"),
        ("one year ago", "2022-01-01", "2022-12-31"),
        ("on Wednesday", "2023-06-14", "2023-06-14"),
        ("last Wednesday", "2023-06-07", "2023-06-07"),
        ("on friday", "2023-06-09", "2023-06-09"),
        ("last Tues.", "2023-06-13", "2023-06-13"),
        ("last Sun", "2023-06-11", "2023-06-11"),
    ],
)
def test_a_period_is_seen_from_the_moment(text: str, first: str, last: str) -> None:
    assert find_time_spans(text, AT) == (a_span(first, last),)


@table(
    ("text", "first", "last"),
    [
        ("between March and June", "2023-03-01", "2023-06-30"),
        ("from march to may", "2023-03-01", "2023-05-31"),
        ("from 3 March until 5 April", "2023-03-03", "2023-04-05"),
        ("from 2023-03-03 to 2023-04-05", "2023-03-03", "2023-04-05"),
        ("from may 3 - may 9", "2023-05-03", "2023-05-09"),
        ("between March and June 2022", "2022-03-01", "2022-06-30"),
        ("between November and February", "2022-11-01", "2023-02-28"),
        ("between 8 May and the 10th of May", "2023-05-08", "2023-05-10"),
        ("since March 2022 until May 2022", "2022-03-01", "2022-05-31"),
        ("after March 2022 and before June 2022", "2022-04-01", "2022-05-31"),
        ("since March", "2023-03-01", "2023-06-14"),
        ("since 2023-05-08.", "2023-05-08", "2023-06-14"),
        ("since yesterday", "2023-06-13", "2023-06-14"),
        ("since last March", "2023-03-01", "2023-06-14"),
        ("since the day before yesterday", "2023-06-12", "2023-06-14"),
        ("since June 2030", "2030-06-01", "2030-06-30"),
        ("after 21 March", "2023-03-22", "2023-06-14"),
        ("after March", "2023-04-01", "2023-06-14"),
        ("after June 2030", "2030-06-01", "2030-06-30"),
        ("the week before 8 May", "2023-05-01", "2023-05-08"),
        ("two weeks before May 8, 2023", "2023-04-24", "2023-05-08"),
        ("on the Sunday before 2023-05-08", "2023-05-01", "2023-05-08"),
        ("last weekend before 8 May", "2023-05-01", "2023-05-08"),
        ("a couple of days after 8 May", "2023-05-08", "2023-05-10"),
        ("the night before 8 May", "2023-05-07", "2023-05-08"),
        ("a month before 8 May", "2023-04-07", "2023-05-08"),
    ],
)
def test_a_time_lies_between_two_days_or_goes_on_from_one_until_today(text: str, first: str, last: str) -> None:
    assert find_time_spans(text, AT) == (a_span(first, last),)


@table(
    "text",
    ["before June", "until 8 May", "till yesterday", "before 2023-05-08", "Before last week", "weekly before 8 May"],
)
def test_what_is_before_a_day_may_be_any_time(text: str) -> None:
    assert find_time_spans(text, AT) == ()


def test_what_does_not_lie_between_two_days_is_two_days() -> None:
    may, march = a_span("2023-05-01", "2023-05-31"), a_span("2023-03-01", "2023-03-31")
    assert find_time_spans("from May 2023 to March 2023", AT) == (may, march)
    assert find_time_spans("from May, not in March", AT) == (may, march)
    assert find_time_spans("since May and in March", AT) == (a_span("2023-05-01", "2023-06-14"), march)
    assert find_time_spans("between 3 March and noon", AT) == (a_span("2023-03-03"),)
    last_year = a_span("2022-01-01", "2022-12-31")
    assert find_time_spans("last year after March", AT) == (last_year, a_span("2023-04-01", "2023-06-14"))


@table("text", ["9999 years before 8 May", "9999 years after 8 May 2023", "9999 years before 2023-05-08"])
def test_what_reaches_beyond_all_calendars_is_no_time(text: str) -> None:
    assert find_time_spans(text, AT) == ()


@table("length", ["a few days", "several weeks", "1.5 years", "half a year", "every day", "last year"])
def test_a_length_that_is_vague_reaches_no_further_than_none(length: str) -> None:
    assert find_time_spans(f"{length} after 8 May", AT)[-1] == a_span("2023-05-09", "2023-06-14")


@table(
    "text",
    [
        *(
            "",
            "may I ask",
            "May I ask",
            "they march on",
            "they march 5 miles",
            "20 may come",
            "this may be",
            "on march",
        ),
        *(
            "on sun",
            "we last sat",
            "What did June say?",
            "April is late",
            "an august body",
            "Jan and Mar",
            "on Fridays",
        ),
        *(
            "next January",
            "every May 5",
            "every 5 May",
            "this Friday",
            "last morning",
            "2022 people",
            "in 20221",
            "in 2022-23",
        ),
        *("in the 1990s", "room 101", "in 1899", "in 2200", "8 May 1850", "200 years ago", "half a year ago"),
        *("twenty-two days ago", "1,500 days ago", "99999 days ago", "9999 years ago", "two half weeks ago"),
        *("31 February 2023", "31 September", "2023-02-29", "2023-13-01", "0000-01-01", "9999-12-31", "May 9999"),
        *(
            "10-8 May",
            "8-31 February",
            "May 0",
            "0 May",
            "5 Mayor",
            "Mayé 5",
            "last frİday",
            "on ſunday",
            "123-2023-05-08",
        ),
        *("١٢ May?", "２０２３-05-08", "May ٨", "in ２０２２", "٣ days ago", "²2 days ago"),
    ],
)
def test_what_is_no_day_is_not_taken_for_one(text: str) -> None:
    assert find_time_spans(text, AT) == ()


def test_days_are_those_of_utc() -> None:
    late = datetime(2023, 6, 14, 23, 30, tzinfo=timezone(-timedelta(hours=5)))
    assert find_time_spans("today", late) == (a_span("2023-06-15"),)


def test_spans_are_in_order_of_first_mention_and_each_once() -> None:
    text = "yesterday, on 8 May 2023, 2023-06-13, last year and May 8"
    assert find_time_spans(text, AT) == (a_span("2023-06-13"), a_span("2023-05-08"), a_span("2022-01-01", "2022-12-31"))


def test_only_the_first_few_are_read() -> None:
    days = [f"2023-05-{number:02d}" for number in range(1, 32)]
    assert find_time_spans(" ".join(days), AT) == tuple(map(a_span, days[:MAX_SPANS]))


def test_a_moment_needs_its_time_zone() -> None:
    with pytest.raises(FieldError, match="no time zone"):
        find_time_spans("today", datetime(2023, 6, 14))


@table(
    ("start", "end", "problem"),
    [
        (datetime(2023, 1, 1), AT, "no time zone"),
        (AT, datetime(2023, 1, 1), "no time zone"),
        (AT, AT, "is not after"),
    ],
)
def test_a_span_that_cannot_be_is_refused(start: datetime, end: datetime, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        TimeSpan(start, end)


MONTH_NAMES = [
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
]
moments = st.datetimes(
    min_value=EARLIEST_DATETIME.replace(tzinfo=None),
    max_value=(LATEST_DATETIME - TICK).replace(tzinfo=None),
    timezones=st.just(UTC),
)
FRAGMENTS = [
    *(
        "in",
        "on",
        "last",
        "this",
        "the",
        "of",
        "ago",
        "day",
        "week",
        "years",
        "a couple of",
        "twelve",
        "9999",
        "0",
        "31",
    ),
    *(
        "2023",
        "2023-05-08",
        "May",
        "may",
        "Feb.",
        "march",
        "Friday",
        "sat",
        "Q3",
        "th",
        "-",
        ",",
        ".",
        "'",
        "\n",
        "٣",
        "é",
    ),
    *("yesterday", "month", "night", "weekend", "before", "next", "half", "0001", "29", "February"),
    *("between", "from", "since", "after", "until", "and", "to", "weeks", "years", "few", "1.5", "2199-12-31"),
]
texts = st.text(st.characters(exclude_categories=())) | st.lists(st.sampled_from(FRAGMENTS)).map(" ".join)


@given(texts, moments)
@example("last year, 12 months ago, this year, in December", EARLIEST_DATETIME)
@example("this year, this month, today, this week", LATEST_DATETIME - TICK)
@example("9999 years before 8 May, since today, after 2199-12-31, between March and June", LATEST_DATETIME - TICK)
def test_any_text_names_a_few_spans_where_a_memory_can_be(text: str, at: datetime) -> None:
    spans = find_time_spans(text, at)
    assert spans == find_time_spans(text, at)
    assert len(set(spans)) == len(spans) <= MAX_SPANS
    assert all(EARLIEST_DATETIME <= span.start < span.end <= LATEST_DATETIME for span in spans)
    assert all(moment.utcoffset() == timedelta(0) for span in spans for moment in (span.start, span.end))


@given(moments, moments)
def test_a_day_that_is_written_with_its_year_is_that_day_whenever_it_is_read(day: datetime, at: datetime) -> None:
    month = MONTH_NAMES[day.month - 1]
    short = month if month == "May" else f"{month[:3]}."
    for text in (
        f"{day.date().isoformat()}",
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"the {day.day}th of {month.lower()}, {day.year}",
        f"{short} {day.day} {day.year}",
    ):
        assert find_time_spans(f"What was said on {text}?", at) == (a_span(day.date().isoformat()),)


@given(moments, moments)
def test_a_day_without_its_year_is_the_latest_that_is_not_after_the_moment(day: datetime, at: datetime) -> None:
    spans = find_time_spans(f"on {day.day} {MONTH_NAMES[day.month - 1]}", at)
    assert len(spans) == 1 or at.year < EARLIEST_DATETIME.year + 8
    for span in spans:
        assert (span.start.day, span.start.month) == (day.day, day.month)
        assert span.start <= at
        assert at - span.start < (366 if (day.day, day.month) != (29, 2) else 8 * 366) * DAY


@table(
    "text",
    [
        "on the ",
        "99 May ",
        "may ",
        "1 ",
        "1",
        " ",
        "-",
        "last ",
        "a couple ",
        "2023-05-",
        "31 February 2023 ",
        "東",
        "\u0301",
    ],
)
def test_a_long_text_that_is_made_to_be_slow_names_nothing(text: str) -> None:
    assert find_time_spans(text * (LONG // len(text)), AT) == ()


MAY = a_span("2023-05-01", "2023-05-31")


@table(
    ("moment", "days"),
    [
        (MAY.start, 0),
        (MAY.end - TICK, 0),
        (MAY.end, 0),
        (MAY.end + 3 * DAY, 3),
        (MAY.end + DAY / 4, 1 / 4),
        (MAY.start - 3 * DAY, 3 * EARLY_WEIGHT),
        (MAY.start - TICK, EARLY_WEIGHT / (DAY / TICK)),
    ],
)
def test_days_before_a_span_count_twice_and_days_inside_not_at_all(moment: datetime, days: float) -> None:
    assert distance_in_days([MAY], moment) == days


def test_the_nearest_span_counts() -> None:
    spans = [MAY, a_span("2023-06-10"), a_span("2020-01-01")]
    assert distance_in_days(spans, MAY.end + 2 * DAY) == 2
    assert distance_in_days(spans, MAY.end + 8 * DAY) == 1 * EARLY_WEIGHT


def test_from_no_span_everything_is_infinitely_far_and_the_unknown_is_unknown() -> None:
    assert distance_in_days([], AT) == math.inf
    assert distances_in_days([], np.array([to_microseconds(AT), np.nan])).tolist()[:1] == [math.inf]
    assert np.isnan(distances_in_days([], np.array([np.nan]))).all()
    assert np.isnan(distances_in_days([MAY], np.array([np.nan]))).all()
    assert distances_in_days([MAY], np.array([])).shape == (0,)


spans = st.tuples(moments, moments).filter(lambda two: two[0] != two[1]).map(lambda two: TimeSpan(min(two), max(two)))


@given(st.lists(spans, max_size=MAX_SPANS), st.lists(moments | st.none(), max_size=20))
@example(
    [TimeSpan(EARLIEST_DATETIME, EARLIEST_DATETIME + TICK)],
    [LATEST_DATETIME - TICK, EARLIEST_DATETIME, EARLIEST_DATETIME + TICK],
)
@example([TimeSpan(LATEST_DATETIME - TICK, LATEST_DATETIME)], [EARLIEST_DATETIME, LATEST_DATETIME - TICK])
def test_a_column_is_what_the_oracle_says_to_the_last_bit(named: list[TimeSpan], dates: list[datetime | None]) -> None:
    column = np.array([np.nan if moment is None else to_microseconds(moment) for moment in dates], dtype=np.float64)
    before = column.copy()
    expected = [math.nan if moment is None else distance_in_days(named, moment) for moment in dates]
    assert [value.hex() for value in distances_in_days(named, column).tolist()] == [value.hex() for value in expected]
    assert column.tobytes() == before.tobytes()


@given(spans, moments)
def test_how_far_a_moment_is_never_falls_as_it_moves_away(span: TimeSpan, moment: datetime) -> None:
    off = distance_in_days([span], moment)
    assert off >= 0.0
    assert (off == 0.0) == (span.start <= moment <= span.end)
    if moment > span.end:
        assert off >= distance_in_days([span], moment - TICK)
    elif EARLIEST_DATETIME < moment < span.start:
        assert off <= distance_in_days([span], moment - TICK)


def test_the_code_knows_every_role_and_unit_that_the_data_names() -> None:
    words = load_data_file("recollect.text", "en/dates.toml")
    code = inspect.getsource(dates)
    named = {*words.mapping("leads").values(), *(row["unit"] for row in words.rows("unit"))}
    assert {name for name in named if f'"{name}"' not in code} == {"near", "part of today"}  # they change nothing
