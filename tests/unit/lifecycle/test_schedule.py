"""When a job falls due: by cron, in a time zone, also on the days on which clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import FieldError
from recollect.lifecycle.schedule import LATE_START_GRACE, Schedule, SchedulerPolicy, require_expression
from recollect.model import validation

LISBON, NEW_YORK = ZoneInfo("Europe/Lisbon"), ZoneInfo("America/New_York")
HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def dues(schedule: Schedule, since: str, count: int) -> list[str]:
    """So many moments after one, as UTC has them to the minute."""
    found, last = list[str](), at(since)
    for _ in range(count):
        last = schedule.after(last) or validation.LATEST_DATETIME
        found.append(f"{last:%Y-%m-%d %H:%M}")
    return found


@table(
    ("expression", "since", "expected"),
    [
        ("0 1 * * *", "2026-12-30 01:00", ["2026-12-31 01:00", "2027-01-01 01:00"]),
        ("0 5 * * 0", "2026-11-16 00:00", ["2026-11-22 05:00", "2026-11-29 05:00"]),
        ("0 5 * * 7", "2026-11-16 00:00", ["2026-11-22 05:00", "2026-11-29 05:00"]),
        ("*/7 * * * *", "2026-01-01 00:50", ["2026-01-01 00:56", "2026-01-01 01:00", "2026-01-01 01:07"]),
        ("0 0 29 2 *", "2026-01-01 00:00", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 31 * *", "2026-01-31 00:00", ["2026-03-31 00:00", "2026-05-31 00:00"]),
        ("59 23 31 12 *", "2026-01-01 00:00", ["2026-12-31 23:59", "2027-12-31 23:59"]),
        ("0 0 L * *", "2026-02-01 00:00", ["2026-02-28 00:00", "2026-03-31 00:00"]),
        ("0 0 1 1,JUL MON-FRI", "2026-07-01 00:00", ["2026-07-02 00:00", "2026-07-03 00:00"]),  # either, as cron has it
    ],
)
def test_a_job_falls_due_when_cron_says(expression: str, since: str, expected: list[str]) -> None:
    assert dues(Schedule(expression), since, len(expected)) == expected


@table(
    ("zone", "expression", "since", "expected"),
    [
        (LISBON, "0 1 * * *", "2026-06-01 12:00", ["2026-06-02 00:00"]),
        (LISBON, "0 1 * * *", "2026-12-01 12:00", ["2026-12-02 01:00"]),
        # 29 March 2026: 01:00 is 02:00; what falls into the hour that is left out comes at its end, once
        (LISBON, "30 1 * * *", "2026-03-28 12:00", ["2026-03-29 01:00", "2026-03-30 00:30"]),
        (LISBON, "0,30 1 * * *", "2026-03-28 12:00", ["2026-03-29 01:00", "2026-03-30 00:00"]),
        (LISBON, "*/30 * * * *", "2026-03-29 00:30", ["2026-03-29 01:00", "2026-03-29 01:30"]),
        # 25 October 2026: 02:00 is 01:00; what falls into the hour that comes twice comes the first time
        (LISBON, "30 1 * * *", "2026-10-24 12:00", ["2026-10-25 00:30", "2026-10-26 01:30"]),
        (LISBON, "*/30 * * * *", "2026-10-25 00:00", ["2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30"]),
        (NEW_YORK, "30 2 * * *", "2026-03-08 00:00", ["2026-03-08 07:00", "2026-03-09 06:30"]),
        (NEW_YORK, "15 1 * * *", "2026-10-31 12:00", ["2026-11-01 05:15", "2026-11-02 06:15"]),
    ],
)
def test_in_a_time_zone_it_is_the_clock_on_the_wall_that_counts(
    zone: ZoneInfo, expression: str, since: str, expected: list[str]
) -> None:
    assert dues(Schedule(expression, zone), since, len(expected)) == expected


def test_in_the_hour_that_comes_twice_the_moment_is_past_the_second_time() -> None:
    schedule = Schedule("15 1 * * *", NEW_YORK)
    again = at("2026-11-01 06:10")  # ten past one, for the second time
    assert schedule.latest(again) == at("2026-11-01 05:15")
    assert schedule.after(again) == at("2026-11-02 06:15")


def test_the_last_moment_is_the_present_one_to_the_microsecond() -> None:
    schedule, due = Schedule("0 3 * * *"), at("2026-11-16 03:00")
    assert schedule.latest(due) == due
    assert schedule.latest(due - timedelta(microseconds=1)) == due - timedelta(days=1)
    assert schedule.latest(due + timedelta(microseconds=1)) == due
    assert schedule.after(due) == due + timedelta(days=1)
    assert schedule.after(due - timedelta(microseconds=1)) == due


@table("moment", [validation.EARLIEST_DATETIME, validation.LATEST_DATETIME - timedelta(microseconds=1)])
def test_at_the_ends_of_time_there_is_nothing_beyond(moment: datetime) -> None:
    schedule = Schedule("0 12 1 6 *", LISBON)
    found = [schedule.latest(moment), schedule.after(moment)]
    assert [one is None or validation.EARLIEST_DATETIME <= one < validation.LATEST_DATETIME for one in found] == [
        True,
        True,
    ]
    assert None in found


def test_what_is_empty_never_falls_due() -> None:
    assert Schedule("").after(at("2026-01-01")) is None
    assert Schedule("").latest(at("2026-01-01")) is None


def test_a_day_that_is_hardly_ever_there_is_found_or_not_and_nothing_is_raised() -> None:
    rare = Schedule("0 0 * 2 MON#5")
    assert rare.after(at("2026-01-01")) == at("2044-02-29")
    assert rare.latest(at("2026-01-01")) == at("2016-02-29")
    assert Schedule("0 0 29 2 *").latest(at("1903-01-01")) is None  # 1900 was no leap year


MINUTES = st.sampled_from(["*", "*/7", "0", "15", "30", "59", "10-50/20", "0,30"])
HOURS = st.sampled_from(["*", "*/3", "0", "1", "2", "3", "23", "0-5", "1,2"])
DAYS = st.sampled_from(["*", "*/10", "1", "29", "31", "L"])
MONTHS = st.sampled_from(["*", "3", "10,11", "*/2"])
WEEKDAYS = st.sampled_from(["*", "0", "7", "MON-FRI", "6#2"])
EXPRESSIONS = st.tuples(MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS).map(" ".join)
ZONES = st.sampled_from(
    [
        *("UTC", "Europe/Lisbon", "America/New_York", "Australia/Sydney", "Antarctica/Troll", "Africa/Casablanca"),
        *("Asia/Kathmandu", "America/St_Johns", "America/Sao_Paulo"),
    ]
).map(ZoneInfo)
CHANGES = st.sampled_from(
    ["2026-03-08 07:00", "2026-03-29 01:00", "2026-10-25 01:00", "2026-11-01 06:00", "2026-04-04 15:00"]
).map(at)
MOMENTS = st.one_of(
    st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC)),
    st.builds(lambda moment, by: moment + by, CHANGES, st.timedeltas(-3 * HOUR, 3 * HOUR)),
)


@given(EXPRESSIONS, ZONES, MOMENTS)
def test_forwards_and_backwards_the_moments_are_the_same(expression: str, zone: ZoneInfo, moment: datetime) -> None:
    schedule = Schedule(expression, zone)
    before, after = schedule.latest(moment), schedule.after(moment)
    assert before is not None
    assert after is not None
    assert before <= moment < after
    assert schedule.latest(after) == after
    assert schedule.latest(after - timedelta(microseconds=1)) == before
    assert schedule.after(before) == after
    assert schedule.after(before - timedelta(microseconds=1)) == before


@table(
    "expression",
    [
        *("nonsense", "* * * *", "* * * * * *", "0 0 0 * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *"),
        *("* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "@daily", " ", "\n", "a b c d e", "-1 * * * *"),
        *("0 0 30 2 *", "0 0 31 4,6 *", "* * * * MON#2/2", "* * * * 1L/3", "* * * * ²L", "\ud800 * * * *"),
        *("0 0 * * *\0", "９ * * * *", f"{'9' * 5_000} * * * *", "1," * 1_000 + "1 * * * *"),
    ],
)
def test_what_is_no_schedule_is_refused_by_its_field_with_what_to_write(expression: str) -> None:
    with pytest.raises(FieldError, match=r"is not a schedule.* use five cron fields") as caught:
        require_expression("rollup", expression)
    assert caught.value.field == "rollup"
    with pytest.raises(FieldError):
        Schedule(expression)


def test_the_defaults_are_those_of_the_documentation() -> None:
    policy = SchedulerPolicy()
    assert (policy.rollup, policy.consolidate) == ("0 1 * * *", "0 5 * * 0")
    assert (policy.jitter, policy.lease) == (timedelta(minutes=5), timedelta(minutes=15))
    assert policy.catch_up is True


@table(
    ("name", "value", "problem"),
    [
        ("rollup", "sometimes", "is not a schedule"),
        ("rollup", 7, "7 is not text"),
        ("consolidate", None, "None is not text"),
        ("jitter_seconds", -1, "is not a number of seconds up to an hour"),
        ("jitter_seconds", 3_601, "is not a number of seconds up to an hour"),
        ("jitter_seconds", float("nan"), "is not a finite number"),
        ("jitter_seconds", True, "is not a number"),
        ("lease_minutes", 0.5, r"is not within 1\.\.1440 minutes"),
        ("lease_minutes", 1_441, r"is not within 1\.\.1440 minutes"),
        ("lease_minutes", float("inf"), "is not a finite number"),
        ("catch_up", "yes", "is neither true nor false"),
    ],
)
def test_what_no_setting_can_be_is_refused_by_its_name(name: str, value: object, problem: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        SchedulerPolicy(**{name: value})  # type: ignore[arg-type]
    assert caught.value.field == name


def test_what_was_missed_counts_for_ever_or_only_for_a_moment() -> None:
    due = at("2026-01-01")
    assert SchedulerPolicy().is_still_due(due, due + timedelta(days=400))
    hurried = SchedulerPolicy(catch_up=False, jitter_seconds=60)
    latest = due + timedelta(seconds=60) + LATE_START_GRACE
    assert hurried.is_still_due(due, latest)
    assert not hurried.is_still_due(due, latest + timedelta(microseconds=1))
