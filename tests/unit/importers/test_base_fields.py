"""What a value in somebody else's file is to us."""

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError
from recollect.importers.base import read_datetime, read_end, read_label, read_metadata, read_tags
from recollect.model import validation
from recollect.model.memory import MAX_LIST_ITEMS, MAX_METADATA_CHARS
from tests.tables import table

from .reading import NOW

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NINE = datetime(2026, 1, 31, 9, tzinfo=UTC)


@table(
    ("given", "zoned"),
    [
        ("2026-01-31T09:00:00Z", True),
        ("2026-01-31T10:00:00+01:00", True),
        ("2026-01-31T09:00:00", False),
        (" 2026-01-31 09:00 ", False),
        (NINE.timestamp(), True),
        (int(NINE.timestamp()), True),
        (NINE.timestamp() * 1000, True),
        (f"{NINE.timestamp():.6f}", True),
        (f"{NINE.timestamp() * 1000:.0f}", True),
    ],
)
def test_a_moment_is_iso_or_of_unix_and_utc_where_it_does_not_say(given: Any, zoned: bool) -> None:
    assumed: Counter[str] = Counter()
    assert read_datetime("at", given, NOW, assumed) == NINE
    assert sum(assumed.values()) == (0 if zoned else 1)


@table("given", [None, ""])
def test_no_moment_is_none(given: Any) -> None:
    assert read_datetime("at", given, NOW, Counter()) is None


@table(
    "given",
    [
        *("yesterday", "2026-13-01", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "1899-12-31T00:00Z"),
        *(True, [], {}, 1e300, -1e300, 10**400, -5e9, 1e14, "x" * 1_000_000, "1" * 1_000_000),
        (NOW + timedelta(seconds=1)).isoformat(),
        (NOW + timedelta(days=9)).timestamp(),
    ],
    ids=lambda one: f"{one!s:.30}" if not isinstance(one, int) else "number",
)
def test_a_moment_that_cannot_be_or_has_not_come_is_refused(given: Any) -> None:
    with pytest.raises(FieldError) as refused:
        read_datetime("at", given, NOW, Counter())
    assert refused.value.field == "at"
    assert len(str(refused.value)) < 300


def test_an_end_may_be_to_come() -> None:
    assert read_end("until", "2030-08-31", Counter()) == datetime(2030, 8, 31, tzinfo=UTC)


@given(JSON)
def test_whatever_is_there_a_moment_is_known_and_past_or_refused(value: Any) -> None:
    try:
        found = read_datetime("at", value, NOW, Counter())
    except FieldError:
        return
    assert found is None or (found <= NOW and found.utcoffset() == timedelta(0))


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=-7))), max_value=datetime(2026, 1, 1)))
def test_a_moment_comes_back_as_it_was_written(moment: datetime) -> None:
    if moment >= validation.EARLIEST_DATETIME:
        assert read_datetime("at", moment.isoformat(), NOW, Counter()) == moment


@table(
    ("given", "label"),
    [
        ("Ana", "Ana"),
        ("  Ana \n Lee ", "Ana Lee"),
        ("\U0001f469\u200d\U0001f4bb Dev", "\U0001f469\U0001f4bb Dev"),
        ("a\0b\ud800c", "abc"),
        (42, "42"),
        ("", None),
        ("\u200b \ufeff", None),
        (None, None),
    ],
)
def test_a_label_is_without_what_nobody_can_see(given: Any, label: str | None) -> None:
    assert read_label("speaker", given) == label


@table("given", [True, 1.5, [], {}, "x" * 257, "x" * 1_000_000, 10**400])
def test_what_is_no_label_is_refused(given: Any) -> None:
    with pytest.raises(FieldError, match="field 'speaker'"):
        read_label("speaker", given)


@given(JSON)
def test_a_label_can_be_kept_or_is_refused(value: Any) -> None:
    try:
        label = read_label("speaker", value)
    except FieldError:
        return
    assert label is None or validation.require_id("speaker", label) == label


def test_tags_that_cannot_be_kept_are_left_out_and_counted() -> None:
    assumed: Counter[str] = Counter()
    assert read_tags(["a", "b", "a", 7, None, {}, "x" * 300], assumed) == ("a", "b", "7")
    assert sum(assumed.values()) == 3
    assert len(read_tags([f"t{number}" for number in range(100)], assumed)) == MAX_LIST_ITEMS
    assert sum(assumed.values()) == 3 + 100 - MAX_LIST_ITEMS
    assert read_tags(None, assumed) == ()
    assert read_tags("food", assumed) == ("food",)


def test_metadata_that_cannot_be_kept_is_left_out_and_counted() -> None:
    assumed: Counter[str] = Counter()
    deep: Any = "end"
    for _ in range(100):
        deep = [deep]
    for value in ({"a": "x" * MAX_METADATA_CHARS}, {"a": deep}, {"a": "\ud800"}):
        assert read_metadata(value, assumed) is None
    assert sum(assumed.values()) == 3
    assert read_metadata({"a": [1]}, assumed) == {"a": [1]}
