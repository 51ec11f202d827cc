"""What is said to people fits on a line and steers no terminal."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.format import LOOKAHEAD_FACTOR, QUOTE_CHARS, format_count, format_left_out, make_printable, shorten
from tests.tables import table


@table(
    ("written", "shown"),
    [
        ("a\tb\n c", "a b c"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202eevil", "\\u202eevil"),
        ("naïve 漢字", "naïve 漢字"),
        ("\ud800", "\\ud800"),
    ],
)
def test_nothing_in_a_text_can_steer_a_terminal(written: str, shown: str) -> None:
    assert make_printable(written) == shown


@table(
    ("written", "shown"),
    [
        ("short", "short"),
        ("x" * QUOTE_CHARS, "x" * QUOTE_CHARS),
        ("x" * (QUOTE_CHARS + 1), "x" * QUOTE_CHARS + "…"),
        ("one" + " " * QUOTE_CHARS * LOOKAHEAD_FACTOR + "two", "one…"),
        ("x" * (QUOTE_CHARS - 1) + " and more", "x" * (QUOTE_CHARS - 1) + "…"),
    ],
)
def test_a_long_text_is_told_by_its_beginning_and_marked(written: str, shown: str) -> None:
    assert shorten(written) == shown


@given(st.text(), st.integers(1, 100))
def test_what_is_shortened_is_one_printable_line_that_says_whether_it_is_all(text: str, most: int) -> None:
    said = shorten(text, most)
    assert said.isprintable()
    assert len(said) <= most + len("…")
    assert said == make_printable(text) or said.endswith("…")


def test_a_count_has_its_noun() -> None:
    assert [format_count(count, "memory", "memories") for count in (0, 1, 2)] == [
        "0 memories",
        "1 memory",
        "2 memories",
    ]
    assert [format_count(count, "row") for count in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def test_what_was_left_out_is_counted_by_reason_and_nothing_is_not_told() -> None:
    assert format_left_out({"budget": 1, "gate:relevance": 2}) == ", left out: 1 by budget, 2 by gate:relevance"
    assert format_left_out({}) == ""
