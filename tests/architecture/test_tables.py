"""A test over a table tries every row, and no row can hide another."""

import pytest

from tests.tables import table


def rows_of(failure: BaseException) -> list[str]:
    """Return the notes that name the row of each failure."""
    failures = failure.exceptions if isinstance(failure, BaseExceptionGroup) else [failure]
    return [note for one in failures for note in one.__notes__]


def test_every_failing_row_is_listed_by_its_label() -> None:
    tried: list[int] = []

    @table("number", [1, 2, 3, 4], ids=["one", "two", "three", "four"])
    def is_odd(number: int) -> None:
        tried.append(number)
        assert number % 2

    with pytest.raises(BaseExceptionGroup, match="2 rows failed") as failed:
        is_odd()
    assert rows_of(failed.value) == ["row: two", "row: four"]
    assert tried == [1, 2, 3, 4]


def test_a_row_without_a_label_is_named_by_its_values() -> None:
    @table("number, text", [(1, "1"), (2, "3")])
    def is_written(number: int, text: str) -> None:
        assert str(number) == text

    with pytest.raises(AssertionError) as failed:
        is_written()
    assert rows_of(failed.value) == ["row: 2-'3'"]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^table of number, text has no rows; give at least one, or remove the test$"):
        table("number, text", [])


def test_a_row_that_skips_fails_and_the_rows_behind_it_are_tried() -> None:
    tried: list[int] = []

    @table("number", [1, 2, 3])
    def is_not_one(number: int) -> None:
        tried.append(number)
        if number == 1:
            pytest.skip("not today")
        assert number != 2

    with pytest.raises(BaseExceptionGroup) as failed:
        is_not_one()
    assert tried == [1, 2, 3]
    assert rows_of(failed.value) == ["row: 1", "row: 2"]
    assert str(failed.value.exceptions[0]).startswith("row skips the test (not today); remove the row")
