"""Periods: every moment is in one of each level, whatever the clocks of its zone do."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import FieldError
from recollect.lifecycle.periods import Period
from recollect.model import validation
from recollect.model.enums import CALENDAR_LEVELS, Level

HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)
LISBON = ZoneInfo("Europe/Lisbon")
APIA = ZoneInfo("Pacific/Apia")

LEVELS = st.sampled_from(CALENDAR_LEVELS)
OFFSETS = st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)).map(timezone)
ODD = st.sampled_from(
    [
        *(
            "Pacific/Apia",
            "Pacific/Kwajalein",
            "America/St_Johns",
            "America/Havana",
            "America/Sao_Paulo",
            "Asia/Beirut",
        ),
        *("America/Toronto", "Africa/Cairo", "Pacific/Kiritimati", "America/Inuvik", "Antarctica/Casey"),
    ]
).map(ZoneInfo)
ZONES = st.one_of(st.timezones(), OFFSETS, ODD)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2199, 12, 31, 23, 59, 59, 999_999), timezones=st.just(UTC))
DATES = st.dates(date(1899, 12, 31), date(2200, 1, 1))
TURNS = st.sampled_from(
    [
        datetime(2011, 12, 30, 10, tzinfo=UTC),  # Samoa leaves out a day
        datetime(1969, 9, 30, 13, tzinfo=UTC),  # Kwajalein has one twice
        datetime(2006, 10, 29, 2, 31, tzinfo=UTC),  # St John's goes back from 0:01 to 23:01 of the day before
        datetime(2018, 11, 4, 3, tzinfo=UTC),  # São Paulo has no midnight
        datetime(1919, 3, 31, 4, 30, tzinfo=UTC),  # Toronto goes from 23:30 to 0:30
        datetime(2026, 11, 1, 5, tzinfo=UTC),  # Havana has two midnights of one day
        validation.EARLIEST_DATETIME,
        validation.LATEST_DATETIME - INSTANT,
    ]
)
NEAR_TURNS = st.builds(lambda at, by: at + by, TURNS, st.timedeltas(timedelta(days=-2), timedelta(days=2))).map(
    lambda at: min(max(at, validation.EARLIEST_DATETIME), validation.LATEST_DATETIME - INSTANT)
)


def days(*keys: str) -> list[Period]:
    return [Period.parse(Level.DAY, key) for key in keys]


@given(st.one_of(MOMENTS, NEAR_TURNS), LEVELS, ZONES)
@example(validation.EARLIEST_DATETIME, Level.WEEK, ZoneInfo("America/New_York"))
@example(validation.LATEST_DATETIME - INSTANT, Level.YEAR, ZoneInfo("Pacific/Kiritimati"))
def test_a_moment_is_in_the_period_that_it_is_of(moment: datetime, level: Level, zone: tzinfo) -> None:
    period = Period.of(moment, level, zone)
    assert period.begins(zone) <= moment < period.ends(zone)
    assert not period.is_over_by(moment, zone)
    assert period.level is level


@given(st.one_of(MOMENTS, NEAR_TURNS), ZONES)
def test_the_day_of_a_moment_is_in_its_week_month_and_year(moment: datetime, zone: tzinfo) -> None:
    day, week, month, year = (Period.of(moment, level, zone) for level in CALENDAR_LEVELS)
    assert day.parents == (week,)
    assert month in week.parents
    assert month.parents == (year,)
    assert year.parents == ()
    for coarser in (week, month, year):
        assert day in coarser.days()


@given(DATES, LEVELS, ZONES)
def test_periods_follow_each_other_without_a_gap_and_without_overlap(day: date, level: Level, zone: tzinfo) -> None:
    period = having(day, level)
    following = having(period.days()[-1].first + timedelta(days=1), level)
    assert period.days()[-1].first < following.first
    assert period.begins(zone) <= period.ends(zone) == following.begins(zone)


@given(DATES, LEVELS, ZONES)
def test_a_period_is_as_long_as_its_days_and_as_its_parts(day: date, level: Level, zone: tzinfo) -> None:
    period = having(day, level)
    inside = period.days()
    assert (inside[0].begins(zone), inside[-1].ends(zone)) == (period.begins(zone), period.ends(zone))
    assert all(one.ends(zone) == other.begins(zone) for one, other in pairwise(inside))
    held = [one for part in period.parts() for one in part.days() if one in inside]
    assert held == ([] if level is Level.DAY else list(inside))


@given(DATES, LEVELS)
def test_what_is_part_of_a_period_is_within_it_and_the_other_way_round(day: date, level: Level) -> None:
    period = having(day, level)
    assert all(period in part.parents for part in period.parts())
    assert all(period in coarser.parts() for coarser in period.parents)


def having(day: date, level: Level) -> Period:
    """The period of the level that has the day."""
    first = {Level.WEEK: day - timedelta(days=day.weekday()), Level.MONTH: day.replace(day=1), Level.DAY: day}
    return Period(level, first.get(level, day.replace(month=1, day=1)))


@given(st.one_of(MOMENTS, NEAR_TURNS), LEVELS, ZONES)
def test_a_key_names_its_period(moment: datetime, level: Level, zone: tzinfo) -> None:
    period = Period.of(moment, level, zone)
    assert Period.parse(level, period.key) == period


@table(
    ("level", "key", "first", "told"),
    [
        (Level.DAY, "2026-03-02", date(2026, 3, 2), "Monday, 2 March 2026"),
        (Level.DAY, "2028-02-29", date(2028, 2, 29), "Tuesday, 29 February 2028"),
        (Level.WEEK, "2026-W09", date(2026, 2, 23), "week 9 of 2026 (23 February to 1 March)"),
        (Level.WEEK, "2026-W10", date(2026, 3, 2), "week 10 of 2026 (2 to 8 March)"),
        (Level.WEEK, "2026-W01", date(2025, 12, 29), "week 1 of 2026 (29 December 2025 to 4 January 2026)"),
        (Level.WEEK, "2026-W53", date(2026, 12, 28), "week 53 of 2026 (28 December 2026 to 3 January 2027)"),
        (Level.MONTH, "2026-03", date(2026, 3, 1), "March 2026"),
        (Level.YEAR, "2026", date(2026, 1, 1), "2026"),
    ],
)
def test_a_period_is_written_as_a_key_and_told_to_people(level: Level, key: str, first: date, told: str) -> None:
    period = Period(level, first)
    assert (period.key, str(period), Period.parse(level, key)) == (key, told, period)


@table(
    ("level", "key"),
    [
        *((Level.DAY, key) for key in ("2026-02-29", "2026-3-1", "20260301", "2026-W09-1", "2026-03", "", "today")),
        *((Level.DAY, key) for key in (" 2026-03-01", "2026-03-01\n", "٢٠٢٦-03-01", "2026-03-01T00:00")),
        *((Level.WEEK, key) for key in ("2027-W53", "2026-W00", "2026-W9", "2026-w09", "2026W09", "2026")),
        *((Level.MONTH, key) for key in ("2026-13", "2026-00", "2026-3", "2026")),
        *((Level.YEAR, key) for key in ("0000", "26", "+2026", "2026-01", "٢٠٢٦")),
    ],
)
def test_what_names_no_period_of_the_level_is_refused_with_one_that_does(level: Level, key: str) -> None:
    with pytest.raises(FieldError, match=rf"'key': .* is not a {level.value}; use one such as 2026"):
        Period.parse(level, key)


@table(
    ("level", "key"),
    [
        *((Level.DAY, key) for key in ("9999-12-31", "0001-01-01", "1898-12-31", "2201-01-01")),
        *((Level.WEEK, "9999-W52"), (Level.MONTH, "9999-12"), (Level.YEAR, "9999"), (Level.YEAR, "0001")),
    ],
)
def test_a_period_that_no_memory_can_be_of_is_refused(level: Level, key: str) -> None:
    with pytest.raises(FieldError, match=r"'key': .* is not within 1900\.\.2199"):
        Period.parse(level, key)


@table("level", [Level.EVENT, Level.SEGMENT, Level.GRIP])
def test_a_level_that_is_none_of_the_calendar_has_no_periods(level: Level) -> None:
    problem = f"'level': {level.value} is not a calendar level; use one of day, week, month, year"
    with pytest.raises(FieldError, match=problem):
        Period(level, date(2026, 3, 2))
    with pytest.raises(FieldError, match=problem):
        Period.of(validation.EARLIEST_DATETIME, level, UTC)
    with pytest.raises(FieldError, match=problem):
        Period.parse(level, "2026")


@table(
    ("level", "first", "problem"),
    [
        (Level.WEEK, date(2026, 3, 3), "2026-03-03 is not the first day of its week, which is 2026-03-02"),
        (Level.MONTH, date(2026, 3, 2), "2026-03-02 is not the first day of its month, which is 2026-03-01"),
        (Level.YEAR, date(2026, 3, 1), "2026-03-01 is not the first day of its year, which is 2026-01-01"),
        (Level.DAY, datetime(2026, 3, 1, tzinfo=UTC), "is not a date; pass a date without a time"),
    ],
)
def test_a_period_begins_with_its_first_day(level: Level, first: date, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        Period(level, first)


@table("moment", [datetime(2026, 3, 1), validation.LATEST_DATETIME, validation.EARLIEST_DATETIME - INSTANT])
def test_a_moment_that_no_memory_can_have_is_refused(moment: datetime) -> None:
    with pytest.raises(FieldError, match="'moment'"):
        Period.of(moment, Level.DAY, UTC)
    with pytest.raises(FieldError, match="'moment'"):
        Period(Level.DAY, date(2026, 3, 1)).is_over_by(moment, UTC)


@table(
    ("zone", "key", "hours"),
    [
        ("Europe/Lisbon", "2026-03-29", 23),  # clocks go forward at night
        ("Europe/Lisbon", "2026-10-25", 25),
        ("America/Sao_Paulo", "2018-11-04", 23),  # it began at 1:00
        ("America/Sao_Paulo", "2018-02-17", 25),  # its last hour came twice
        ("America/Havana", "2026-11-01", 25),  # its first hour came twice
        ("America/St_Johns", "2006-10-29", 25),  # after its first minute the day before had another hour
        ("Pacific/Apia", "2011-12-30", 0),  # it was left out
        ("Pacific/Kwajalein", "1969-09-30", 47),  # it came nearly twice
        ("America/Toronto", "1919-03-31", 23.5),  # it began at 0:30
    ],
)
def test_a_day_is_as_long_as_its_clocks_make_it(zone: str, key: str, hours: float) -> None:
    (day,) = days(key)
    assert day.ends(ZoneInfo(zone)) - day.begins(ZoneInfo(zone)) == hours * HOUR


def test_a_day_begins_when_its_date_is_first_shown() -> None:
    (forward,) = days("2018-11-04")
    assert forward.begins(ZoneInfo("America/Sao_Paulo")) == datetime(2018, 11, 4, 3, tzinfo=UTC)
    (over_midnight,) = days("1919-03-31")
    assert over_midnight.begins(ZoneInfo("America/Toronto")) == datetime(1919, 3, 31, 4, 30, tzinfo=UTC)
    (twice,) = days("2026-11-01")
    assert twice.begins(ZoneInfo("America/Havana")) == datetime(2026, 11, 1, 4, tzinfo=UTC)


def test_a_day_that_is_over_does_not_begin_again_when_clocks_are_put_back() -> None:
    zone = ZoneInfo("America/St_Johns")
    before, after = days("2006-10-28", "2006-10-29")
    again = datetime(2006, 10, 29, 3, tzinfo=UTC)
    assert again.astimezone(zone).date() == before.first
    assert Period.of(again, Level.DAY, zone) == after
    assert before.is_over_by(again, zone)


def test_a_day_that_was_left_out_has_no_moment_and_its_neighbours_meet() -> None:
    before, left_out, after = days("2011-12-29", "2011-12-30", "2011-12-31")
    turn = datetime(2011, 12, 30, 10, tzinfo=UTC)
    assert before.ends(APIA) == left_out.begins(APIA) == left_out.ends(APIA) == after.begins(APIA) == turn
    assert Period.of(turn - INSTANT, Level.DAY, APIA) == before
    assert Period.of(turn, Level.DAY, APIA) == after
    week = Period.of(turn, Level.WEEK, APIA)
    assert week.ends(APIA) - week.begins(APIA) == 6 * 24 * HOUR
    assert left_out in week.days()


def test_the_days_of_a_zone_are_not_those_of_utc() -> None:
    late = datetime(2026, 6, 30, 23, 30, tzinfo=UTC)
    assert [Period.of(late, level, LISBON).key for level in CALENDAR_LEVELS] == [
        "2026-07-01",
        "2026-W27",
        "2026-07",
        "2026",
    ]
    assert [Period.of(late, level, UTC).key for level in CALENDAR_LEVELS] == [
        "2026-06-30",
        "2026-W27",
        "2026-06",
        "2026",
    ]


def test_the_first_and_the_last_moment_are_of_another_year_in_some_zones() -> None:
    west, east = ZoneInfo("America/New_York"), ZoneInfo("Pacific/Kiritimati")
    first = [Period.of(validation.EARLIEST_DATETIME, level, west).key for level in CALENDAR_LEVELS]
    last = [Period.of(validation.LATEST_DATETIME - INSTANT, level, east).key for level in CALENDAR_LEVELS]
    assert first == ["1899-12-31", "1899-W52", "1899-12", "1899"]
    assert last == ["2200-01-01", "2200-W01", "2200-01", "2200"]


def test_a_week_may_lie_in_two_months_and_a_month_has_all_weeks_that_have_a_day_of_it() -> None:
    week = Period.parse(Level.WEEK, "2026-W09")
    assert [one.key for one in week.parents] == ["2026-02", "2026-03"]
    assert [one.key for one in Period.parse(Level.WEEK, "2026-W10").parents] == ["2026-03"]
    assert [one.key for one in Period.parse(Level.MONTH, "2026-03").parts()] == [
        *("2026-W09", "2026-W10", "2026-W11", "2026-W12", "2026-W13", "2026-W14")
    ]
    assert [one.key for one in Period.parse(Level.WEEK, "2026-W01").parents] == ["2025-12", "2026-01"]


def test_a_year_has_its_months_a_week_its_days_and_a_day_nothing() -> None:
    assert [one.key for one in Period.parse(Level.YEAR, "2026").parts()] == [f"2026-{n:02}" for n in range(1, 13)]
    assert [one.key for one in Period.parse(Level.WEEK, "2026-W09").parts()] == [
        *("2026-02-23", "2026-02-24", "2026-02-25", "2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01")
    ]
    (day,) = days("2026-03-01")
    assert (day.parts(), day.days()) == ((), (day,))
    assert len(Period.parse(Level.YEAR, "2028").days()) == 366


def test_a_period_is_over_from_the_moment_on_that_is_not_of_it() -> None:
    day = Period.parse(Level.DAY, "2026-03-01")
    end = datetime(2026, 3, 2, tzinfo=UTC)
    assert not day.is_over_by(end - INSTANT, UTC)
    assert day.is_over_by(end, UTC)
