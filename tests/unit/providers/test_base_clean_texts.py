"""What an embedder takes: a list of texts, made well formed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.providers.base import clean_texts
from tests.tables import table

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(st.lists(ANY_TEXT))
def test_whatever_comes_out_is_unicode_that_can_be_sent(texts: list[str]) -> None:
    cleaned = clean_texts(texts)
    assert len(cleaned) == len(texts)
    for text in cleaned:
        text.encode()


@given(st.lists(st.text()))
def test_a_well_formed_text_is_left_as_it_is(texts: list[str]) -> None:
    assert clean_texts(texts) == texts
    assert clean_texts(tuple(texts)) == texts


@table(
    ("given", "cleaned"),
    [
        ("half \ud83d a face", "half \ufffd a face"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("a\0b", "a\0b"),
        ("", ""),
    ],
)
def test_half_a_character_is_replaced_and_two_halves_become_one(given: str, cleaned: str) -> None:
    assert clean_texts([given]) == [cleaned]


@table("texts", ["one text", b"bytes", None, {"a": 1}, 7, iter(["a"])])
def test_anything_but_a_list_of_texts_is_refused(texts: Any) -> None:
    with pytest.raises(InvalidInput, match="give a list of texts"):
        clean_texts(texts)


def test_what_is_no_text_is_refused_with_its_place() -> None:
    texts: Any = ["a", None]
    with pytest.raises(InvalidInput, match=r"texts\[1\] is None; give a text"):
        clean_texts(texts)
