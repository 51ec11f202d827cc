"""Rows as people and as programs read them."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.tables import (
    COLUMN_GAP,
    MIN_TEXT_COLUMNS,
    LongColumn,
    TextStyle,
    TextTable,
    format_aligned,
    format_tabs,
    truncate,
)
from tests.tables import table

ROWS = TextTable(("id", "kind", "text"), [("a", "fact", "short"), ("long-id", "event", "x" * 60)])


def test_columns_line_up_and_the_last_one_is_cut_to_the_width() -> None:
    assert list(format_aligned(ROWS, 50)) == [
        "id       kind   text",
        "a        fact   short",
        f"long-id  event  {'x' * 33}…",
    ]


def test_with_too_little_room_the_last_column_has_a_line_of_its_own() -> None:
    used = len("long-id") + len("event") + 2 * len(COLUMN_GAP)
    assert len(list(format_aligned(ROWS, used + MIN_TEXT_COLUMNS))) == 1 + 2
    assert list(format_aligned(ROWS, used + MIN_TEXT_COLUMNS - 1)) == [
        "id       kind",
        "a        fact",
        "  short",
        "long-id  event",
        f"  {'x' * (used + MIN_TEXT_COLUMNS - 1 - len(COLUMN_GAP) - 1)}…",
    ]


def test_a_program_gets_every_field_whole_between_tabs_and_no_heading() -> None:
    assert list(format_tabs(ROWS)) == ["a\tfact\tshort", f"long-id\tevent\t{'x' * 60}"]


NOTED = TextTable(
    ("id", "text"), [("a", "x" * 60), ("b", "short")], [("it is said by week-2026-W09 already",), ("so it is", "yes")]
)


@table("width", [20, 40])
def test_a_note_is_never_cut_and_has_lines_of_its_own(width: int) -> None:
    lines = list(format_aligned(NOTED, width))
    assert sum(line.endswith("…") for line in lines) == 1
    notes = " ".join(line.strip() for line in lines if line.startswith(COLUMN_GAP + COLUMN_GAP))
    assert notes == "it is said by week-2026-W09 already so it is yes"
    assert all("week-2026-W09" in line for line in lines if "week" in line)


def test_a_program_gets_a_note_behind_the_last_field() -> None:
    assert list(format_tabs(NOTED))[1] == "b\tshort [so it is] [yes]"


@table(
    ("long", "shown"),
    [
        (LongColumn.UNDER, [f"  {'word ' * 14}".rstrip() + "…"]),
        (LongColumn.WHOLE, [f"  {'word ' * 14}".rstrip(), "  word word"]),
    ],
)
def test_the_long_column_can_be_under_the_others_cut_or_whole(long: LongColumn, shown: list[str]) -> None:
    table = TextTable(("id", "text"), [("a", "word " * 16)], [("a note",)], long)
    painted = list(format_aligned(table, 73, lambda look, said: f"{look.name} {said}"))
    assert painted == ["FAINT id", "FAINT a", *shown, "    a note"], "what is asked for is not faint"
    assert list(format_tabs(table)) == [f"a\t{'word ' * 16}".rstrip() + " [a note]"]


def test_no_rows_are_no_lines() -> None:
    assert (
        list(format_aligned(TextTable(("id", "text"), []), 80))
        == list(format_tabs(TextTable(("id", "text"), [])))
        == []
    )


def test_no_cell_can_add_a_field_a_row_or_a_command_to_the_terminal() -> None:
    table = TextTable(("id", "text"), [("a", "one\ttwo\nthree\x1b[2J")])
    assert list(format_tabs(table)) == ["a\tone two three\\x1b[2J"]
    assert list(format_aligned(table, 80))[1] == "a   one two three\\x1b[2J"


def test_the_headings_are_faint() -> None:
    table = TextTable(("id", "text"), [("a", "x")])
    assert next(format_aligned(table, 80, lambda look, text: f"{look}:{text}")) == f"{TextStyle.FAINT}:id  text"


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    table = TextTable(("id", "text"), [("漢字", "x"), ("e\u0301", "y")])
    assert list(format_aligned(table, 80)) == ["id    text", "漢字  x", "e\u0301     y"]
    assert truncate("漢字漢字", 5) == "漢字…"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"])), st.integers(min_value=1, max_value=60))
def test_a_cut_text_never_takes_more_columns_than_there_are(text: str, width: int) -> None:
    wide = {"W": 2, "F": 2}
    taken = [
        0 if unicodedata.category(one) in ("Mn", "Me", "Cf") else wide.get(unicodedata.east_asian_width(one), 1)
        for one in truncate(text, width)
    ]
    assert sum(taken) <= width


@table(("text", "width", "kept"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a bcd", 3, "a…")])
def test_what_is_cut_says_so(text: str, width: int, kept: str) -> None:
    assert truncate(text, width) == kept
