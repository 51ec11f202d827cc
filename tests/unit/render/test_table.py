"""Rows as people and as programs read them."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.render.styles import Look
from recollect.render.table import GAP, LEAST, Long, Table, aligned, cut, separated
from tests.tables import table

ROWS = Table(("id", "kind", "text"), [("a", "fact", "short"), ("long-id", "event", "x" * 60)])


def test_columns_line_up_and_the_last_one_is_cut_to_the_width() -> None:
    assert list(aligned(ROWS, 50)) == [
        "id       kind   text",
        "a        fact   short",
        f"long-id  event  {'x' * 33}…",
    ]


def test_with_too_little_room_the_last_column_has_a_line_of_its_own() -> None:
    used = len("long-id") + len("event") + 2 * len(GAP)
    assert len(list(aligned(ROWS, used + LEAST))) == 1 + 2
    assert list(aligned(ROWS, used + LEAST - 1)) == [
        "id       kind",
        "a        fact",
        "  short",
        "long-id  event",
        f"  {'x' * (used + LEAST - 1 - len(GAP) - 1)}…",
    ]


def test_a_program_gets_every_field_whole_between_tabs_and_no_heading() -> None:
    assert list(separated(ROWS)) == ["a\tfact\tshort", f"long-id\tevent\t{'x' * 60}"]


NOTED = Table(
    ("id", "text"), [("a", "x" * 60), ("b", "short")], [("it is said by week-2026-W09 already",), ("so it is", "yes")]
)


@table("width", [20, 40])
def test_a_note_is_never_cut_and_has_lines_of_its_own(width: int) -> None:
    lines = list(aligned(NOTED, width))
    assert sum(line.endswith("…") for line in lines) == 1
    notes = " ".join(line.strip() for line in lines if line.startswith(GAP + GAP))
    assert notes == "it is said by week-2026-W09 already so it is yes"
    assert all("week-2026-W09" in line for line in lines if "week" in line)


def test_a_program_gets_a_note_behind_the_last_field() -> None:
    assert list(separated(NOTED))[1] == "b\tshort [so it is] [yes]"


@table(
    ("long", "shown"),
    [(Long.UNDER, [f"  {'word ' * 14}".rstrip() + "…"]), (Long.WHOLE, [f"  {'word ' * 14}".rstrip(), "  word word"])],
)
def test_the_long_column_can_be_under_the_others_cut_or_whole(long: Long, shown: list[str]) -> None:
    table = Table(("id", "text"), [("a", "word " * 16)], [("a note",)], long)
    painted = list(aligned(table, 73, lambda look, said: f"{look.name} {said}"))
    assert painted == ["FAINT id", "FAINT a", *shown, "    a note"], "what is asked for is not faint"
    assert list(separated(table)) == [f"a\t{'word ' * 16}".rstrip() + " [a note]"]


def test_no_rows_are_no_lines() -> None:
    assert list(aligned(Table(("id", "text"), []), 80)) == list(separated(Table(("id", "text"), []))) == []


def test_no_cell_can_add_a_field_a_row_or_a_command_to_the_terminal() -> None:
    table = Table(("id", "text"), [("a", "one\ttwo\nthree\x1b[2J")])
    assert list(separated(table)) == ["a\tone two three\\x1b[2J"]
    assert list(aligned(table, 80))[1] == "a   one two three\\x1b[2J"


def test_the_headings_are_faint() -> None:
    table = Table(("id", "text"), [("a", "x")])
    assert next(aligned(table, 80, lambda look, text: f"{look}:{text}")) == f"{Look.FAINT}:id  text"


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    table = Table(("id", "text"), [("漢字", "x"), ("e\u0301", "y")])
    assert list(aligned(table, 80)) == ["id    text", "漢字  x", "e\u0301     y"]
    assert cut("漢字漢字", 5) == "漢字…"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"])), st.integers(min_value=1, max_value=60))
def test_a_cut_text_never_takes_more_columns_than_there_are(text: str, width: int) -> None:
    wide = {"W": 2, "F": 2}
    taken = [
        0 if unicodedata.category(one) in ("Mn", "Me", "Cf") else wide.get(unicodedata.east_asian_width(one), 1)
        for one in cut(text, width)
    ]
    assert sum(taken) <= width


@table(("text", "width", "kept"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a bcd", 3, "a…")])
def test_what_is_cut_says_so(text: str, width: int, kept: str) -> None:
    assert cut(text, width) == kept
