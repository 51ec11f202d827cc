"""The JSON values of a file, with their lines."""

import json

import pytest

from recollect.errors import FieldError
from recollect.importers.base import MAX_RECORD_CHARS, parse_record, read_records
from tests.tables import table


def test_each_line_is_a_record_and_blank_ones_are_none() -> None:
    assert list(read_records(['{"a": 1}\n', "\n", "  \r\n", '{"b": 2}\r\n'])) == [(1, '{"a": 1}'), (4, '{"b": 2}')]


@table("indent", [1, 2, 4])
def test_a_document_of_many_lines_is_one_record(indent: int) -> None:
    value = {"results": [{"memory": "a"}, {"memory": "b"}]}
    ((number, text),) = read_records(["\n", *json.dumps(value, indent=indent).splitlines(keepends=True)])
    assert (number, parse_record(text, number)) == (2, value)


def test_a_mark_before_the_first_line_is_no_part_of_it() -> None:
    assert list(read_records(["\ufeff\n", "[1]"])) == [(2, "[1]")]
    assert list(read_records(["\ufeff[1]"])) == [(1, "[1]")]


def test_nothing_has_no_records() -> None:
    assert list(read_records([])) == list(read_records(["\n", " "])) == []


@table(
    ("text", "problem"),
    [
        ("{", "line 7: invalid JSON"),
        ("{\n\n1}", "line 9: invalid JSON"),
        ("[" * 200_000, "line 7: the JSON is nested too deeply"),
        ("1" * 5_000, "line 7: a number has too many digits"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        parse_record(text, 7)


def test_a_line_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(FieldError, match=r"line 1: .* so split it"):
        parse_record(" " * (MAX_RECORD_CHARS + 1), 1)
    with pytest.raises(FieldError, match="line 1: the document has more than"):
        list(read_records(["[", *["x" * (MAX_RECORD_CHARS // 4)] * 5]))


def test_what_json_has_no_word_for_is_null() -> None:
    assert parse_record("[NaN, Infinity, -Infinity]", 1) == [None, None, None]


def test_bytes_are_no_text() -> None:
    with pytest.raises(FieldError, match="open the file in text mode"):
        list(read_records([b"{}"]))  # type: ignore[list-item]
