"""Excerpts: sentences as people read them, without what steers a screen, and never longer than they may be."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.text.sentences import ELLIPSIS, Sentence, join_sentences, split_sentences, to_single_line, truncate
from tests.tables import table

ANYTHING = st.text(st.characters(exclude_categories=["Cs"]))
FAMILY = "\U0001f469\u200d\U0001f467"
MUCH = 200_000


def said(text: str) -> list[str]:
    return [one.text for one in split_sentences(text) if not one.aside]


def asides(text: str) -> list[str]:
    return [one.text for one in split_sentences(text) if one.aside]


@table(
    ("text", "found"),
    [
        ("I like window seats. The budget is 3,000 euros!", ["I like window seats.", "The budget is 3,000 euros!"]),
        ("Really?! Yes... well, no. Fine", ["Really?!", "Yes... well, no.", "Fine"]),
        (
            "Dr. Costa of the U.S. team, e.g. J. Doe, came. Good.",
            ["Dr. Costa of the U.S. team, e.g. J. Doe, came.", "Good."],
        ),
        ("1. Book a hotel. 2. Pack.", ["1. Book a hotel.", "2. Pack."]),
        ("It opened in 2026. We went.", ["It opened in 2026.", "We went."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("我喜欢靠窗的座位。预算三千！", ["我喜欢靠窗的座位。", "预算三千！"]),
        ("one\ntwo\r\nthree\x0bfour\u2028five", ["one", "two", "three", "four", "five"]),
        ("no end", ["no end"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, found: list[str]) -> None:
    assert said(text) == found
    assert asides(text) == []


@table(
    ("text", "found"),
    [
        ("# Trip\n\n- **Flights**: window\n* [Hotel](https://h.example/a?b=c) near\n> *quoted* words", [
            *("Trip", "Flights: window", "Hotel near", "quoted words")
        ]),
        ("- [x] done\n1. first", ["done", "1. first"]),
        ("| town | price |\n|---|:-:|\n| Lisbon | 3000 |", ["town price", "Lisbon 3000"]),
        ("a <b>bold</b> line<br/>break", ["a bold line break"]),
        ("use `snake_case` and 2 * 3 * 4", ["use snake_case and 2 * 3 * 4"]),
        ("keep a < b and c > d, and List<int>", ["keep a < b and c > d, and List<int>"]),
        ("![a cat](cat.png) is here", ["a cat is here"]),
        ("---\n***\n===", []),
    ],
)  # fmt: skip
def test_marks_of_layout_are_left_out(text: str, found: list[str]) -> None:
    assert said(text) == found


def test_code_and_notes_between_brackets_are_asides() -> None:
    text = "Look at this. [shares a picture: a red boat]\n```python\nprint('hi')\n```\n【Travel】 We go in May."
    assert said(text) == ["Look at this.", "We go in May."]
    assert asides(text) == ["[shares a picture: a red boat]", "print('hi')", "【Travel】"]


def test_what_has_no_word_is_kept_where_it_can_be_seen() -> None:
    assert split_sentences("👍") == [Sentence("👍", aside=True)]
    assert split_sentences("???") == [Sentence("???", aside=True)]
    assert said("!!! Great. ...") == ["Great."]
    assert split_sentences("\u200b\u2060\ufeff\u202e") == []


@table(
    ("text", "found"),
    [
        ("  a  b\tc\n d ", "a b c d"),
        ("a\x1b[31mred\x07", "a [31mred"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("soft\u00adhyphen zero\u200bwidth \U000e0041tag", "softhyphen zerowidth tag"),
        (f"{FAMILY} می\u200cخواهم ❤\ufe0f", f"{FAMILY} می\u200cخواهم ❤\ufe0f"),
    ],
)
def test_a_line_has_nothing_that_steers_how_it_looks(text: str, found: str) -> None:
    assert to_single_line(text) == found


@given(ANYTHING)
def test_a_line_is_one_line_and_plain_once_and_for_all(text: str) -> None:
    line = to_single_line(text)
    assert to_single_line(line) == line
    assert line.splitlines() in ([line], [])
    assert not any(unicodedata.category(one) in {"Cc", "Zl", "Zp"} for one in line)
    assert line == line.strip()


@given(ANYTHING)
def test_sentences_are_lines_that_say_something(text: str) -> None:
    for one in split_sentences(text):
        assert one.text
        assert to_single_line(one.text) == one.text


@given(ANYTHING, st.integers(2, 60))
def test_what_is_shortened_is_never_longer_than_it_may_be(text: str, most: int) -> None:
    line = to_single_line(text)
    short = truncate(line, most)
    assert len(short) <= most
    assert short == line if len(line) <= most else short.endswith(ELLIPSIS)
    assert line.startswith(short.removesuffix(ELLIPSIS)) or short == line


def test_a_line_is_cut_behind_a_word() -> None:
    assert truncate("window seats, please", 20) == "window seats, please"
    assert truncate("window seats, please", 19) == "window seats…"
    assert truncate("window seats", 8) == "window…"
    assert truncate("window seats", 7) == "window…"


def test_a_word_without_end_is_cut_between_two_letters() -> None:
    assert truncate("x" * 100, 10) == "x" * 9 + ELLIPSIS
    assert truncate("e\u0301" * 10, 8) == "e\u0301" * 3 + ELLIPSIS
    assert truncate(FAMILY * 10, 9) == FAMILY * 2 + ELLIPSIS


def test_lines_that_end_without_a_mark_get_one_between_them() -> None:
    assert join_sentences(["Flights", "We go in May.", "Lisbon", "Porto"]) == "Flights; We go in May. Lisbon; Porto"
    assert join_sentences(["one"]) == "one"


@table(
    "piece",
    [
        ".",
        "[",
        "[a",
        "**a",
        "*a ",
        "<a ",
        "a.\"'",
        "? ",
        "# > - ",
        "__a",
        "(",
        "`",
        "|",
        "a\u0301",
        "。",
        "1. ",
        "[](",
        "~~",
    ],
)
def test_a_very_long_text_of_marks_is_read_in_one_go(piece: str) -> None:
    text = piece * (MUCH // len(piece))
    assert sum(len(one.text) for one in split_sentences(text)) <= len(text)
