"""Quotes: what was said, and what only looks so."""

import re

from hypothesis import given
from hypothesis import strategies as st

from recollect.text.grounding import find_quote, fold_quotes
from tests.tables import table

TEXTS = st.text(st.sampled_from("ab \n\t\u00a0“”\"'’.") | st.characters(exclude_categories=["Cs"]), max_size=60)


def quoted(quote: str, text: str) -> str | None:
    return find_quote(fold_quotes(quote), text, fold_quotes(text))


@table(
    ("quote", "text", "stands"),
    [
        ("green tea", "I like  green \n tea.", "green \n tea"),
        ("I like", "  I   like tea", "I   like"),
        ("tea", "  tea", "tea"),
        ("tea", "tea  ", "tea"),
        ('"no"', "She said “no”.", "“no”"),
        ("it's", "it’s", "it’s"),
        ("'green tea'", "green tea", "green tea"),
        ("hate tea", "I hate teaching. I hate tea.", "hate tea"),
        ("喜欢茶", "我喜欢茶和咖啡", "喜欢茶"),
        ("a b", "a  a  b", "a  b"),
    ],
)
def test_a_quote_is_told_as_it_stands(quote: str, text: str, stands: str) -> None:
    assert quoted(quote, text) == stands


@table(
    ("quote", "text"),
    [
        ("tea", "teaching"),
        ("tea", "green steam"),
        ("12", "1234"),
        ("a b", "ab"),
        ("ab", "a b"),
        ("", "a"),
        ("' '", "a"),
    ],
)
def test_a_part_of_a_word_or_nothing_is_no_quote(quote: str, text: str) -> None:
    assert quoted(quote, text) is None


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_every_run_of_whole_words_is_found_and_what_is_found_is_there(text: str, start: int, end: int) -> None:
    words = text.split()[start:end]
    found = quoted(" ".join(words), text)
    if words:
        assert found is not None
    if found is not None:
        assert found in text
        assert fold_quotes(found).strip("\"' ") == fold_quotes(" ".join(words)).strip("\"' ")


@given(TEXTS)
def test_folding_twice_changes_nothing_and_marks_keep_their_number(text: str) -> None:
    assert fold_quotes(fold_quotes(text)) == fold_quotes(text)
    assert len(re.sub(r"\s", "", fold_quotes(text))) == len(re.sub(r"\s", "", text))


@table("text", ["a" * 2**20, "a " * 2**19, "  a" * 2**18, "“" * 2**20, " " * 2**20 + "b"])
def test_a_megabyte_of_anything_is_looked_through(text: str) -> None:
    quote = "a" * 999 + "b"
    assert quoted(quote, text) is None
    assert quoted("a a a b", text) is None
