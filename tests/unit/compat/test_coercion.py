"""What a dialect assumes about dates and numbers, and what it refuses."""

import math
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.compat import coercion
from recollect.errors import InvalidInput
from tests.tables import table

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)
NO_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, None, True, "0.5", b"1", "", [], {}, 1j, 10**400]
NO_NUMBERS += [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), np.float64("nan"), bytearray(b"1")]


class Nowhere(tzinfo):
    """A time zone that does not know its offset."""

    def utcoffset(self, dt: datetime | None) -> None:
        return None

    def dst(self, dt: datetime | None) -> None:
        return None

    def tzname(self, dt: datetime | None) -> None:
        return None


@table(
    "written",
    [
        NOON,
        NOON.replace(tzinfo=None),
        NOON.replace(tzinfo=Nowhere()),
        NOON.astimezone(ZoneInfo("Asia/Tokyo")),
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00+00",
        "2026-01-31T14:00:00+02:00",
        "2026-01-30T22:00:00.000-14:00",
        "20260131T120000Z",
    ],
    ids=str,
)
def test_a_date_keeps_its_offset_and_without_one_is_taken_as_utc(written: object) -> None:
    assert coercion.to_datetime("created_at", written) == NOON
    assert coercion.to_datetime("created_at", written).tzinfo is UTC


@table("written", ["2026-01-31", date(2026, 1, 31)])
def test_a_day_without_a_time_begins_at_midnight(written: object) -> None:
    assert coercion.to_datetime("created_at", written) == NOON - timedelta(hours=12)


@table(
    "written",
    [
        "",
        " ",
        "yesterday",
        "2026-02-30",
        "1899-12-31T23:59:59Z",
        "2200-01-01",
        "9999-12-31T23:59:59-23:00",
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=UTC),
        1_767_225_600,
        1.5,
        b"2026-01-31",
        "2026-01-31\0",
        "\ud800",
        "9" * 1_000_000,
        None,
        [],
        {},
    ],
    ids=lambda written: repr(written)[:30],
)
def test_what_is_no_date_or_lies_outside_the_calendar_is_refused_in_a_few_words(written: object) -> None:
    with pytest.raises(InvalidInput, match=r"^created_at is .*; give an ISO date") as refused:
        coercion.to_datetime("created_at", written)
    assert len(str(refused.value)) < 250


@given(st.datetimes(NAIVE.replace(year=1901), NAIVE.replace(year=2198), timezones=st.timezones()))
def test_every_aware_date_is_the_same_moment_as_text_and_as_object(moment: datetime) -> None:
    assert coercion.to_datetime("d", moment) == moment.astimezone(UTC)
    assert coercion.to_datetime("d", moment.isoformat()) == moment.astimezone(UTC)


def test_the_moment_is_the_one_given_or_else_the_present() -> None:
    before = datetime.now(UTC)
    assert coercion.datetime_or_now(NOON) == NOON
    assert coercion.datetime_or_now(NOON.replace(tzinfo=None)) == NOON
    assert before <= coercion.datetime_or_now(None) <= datetime.now(UTC)


def test_a_moment_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="now is"):
        coercion.datetime_or_now(datetime(9999, 1, 1, tzinfo=UTC))


@table("number", [1, 1.0, Decimal(1), Fraction(2, 2), np.float32(1), np.int64(1)], ids=repr)
def test_a_number_of_any_numeric_type_is_a_number(number: Any) -> None:
    assert coercion.to_number("n", number) == 1.0
    assert type(coercion.to_number("n", number)) is float


@table("value", NO_NUMBERS, ids=lambda value: repr(value)[:30])
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    for read in (coercion.to_number, coercion.to_fraction, coercion.to_cosine, coercion.to_count):
        with pytest.raises(InvalidInput, match=r"^n is .*; give a finite number$"):
            read("n", value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_share_is_refused_outside_its_range_and_a_cosine_held_within_it(number: float) -> None:
    assert coercion.to_cosine("c", number) == min(max(number, -1.0), 1.0)
    if 0.0 <= number <= 1.0:
        assert coercion.to_fraction("s", number) == number
    else:
        with pytest.raises(InvalidInput, match=r"'s'.* is not within 0\.\.1"):
            coercion.to_fraction("s", number)


@table("count", [3, 3.0, Decimal(3), np.int8(3)])
def test_a_count_is_a_whole_number_of_any_type(count: Any) -> None:
    assert coercion.to_count("n", count) == 3
    assert type(coercion.to_count("n", count)) is int


@table("count", [-1, 1.5, 2**53 + 2, Decimal("0.1")])
def test_a_count_below_zero_or_with_a_fraction_or_beyond_counting_is_refused(count: Any) -> None:
    with pytest.raises(InvalidInput, match=r"n.*(whole number|not a count)"):
        coercion.to_count("n", count)


@table("vector", [[1, 2], (1.0, 2.0), np.array([1, 2]), (n for n in (1, 2)), [Decimal(1), 2]])
def test_a_vector_is_any_row_of_numbers(vector: Any) -> None:
    assert coercion.to_vector("v", vector) == (1.0, 2.0)


def test_a_vector_may_be_empty() -> None:
    assert coercion.to_vector("v", []) == ()


@table("vector", ["[1,2]", b"\0\1", bytearray(b"\0"), 3, None, [1, "2"], [math.nan], [[1]]])
def test_a_row_of_anything_else_is_refused(vector: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^v is .*; give a"):
        coercion.to_vector("v", vector)


def test_the_unknown_stays_unknown() -> None:
    assert coercion.read_optional(coercion.to_number, "n", None) is None
    assert coercion.read_optional(coercion.to_number, "n", 0) == 0.0
