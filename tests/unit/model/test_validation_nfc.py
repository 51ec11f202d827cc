"""Texts are composed in time that grows with them, and no two that differ become the same."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.validation import JOINER, MAX_COMBINING_MARKS, to_nfc, to_stream_safe
from tests.tables import table

MARKS = st.text(st.sampled_from("a\u00e9\u0301\u0316\u0300\u3042\u3099 "), max_size=120)


@given(st.text() | MARKS)
def test_a_text_of_any_script_is_what_unicode_says(text: str) -> None:
    assert to_nfc(text) == unicodedata.normalize("NFC", to_stream_safe(text))
    assert to_stream_safe(text).replace(JOINER, "") == text.replace(JOINER, "")


@table("count", [0, 1, MAX_COMBINING_MARKS])
def test_as_many_marks_as_scripts_have_stay_as_they_are(count: int) -> None:
    assert to_stream_safe("a" + "\u0301" * count + "b") == "a" + "\u0301" * count + "b"


def test_a_joiner_follows_every_thirty_marks() -> None:
    run = "\u0301" * MAX_COMBINING_MARKS
    assert to_stream_safe(f"a{run}{run}\u0301b") == f"a{run}{JOINER}{run}{JOINER}\u0301b"


def test_more_marks_are_another_text() -> None:
    texts = ["a" + "\u0301" * count for count in range(MAX_COMBINING_MARKS, MAX_COMBINING_MARKS + 40)]
    assert len({to_nfc(text) for text in texts}) == len(texts)
