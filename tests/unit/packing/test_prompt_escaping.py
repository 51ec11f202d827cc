"""Escaped text hides nothing and can be read back."""

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.packing import prompt
from tests.tables import table
from tests.unit.packing.reading import unescape

ANY_TEXT = st.text(st.one_of(st.characters(), st.sampled_from("&<>\"'\r\n\t\x00\u200b\u202e\u2028\ufe0f\U000e0041")))

HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, format characters, surrogates, line and paragraph separators."""


def test_every_control_and_format_character_but_tab_and_line_feed_is_a_reference() -> None:
    hidden = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in HIDDEN_CATEGORIES]
    assert [c for c in hidden if prompt.escape_text(f"a{c}") != f"a&#{ord(c)};"] == ["\t", "\n"]
    assert [c for c in hidden if prompt.escape_attribute(f"a{c}") != f"a&#{ord(c)};"] == []


@table(
    "hidden",
    [
        "\u034f",  # a joiner without a shape
        "\u115f",  # letters without a shape
        "\u1160",
        "\u17b4",
        "\u3164",
        "\uffa0",
        "\u180b",  # variation selectors
        "\ufe00",
        "\ufe0e",
        "\U000e0100",
        "\U000e01ef",
        "\U000e0000",  # tags
        "\U000e007f",
    ],
)
def test_what_has_no_shape_is_a_reference(hidden: str) -> None:
    assert prompt.escape_text(f"a{hidden}b") == f"a&#{ord(hidden)};b"


@table(
    ("value", "escaped"),
    [
        ("❤\ufe0f", "❤\ufe0f"),  # the red heart, as everybody writes it
        ("❤\ufe0f\ufe0f", "❤\ufe0f&#65039;"),
        ("\ufe0f", "&#65039;"),
        ("\ufe0fa", "&#65039;a"),
    ],
)
def test_a_selector_that_gives_an_emoji_its_colours_stays_but_not_a_second_one(value: str, escaped: str) -> None:
    assert prompt.escape_text(value) == escaped


def test_what_people_write_stays_as_it_is() -> None:
    written = "Größe “naïve” – 漢字 かな 한국어 😀 Привет مرحبا 'it' \"is\" #1 100 %? \\n {x}\n\tnext"
    assert prompt.escape_text(written) == written


def test_an_attribute_is_one_line_without_quotes() -> None:
    assert prompt.escape_attribute('a "b"?\n\tc') == "a &quot;b&quot;?&#10;&#9;c"


def test_what_makes_a_tag_has_its_name() -> None:
    assert prompt.escape_text("<a & b>") == "&lt;a &amp; b&gt;"


def test_what_looks_like_a_reference_stays_what_it_is() -> None:
    assert prompt.escape_text("&lt;&#60;&amp;") == "&amp;lt;&amp;#60;&amp;amp;"


@given(ANY_TEXT)
def test_escaped_text_can_be_read_back(value: str) -> None:
    assert unescape(prompt.escape_text(value)) == value
    assert unescape(prompt.escape_attribute(value)) == value


@given(ANY_TEXT)
def test_escaped_text_opens_and_closes_nothing(value: str) -> None:
    assert not set("<>\r\u2028\u2029") & set(prompt.escape_text(value))
    assert not set('<>"\n\r\u2028\u2029') & set(prompt.escape_attribute(value))


@table("wide", "＜＞＂＆﹤﹥")
def test_what_becomes_a_tag_when_normalised_is_escaped_before(wide: str) -> None:
    assert prompt.escape_text(wide) == f"&#{ord(wide)};"
