"""Texts are composed in time that grows with them, and no two that differ become the same."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.nfc import JOINER, MOST_MARKS, composed, stream_safe
from tests.tables import table

MARKS = st.text(st.sampled_from("a\u00e9\u0301\u0316\u0300\u3042\u3099 "), max_size=120)


@given(st.text() | MARKS)
def test_a_text_of_any_script_is_what_unicode_says(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", stream_safe(text))
    assert stream_safe(text).replace(JOINER, "") == text.replace(JOINER, "")


@table("count", [0, 1, MOST_MARKS])
def test_as_many_marks_as_scripts_have_stay_as_they_are(count: int) -> None:
    assert stream_safe("a" + "\u0301" * count + "b") == "a" + "\u0301" * count + "b"


def test_a_joiner_follows_every_thirty_marks() -> None:
    run = "\u0301" * MOST_MARKS
    assert stream_safe(f"a{run}{run}\u0301b") == f"a{run}{JOINER}{run}{JOINER}\u0301b"


def test_more_marks_are_another_text() -> None:
    texts = ["a" + "\u0301" * count for count in range(MOST_MARKS, MOST_MARKS + 40)]
    assert len({composed(text) for text in texts}) == len(texts)
